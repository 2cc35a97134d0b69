/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests that sleep, and waking them: see include/system/runstate.h. */
#include "qemu/osdep.h"

#include "qapi/qapi-events-run-state.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/reset.h"
#include "system/runstate.h"
#include "trace-system.h"

/* Guarded by the BQL. One VM per process. */
static struct {
    bool supported;
    uint32_t reasons; /* enabled ones */
    NotifierList notifiers;
} wakeup = { .reasons = 1u << WAKEUP_REASON_OTHER };

void qemu_system_wakeup_enable(WakeupReason reason, bool enabled)
{
    if (enabled) {
        wakeup.reasons |= 1u << reason;
    } else {
        wakeup.reasons &= ~(1u << reason);
    }
}

void qemu_register_wakeup_support(void)
{
    wakeup.supported = true;
}

bool qemu_wakeup_suspend_enabled(void)
{
    return wakeup.supported;
}

void qemu_register_wakeup_notifier(Notifier *notifier)
{
    notifier_list_add(&wakeup.notifiers, notifier);
}

bool qemu_system_wakeup_request(WakeupReason reason, Error **errp)
{
    assert(bql_locked() && !current_cpu);
    trace_system_wakeup_request(reason);
    if (!runstate_check(RUN_STATE_SUSPENDED)) {
        error_setg(errp, "Unable to wake up: guest is not in suspended state");
        return false;
    }
    if (!(wakeup.reasons & (1u << reason))) {
        return true;
    }
    qemu_system_wakeup_reset();
    notifier_list_notify(&wakeup.notifiers, &reason);
    runstate_set(RUN_STATE_RUNNING);
    resume_all_vcpus();
    qapi_event_send_wakeup();
    return true;
}
