/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of target/i386 share.
 */
#ifndef TARGET_I386_INTERNALS_H
#define TARGET_I386_INTERNALS_H

#include "target/i386/x86-cpu.h"

/* ---- dump.c ---- */

void x86_cpu_dump_state(CPUState *cs, GString *out);

/* ---- translate.c ---- */

bool x86_cpu_translate_debug(CPUState *cs, vaddr addr, hwaddr *phys);

#endif /* TARGET_I386_INTERNALS_H */
