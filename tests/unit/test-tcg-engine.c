/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The software engine beyond single instructions: code that changes, MMIO and
 * faults, interrupts, sleeping, several vCPUs at once.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "target/arm/syndrome.h"
#include "native.h"
#include "tcg-harness.h"

#define CODE   (GUEST_RAM_BASE + 0x200000)
#define CODE2  (GUEST_RAM_BASE + 0x210000)
#define FUNC   (GUEST_RAM_BASE + 0x220000)
#define DATA   (GUEST_RAM_BASE + 0x300000)
#define DEVICE 0x10000000

/* The first of each pair has native code, the other is interpreted. */
static TcgVcpu *va, *vb, *vmax, *vmax2;

static void regs(TcgVcpu *v, uint64_t x0, uint64_t x1)
{
    v->env->xregs[0] = x0;
    v->env->xregs[1] = x1;
}

/* ---- code that changes ---- */

/* As the architecture wants it: store, clean, invalidate, barriers. */
static void test_code_written_by_itself(void)
{
    unsigned i;

    GUEST_CODE(CODE, 0xb9000022, 0xd50b7b21, 0xd5033b9f, 0xd50b7521, 0xd5033b9f,
               0xd5033fdf, 0x14000001, A64_WORD_MOVZ(0, 1), A64_WORD_WFI);
    for (i = 2; i < 50; i++) {
        regs(va, 0, CODE + 28);
        va->env->xregs[2] = A64_WORD_MOVZ(0, i);
        guest_run(va, CODE);
        g_assert_cmpuint(va->env->xregs[0], ==, i);
    }
}

/*
 * One vCPU rewrites a function, then publishes its number; the other one
 * reads the number, does an ISB and calls: it must get that version, or the
 * next one, which may be there already. Then it lets the first go on.
 */
static void test_code_written_by_another_vcpu(void)
{
    GuestThread ta, tb;
    unsigned last = 3000;

    GUEST_CODE(FUNC, A64_WORD_MOVZ(0, 0), 0xd65f03c0);
    guest_write64(DATA, 0);
    guest_write64(DATA + 8, 0);
    /*
     * 1: add x4, x4, #1 ; add x3, x3, #32 ; str w3, [x2] ; stlr x4, [x1]
     * 2: ldr x7, [x1, #8] ; cmp x7, x4 ; b.ne 2b ; cmp x4, x6 ; b.lo 1b
     */
    GUEST_CODE(CODE, 0x91000484, 0x91008063, 0xb9000043, 0xc89ffc24, 0xf9400427,
               0xeb0400ff, 0x54ffffc1, 0xeb06009f, 0x54ffff03, A64_WORD_WFI);
    /*
     * 1: ldar x3, [x1] ; isb ; blr x10 ; cmp x0, x3 ; b.lo bad
     *    str x3, [x1, #8] ; cmp x3, x6 ; b.lo 1b ; wfi ; bad: brk #1
     */
    GUEST_CODE(CODE2, 0xc8dffc23, 0xd5033fdf, 0xd63f0140, 0xeb03001f,
               0x540000a3, 0xf9000423, 0xeb06007f, 0x54ffff23, A64_WORD_WFI,
               A64_WORD_BRK(1));
    regs(va, 0, DATA);
    va->env->xregs[2] = FUNC;
    va->env->xregs[3] = A64_WORD_MOVZ(0, 0);
    va->env->xregs[4] = 0;
    va->env->xregs[6] = last;
    regs(vb, 0, DATA);
    vb->env->xregs[6] = last;
    vb->env->xregs[10] = FUNC;
    guest_start(&tb, vb, CODE2);
    guest_start(&ta, va, CODE);
    guest_join(&ta);
    guest_join(&tb);
    g_assert_cmphex(vb->env->sys.esr_el1, ==, 0);
    g_assert_cmpuint(vb->env->xregs[0], ==, last);
    g_test_message("%" PRIu64 " blocks made",
                   atomic_load(&vb->stats.blocks_made));
}

