/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Own kind: how two of us recognise each other, and what they then say.
 *
 * QEMU's destination echoes any PING; its source ignores PONG values that it
 * does not know, but fails on message types that it does not know. So all we
 * say to each other travels as values of PING and PONG:
 *
 *   source                            destination
 *   PING OWN_KIND_HELLO        ->     QEMU: PONG the same value
 *                              <-     ours: PONG OWN_KIND_ANSWER
 *   PING OWN_KIND_ASK_TIMES    ->     (only after that answer)
 *                              <-     PONG tag | value, each once, as they
 *                                     become known; at the latest before SHUT
 *   PING OWN_KIND_ASK_HOLES    ->     (only after that answer, and before any
 *                                     page) may I leave out pages?
 *                              <-     PONG tag | 1: it notes what comes; any
 *                                     other answer, also an echo: no
 *   PING OWN_KIND_REST_IS_ZERO ->     (only after that answer, before END)
 *                                     what did not come so far is to be zero
 *
 * A PONG with data: bits 31..24 are the tag, bits 23..0 the value (times in
 * microseconds; larger ones are sent as the largest). Nothing of this is ever
 * sent unasked, and a destination that never saw the hello never sends it.
 *
 * Used by: return-path.c, loadvm.c. Uses: nothing.
 */
#ifndef MIGRATION_OWN_KIND_H
#define MIGRATION_OWN_KIND_H

#define OWN_KIND_HELLO        0x46659201u
#define OWN_KIND_ANSWER       0x99a66d01u
#define OWN_KIND_ASK_TIMES    0x46659202u
#define OWN_KIND_ASK_HOLES    0x46659203u
#define OWN_KIND_REST_IS_ZERO 0x46659204u
/*
 * Not private: anyone's target echoes them, once it has loaded all that came
 * before. The low byte counts.
 */
#define DRAIN_PING      0x46659300u
#define ATTEMPT_PING    0x46659400u
#define PING_COUNT_MASK 0xffu

enum OwnKindTag {
    OWN_KIND_DEVICES_US = 0xd1, /* loading device sections */
    OWN_KIND_START_US = 0xd2,   /* end of loading until vCPUs may run */
    OWN_KIND_EXPECT_US = 0xd3,  /* what it expects both to take; sent at once */
    OWN_KIND_HOLES = 0xd4,      /* 1: pages may be left out */
};

#define OWN_KIND_VALUE_MAX 0xffffffu

static inline uint32_t own_kind_pack(enum OwnKindTag tag, uint64_t value)
{
    return (uint32_t)tag << 24 |
           (uint32_t)(value > OWN_KIND_VALUE_MAX ? OWN_KIND_VALUE_MAX : value);
}

static inline unsigned own_kind_tag(uint32_t pong)
{
    return pong >> 24;
}

static inline uint32_t own_kind_value(uint32_t pong)
{
    return pong & OWN_KIND_VALUE_MAX;
}

#endif /* MIGRATION_OWN_KIND_H */
