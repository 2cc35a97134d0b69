/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The XSAVE area: see include/target/i386/xsave.h. */
#include "qemu/osdep.h"

#include "target/i386/xsave.h"

/* Offsets in the legacy area (Intel SDM vol. 1, table 13-1). */
enum {
    LEGACY_FCW = 0,
    LEGACY_FSW = 2,
    LEGACY_FTW = 4, /* one bit a register, 1: in use */
    LEGACY_FOP = 6,
    LEGACY_FIP = 8,
    LEGACY_FDP = 16,
    LEGACY_MXCSR = 24,
    LEGACY_MXCSR_MASK = 28,
    LEGACY_ST = 32,   /* 8, 16 bytes each */
    LEGACY_XMM = 160, /* 16, 16 bytes each */
    LEGACY_END = 512,
    XSTATE_BV = 512,
};

/*
 * Components behind the header. Vector registers are spread over them; @rows
 * pieces of @row bytes are @stride bytes apart in CPUX86State.
 */
typedef struct Component {
    unsigned bit;
    const char *name;
    size_t offset, stride;
    unsigned rows, row;
} Component;

#define XMM_OFFSET(reg, word) \
    (offsetof(CPUX86State, xmm_regs) + (reg) * sizeof(ZMMReg) + (word)*8)

static const Component components[] = {
    { XSAVE_AVX, "avx", XMM_OFFSET(0, 2), sizeof(ZMMReg), 16, 16 },
    { XSAVE_OPMASK, "opmask", offsetof(CPUX86State, opmask_regs), 8, 8, 8 },
    { XSAVE_ZMM_HI256, "zmm_hi256", XMM_OFFSET(0, 4), sizeof(ZMMReg), 16, 32 },
    { XSAVE_HI16_ZMM, "hi16_zmm", XMM_OFFSET(16, 0), sizeof(ZMMReg), 16, 64 },
    { XSAVE_PKRU, "pkru", offsetof(CPUX86State, pkru), 8, 1, 8 },
};

const uint64_t x86_xsave_known = 1u << XSAVE_X87 | 1u << XSAVE_SSE |
                                 1u << XSAVE_AVX | 1u << XSAVE_OPMASK |
                                 1u << XSAVE_ZMM_HI256 | 1u << XSAVE_HI16_ZMM |
                                 1u << XSAVE_PKRU;

static const Component *find_component(unsigned bit)
{
    for (size_t i = 0; i < ARRAY_SIZE(components); i++) {
        if (components[i].bit == bit) {
            return &components[i];
        }
    }
    return NULL;
}

char *x86_xsave_component_name(unsigned component)
{
    const Component *c = find_component(component);

    if (component <= XSAVE_SSE) {
        return g_strdup(component == XSAVE_SSE ? "sse" : "x87");
    }
    return c ? g_strdup(c->name) : g_strdup_printf("component %u", component);
}

uint32_t x86_xsave_offset(const X86Cpuid *cpuid, unsigned component)
{
    const Component *c = find_component(component);
    const X86CpuidEntry *e = x86_cpuid_find(cpuid, 0xd, component);

    if (!c || !e || e->regs[X86_EAX] != c->rows * c->row ||
        e->regs[X86_EBX] < X86_XSAVE_HEADER_END ||
        (e->regs[X86_ECX] & 1) /* a supervisor's */) {
        return 0;
    }
    return e->regs[X86_EBX];
}

/* Where component @c lies in an area of @size bytes; NULL: it does not. */
static size_t component_place(const Component *c, size_t size,
                              const X86Cpuid *cpuid)
{
    size_t offset = x86_xsave_offset(cpuid, c->bit);

    return offset && offset + c->rows * c->row <= size ? offset : 0;
}

/* ---- area → env ---- */

