/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two address spaces: what a vCPU stores in system management mode is logged in
 * slots of its own, and nothing of it is lost. Skipped where the kernel's KVM
 * emulates no such mode.
 *
 * An SMI is pending when the vCPU goes into the guest: so the handler runs
 * first, then the program.
 */
#include "qemu/osdep.h"

#include "kvm-caps.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "tracker-oracle.h"

#define GET    kvm_call_index(KVM_GET_DIRTY_LOG)
#define CLEAR  kvm_call_index(KVM_CLEAR_DIRTY_LOG)
#define REGION kvm_call_index(KVM_SET_USER_MEMORY_REGION)

#define SMM_ENTRY 0x38000 /* by a vCPU's reset */
#define SMM_LIST  0x50000 /* addresses; 0: out to MINI_PORT; 1: the end */

extern const uint8_t smm_handler[], smm_handler_end[];
asm(".pushsection .rodata\n"
    ".globl smm_handler, smm_handler_end\n"
    "smm_handler:\n"
    ".code16\n"
    "    movl $0x50000, %esi\n"
    "1:  movl (%esi), %edi\n"
    "    addl $4, %esi\n"
    "    testl %edi, %edi\n"
    "    jz 2f\n"
    "    cmpl $1, %edi\n"
    "    je 3f\n"
    "    incl (%edi)\n"
    "    jmp 1b\n"
    "2:  outb %al, $0xf4\n"
    "    jmp 1b\n"
    "3:  rsm\n"
    ".code64\n"
    "smm_handler_end:\n"
    ".popsection\n");

static const TrackerEngine *engine(const char *name)
{
    const TrackerEngine *e = tracker_engines;

    while (!g_str_equal(e->name, name)) {
        e++;
    }
    return e;
}

/* ---- the guest ---- */

/* The next SMI of this vCPU stores to @pages; PARK: and leaves the guest. */
#define PARK UINT64_MAX

static void raise_smi(const uint64_t *pages, size_t n)
{
    uint32_t list[64];

    g_assert_cmpuint(n, <, ARRAY_SIZE(list));
    for (size_t i = 0; i < n; i++) {
        list[i] = pages[i] == PARK ? 0 : GUEST_RAM_BASE + pages[i] * PAGE;
    }
    list[n] = 1;
    guest_write(SMM_ENTRY, smm_handler, smm_handler_end - smm_handler);
    guest_write(SMM_LIST, list, (n + 1) * sizeof(list[0]));
    g_assert_cmpint(kvm_vcpu_ioctl(va->v, KVM_SMI, 0), ==, 0);
}

static bool is_in_smm(void)
{
    return va->v->run->flags & KVM_RUN_X86_SMM;
}

/* A program that stores nothing. */
static void run_idly(void)
{
    va->regs = (struct kvm_regs){ .rdi = MINI_DATA };
    g_assert_cmpuint(guest_run(va, MINI_PROGRAM(MINI_LOAD)), ==, 0);
}

/* From where it parked in SMM to the next time that it parks. */
static void go_on(void)
{
    g_assert_cmpint(kvm_vcpu_run(va->v), ==, 0);
    g_assert_cmpuint(va->v->run->exit_reason, ==, KVM_EXIT_IO);
}

static void smm_store(const uint64_t *pages, size_t n)
{
    raise_smi(pages, n);
    run_idly();
    g_assert_false(is_in_smm());
}

/* ---- tests ---- */

/* Bit n: a slot of address space n. */
static void mark_space(KvmVm *vm, const KvmSlotPart *part, void *opaque)
{
    unsigned *seen = opaque;

    *seen |= 1u << (part->slot->id >> 16);
}

