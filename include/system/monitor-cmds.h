/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of human commands that live in system/; start-up adds them.
 *
 * Used by: system/main.c. Uses: monitor-sink.h.
 */
#ifndef SYSTEM_MONITOR_CMDS_H
#define SYSTEM_MONITOR_CMDS_H

#include "qemu/monitor-sink.h"

extern const HMPCommand hmp_system_commands[]; /* run state */
extern const HMPCommand hmp_system_info_commands[];
extern const HMPCommand hmp_cpu_commands[]; /* cpu */
extern const HMPCommand hmp_cpu_info_commands[];
extern const HMPCommand hmp_log_commands[]; /* log, trace points */
extern const HMPCommand hmp_log_info_commands[];
extern const HMPCommand hmp_memory_commands[]; /* x, xp, memsave, ... */
extern const HMPCommand hmp_memory_info_commands[];
extern const HMPCommand hmp_dirty_rate_commands[]; /* dirty rate and limits */
extern const HMPCommand hmp_dirty_rate_info_commands[];
extern const HMPCommand hmp_dirty_info_commands[]; /* dirty tracking */

/* The `complete` of an argument that is a vCPU's index. */
void hmp_complete_cpu_index(HMPCompletion *c, const char *const *words,
                            unsigned n);

#endif /* SYSTEM_MONITOR_CMDS_H */