/* A device (qtest, the loader) writes into a loop that never ends. */
static void test_code_written_by_device(void)
{
    uint32_t wfi = A64_WORD_WFI;
    GuestThread t;
    unsigned i;

    for (i = 0; i < 20; i++) {
        GUEST_CODE(CODE, A64_WORD_NOP, A64_WORD_ADDI(0, 0, 1), A64_WORD_B(-2));
        guest_write64(DATA, 0);
        guest_start(&t, va, CODE);
        g_usleep(500);
        if (i & 1) {
            guest_write(CODE, &wfi, 4);
        } else {
            address_space_write_rom(&address_space_memory, CODE,
                                    MEMTXATTRS_UNSPECIFIED, &wfi, 4);
        }
        guest_join(&t);
    }
}

/* Stores beside code in the same page do not throw it away. */
static void test_data_beside_code(void)
{
    uint64_t blocks;

    /* 1: str x2,[x1] ; subs x0,x0,#1 ; b.ne 1b ; wfi */
    GUEST_CODE(CODE, A64_WORD_STR(2, 1), 0xf1000400, 0x54ffffc1, A64_WORD_WFI);
    regs(va, 100, CODE + 0x800);
    guest_run(va, CODE);
    blocks = atomic_load(&va->stats.blocks_made);
    regs(va, 10000, CODE + 0x800);
    guest_run(va, CODE);
    g_assert_cmpuint(atomic_load(&va->stats.blocks_made), ==, blocks);
    /* But the granule of the code is watched. */
    regs(va, 1, CODE + 16);
    guest_run(va, CODE);
    regs(va, 1, CODE + 0x800);
    guest_run(va, CODE);
    g_assert_cmpuint(atomic_load(&va->stats.blocks_made), >, blocks);
}

/* More code than the cache holds. */
static void test_cache_overflow(void)
{
    unsigned n = 1u << 19, i, round;
    uint32_t *words = g_new(uint32_t, n);
    uint64_t flushes = atomic_load(&va->stats.flushes);

    for (i = 0; i < n; i++) {
        words[i] = A64_WORD_B(1);
    }
    words[n - 1] = A64_WORD_WFI;
    guest_write(GUEST_RAM_BASE + 0x2000000, words, n * 4);
    for (round = 0; round < 2; round++) {
        g_assert_cmphex(guest_run(va, GUEST_RAM_BASE + 0x2000000), ==, 0);
    }
    g_assert_cmpuint(atomic_load(&va->stats.flushes), >, flushes + 1);
    g_free(words);
}

/* ---- MMIO and faults ---- */

static struct {
    hwaddr addr;
    uint64_t data;
    unsigned size;
    bool is_write;
    unsigned n;
} seen;

static MemTxResult dev_read(void *opaque, hwaddr addr, uint64_t *data,
                            unsigned size, MemTxAttrs attrs)
{
    seen.addr = addr;
    seen.size = size;
    seen.is_write = false;
    seen.n++;
    g_assert_true(bql_locked());
    *data = UINT64_C(0x8877665544332211);
    return addr == 0x800 ? MEMTX_ERROR : MEMTX_OK;
}

static MemTxResult dev_write(void *opaque, hwaddr addr, uint64_t data,
                             unsigned size, MemTxAttrs attrs)
{
    seen.addr = addr;
    seen.size = size;
    seen.data = data;
    seen.is_write = true;
    seen.n++;
    return addr == 0x800 ? MEMTX_ERROR : MEMTX_OK;
}

static const MemoryRegionOps dev_ops = {
    .read_with_attrs = dev_read,
    .write_with_attrs = dev_write,
    .valid = { 1, 8 },
    .impl = { 1, 8 },
};

static uint32_t run_one(TcgVcpu *v, uint32_t word)
{
    GUEST_CODE(CODE, word, A64_WORD_WFI);
    return guest_run(v, CODE);
}

