/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The XSAVE area in its standard format (Intel SDM vol. 1, 13.4), in which the
 * kernel gives and takes FPU and vector registers.
 *
 *   0..511    legacy area: x87, MXCSR, XMM       component 0, 1
 *   512..575  header: u64 XSTATE_BV, the rest 0
 *   then each component where CPUID leaf 0xd says that this host has it
 *
 * Components that a vCPU of ours can have are those that CPUX86State has
 * fields for: x86_xsave_known.
 *
 * Used by: accel/kvm, target/i386. Uses: cpu.h.
 */
#ifndef TARGET_I386_XSAVE_H
#define TARGET_I386_XSAVE_H

#include "target/i386/cpu.h"
#include "target/i386/cpuid.h"

#define X86_XSAVE_HEADER_END 576

enum {
    XSAVE_X87 = 0,
    XSAVE_SSE = 1,
    XSAVE_AVX = 2,
    XSAVE_OPMASK = 5,
    XSAVE_ZMM_HI256 = 6,
    XSAVE_HI16_ZMM = 7,
    XSAVE_PKRU = 9,
};

extern const uint64_t x86_xsave_known;
/* "avx", "opmask", ...; "component N" for others. Caller frees. */
char *x86_xsave_component_name(unsigned component);

/*
 * The offset of @component in an area by @cpuid's leaf 0xd; 0: it has none.
 * Sizes are checked: one that is not what the field holds counts as none.
 */
uint32_t x86_xsave_offset(const X86Cpuid *cpuid, unsigned component);

/*
 * Between @env and an area of @size bytes laid out by @cpuid. Components that
 * do not lie in it are left alone: to_env then takes them for initial.
 * to_area writes all 576 bytes and the components of env->xstate_bv.
 */
void x86_xsave_to_env(CPUX86State *env, const uint8_t *area, size_t size,
                      const X86Cpuid *cpuid);
void x86_xsave_to_area(const CPUX86State *env, uint8_t *area, size_t size,
                       const X86Cpuid *cpuid);

#endif /* TARGET_I386_XSAVE_H */
