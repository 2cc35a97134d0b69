/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PSTATE and what follows from it: see cpu.h.
 */
#include "qemu/osdep.h"

#include "target/arm/cpu.h"

/* Index of the stack pointer that @pstate uses. */
static int sp_index(uint32_t pstate)
{
    return pstate & PSTATE_SP ? (pstate & PSTATE_EL) >> 2 : 0;
}

static void switch_sp(CPUARMState *env, uint32_t old, uint32_t new)
{
    env->sp_el[sp_index(old)] = env->xregs[31];
    env->xregs[31] = env->sp_el[sp_index(new)];
}

void arm_pstate_write(CPUARMState *env, uint32_t val)
{
    uint32_t old = env->pstate;

    arm_nzcv_write(env, val);
    env->daif = val & PSTATE_DAIF;
    env->pstate = val & ~(PSTATE_NZCV | PSTATE_DAIF);
    switch_sp(env, old, env->pstate);
}

void arm_set_spsel(CPUARMState *env, bool sel)
{
    uint32_t old = env->pstate;

    env->pstate = (old & ~PSTATE_SP) | (sel ? PSTATE_SP : 0);
    switch_sp(env, old, env->pstate);
}

uint64_t arm_sp_read(const CPUARMState *env, int el)
{
    return el == sp_index(env->pstate) ? env->xregs[31] : env->sp_el[el];
}

void arm_sp_write(CPUARMState *env, int el, uint64_t val)
{
    env->sp_el[el] = val;
    if (el == sp_index(env->pstate)) {
        env->xregs[31] = val;
    }
}
