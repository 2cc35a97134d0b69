/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of human commands that live in hw/; start-up adds them.
 *
 * Used by: system/main.c. Uses: monitor-sink.h.
 */
#ifndef HW_MONITOR_CMDS_H
#define HW_MONITOR_CMDS_H

#include "qemu/monitor-sink.h"

extern const HMPCommand hmp_machine_commands[];
extern const HMPCommand hmp_machine_info_commands[];

#endif /* HW_MONITOR_CMDS_H */
