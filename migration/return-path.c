/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Return path: see return-path.h, and stream-format.h for the bytes. */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "own-kind.h"
#include "return-path.h"
#include "stream-format.h"
#include "trace-migration.h"

static bool send_u32(QEMUFile *rp, enum MigRpMessage type, uint32_t value,
                     Error **errp)
{
    qemu_put_be16(rp, type);
    qemu_put_be16(rp, sizeof(value));
    qemu_put_be32(rp, value);
    return qemu_fflush(rp, errp);
}

bool return_path_send_pong(QEMUFile *rp, uint32_t value, Error **errp)
{
    return send_u32(rp, MIG_RP_MSG_PONG, value, errp);
}

bool return_path_send_shut(QEMUFile *rp, uint32_t value, Error **errp)
{
    return send_u32(rp, MIG_RP_MSG_SHUT, value, errp);
}

static void note_private(ReturnPath *rp, uint32_t pong)
{
    MigrationStats *stats = rp->stats;
    int64_t ns = (int64_t)own_kind_value(pong) * 1000;

    switch (own_kind_tag(pong)) {
    case OWN_KIND_EXPECT_US:
        atomic_store(&rp->expect_restore_us, own_kind_value(pong));
        break;
    case OWN_KIND_HOLES:
        atomic_store(&rp->notes_pages, own_kind_value(pong) == 1);
        break;
    case OWN_KIND_DEVICES_US: {
        QEMU_LOCK_GUARD(&stats->lock);
        stats->blackout.restore_devices_ns = ns;
        break;
    }
    case OWN_KIND_START_US: {
        QEMU_LOCK_GUARD(&stats->lock);
        stats->blackout.restore_start_ns = ns;
        break;
    }
    default:
        break; /* a later version of ours may know more */
    }
}

static void handle_pong(ReturnPath *rp, uint32_t value)
{
    if (value == OWN_KIND_ANSWER) {
        QEMU_LOCK_GUARD(&rp->stats->lock);
        rp->stats->peer_is_own_kind = true;
        atomic_store(&rp->own_kind, true);
    } else if (atomic_load(&rp->own_kind)) {
        note_private(rp, value);
    }
    /* Last: who sees it sees what it says. */
    atomic_store(&rp->last_pong, value);
    qemu_event_set(&rp->pong);
}

/* One message. Sets *@end at SHUT. */
static bool handle_message(ReturnPath *rp, bool *end, Error **errp)
{
    unsigned type = qemu_get_be16(rp->f), len = qemu_get_be16(rp->f);
    uint32_t value;

    if (!qemu_file_check(rp->f, errp)) {
        return false;
    }
    if (type != MIG_RP_MSG_SHUT && type != MIG_RP_MSG_PONG) {
        error_setg(errp,
                   "message of type %u (%u bytes) on the return path, expected "
                   "1 (shut) or 2 (pong)",
                   type, len);
        return false;
    }
    if (len != sizeof(value)) {
        error_setg(errp,
                   "message of type %u with %u bytes on the return path, "
                   "expected 4",
                   type, len);
        return false;
    }
    value = qemu_get_be32(rp->f);
    if (!qemu_file_check(rp->f, errp)) {
        return false;
    }
    if (type == MIG_RP_MSG_PONG) {
        trace_source_return_path_thread_pong(value);
        handle_pong(rp, value);
        return true;
    }
    trace_source_return_path_thread_shut(value);
    rp->got_shut = true;
    rp->shut_value = value;
    *end = true;
    return true;
}

static void *return_path_thread(void *opaque)
{
    ReturnPath *rp = opaque;
    bool end = false, ok = true;

    while (ok && !end) {
        ok = handle_message(rp, &end, &rp->err);
    }
    if (!ok || rp->shut_value != 0) {
        rp->lost(rp->opaque);
    }
    qemu_event_set(&rp->pong);
    qemu_event_set(&rp->ended);
    return NULL;
}

bool return_path_start(ReturnPath *rp, QEMUFile *f, MigrationStats *stats,
                       void (*lost)(void *opaque), void *opaque, Error **errp)
{
    *rp = (ReturnPath){
        .f = f,
        .stats = stats,
        .lost = lost,
        .opaque = opaque,
    };
    qemu_event_init(&rp->ended, false);
    qemu_event_init(&rp->pong, false);
    rp->started = qemu_thread_create(&rp->thread, "mig/src/return",
                                     return_path_thread, rp,
                                     QEMU_THREAD_JOINABLE, errp);
    if (!rp->started) {
        qemu_event_destroy(&rp->ended);
        qemu_event_destroy(&rp->pong);
        qemu_fclose(f, NULL);
        rp->f = NULL;
    }
    return rp->started;
}

bool return_path_wait(ReturnPath *rp, int ms)
{
    if (ms < 0) {
        qemu_event_wait(&rp->ended);
        return true;
    }
    return qemu_event_timedwait(&rp->ended, ms);
}

uint32_t return_path_next_pong(ReturnPath *rp, uint32_t old, int ms)
{
    qemu_event_reset(&rp->pong);
    if (atomic_load(&rp->last_pong) == old) {
        qemu_event_timedwait(&rp->pong, ms);
    }
    return atomic_load(&rp->last_pong);
}

bool return_path_wait_pong(ReturnPath *rp, uint32_t value, int ms)
{
    qemu_event_reset(&rp->pong);
    if (atomic_load(&rp->last_pong) != value) {
        qemu_event_timedwait(&rp->pong, ms);
    }
    return atomic_load(&rp->last_pong) == value;
}

void return_path_stop(ReturnPath *rp)
{
    if (!rp->started) {
        return;
    }
    qemu_thread_join(&rp->thread);
    rp->started = false;
    qemu_event_destroy(&rp->ended);
    qemu_event_destroy(&rp->pong);
    qemu_fclose(rp->f, NULL);
    rp->f = NULL;
}
