/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IRQ lines: a wire from one device's output to another's input.
 *
 * The input's owner allocates the line with a handler; the output's owner
 * keeps the pointer and sets the level. There is no state in a line: whoever
 * drives one remembers what it drives, and whoever listens what it saw last.
 *
 * Threads: under the BQL.
 *
 * Used by: hw/, accel/qtest. Uses: nothing.
 */
#ifndef HW_IRQ_H
#define HW_IRQ_H

typedef void (*qemu_irq_handler)(void *opaque, int n, int level);

/* Drive @irq, which may be NULL (not connected). */
void qemu_set_irq(qemu_irq irq, int level);
static inline void qemu_irq_raise(qemu_irq irq)
{
    qemu_set_irq(irq, 1);
}
static inline void qemu_irq_lower(qemu_irq irq)
{
    qemu_set_irq(irq, 0);
}
static inline void qemu_irq_pulse(qemu_irq irq)
{
    qemu_set_irq(irq, 1);
    qemu_set_irq(irq, 0);
}

/* Line number @n of a device: @handler(@opaque, @n, level). */
qemu_irq qemu_allocate_irq(qemu_irq_handler handler, void *opaque, int n);
void qemu_free_irq(qemu_irq irq);
/* @n lines, numbered from 0. Free the lines with qemu_free_irqs(). */
qemu_irq *qemu_allocate_irqs(qemu_irq_handler handler, void *opaque, int n);
void qemu_free_irqs(qemu_irq *irqs, int n);

/**
 * qemu_irq_intercept: have @handler called as well as the line's own
 *
 * @n: what the observer is told as the line's number
 *
 * For qtest: called first, with the level as driven. One observer a line.
 */
void qemu_irq_intercept(qemu_irq irq, qemu_irq_handler handler, void *opaque,
                        int n);

#endif /* HW_IRQ_H */