static void test_mmio(void)
{
    regs(va, 0, DEVICE);
    g_assert_cmphex(run_one(va, 0xb9400422), ==, 0); /* ldr w2, [x1, #4] */
    g_assert_cmphex(va->env->xregs[2], ==, 0x44332211);
    g_assert_cmphex(seen.addr, ==, 4);
    g_assert_cmpuint(seen.size, ==, 4);
    g_assert_cmphex(run_one(va, 0x39400022), ==, 0); /* ldrb w2, [x1] */
    g_assert_cmphex(va->env->xregs[2], ==, 0x11);
    g_assert_cmpuint(seen.size, ==, 1);
    va->env->xregs[2] = UINT64_C(0x123456789abcdef0);
    g_assert_cmphex(run_one(va, 0xf9000022), ==, 0); /* str x2, [x1] */
    g_assert_true(seen.is_write);
    g_assert_cmphex(seen.data, ==, UINT64_C(0x123456789abcdef0));
    g_assert_cmphex(run_one(va, 0x79000022), ==, 0); /* strh w2, [x1] */
    g_assert_cmphex(seen.data & 0xffff, ==, 0xdef0);
    g_assert_cmpuint(seen.size, ==, 2);
    g_assert_cmphex(run_one(va, 0xc8dffc22), ==, 0); /* ldar x2, [x1] */
    g_assert_cmpuint(seen.size, ==, 8);
    /* Atomics need memory. */
    g_assert_cmphex(run_one(va, 0xc85ffc22), ==, 0x96000035); /* ldaxr */
    g_assert_cmphex(va->env->sys.far_el1, ==, DEVICE);
}

static void test_external_aborts(void)
{
    /* The device refuses: external, EA set. */
    regs(va, 0, DEVICE + 0x800);
    g_assert_cmphex(run_one(va, A64_WORD_LDR(2, 1)), ==, 0x96000210);
    g_assert_cmphex(run_one(va, A64_WORD_STR(2, 1)), ==, 0x96000250);
    /* Nothing there. */
    regs(va, 0, 0x20000008);
    g_assert_cmphex(run_one(va, A64_WORD_LDR(2, 1)), ==, 0x96000010);
    g_assert_cmphex(va->env->sys.far_el1, ==, 0x20000008);
    g_assert_cmphex(run_one(va, A64_WORD_STR(2, 1)), ==, 0x96000050);
    /* Above the physical address size. */
    regs(va, 0, UINT64_C(1) << 50);
    g_assert_cmphex(run_one(va, A64_WORD_LDR(2, 1)), ==, 0x96000000);
    /* Code that is not there, and in a device. */
    g_assert_cmphex(guest_run(va, 0x20000000), ==, 0x86000010);
    g_assert_cmphex(va->env->sys.far_el1, ==, 0x20000000);
    g_assert_cmphex(va->env->elr_el[1], ==, 0x20000000);
    g_assert_cmphex(guest_run(va, DEVICE), ==, 0x86000010);
}

static void test_rom(void)
{
    MemoryRegion rom;
    uint64_t data = 0x1234;

    memory_region_init_rom(&rom, NULL, "rom", 0x1000, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0x11000000, &rom);
    address_space_write_rom(&address_space_memory, 0x11000000,
                            MEMTXATTRS_UNSPECIFIED, &data, 8);
    regs(va, 0, 0x11000000);
    g_assert_cmphex(run_one(va, A64_WORD_LDR(2, 1)), ==, 0);
    g_assert_cmphex(va->env->xregs[2], ==, 0x1234);
    /* The entry that the load made must not serve the store. */
    g_assert_cmphex(run_one(va, A64_WORD_STR(0, 1)), ==, 0x96000050);
    g_assert_cmphex(guest_read64(0x11000000), ==, 0x1234);
    memory_region_del_subregion(get_system_memory(), &rom);
    memory_region_destroy(&rom);
}

