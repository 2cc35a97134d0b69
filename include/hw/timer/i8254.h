/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * i8254: the interval timer (PIT) of PCs, three counters of 1,193,182 Hz, and
 * the speaker's port, which has the gate and the output of the third.
 *
 * Ports 0x40 to 0x43 and 0x61; counter 0 gives ISA interrupt 0. Intel's data
 * sheet 231164, "Mode definitions"; not there: BCD.
 *
 * Ticks: counter 0 owes the guest one for each period of its modes 2 and 3, and
 * one at the end of its others. A tick is owed until the interrupt controller
 * has taken it: while one waits there the next one waits here, so that a guest
 * that is late gets all of them, one after the other. What is owed is part of
 * the state: it travels, and a change of the accelerator's VM does not touch it.
 * Ticks come no more often than every 200 us.
 *
 * An I/O APIC does not say whether there was room for a tick: then the next one
 * waits until the guest has acknowledged that one; but for no longer than ten
 * seconds, and not if the guest has set up the pin in another way.
 *
 * A line that is masked holds one tick. What is older than a second then is
 * forgotten: that guest does not want to be told.
 *
 * Time is QEMU_CLOCK_VIRTUAL: the counters stand while the VM does.
 *
 * Threads: under the BQL.
 *
 * Used by: hw/i386. Uses: isa.h, timer.h, accel-irq.h.
 */
#ifndef HW_TIMER_I8254_H
#define HW_TIMER_I8254_H

#include "hw/isa/isa.h"
#include "qemu/timer.h"

#define TYPE_I8254     "isa-pit"
#define PIT_HZ         1193182
#define PIT_ISA_IRQ    0
#define PIT_MODE_UNSET 0xff /* nothing has been written since the reset */

/* As it is in section i8254, all but the first two. */
typedef struct PitChannel {
    int32_t count; /* 1 to 0x10000 */
    uint16_t latched_count;
    uint8_t count_latched;  /* a PitAccess that is to be read; 0: none */
    uint8_t status_latched; /* bool */
    uint8_t status;
    uint8_t read_state, write_state; /* PitAccess */
    uint8_t write_latch;
    uint8_t rw_mode; /* as in the control word: 1 to 3 */
    uint8_t mode;    /* 0 to 7, or PIT_MODE_UNSET */
    uint8_t bcd;     /* as written, of no effect */
    uint8_t gate;
    int64_t load_time_ns;
    int64_t next_ns; /* for the stream only */
} PitChannel;

typedef struct PitState {
    ISADevice parent_obj;

    /* Constant after realize. */
    MemoryRegion ports, speaker_port;
    qemu_irq irq;
    QEMUTimer *timer;
    /* eventfds: raises it, unused; the guest has taken one. -1: nobody tells */
    int line_fd, ack_fd;

    /* Guarded by the BQL; saved. */
    PitChannel channel[3];
    uint32_t irq_disabled;
    bool speaker_on;
    bool in_flight;    /* a vCPU has not acknowledged the last tick, and no
                          other can be handed over before */
    int64_t next_tick; /* of counter 0: its number since the load, from 1;
                          0: none comes any more */
    uint32_t flags;    /* this and the next: for the stream only */
    int64_t next_tick_ns;

    /* BQL. */
    unsigned ack_tag; /* the main loop looks at ack_fd; 0: it does not */
    int64_t sent_ns;  /* in_flight: since then */
} PitState;

DECLARE_INSTANCE_CHECKER(PitState, I8254, TYPE_I8254)

/* The one of a machine. */
PitState *i8254_create(Error **errp);

void i8254_register_types(void);

#endif /* HW_TIMER_I8254_H */
