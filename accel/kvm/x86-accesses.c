/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which memory the instruction at which a vCPU stands may access: see
 * kvm_arch_accesses(). Good enough to find a page that is missing, no more.
 *
 * Candidates, as linear addresses that the guest's page tables translate:
 *
 *   the instruction itself
 *   the operand, if it is 64-bit code: prefixes, REX, VEX or EVEX, an opcode of
 *     1 to 3 bytes, ModRM, SIB, displacement (Intel SDM volume 2, chapter 2);
 *     taken as if every opcode had ModRM
 *   the stack, and where RSI, RDI and the other registers point to
 *
 * Of each the first and the last byte, as it may reach into the next page.
 */
#include "qemu/osdep.h"

#include "system/memory.h"

#include "kvm-arch.h"

#define INSN_MAX    15
#define OPERAND_MAX 64

/* Of the encoding. */
enum {
    REX_B = 1,
    REX_X = 2,
    REX_R = 4,
    RM_SIB = 4,
    RM_DISP = 5,
};

typedef struct Insn {
    uint8_t bytes[INSN_MAX];
    unsigned len, at;
    unsigned rex;
    int seg; /* KVM's FS or GS, by 1 and 2; 0: none */
    bool addr32;
} Insn;

typedef struct Finder {
    KvmVcpu *v;
    struct kvm_regs regs;
    struct kvm_sregs sregs;
    hwaddr *addr;
    unsigned n;
} Finder;

/* ---- addresses ---- */

static bool translate(KvmVcpu *v, uint64_t linear, hwaddr *addr)
{
    struct kvm_translation t = { .linear_address = linear };

    if (kvm_vcpu_ioctl(v, KVM_TRANSLATE, &t) < 0 || !t.valid) {
        return false;
    }
    *addr = t.physical_address;
    return true;
}

static void add(Finder *f, uint64_t linear, unsigned bytes)
{
    for (unsigned last = 0; last < 2; last++) {
        hwaddr addr;
        bool known = false;

        if (!translate(f->v, linear + (last ? bytes - 1 : 0), &addr)) {
            continue;
        }
        for (unsigned i = 0; i < f->n; i++) {
            known |= f->addr[i] >> 12 == addr >> 12;
        }
        if (!known && f->n < KVM_ARCH_ACCESSES_MAX) {
            f->addr[f->n++] = addr;
        }
    }
}

static uint64_t reg(const Finder *f, unsigned n)
{
    const struct kvm_regs *r = &f->regs;
    const uint64_t regs[16] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
                                r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
                                r->r12, r->r13, r->r14, r->r15 };

    return regs[n & 15];
}

/* ---- the operand ---- */

static uint8_t next_byte(Insn *in)
{
    return in->at < in->len ? in->bytes[in->at++] : 0;
}

static int32_t next_disp32(Insn *in)
{
    uint32_t v = 0;

    for (unsigned i = 0; i < 4; i++) {
        v |= (uint32_t)next_byte(in) << 8 * i;
    }
    return (int32_t)v;
}

static bool is_legacy_prefix(Insn *in, uint8_t b)
{
    switch (b) {
    case 0x64:
    case 0x65:
        in->seg = b - 0x63;
        return true;
    case 0x67:
        in->addr32 = true;
        return true;
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x66:
    case 0xf0:
    case 0xf2:
    case 0xf3:
        return true;
    default:
        return false;
    }
}

/* Up to ModRM. */
static void skip_opcode(Insn *in)
{
    uint8_t b = next_byte(in);

    while (is_legacy_prefix(in, b)) {
        b = next_byte(in);
    }
    if ((b & 0xf0) == 0x40) {
        in->rex = b & 0xf;
        b = next_byte(in);
    }
    if (b == 0xc5) { /* VEX of two bytes: then the opcode */
        in->rex = next_byte(in) & 0x80 ? 0 : REX_R;
        next_byte(in);
    } else if (b == 0xc4 || b == 0x62) { /* of three; EVEX of four */
        in->rex = ~next_byte(in) >> 5 & 7;
        next_byte(in);
        if (b == 0x62) {
            next_byte(in);
        }
        next_byte(in);
    } else if (b == 0x0f) {
        b = next_byte(in);
        if (b == 0x38 || b == 0x3a) {
            next_byte(in);
        }
    }
}

static uint64_t sib(const Finder *f, Insn *in, unsigned mod)
{
    uint8_t b = next_byte(in);
    unsigned base = b & 7, index = (b >> 3 & 7) | (in->rex & REX_X ? 8 : 0);
    uint64_t addr = index == 4 ? 0 : reg(f, index) << (b >> 6);

    if (base == RM_DISP && mod == 0) {
        return addr + (uint64_t)next_disp32(in);
    }
    return addr + reg(f, base | (in->rex & REX_B ? 8 : 0));
}

/* False: a register. Relative to RIP: as if nothing came behind. */
static bool operand(const Finder *f, Insn *in, uint64_t *linear)
{
    static const uint64_t none;
    const uint64_t bases[3] = { none, f->sregs.fs.base, f->sregs.gs.base };
    unsigned modrm, mod, rm;
    uint64_t addr;

    skip_opcode(in);
    modrm = next_byte(in);
    mod = modrm >> 6;
    rm = modrm & 7;
    if (mod == 3) {
        return false;
    }
    if (rm == RM_SIB) {
        addr = sib(f, in, mod);
    } else if (rm == RM_DISP && mod == 0) {
        addr = (uint64_t)next_disp32(in);
        addr += f->regs.rip + in->at;
    } else {
        addr = reg(f, rm | (in->rex & REX_B ? 8 : 0));
    }
    if (mod == 1) {
        addr += (uint64_t)(int8_t)next_byte(in);
    } else if (mod == 2) {
        addr += (uint64_t)next_disp32(in);
    }
    *linear = (in->addr32 ? (uint32_t)addr : addr) + bases[in->seg];
    return true;
}

/* ---- all ---- */

static void fetch(Finder *f, Insn *in)
{
    for (in->len = 0; in->len < INSN_MAX; in->len++) {
        hwaddr addr;

        if (!translate(f->v, f->sregs.cs.base + f->regs.rip + in->len, &addr) ||
            address_space_rw(&address_space_memory, addr,
                             MEMTXATTRS_UNSPECIFIED, &in->bytes[in->len], 1,
                             false) != MEMTX_OK) {
            return;
        }
    }
}

unsigned kvm_arch_accesses(KvmVcpu *v, hwaddr *addr)
{
    Finder f = { .v = v, .addr = addr };
    Insn in = { .len = 0 };
    uint64_t linear;

    if (kvm_vcpu_ioctl(v, KVM_GET_REGS, &f.regs) < 0 ||
        kvm_vcpu_ioctl(v, KVM_GET_SREGS, &f.sregs) < 0) {
        return 0;
    }
    fetch(&f, &in);
    if (f.sregs.cs.l && operand(&f, &in, &linear)) {
        add(&f, linear, OPERAND_MAX);
    }
    add(&f, f.sregs.cs.base + f.regs.rip, INSN_MAX);
    add(&f, f.sregs.ss.base + f.regs.rsp - 8, 16);
    add(&f, f.sregs.es.base + f.regs.rdi, 8);
    add(&f, f.sregs.ds.base + f.regs.rsi, 8);
    for (unsigned i = 0; i < 16; i++) {
        add(&f, reg(&f, i), 8);
    }
    return f.n;
}