static void test_alignment(void)
{
    uint64_t sctlr = va->env->sys.sctlr_el1;

    regs(va, 0, DATA);
    g_assert_cmphex(run_one(va, 0xf8401022), ==, 0); /* ldur x2, [x1, #1] */
    va->env->sys.sctlr_el1 = sctlr | SCTLR_A;
    g_assert_cmphex(run_one(va, 0xf8401022), ==, 0x96000021);
    g_assert_cmphex(va->env->sys.far_el1, ==, DATA + 1);
    /* Without translation memory counts as a device. */
    va->env->sys.sctlr_el1 = sctlr & ~SCTLR_M;
    g_assert_cmphex(run_one(va, 0xf8401022), ==, 0x96000021);
    /* The stack pointer, if asked for. */
    va->env->sys.sctlr_el1 = sctlr | SCTLR_SA;
    arm_sp_write(va->env, 0, DATA + 8);
    g_assert_cmphex(run_one(va, 0xf94003e0), ==, syn_sp_alignment());
    va->env->sys.sctlr_el1 = sctlr & ~SCTLR_SA;
    arm_sp_write(va->env, 0, DATA + 8);
    g_assert_cmphex(run_one(va, 0xf94003e0), ==, 0);
    va->env->sys.sctlr_el1 = sctlr;
}

/* Undefined for lack of the feature, of rights, or of ourselves; said so. */
static void test_unknown_instructions(void)
{
    g_autofree char *path = NULL;
    g_autofree char *text = NULL;
    int fd = g_file_open_tmp("unimp-XXXXXX", &path, NULL);

    close(fd);
    qemu_set_log_filename_flags(path, LOG_UNIMP, &error_abort);
    va->env->sys.cpacr_el1 = 0;
    g_assert_cmphex(run_one(va, 0x1e622820), ==, syn_fp_access_trap());
    va->env->sys.cpacr_el1 = 3 << 20;
    g_assert_cmphex(run_one(va, 0x1e622820), ==, syn_uncategorized());
    va->env->sys.cpacr_el1 = 0;
    g_assert_cmphex(run_one(va, 0xf8220023), ==, syn_uncategorized());
    g_assert_cmphex(run_one(va, 0xd538f0e9), ==, syn_uncategorized());
    qemu_set_log(0, &error_abort);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "1e622820"));
    g_assert_nonnull(strstr(text, "f8220023"));
    g_assert_nonnull(strstr(text, "system register"));
    unlink(path);
}

/* ---- exception levels ---- */

static void test_el0(void)
{
    CPUARMState *env = va->env;

    /* eret to EL0 at CODE2: svc #1 there, and a privileged read. */
    GUEST_CODE(CODE, 0xd69f03e0);
    GUEST_CODE(CODE2, 0xd4000021, 0xd5381000);
    env->banked_spsr[BANKED_SPSR_EL1] = PSTATE_N | PSTATE_C;
    env->elr_el[1] = CODE2;
    g_assert_cmphex(guest_run(va, CODE), ==, syn_aa64_svc(1));
    g_assert_cmphex(env->elr_el[1], ==, CODE2 + 4);
    g_assert_cmphex(env->banked_spsr[BANKED_SPSR_EL1], ==, PSTATE_N | PSTATE_C);
    /* From a lower EL: the third group of vectors. */
    g_assert_cmphex(env->pc, ==, GUEST_VECTORS + 0x400 + 4);
    env->banked_spsr[BANKED_SPSR_EL1] = 0;
    g_assert_cmphex(guest_run(va, CODE), ==, syn_uncategorized());
    g_assert_cmphex(env->elr_el[1], ==, CODE2 + 4);
    /* An illegal return: to AArch32. */
    env->banked_spsr[BANKED_SPSR_EL1] = PSTATE_NRW;
    env->elr_el[1] = CODE2;
    g_assert_cmphex(guest_run(va, CODE), ==, syn_illegal_state());
    g_assert_cmphex(env->elr_el[1], ==, CODE2);
}

/* ---- interrupts, sleep ---- */

#define IRQ_VECTORS (GUEST_RAM_BASE + 0x110000)

static uint64_t wait_nonzero(hwaddr addr)
{
    unsigned i;

    for (i = 0; guest_read64(addr) == 0; i++) {
        g_assert_cmpuint(i, <, 10000);
        g_usleep(1000);
    }
    return guest_read64(addr);
}

