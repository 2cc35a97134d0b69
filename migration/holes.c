/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether memory that was never populated may be left out of the stream: with
 * our own kind it may, by the messages of own-kind.h; else it goes as zero
 * records.
 *
 * Or the user says so (x-omit-holes): where the target cannot be asked, its
 * memory is known to be zero, or it has been told the same.
 *
 * To know that takes two round trips before the first page. A target that does
 * not answer in time gets zero records; who is slow to answer may be slow, but
 * must not be able to hold a migration up.
 */
#include "qemu/osdep.h"

#include "options.h"
#include "own-kind.h"
#include "ram/ram.h"
#include "savevm-stream.h"
#include "source.h"

/* For both answers together. */
#define ANSWER_MAX_MS 1000
#define POLL_MS       20

static bool wait_for(MigrationState *s, bool (*done)(const ReturnPath *rp),
                     int *left_ms)
{
    uint32_t pong = 0;

    while (!done(&s->rp) && *left_ms > 0 && !atomic_load(&s->quit)) {
        gint64 begin_us = g_get_monotonic_time();

        pong = return_path_next_pong(&s->rp, pong, POLL_MS);
        *left_ms -= (int)((g_get_monotonic_time() - begin_us) / 1000);
    }
    return done(&s->rp);
}

static bool said_what_it_is(const ReturnPath *rp)
{
    /* Anyone else's echo of the hello tells, too. */
    return atomic_load(&rp->own_kind) ||
           atomic_load(&rp->last_pong) == OWN_KIND_HELLO;
}

static bool answered_about_holes(const ReturnPath *rp)
{
    uint32_t pong = atomic_load(&rp->last_pong);

    return pong == OWN_KIND_ASK_HOLES || own_kind_tag(pong) == OWN_KIND_HOLES;
}

static void ask_target(MigrationState *s)
{
    int left_ms = ANSWER_MAX_MS;

    if (!s->rp.started || !wait_for(s, said_what_it_is, &left_ms) ||
        !atomic_load(&s->rp.own_kind)) {
        return;
    }
    stream_put_ping(s->to_dst, OWN_KIND_ASK_HOLES);
    if (!qemu_fflush(s->to_dst, NULL)) {
        return; /* whoever sends next finds out why */
    }
    wait_for(s, answered_about_holes, &left_ms);
    s->target_notes_pages = atomic_load(&s->rp.notes_pages);
}

void migration_agree_on_holes(MigrationState *s)
{
    s->rest_is_zero = false;
    s->target_notes_pages = false;
    ask_target(s);
    ram_save_state()->skip_holes = s->target_notes_pages ||
                                   migrate_omit_holes();
}

void migration_end_first_pass(MigrationState *s)
{
    if (s->target_notes_pages && !s->rest_is_zero) {
        s->rest_is_zero = true;
        stream_put_ping(s->to_dst, OWN_KIND_REST_IS_ZERO);
    }
}
