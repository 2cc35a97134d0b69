/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What cpus.c (threads) and cpu-common.c (the type) call of each other.
 *
 * Used by: these two. Uses: cpus.h.
 */
#ifndef SYSTEM_CPUS_INTERNAL_H
#define SYSTEM_CPUS_INTERNAL_H

#include "system/cpus.h"

/* Give @cpu the next index and put it on the list. BQL. */
void cpu_list_append(CPUState *cpu);
/* Start the thread and wait until it is there, stopped. BQL. */
bool cpu_start_thread(CPUState *cpu, Error **errp);

#endif /* SYSTEM_CPUS_INTERNAL_H */