/* A loop is left for an interrupt, and only if it is unmasked. */
static void test_interrupt(void)
{
    CPUARMState *env = va->env;
    GuestThread t;
    uint64_t elr;

    /* mrs x9, elr_el1 ; str x9, [x8] ; b . */
    GUEST_CODE(IRQ_VECTORS + 0x80, 0xd5384029, A64_WORD_STR(9, 8),
               A64_WORD_B(0));
    /*
     * 1: cbz x0, 1b (masked: x0 from memory) : ldr x0,[x1] ; cbz x0, .-4 ;
     * msr daifclr, #2 ; b .
     */
    GUEST_CODE(CODE, A64_WORD_LDR(0, 1), 0xb4ffffe0, 0xd50342ff, A64_WORD_B(0));
    guest_write64(DATA, 0);
    guest_write64(DATA + 8, 0);
    env->sys.vbar_el1 = IRQ_VECTORS;
    env->xregs[1] = DATA;
    env->xregs[8] = DATA + 8;
    guest_start(&t, va, CODE);
    cpu_interrupt(va->cs, CPU_INTERRUPT_HARD);
    tcg_ask(va);
    g_usleep(5000);
    g_assert_cmpuint(guest_read64(DATA + 8), ==, 0);
    guest_write64(DATA, 1);
    elr = wait_nonzero(DATA + 8);
    g_assert_cmphex(elr, ==, CODE + 12);
    cpu_reset_interrupt(va->cs, CPU_INTERRUPT_HARD);
    guest_stop(&t);
    /* Now with the loop already spinning unmasked. */
    guest_write64(DATA + 8, 0);
    guest_start(&t, va, CODE);
    g_usleep(2000);
    cpu_interrupt(va->cs, CPU_INTERRUPT_HARD);
    tcg_ask(va);
    g_assert_cmphex(wait_nonzero(DATA + 8), ==, CODE + 12);
    cpu_reset_interrupt(va->cs, CPU_INTERRUPT_HARD);
    guest_stop(&t);
    env->sys.vbar_el1 = GUEST_VECTORS;
}

static int64_t run_us(TcgVcpu *v)
{
    int64_t start = g_get_monotonic_time();

    guest_run(v, CODE);
    return g_get_monotonic_time() - start;
}

static void test_wfe(void)
{
    GuestThread t;
    unsigned i;

    /* sevl ; wfe ; wfi: the event is there already. If it slept all the same,
     * no run would be short, however often it is tried. */
    GUEST_CODE(CODE, 0xd50320bf, 0xd503205f, A64_WORD_WFI);
    for (i = 0; i < 1000 && run_us(va) >= 5000; i++) {
    }
    g_assert_cmpuint(i, <, 1000);
    /* Without one it sleeps, but not for ever. */
    GUEST_CODE(CODE, 0xd503205f, A64_WORD_WFI);
    g_assert_cmpint(run_us(va), >=, 5000);
    /*
     * va: 1: wfe ; ldr x0, [x1] ; cbz x0, 1b ; wfi. Another vCPU's event, or
     * its mere store, ends it.
     */
    for (i = 0; i < 2; i++) {
        GUEST_CODE(CODE, 0xd503205f, A64_WORD_LDR(0, 1), 0xb4ffffc0,
                   A64_WORD_WFI);
        GUEST_CODE(CODE2, A64_WORD_STR(2, 1), i ? 0xd503209f : A64_WORD_NOP,
                   A64_WORD_WFI);
        guest_write64(DATA, 0);
        regs(va, 0, DATA);
        regs(vb, 0, DATA);
        vb->env->xregs[2] = 1;
        guest_start(&t, va, CODE);
        g_usleep(1000);
        guest_run(vb, CODE2);
        guest_join(&t);
    }
}

/* Kicks reach loops of any shape, a WFE, and a loop of exceptions: each would
 * go on for ever. */
