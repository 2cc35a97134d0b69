/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IRQ lines: see irq.h for the contract.
 */
#include "qemu/osdep.h"

#include "hw/irq.h"

struct IRQState {
    qemu_irq_handler handler;
    void *opaque;
    int n;
    /* Set when someone observes the line. */
    qemu_irq_handler observer;
    void *observer_opaque;
    int observer_n;
};

void qemu_set_irq(qemu_irq irq, int level)
{
    if (!irq) {
        return;
    }
    if (irq->observer) {
        irq->observer(irq->observer_opaque, irq->observer_n, level);
    }
    irq->handler(irq->opaque, irq->n, level);
}

qemu_irq qemu_allocate_irq(qemu_irq_handler handler, void *opaque, int n)
{
    qemu_irq irq = g_new0(struct IRQState, 1);

    irq->handler = handler;
    irq->opaque = opaque;
    irq->n = n;
    return irq;
}

void qemu_free_irq(qemu_irq irq)
{
    g_free(irq);
}

qemu_irq *qemu_allocate_irqs(qemu_irq_handler handler, void *opaque, int n)
{
    qemu_irq *irqs = g_new(qemu_irq, n);

    for (int i = 0; i < n; i++) {
        irqs[i] = qemu_allocate_irq(handler, opaque, i);
    }
    return irqs;
}

void qemu_free_irqs(qemu_irq *irqs, int n)
{
    for (int i = 0; i < n; i++) {
        qemu_free_irq(irqs[i]);
    }
    g_free(irqs);
}

void qemu_irq_intercept(qemu_irq irq, qemu_irq_handler handler, void *opaque,
                        int n)
{
    assert(!irq->observer);
    irq->observer = handler;
    irq->observer_opaque = opaque;
    irq->observer_n = n;
}
