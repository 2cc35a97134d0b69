/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The human monitor's commands that devices answer.
 *
 * Used by: system/main.c. Uses: monitor-sink.h.
 */
#ifndef HW_HMP_H
#define HW_HMP_H

#include "qemu/monitor-sink.h"

extern const HMPCommand hmp_hw_commands[];
extern const HMPCommand hmp_hw_info_commands[];

#endif /* HW_HMP_H */