static void test_kick_arrives(void)
{
    static const uint32_t shapes[][4] = {
        { A64_WORD_B(0) },
        { 0xb400001f },                 /* cbz xzr, . */
        { 0x10000000, 0xd61f0000 },     /* adr x0, . ; br x0 */
        { 0xd503205f, A64_WORD_B(-1) }, /* wfe */
        { 0xd503203f, A64_WORD_B(-1) }, /* yield */
        { 0xd53800a0, A64_WORD_B(-1) }, /* mrs */
        { 0xd50342df, A64_WORD_B(-1) }, /* msr daifset */
    };
    unsigned i, n;

    for (i = 0; i < ARRAY_SIZE(shapes); i++) {
        guest_write(CODE, shapes[i], sizeof(shapes[i]));
        for (n = 0; n < 5; n++) {
            GuestThread t;

            guest_start(&t, va, CODE);
            g_usleep(300);
            guest_stop(&t);
        }
    }
}

/* ---- several at once ---- */

typedef struct Contention {
    const char *name;
    bool lse;
    unsigned second; /* what is added to the second doubleword */
    uint32_t words[16];
} Contention;

static const Contention contentions[] = {
    { "ldxr",
      false,
      0,
      { 0xc85ffc22, 0x91000442, 0xc803fc22, 0x35ffffa3, 0xf1000400, 0x54ffff61,
        A64_WORD_WFI } },
    { "ldxp",
      false,
      2,
      { 0xc87f8c22, 0x91000442, 0x91000863, 0xc8248c22, 0x35ffff84, 0xf1000400,
        0x54ffff41, A64_WORD_WFI } },
    { "ldadd", true, 0, { 0xf8220023, 0xf1000400, 0x54ffffc1, A64_WORD_WFI } },
    { "cas",
      true,
      0,
      { 0xf9400022, 0x91000443, 0xaa0203e4, 0xc8e4fc23, 0xeb02009f, 0x54ffff61,
        0xf1000400, 0x54ffff21, A64_WORD_WFI } },
    { "casp",
      true,
      2,
      { 0xa9400c22, 0x91000446, 0x91000867, 0xaa0203e4, 0xaa0303e5, 0x4864fc26,
        0xeb02009f, 0xfa4300a0, 0x54ffff01, 0xf1000400, 0x54fffec1,
        A64_WORD_WFI } },
};

/* No increment is lost between two vCPUs. */
static void test_contention(const void *data)
{
    const Contention *c = data;
    TcgVcpu *v1 = c->lse ? vmax : va, *v2 = c->lse ? vmax2 : vb;
    unsigned rounds = 100000;
    GuestThread t1, t2;

    guest_write(CODE, c->words, sizeof(c->words));
    guest_write64(DATA, 0);
    guest_write64(DATA + 8, 0);
    regs(v1, rounds, DATA);
    regs(v2, rounds, DATA);
    v1->env->xregs[2] = v2->env->xregs[2] = 1;
    guest_start(&t1, v1, CODE);
    guest_start(&t2, v2, CODE);
    guest_join(&t1);
    guest_join(&t2);
    g_assert_cmpuint(guest_read64(DATA), ==, 2 * rounds);
    g_assert_cmpuint(guest_read64(DATA + 8), ==, 2 * rounds * c->second);
}

typedef struct Ordering {
    const char *name;
    uint32_t store, barrier, load;
} Ordering;

static const Ordering orderings[] = {
    { "dmb", 0xf9000020, 0xd5033bbf, 0xf9400045 },
    { "dsb", 0xf9000020, 0xd5033b9f, 0xf9400045 },
    { "stlr-ldar", 0xc89ffc20, A64_WORD_NOP, 0xc8dffc45 },
};

#define ORDERING_STEPS  UINT64_C(1000000)
#define ORDERING_SEEN_A (GUEST_RAM_BASE + 0x1000000)
#define ORDERING_SEEN_B (GUEST_RAM_BASE + 0x2000000)