/* In, out, and in both: reported once; cleaned in both; seen again. */
static void test_stores(gconstpointer opaque)
{
    const TrackerEngine *e = engine(opaque);
    const uint64_t in[] = { TEST_FIRST, TEST_FIRST + 9, TEST_FIRST + 700 };
    const uint64_t out[] = { TEST_FIRST + 9, TEST_FIRST + 20 };
    const uint64_t both[] = { TEST_FIRST, TEST_FIRST + 9, TEST_FIRST + 20,
                              TEST_FIRST + 700 };
    unsigned spaces = 0;
    Oracle o;

    oracle_begin(&o, e);
    kvm_slots_foreach_range(kvm_vm(), o.rb, 0, PAGE, true, mark_space, &spaces);
    g_assert_cmpuint(spaces, ==, 3);
    for (uint64_t round = 1; round <= 4; round++) {
        uint64_t before = oracle_content(&o, TEST_FIRST + 700);

        smm_store(in, ARRAY_SIZE(in));
        g_assert_cmpuint(oracle_content(&o, TEST_FIRST + 700), ==, before + 1);
        guest_store_pages(va, out, ARRAY_SIZE(out), round);
        oracle_take(&o);
        oracle_expect(&o, both, ARRAY_SIZE(both));
        oracle_send(&o);
        g_assert_cmpuint(oracle_take(&o), ==, 0);
        /* Only in one of the two: no trace is left in the other. */
        smm_store(in, 1);
        g_assert_cmpuint(oracle_take(&o), ==, 1);
        oracle_expect(&o, in, 1);
        oracle_send(&o);
        guest_store_pages(va, out, 1, round + 10);
        g_assert_cmpuint(oracle_take(&o), ==, 1);
        oracle_expect(&o, out, 1);
        oracle_check_current(&o);
    }
    oracle_end(&o);
}

/* A clear for each slot that has something to be cleared, and no more. */
static void test_calls(void)
{
    const uint64_t page[] = { TEST_FIRST + 130 };
    Oracle o;

    oracle_begin(&o, engine("bitmap-smm"));
    for (unsigned round = 0; round < 3; round++) {
        /* out of SMM, in SMM, both */
        unsigned clears = round < 2 ? 1 : 2;

        if (round != 0) {
            smm_store(page, 1);
        }
        if (round != 1) {
            guest_store_pages(va, page, 1, round);
        }
        kvm_call_counts_reset();
        g_assert_cmpuint(oracle_take(&o), ==, 1);
        g_assert_cmpuint(kvm_call_count(GET), ==,
                         kvm_slots_count(kvm_vm(), true));
        ram_block_clean(o.rb, 0, o.nr_pages * PAGE);
        g_assert_cmpuint(kvm_call_count(CLEAR), ==, clears);
        ram_block_clean(o.rb, 0, o.nr_pages * PAGE);
        g_assert_cmpuint(kvm_call_count(CLEAR), ==, clears);
        oracle_send(&o); /* cleaned already: it reads */
    }
    oracle_check_current(&o);
    oracle_end(&o);
}

