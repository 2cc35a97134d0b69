/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Global state: see globalstate.h for the contract and the bytes. */
#include "qemu/osdep.h"

#include "system/runstate.h"
#include "vmstate/savevm.h"

#include "globalstate.h"
#include "options.h"

typedef struct GlobalState {
    uint32_t size;
    uint8_t runstate[32];
    uint8_t has_vm_was_suspended;
    uint8_t vm_was_suspended;
    uint8_t unused[66];

    /* Not in the stream. */
    RunState state;
    bool received;
} GlobalState;

/* Singleton: the one section of that name. */
static GlobalState global_state;

void global_state_store(RunState state)
{
    const char *name = RunState_str(state);

    memset(&global_state, 0, sizeof(global_state));
    global_state.state = state;
    global_state.size = strlen(name) + 1;
    assert(global_state.size <= sizeof(global_state.runstate));
    memcpy(global_state.runstate, name, global_state.size);
    global_state.has_vm_was_suspended = 1;
    global_state.vm_was_suspended = state == RUN_STATE_SUSPENDED ||
                                    vm_get_suspended();
}

void global_state_reset(void)
{
    memset(&global_state, 0, sizeof(global_state));
}

bool global_state_received(RunState *state)
{
    if (global_state.received) {
        *state = global_state.state;
    }
    return global_state.received;
}

/* Without it a target starts the guest, which is right for these two. */
static bool global_state_needed(void *opaque)
{
    GlobalState *s = opaque;

    return migrate_store_global_state() ||
           (s->state != RUN_STATE_RUNNING && s->state != RUN_STATE_PAUSED);
}

static bool global_state_post_load(void *opaque, int version_id, Error **errp)
{
    GlobalState *s = opaque;
    char name[sizeof(s->runstate) + 1] = { 0 };

    memcpy(name, s->runstate, sizeof(s->runstate));
    if (!runstate_from_str(name, &s->state)) {
        g_autofree char *shown = g_strescape(name, NULL);

        error_setg(errp, "the source's run state '%s' is not known", shown);
        return false;
    }
    if (s->vm_was_suspended > 1) {
        error_setg(errp, "vm_was_suspended is %u, expected 0 or 1",
                   s->vm_was_suspended);
        return false;
    }
    s->received = true;
    vm_set_suspended(s->vm_was_suspended || s->state == RUN_STATE_SUSPENDED);
    return true;
}

static const VMStateDescription vmstate_globalstate = {
    .name = "globalstate",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = global_state_needed,
    .post_load = global_state_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(size, GlobalState),
            VMSTATE_BUFFER(runstate, GlobalState),
            VMSTATE_UINT8(has_vm_was_suspended, GlobalState),
            VMSTATE_UINT8(vm_was_suspended, GlobalState),
            VMSTATE_BUFFER(unused, GlobalState),
            VMSTATE_END_OF_LIST(),
        },
};

void global_state_register(void)
{
    vmstate_register(NULL, 0, &vmstate_globalstate, &global_state,
                     &error_abort);
}
