/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interval timer's section. All integers big-endian.
 *
 *   i8254, version 3: u32 irq_disabled; 3 channels of 32 bytes: i32 count, u16
 *       latched count, 10 u8 in the order of the table below, i64 time of the
 *       load, i64 time of the next tick; i64 that of channel 0 once more
 *   i8254/ferry-flags, version 1, ours, if not 0: u32, 2: the speaker is on,
 *       4: the last tick is not acknowledged yet
 *
 * Times are of the virtual clock; -1: none. The next tick is the first that the
 * guest has not got: with more than one owed it is in the past.
 */
#include "qemu/osdep.h"

#include "i8254-internal.h"
#include "qemu/error.h"
#include "vmstate/vmstate.h"

/* So many owed ticks a stream may bring. */
#define OWED_MAX 0x10000

/* Of ferry-flags. */
enum {
    FLAG_SPEAKER = 2,
    FLAG_IN_FLIGHT = 4,
};

static int64_t clock_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static bool pit_pre_save(void *opaque, Error **errp)
{
    PitState *s = opaque;

    s->next_tick_ns = s->next_tick
                          ? pit_channel_tick_ns(&s->channel[0], s->next_tick)
                          : -1;
    s->channel[0].next_ns = s->next_tick_ns;
    i8254_look_for_acknowledge(s);
    s->flags = (s->speaker_on ? FLAG_SPEAKER : 0) |
               (s->in_flight ? FLAG_IN_FLIGHT : 0);
    return true;
}

static bool pit_pre_load(void *opaque, Error **errp)
{
    PitState *s = opaque;

    s->flags = 0;
    return true;
}

/*
 * Others send the next change of the output, which can be a falling one, or
 * nothing of use: the first tick from there on, none before the load, none that
 * is far.
 */
static int64_t first_tick_from(const PitState *s)
{
    const PitChannel *c = &s->channel[0];
    int64_t coming = pit_channel_tick_at(c, clock_now());
    int64_t first = pit_channel_tick_at(c, s->next_tick_ns);

    if (s->next_tick_ns < 0 || s->next_tick_ns < c->load_time_ns) {
        return coming;
    }
    return coming ? CLAMP(first, MAX(coming - OWED_MAX, 1), coming) : first;
}

static bool pit_post_load(void *opaque, int version_id, Error **errp)
{
    PitState *s = opaque;

    for (unsigned i = 0; i < ARRAY_SIZE(s->channel); i++) {
        const PitChannel *c = &s->channel[i];

        if (!pit_channel_valid(c)) {
            error_setg(errp,
                       "channel %u: count %d, mode %u, rw_mode %u, read_state "
                       "%u, write_state %u, count_latched %u, expected 1 to "
                       "65536, 0 to 7 (or 255), 0 to 3, 0 to 4 of each",
                       i, c->count, c->mode, c->rw_mode, c->read_state,
                       c->write_state, c->count_latched);
            return false;
        }
    }
    if (s->flags & ~(uint32_t)(FLAG_SPEAKER | FLAG_IN_FLIGHT)) {
        error_setg(errp, "flags are 0x%x, expected a sum of %d and %d",
                   s->flags, FLAG_SPEAKER, FLAG_IN_FLIGHT);
        return false;
    }
    i8254_look_for_acknowledge(s); /* of before */
    s->speaker_on = s->flags & FLAG_SPEAKER;
    s->in_flight = (s->flags & FLAG_IN_FLIGHT) && s->ack_fd >= 0;
    s->sent_ns = clock_now();
    s->next_tick = s->irq_disabled ? 0 : first_tick_from(s);
    i8254_stop_waiting(s);
    timer_del(s->timer);
    if (s->next_tick) {
        timer_mod_ns(s->timer,
                     pit_channel_tick_ns(&s->channel[0], s->next_tick));
    }
    return true;
}

static const VMStateDescription vmstate_channel = {
    .name = "pit channel",
    .version_id = 2,
    .minimum_version_id = 2,
    .fields =
        (const VMStateField[]){
            VMSTATE_INT32(count, PitChannel),
            VMSTATE_UINT16(latched_count, PitChannel),
            VMSTATE_UINT8(count_latched, PitChannel),
            VMSTATE_UINT8(status_latched, PitChannel),
            VMSTATE_UINT8(status, PitChannel),
            VMSTATE_UINT8(read_state, PitChannel),
            VMSTATE_UINT8(write_state, PitChannel),
            VMSTATE_UINT8(write_latch, PitChannel),
            VMSTATE_UINT8(rw_mode, PitChannel),
            VMSTATE_UINT8(mode, PitChannel),
            VMSTATE_UINT8(bcd, PitChannel),
            VMSTATE_UINT8(gate, PitChannel),
            VMSTATE_INT64(load_time_ns, PitChannel),
            VMSTATE_INT64(next_ns, PitChannel),
            VMSTATE_END_OF_LIST(),
        },
};

static bool flags_needed(void *opaque)
{
    const PitState *s = opaque;

    return s->flags != 0;
}

static const VMStateDescription vmstate_flags = {
    .name = "i8254/ferry-flags",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = flags_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(flags, PitState),
            VMSTATE_END_OF_LIST(),
        },
};

const VMStateDescription i8254_vmstate = {
    .name = "i8254",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_load = pit_pre_load,
    .pre_save = pit_pre_save,
    .post_load = pit_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(irq_disabled, PitState),
            VMSTATE_STRUCT_ARRAY(channel, PitState, 3, 2, vmstate_channel,
                                 PitChannel),
            VMSTATE_INT64(next_tick_ns, PitState),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *const[]){ &vmstate_flags, NULL },
};