/* The vCPU stays in SMM over rounds. */
static void test_rounds_inside(gconstpointer opaque)
{
    const uint64_t pages[] = { TEST_FIRST, PARK,           TEST_FIRST, PARK,
                               PARK,       TEST_FIRST + 1, TEST_FIRST };
    const uint64_t last[] = { TEST_FIRST, TEST_FIRST + 1 };
    Oracle o;

    oracle_begin(&o, engine(opaque));
    raise_smi(pages, ARRAY_SIZE(pages));
    run_idly();
    g_assert_true(is_in_smm());
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_expect(&o, pages, 1);
    oracle_send(&o);
    go_on();
    g_assert_true(is_in_smm());
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    oracle_expect(&o, pages, 1);
    oracle_send(&o);
    go_on();
    g_assert_cmpuint(oracle_take(&o), ==, 0);
    go_on();
    g_assert_false(is_in_smm());
    oracle_take(&o);
    oracle_expect(&o, last, ARRAY_SIZE(last));
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Slots go, in the middle of a block, while the vCPU is in SMM. */
static void test_slots_change(gconstpointer opaque)
{
    const uint64_t hole = TEST_FIRST + 500;
    const uint64_t pages[] = { hole - 1, hole, hole + 1, PARK, hole - 1,
                               hole + 1, PARK, hole,     PARK };
    MemoryRegion cover;
    Oracle o;

    oracle_begin(&o, engine(opaque));
    raise_smi(pages, ARRAY_SIZE(pages));
    run_idly();
    g_assert_true(is_in_smm());
    /* One page is covered by another: three slots for one, in each space. */
    memory_region_init_ram(&cover, NULL, "cover", PAGE, &error_abort);
    memory_region_add_subregion_overlap(
        get_system_memory(), GUEST_RAM_BASE + hole * PAGE, &cover, 1);
    g_assert_cmpuint(oracle_take(&o), ==, 3);
    oracle_expect(&o, pages, 3);
    oracle_send(&o);
    go_on();
    g_assert_cmpuint(oracle_take(&o), ==, 2);
    memory_region_del_subregion(get_system_memory(), &cover);
    oracle_send(&o);
    go_on();
    g_assert_cmpuint(oracle_take(&o), ==, 1);
    g_assert_true(test_bit(hole, o.bmap));
    oracle_send(&o);
    go_on();
    g_assert_false(is_in_smm());
    oracle_check_current(&o);
    memory_region_destroy(&cover);
    oracle_end(&o);
}

static void *rounds_thread(void *opaque)
{
    Oracle *o = opaque;

    for (unsigned i = 0; i < 60; i++) {
        oracle_round(o);
        g_usleep(1000);
    }
    return NULL;
}

/* In and out of SMM with rounds at the same time; the other vCPU is busy. */
static void TSA_NO_CHECK test_busy(gconstpointer opaque)
{
    uint64_t pages[40];
    QemuThread rounds;
    GuestThread t;
    Oracle o;

    for (unsigned i = 0; i < ARRAY_SIZE(pages); i++) {
        pages[i] = TEST_FIRST + i * 29;
    }
    oracle_begin(&o, engine(opaque));
    guest_start_loop(&t, vb, pages, ARRAY_SIZE(pages));
    bql_unlock();
    qemu_thread_create(&rounds, "rounds", rounds_thread, &o,
                       QEMU_THREAD_JOINABLE, &error_abort);
    for (unsigned i = 0; i < 60; i++) {
        smm_store(pages, ARRAY_SIZE(pages));
        guest_store_pages(va, pages, ARRAY_SIZE(pages), i);
    }
    qemu_thread_join(&rounds);
    bql_lock();
    guest_stop(&t);
    oracle_check_current(&o);
    oracle_end(&o);
}

/* Without the second one an SMI would end the VM; the accelerator asks for it. */
static void test_spaces(void)
{
    KvmVmConfig config = { .irqchip = KVM_IRQCHIP_OFF };
    KvmVm *vm = kvm_vm_new(&config, &error_abort);
    uint64_t calls;
    unsigned slots;
    KvmSlotPart part;

    g_assert_cmpuint(vm->nr_spaces, ==, 1);
    g_assert_true(kvm_slots_attach(vm, &error_abort));
    slots = kvm_slots_count(vm, false);
    kvm_vm_free(vm);
    config.smm = true;
    vm = kvm_vm_new(&config, &error_abort);
    g_assert_cmpuint(vm->nr_spaces, ==, 2);
    kvm_call_counts_reset();
    g_assert_true(kvm_slots_attach(vm, &error_abort));
    calls = kvm_call_count(REGION);
    g_assert_cmpuint(calls, ==, 2 * slots);
    g_assert_cmpuint(kvm_slots_count(vm, false), ==, 2 * slots);
    for (uint32_t id = 0; id < slots; id++) {
        g_assert_true(kvm_slots_find(vm, id, 0, &part));
        g_assert_cmpuint(part.slot->id, ==, id);
        g_assert_true(kvm_slots_find(vm, 1 << 16 | id, 0, &part));
        g_assert_cmpuint(part.slot->id, ==, 1 << 16 | id);
    }
    g_assert_false(kvm_slots_find(vm, slots, 0, &part));
    g_assert_false(kvm_slots_find(vm, 1 << 16 | slots, 0, &part));
    g_assert_false(kvm_slots_find(vm, 2 << 16, 0, &part));
    kvm_vm_free(vm);
}

/* ---- all of them ---- */

static const char *skip_reason;

static void test_skip(void)
{
    g_test_skip(skip_reason);
}

static void add(const char *name, void (*func)(gconstpointer))
{
    static const char *const engines[] = { "bitmap-smm", "bitmap-all-set-smm",
                                           "bitmap-legacy-smm", "ring-smm" };

    for (unsigned i = 0; i < ARRAY_SIZE(engines); i++) {
        g_autofree char *path = g_strdup_printf("/kvm/smm/%s/%s", engines[i],
                                                name);

        g_test_add_data_func(path, engines[i], func);
    }
}

int main(int argc, char **argv)
{
    skip_reason = mini_unusable();
    g_test_init(&argc, &argv, NULL);
    if (!skip_reason) {
        skip_reason = engine("bitmap-smm")->unusable();
    }
    if (skip_reason) {
        g_test_add_func("/kvm/smm", test_skip);
        return g_test_run();
    }
    oracle_init();
    g_test_add_func("/kvm/smm/spaces", test_spaces);
    g_test_add_func("/kvm/smm/calls", test_calls);
    add("stores", test_stores);
    add("rounds-inside", test_rounds_inside);
    add("slots-change", test_slots_change);
    add("busy", test_busy);
    return g_test_run();
}