/* Returns how often the vCPUs really ran side by side. */
static uint64_t run_ordering(const Ordering *o)
{
    uint64_t i, before = 0, overlaps = 0;
    GuestThread ta, tb;

    /*
     * str x4, [x6] ; 1: ldr x5, [x7] ; cbz x5, 1b (both are there)
     * 2: add x0, x0, #1 ; store ; barrier ; load x5 ; str x5, [x3], #8
     *    cmp x0, x4 ; b.lo 2b ; wfi
     */
    GUEST_CODE(CODE, A64_WORD_STR(4, 6), A64_WORD_LDR(5, 7), 0xb4ffffe5,
               0x91000400, o->store, o->barrier, o->load, 0xf8008465,
               0xeb04001f, 0x54ffff43, A64_WORD_WFI);
    for (i = 0; i < 4; i++) {
        guest_write64(DATA + 64 * i, 0);
    }
    va->env->xregs[6] = vb->env->xregs[7] = DATA + 128;
    va->env->xregs[7] = vb->env->xregs[6] = DATA + 192;
    regs(va, 0, DATA);
    va->env->xregs[2] = DATA + 64;
    va->env->xregs[3] = ORDERING_SEEN_A;
    regs(vb, 0, DATA + 64);
    vb->env->xregs[2] = DATA;
    vb->env->xregs[3] = ORDERING_SEEN_B;
    va->env->xregs[4] = vb->env->xregs[4] = ORDERING_STEPS;
    guest_start(&ta, va, CODE);
    guest_start(&tb, vb, CODE);
    guest_join(&ta);
    guest_join(&tb);
    for (i = 1; i <= ORDERING_STEPS; i++) {
        uint64_t j = guest_read64(ORDERING_SEEN_A + 8 * (i - 1)) + 1;

        overlaps += j != before; /* the other one moved meanwhile */
        before = j;
        if (j <= ORDERING_STEPS) {
            g_assert_cmpuint(guest_read64(ORDERING_SEEN_B + 8 * (j - 1)), >=,
                             i);
        }
    }
    return overlaps;
}

/*
 * Store buffering: each vCPU stores a rising number to its own word, then
 * loads the other's. If a saw less than j after storing i, then b, having
 * stored j, must see at least i: else both loads overtook both stores.
 * Without the barrier this fails wherever the two run at the same time.
 */
static void test_ordering(const void *data)
{
    uint64_t overlaps = 0;
    unsigned tries;

    for (tries = 0; tries < 10 && overlaps < 10000; tries++) {
        overlaps += run_ordering(data);
    }
    g_test_message("%" PRIu64 " steps overlapped in %u runs", overlaps, tries);
}

/* ---- native code ---- */

static uint64_t native_runs_of(TcgVcpu *v, uint64_t times)
{
    uint64_t runs = atomic_load(&v->stats.native_runs);

    regs(v, times, DATA);
    v->env->xregs[2] = FUNC;
    v->env->xregs[3] = v->env->xregs[5] = 0;
    guest_run(v, CODE);
    g_assert_cmpuint(v->env->xregs[3], ==, times);
    g_assert_cmpuint(v->env->xregs[5], ==, times);
    g_assert_cmpuint(guest_read64(DATA), ==, times);
    return atomic_load(&v->stats.native_runs) - runs;
}

/*
 * Jumps to known blocks, direct and by register, stay in native code: what a
 * loop enters it for does not grow with the loop.
 */
static void test_native_jumps(void)
{
    uint64_t before;

    /* 1: add x3, x3, #1 ; str x3, [x1] ; blr x2 ; subs x0, x0, #1 ; b.ne 1b */
    GUEST_CODE(CODE, A64_WORD_ADDI(3, 3, 1), A64_WORD_STR(3, 1), 0xd63f0040,
               0xf1000400, 0x54ffff81, A64_WORD_WFI);
    /* add x5, x5, #1 ; cbz xzr, 1f ; brk ; 1: ret */
    GUEST_CODE(FUNC, A64_WORD_ADDI(5, 5, 1), 0xb400005f, A64_WORD_BRK(1),
               0xd65f03c0);
    native_runs_of(va, 10);
    before = atomic_load(&vb->stats.native_runs);
    if (TCG_NATIVE) {
        uint64_t few = native_runs_of(va, 10);

        g_assert_cmpuint(few, >, 0);
        g_assert_cmpuint(native_runs_of(va, 50000), <=, few);
    }
    native_runs_of(vb, 10);
    g_assert_cmpuint(atomic_load(&vb->stats.native_runs), ==, before);
}

