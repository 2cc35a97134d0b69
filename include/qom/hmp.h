/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HMP commands of the object model: object_add, qom-list and their kin.
 *
 * Threads: handlers run in the main loop, under the BQL.
 *
 * Used by: system/main.c, which adds the tables. Uses: monitor-sink.h.
 */
#ifndef QOM_HMP_H
#define QOM_HMP_H

#include "qemu/monitor-sink.h"

extern const HMPCommand hmp_qom_commands[];
extern const HMPCommand hmp_qom_info_commands[]; /* what follows "info" */

#endif /* QOM_HMP_H */
