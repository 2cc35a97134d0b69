/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sandbox: a filter of system calls over the whole process (seccomp mode 2).
 *
 * What a VMM never needs is denied, so that whoever takes it over by a guest's
 * or a peer's bytes gets no further by it. The filter holds for every thread
 * there is and will be, and for commands that are started; it cannot be taken
 * off. The groups are a table in sandbox.c; docs/using.rst lists it.
 *
 * A call of the groups `default`, `obsolete` and `privileges` kills the process
 * (SIGSYS); one of `spawn` and `resources` fails with EPERM.
 *
 * Threads: the main thread, before there are others that matter; the question
 * at the end: any.
 *
 * Used by: system/main.c, migration. Uses: util, libseccomp.
 */
#ifndef SYSTEM_SANDBOX_H
#define SYSTEM_SANDBOX_H

#include "qemu/error.h"

/* What -sandbox asks for. Nothing is denied unless it is enabled. */
typedef struct SandboxConfig {
    bool enabled;
    bool allow_obsolete;
    bool deny_privileges;
    bool deny_spawn;
    bool deny_resources;
} SandboxConfig;

/**
 * sandbox_enter: install the filter
 *
 * @privileges_later: this process itself has to change user or root yet; what
 *                    denies that waits for sandbox_seal()
 *
 * False with @errp: the kernel or this build has no filters.
 */
bool sandbox_enter(const SandboxConfig *config, bool privileges_later,
                   Error **errp);
/* Install what sandbox_enter() left out, if anything. */
bool sandbox_seal(const SandboxConfig *config, Error **errp);

/* False with @errp: no command can be started. Any thread. */
bool sandbox_check_spawn(Error **errp);

#endif /* SYSTEM_SANDBOX_H */
