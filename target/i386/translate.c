/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linear to physical addresses, for a debugger: no access rights, no accessed
 * and dirty bits, nothing but RAM is read.
 *
 * Intel SDM vol. 3, chapter 4:
 *
 *   mode         tables read, bits of the address      large pages
 *   32-bit       10, 10        entries of 4 bytes      4 MiB, with CR4.PSE
 *   PAE          2, 9, 9       8 bytes                 2 MiB
 *   4-level      9, 9, 9, 9    8 bytes                 1 GiB, 2 MiB
 *   5-level      9 and these                           the same
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "system/memory.h"

#define PTE_P 0x001u
#define PTE_S 0x080u /* maps a page, not a table */

/* Bits 12..51 of an entry. */
#define PTE_ADDRESS UINT64_C(0x000ffffffffff000)

static uint64_t address_bits(const CPUX86State *env, hwaddr addr)
{
    return addr & (uint64_t)(int64_t)env->a20_mask;
}

/* Entry of @size bytes; 0 (not present) where there is no RAM. */
static uint64_t read_entry(CPUState *cs, hwaddr addr, unsigned size)
{
    uint8_t raw[8] = { 0 };
    uint64_t value = 0;

    addr = address_bits(x86_cpu_env(cs), addr);
    if (!address_space_read_ram(cs->as, addr, raw, size)) {
        return 0;
    }
    for (unsigned i = size; i-- > 0;) {
        value = value << 8 | raw[i];
    }
    return value;
}

static bool walk_32bit(CPUState *cs, vaddr addr, hwaddr *phys)
{
    const CPUX86State *env = x86_cpu_env(cs);
    uint32_t va = addr;
    uint64_t entry = read_entry(cs, (env->cr[3] & 0xfffff000u) + (va >> 22) * 4,
                                4);

    if (!(entry & PTE_P)) {
        return false;
    }
    if ((entry & PTE_S) && (env->cr[4] & CR4_PSE_MASK)) {
        /* PSE-36: bits 13..20 are bits 32..39 of the address. */
        *phys = (entry & 0xffc00000u) | (entry & 0x1fe000u) << 19 |
                (va & 0x3fffffu);
        return true;
    }
    entry = read_entry(cs, (entry & 0xfffff000u) + (va >> 12 & 0x3ff) * 4, 4);
    if (!(entry & PTE_P)) {
        return false;
    }
    *phys = (entry & 0xfffff000u) | (va & 0xfffu);
    return true;
}

/*
 * From @table down, @shift: the lowest bit of the address that its index has.
 * Entries of a table with @shift over 30 cannot map a page.
 */
static bool walk_64bit(CPUState *cs, uint64_t table, unsigned shift, vaddr addr,
                       hwaddr *phys)
{
    for (;; shift -= 9) {
        uint64_t mask = (UINT64_C(1) << shift) - 1;
        uint64_t entry = read_entry(cs, table + (addr >> shift & 0x1ff) * 8, 8);

        if (!(entry & PTE_P)) {
            return false;
        }
        table = entry & PTE_ADDRESS;
        if (shift == 12 || (shift <= 30 && (entry & PTE_S))) {
            *phys = (table & ~mask) | (addr & mask);
            return true;
        }
    }
}

static bool walk_pae(CPUState *cs, vaddr addr, hwaddr *phys)
{
    const CPUX86State *env = x86_cpu_env(cs);
    unsigned index = addr >> 30 & 3;
    uint64_t entry = env->pdptrs_valid
                         ? env->pdptrs[index]
                         : read_entry(cs, (env->cr[3] & ~0x1full) + index * 8,
                                      8);

    return (entry & PTE_P) &&
           walk_64bit(cs, entry & PTE_ADDRESS, 21, (uint32_t)addr, phys);
}

static bool is_canonical(vaddr addr, unsigned bits)
{
    int64_t high = (int64_t)addr >> (bits - 1);

    return high == 0 || high == -1;
}

bool x86_cpu_translate_debug(CPUState *cs, vaddr addr, hwaddr *phys)
{
    const CPUX86State *env = x86_cpu_env(cs);
    bool la57 = env->cr[4] & CR4_LA57_MASK;
    bool mapped;

    if (!(env->cr[0] & CR0_PG_MASK)) {
        *phys = (uint32_t)addr;
        mapped = true;
    } else if (env->efer & MSR_EFER_LMA) {
        mapped = is_canonical(addr, la57 ? 57 : 48) &&
                 walk_64bit(cs, env->cr[3] & PTE_ADDRESS, la57 ? 48 : 39, addr,
                            phys);
    } else if (env->cr[4] & CR4_PAE_MASK) {
        mapped = walk_pae(cs, addr, phys);
    } else {
        mapped = walk_32bit(cs, addr, phys);
    }
    if (mapped) {
        *phys = address_bits(env, *phys);
    }
    return mapped;
}