static void legacy_to_env(CPUX86State *env, const uint8_t *area)
{
    uint8_t used = area[LEGACY_FTW];

    memcpy(&env->fpuc, area + LEGACY_FCW, 2);
    memcpy(&env->fpus, area + LEGACY_FSW, 2);
    memcpy(&env->fpop, area + LEGACY_FOP, 2);
    memcpy(&env->fpip, area + LEGACY_FIP, 8);
    memcpy(&env->fpdp, area + LEGACY_FDP, 8);
    memcpy(&env->mxcsr, area + LEGACY_MXCSR, 4);
    memcpy(&env->mxcsr_mask, area + LEGACY_MXCSR_MASK, 4);
    for (int i = 0; i < 8; i++) {
        env->fptags[i] = !(used >> i & 1);
        memcpy(&env->fpregs[i].mant, area + LEGACY_ST + 16 * i, 8);
        memcpy(&env->fpregs[i].exp, area + LEGACY_ST + 16 * i + 8, 2);
    }
    for (int i = 0; i < 16; i++) {
        memcpy(env->xmm_regs[i].q, area + LEGACY_XMM + 16 * i, 16);
    }
}

void x86_xsave_to_env(CPUX86State *env, const uint8_t *area, size_t size,
                      const X86Cpuid *cpuid)
{
    assert(size >= X86_XSAVE_HEADER_END);
    legacy_to_env(env, area);
    memcpy(&env->xstate_bv, area + XSTATE_BV, 8);
    env->xstate_bv &= x86_xsave_known;
    for (size_t i = 0; i < ARRAY_SIZE(components); i++) {
        const Component *c = &components[i];
        uint8_t *field = (uint8_t *)env + c->offset;
        size_t place = component_place(c, size, cpuid);

        if (!place) {
            env->xstate_bv &= ~(UINT64_C(1) << c->bit);
        }
        for (unsigned r = 0; r < c->rows; r++) {
            if (env->xstate_bv >> c->bit & 1) {
                memcpy(field + r * c->stride, area + place + r * c->row,
                       c->row);
            } else {
                memset(field + r * c->stride, 0, c->row);
            }
        }
    }
}

/* ---- env → area ---- */

static void legacy_to_area(const CPUX86State *env, uint8_t *area)
{
    memcpy(area + LEGACY_FCW, &env->fpuc, 2);
    memcpy(area + LEGACY_FSW, &env->fpus, 2);
    memcpy(area + LEGACY_FOP, &env->fpop, 2);
    memcpy(area + LEGACY_FIP, &env->fpip, 8);
    memcpy(area + LEGACY_FDP, &env->fpdp, 8);
    memcpy(area + LEGACY_MXCSR, &env->mxcsr, 4);
    memcpy(area + LEGACY_MXCSR_MASK, &env->mxcsr_mask, 4);
    for (int i = 0; i < 8; i++) {
        area[LEGACY_FTW] |= !env->fptags[i] << i;
        memcpy(area + LEGACY_ST + 16 * i, &env->fpregs[i].mant, 8);
        memcpy(area + LEGACY_ST + 16 * i + 8, &env->fpregs[i].exp, 2);
    }
    for (int i = 0; i < 16; i++) {
        memcpy(area + LEGACY_XMM + 16 * i, env->xmm_regs[i].q, 16);
    }
}

void x86_xsave_to_area(const CPUX86State *env, uint8_t *area, size_t size,
                       const X86Cpuid *cpuid)
{
    uint64_t bv = env->xstate_bv & x86_xsave_known;

    assert(size >= X86_XSAVE_HEADER_END);
    memset(area, 0, size);
    legacy_to_area(env, area);
    for (size_t i = 0; i < ARRAY_SIZE(components); i++) {
        const Component *c = &components[i];
        const uint8_t *field = (const uint8_t *)env + c->offset;
        size_t place = component_place(c, size, cpuid);

        if (!place) {
            bv &= ~(UINT64_C(1) << c->bit);
            continue;
        }
        for (unsigned r = 0; (bv >> c->bit & 1) && r < c->rows; r++) {
            memcpy(area + place + r * c->row, field + r * c->stride, c->row);
        }
    }
    memcpy(area + XSTATE_BV, &bv, 8);
}