/*
 * A pair over the end of a page: its second half is looked at before anything
 * is stored or loaded.
 */
static void test_native_pair_over_pages(void)
{
    TcgVcpu *vcpus[] = { va, vb };
    unsigned i, k;

    for (i = 0; i < ARRAY_SIZE(vcpus); i++) {
        /* nop ; stp x3, x5, [x1] ; wfi: from the last word of RAM on */
        GUEST_CODE(CODE, A64_WORD_NOP, 0xa9001423, A64_WORD_WFI);
        for (k = 0; k < 2; k++) {
            hwaddr last = GUEST_RAM_BASE + GUEST_RAM_BYTES - 8;

            guest_write64(last, 0);
            regs(vcpus[i], 0, last - 8);
            vcpus[i]->env->xregs[3] = vcpus[i]->env->xregs[5] = 77;
            g_assert_cmphex(guest_run(vcpus[i], CODE), ==, 0);
            g_assert_cmpuint(guest_read64(last), ==, 77);
            regs(vcpus[i], 0, last);
            g_assert_cmphex(guest_run(vcpus[i], CODE), !=, 0);
        }
        /* nop ; ldp x3, x5, [x1]: no register changes */
        GUEST_CODE(CODE, A64_WORD_NOP, 0xa9401423, A64_WORD_WFI);
        for (k = 0; k < 2; k++) {
            regs(vcpus[i], 0, GUEST_RAM_BASE + GUEST_RAM_BYTES - 8);
            vcpus[i]->env->xregs[3] = 5;
            g_assert_cmphex(guest_run(vcpus[i], CODE), !=, 0);
            g_assert_cmpuint(vcpus[i]->env->xregs[3], ==, 5);
        }
    }
}

int main(int argc, char **argv)
{
    int ret;
    MemoryRegion dev;
    unsigned i;

    g_test_init(&argc, &argv, NULL);
    guest_init();
    tcg_native_use(TCG_NATIVE_EVERYWHERE);
    va = guest_vcpu("cortex-a57");
    vmax = guest_vcpu("max");
    tcg_native_use(TCG_NATIVE_OFF);
    vb = guest_vcpu("cortex-a57");
    vmax2 = guest_vcpu("max");
    memory_region_init_io(&dev, NULL, &dev_ops, NULL, "dev", 0x1000);
    memory_region_add_subregion(get_system_memory(), DEVICE, &dev);
#define ADD(path, f) g_test_add_func("/tcg-engine/" path, f)
    ADD("code/written-by-itself", test_code_written_by_itself);
    ADD("code/written-by-another-vcpu", test_code_written_by_another_vcpu);
    ADD("code/written-by-device", test_code_written_by_device);
    ADD("code/data-beside-code", test_data_beside_code);
    ADD("code/cache-overflow", test_cache_overflow);
    ADD("native/jumps", test_native_jumps);
    ADD("native/pair-over-pages", test_native_pair_over_pages);
    ADD("memory/mmio", test_mmio);
    ADD("memory/external-aborts", test_external_aborts);
    ADD("memory/rom", test_rom);
    ADD("memory/alignment", test_alignment);
    ADD("exceptions/unknown-instructions", test_unknown_instructions);
    ADD("exceptions/el0", test_el0);
    ADD("exceptions/interrupt", test_interrupt);
    ADD("sleep/wfe", test_wfe);
    ADD("sleep/kick-is-prompt", test_kick_arrives);
    for (i = 0; i < ARRAY_SIZE(contentions); i++) {
        g_autofree char *path = g_strconcat("/tcg-engine/contention/",
                                            contentions[i].name, NULL);

        g_test_add_data_func(path, &contentions[i], test_contention);
    }
    for (i = 0; i < ARRAY_SIZE(orderings); i++) {
        g_autofree char *path = g_strconcat("/tcg-engine/ordering/",
                                            orderings[i].name, NULL);

        g_test_add_data_func(path, &orderings[i], test_ordering);
    }
    ret = g_test_run();
    memory_region_del_subregion(get_system_memory(), &dev);
    memory_region_destroy(&dev);
    bql_unlock();
    return ret;
}
