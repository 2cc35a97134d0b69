/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory slots: the promises of accel/kvm/kvm-slots.h, with a guest inside. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"

#include "kvm-caps.h"
#include "kvm-mini.h"
#include "kvm-slots.h"

#define PAGE      UINT64_C(4096)
#define RAM_BYTES (UINT64_C(64) << 20)
#define HIGH      UINT64_C(0x80000000) /* nothing is there at first */

static MemoryRegion ram;
static RAMBlock *ram_rb;
static KvmVm *vm;

static const KvmVmConfig config = { .irqchip = KVM_IRQCHIP_OFF };

static void vm_begin(const KvmVmConfig *c)
{
    vm = kvm_vm_new(c, &error_abort);
    g_assert_true(kvm_slots_attach(vm, &error_abort));
}

static void vm_end(void)
{
    kvm_vm_free(vm);
    vm = NULL;
}

static uint64_t set_region_calls(void)
{
    return kvm_call_count(kvm_call_index(KVM_SET_USER_MEMORY_REGION));
}

/* ---- what there is ---- */

static void count_part(KvmVm *v, const KvmSlotPart *part, void *opaque)
{
    uint64_t *pages = opaque;

    g_assert_cmpuint(part->rb_page - part->slot_page, ==, part->slot->rb_page);
    g_assert_cmpuint(part->slot_page + part->npages, <=, part->slot->npages);
    *pages += part->npages;
}

static uint64_t pages_shown(RAMBlock *rb, ram_addr_t start, ram_addr_t len)
{
    uint64_t pages = 0;

    kvm_slots_foreach_range(vm, rb, start, len, false, count_part, &pages);
    return pages;
}

/* Each page of a slot is where the memory core has it. */
static void check_slot(KvmVm *v, const KvmSlotPart *part, void *opaque)
{
    const KvmSlot *slot = part->slot;
    FlatView *view = address_space_get_flatview(&address_space_memory);
    MemoryTranslation t;

    for (uint64_t page = 0; page < slot->npages;
         page += MAX(slot->npages - 1, 1)) {
        g_assert_true(flatview_translate(view, slot->gpa + page * PAGE, &t));
        g_assert_true(t.block == slot->rb);
        g_assert_true(t.host == slot->hva + page * PAGE);
        g_assert_cmpuint(t.block_offset, ==, (slot->rb_page + page) * PAGE);
        g_assert_cmpuint(t.readonly, ==, slot->readonly);
    }
    flatview_unref(view);
    (*(unsigned *)opaque)++;
}

static unsigned check_slots(void)
{
    unsigned n = 0;

    kvm_slots_foreach_range(vm, NULL, 0, 0, false, check_slot, &n);
    g_assert_cmpuint(n, ==, kvm_slots_count(vm, false));
    return n;
}

/* ---- odd layouts ---- */

static void test_odd_sizes(void)
{
    static const struct {
        hwaddr gpa;
        uint64_t size;
        uint64_t pages; /* whole ones in guest memory */
    } odd[] = {
        { HIGH + 0 * PAGE, 63 * PAGE, 63 },
        { HIGH + 63 * PAGE, 64 * PAGE, 64 },
        { HIGH + 127 * PAGE, 65 * PAGE, 65 },
        { HIGH + 192 * PAGE, 1025 * PAGE, 1025 },
        { HIGH + 0x1003000, (4 << 20) + PAGE, 1025 },
    };
    MemoryRegion mr[G_N_ELEMENTS(odd)] = { 0 };
    RAMBlock *rb[G_N_ELEMENTS(odd)];
    KvmVcpu *v;
    int ret;

    vm_begin(&config);
    for (unsigned i = 0; i < G_N_ELEMENTS(odd); i++) {
        kvm_call_counts_reset();
        rb[i] = mini_ram(&mr[i], "odd", odd[i].gpa, odd[i].size);
        g_assert_cmpuint(set_region_calls(), ==, 1);
        g_assert_cmpuint(pages_shown(rb[i], 0, odd[i].size), ==, odd[i].pages);
        g_assert_cmpuint(pages_shown(rb[i], PAGE, 1), ==, 1);
        g_assert_cmpuint(pages_shown(rb[i], PAGE - 1, 2), ==, 2);
        g_assert_cmpuint(pages_shown(rb[i], 0, 0), ==, 0);
    }
    g_assert_cmpuint(check_slots(), ==, 1 + G_N_ELEMENTS(odd));
    /* The guest writes the first and the last page of each. */
    v = kvm_vcpu_new(vm, 0, NULL, &error_abort);
    for (unsigned i = 0; i < G_N_ELEMENTS(odd); i++) {
        mini_start(v, MINI_TOUCH, odd[i].gpa, odd[i].size, 3, 0);
        g_assert_true(mini_run(v, &ret));
        g_assert_cmpuint(
            ldq_le_phys(&address_space_memory, odd[i].gpa + odd[i].size - PAGE),
            ==, 1);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(odd); i++) {
        kvm_call_counts_reset();
        memory_region_del_subregion(get_system_memory(), &mr[i]);
        g_assert_cmpuint(set_region_calls(), ==, 1);
        memory_region_destroy(&mr[i]);
    }
    g_assert_cmpuint(check_slots(), ==, 1);
    vm_end();
}

/* What is left of a page at either end is emulated. */
static void test_parts_of_pages(void)
{
    MemoryRegion mr = { 0 }, alias = { 0 }, tiny = { 0 };
    RAMBlock *rb;
    KvmVcpu *v;
    int ret;

    vm_begin(&config);
    rb = mini_ram(&mr, "parts", HIGH, 16 * PAGE);
    memory_region_init_alias(&alias, NULL, "alias", &mr, 0x800,
                             3 * PAGE + 0x400);
    memory_region_add_subregion(get_system_memory(), HIGH + 0x100800, &alias);
    /* Pages 1 and 2 of it are whole: 0x101000 .. 0x103bff. */
    g_assert_cmpuint(pages_shown(rb, 0, 16 * PAGE), ==, 16 + 2);
    memory_region_init_alias(&tiny, NULL, "tiny", &mr, 0, 0x800);
    memory_region_add_subregion(get_system_memory(), HIGH + 0x200000, &tiny);
    g_assert_cmpuint(pages_shown(rb, 0, 16 * PAGE), ==, 18);
    check_slots();
    v = kvm_vcpu_new(vm, 0, NULL, &error_abort);
    mini_start(v, MINI_STORE, HIGH + 0x200010, 0, 1, 0);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmpuint(ldl_le_phys(&address_space_memory, HIGH + 0x10), ==, 1);
    mini_start(v, MINI_STORE, HIGH + 0x103800, 0, 1, 0);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmpuint(ldl_le_phys(&address_space_memory, HIGH + 0x3800), ==, 1);
    vm_end();
    memory_region_del_subregion(get_system_memory(), &alias);
    memory_region_del_subregion(get_system_memory(), &tiny);
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&alias);
    memory_region_destroy(&tiny);
    memory_region_destroy(&mr);
}

/* Shifted by less than a page against its memory: no slot can do that. */
static void test_shifted(void)
{
    MemoryRegion mr = { 0 }, alias = { 0 };
    RAMBlock *rb;
    KvmVcpu *v;
    int ret;

    vm_begin(&config);
    rb = mini_ram(&mr, "shifted", HIGH, 16 * PAGE);
    memory_region_init_alias(&alias, NULL, "alias", &mr, 0x10, 8 * PAGE);
    memory_region_add_subregion(get_system_memory(), HIGH + 0x100000, &alias);
    g_assert_cmpuint(pages_shown(rb, 0, 16 * PAGE), ==, 16);
    v = kvm_vcpu_new(vm, 0, NULL, &error_abort);
    mini_start(v, MINI_TOUCH, HIGH + 0x100000, 8 * PAGE, 1, 0);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmpuint(ldq_le_phys(&address_space_memory, HIGH + 0x10 + PAGE), ==,
                     1);
    vm_end();
    memory_region_del_subregion(get_system_memory(), &alias);
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&alias);
    memory_region_destroy(&mr);
}

static void test_many_blocks(void)
{
    enum {
        BLOCKS = 400
    };
    g_autofree MemoryRegion *mr = g_new0(MemoryRegion, BLOCKS);

    vm_begin(&config);
    kvm_call_counts_reset();
    memory_region_transaction_begin();
    for (unsigned i = 0; i < BLOCKS; i++) {
        mini_ram(&mr[i], "small", HIGH + i * 3 * PAGE, (1 + i % 2) * PAGE);
    }
    g_assert_cmpuint(set_region_calls(), ==, 0);
    memory_region_transaction_commit();
    g_assert_cmpuint(set_region_calls(), ==, BLOCKS);
    g_assert_cmpuint(check_slots(), ==, BLOCKS + 1);
    /* One goes: the others stay what they are. */
    kvm_call_counts_reset();
    memory_region_set_enabled(&mr[BLOCKS / 2], false);
    g_assert_cmpuint(set_region_calls(), ==, 1);
    memory_region_set_enabled(&mr[BLOCKS / 2], true);
    g_assert_cmpuint(set_region_calls(), ==, 2);
    g_assert_cmpuint(kvm_slots_stats(vm).gate_closed, ==, 0);
    g_assert_cmpuint(check_slots(), ==, BLOCKS + 1);
    vm_end();
    for (unsigned i = 0; i < BLOCKS; i++) {
        memory_region_del_subregion(get_system_memory(), &mr[i]);
        memory_region_destroy(&mr[i]);
    }
}

/* ---- pieces ---- */

typedef struct Pieces {
    unsigned n;
    uint64_t next_page;
} Pieces;

static void check_piece(KvmVm *v, const KvmSlotPart *part, void *opaque)
{
    Pieces *p = opaque;

    g_assert_cmpuint(part->rb_page, ==, p->next_page);
    p->next_page += part->npages;
    p->n++;
}

static void test_slot_size(void)
{
    KvmVmConfig c = config;
    Pieces p = { 0 };
    KvmSlotPart part;

    c.slot_bytes = 3 << 20;
    vm_begin(&c);
    g_assert_cmpuint(check_slots(), ==, 22); /* 64 MiB by 3 */
    kvm_slots_foreach_range(vm, ram_rb, 0, RAM_BYTES, false, check_piece, &p);
    g_assert_cmpuint(p.n, ==, 22);
    g_assert_cmpuint(p.next_page, ==, RAM_BYTES / PAGE);
    /* A range within one, and one over two. */
    p = (Pieces){ .next_page = 800 };
    kvm_slots_foreach_range(vm, ram_rb, 800 * PAGE, PAGE, false, check_piece,
                            &p);
    g_assert_cmpuint(p.n, ==, 1);
    p = (Pieces){ .next_page = 767 };
    kvm_slots_foreach_range(vm, ram_rb, 767 * PAGE, 2 * PAGE, false,
                            check_piece, &p);
    g_assert_cmpuint(p.n, ==, 2);
    g_assert_true(kvm_slots_find(vm, 0, 10, &part));
    g_assert_cmpuint(part.npages, ==, 768 - 10);
    g_assert_false(kvm_slots_find(vm, 0, 768, &part));
    g_assert_false(kvm_slots_find(vm, 22, 0, &part));
    vm_end();
}

static void test_slot_limit(void)
{
    static const uint64_t wrong[] = {
        1, 4096, (1 << 20) - 4096, (1 << 20) + 1, UINT64_C(1) << 43, UINT64_MAX
    };

    g_assert_true(kvm_slot_bytes_check(0, &error_abort));
    g_assert_true(kvm_slot_bytes_check(1 << 20, &error_abort));
    g_assert_true(
        kvm_slot_bytes_check(KVM_SLOT_MAX_PAGES * PAGE, &error_abort));
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        Error *err = NULL;

        g_assert_false(kvm_slot_bytes_check(wrong[i], &err));
        g_assert_nonnull(strstr(error_get_pretty(err), "2147483647 pages"));
        error_free(err);
    }
}

/* ---- ROM ---- */

typedef struct Flash {
    MemoryRegion mr;
    uint64_t writes;
} Flash;

static uint64_t flash_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0x99;
}

static void flash_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    ((Flash *)opaque)->writes++;
}

static const MemoryRegionOps flash_ops = { .read = flash_read,
                                           .write = flash_write };

static uint64_t guest_load(KvmVcpu *v, hwaddr addr)
{
    int ret;

    mini_start(v, MINI_LOAD, addr, 0, 0, 0);
    g_assert_true(mini_run(v, &ret));
    return mini_regs(v).rax;
}

static void test_rom(void)
{
    MemoryRegion rom = { 0 };
    Flash flash = { 0 };
    RAMBlock *const *none = NULL;
    KvmVcpu *v;
    int ret;

    memory_region_init_rom(&rom, NULL, "rom", 16 * PAGE, &error_abort);
    memory_region_add_subregion(get_system_memory(), HIGH, &rom);
    memory_region_init_rom_device(&flash.mr, NULL, &flash_ops, &flash, "flash",
                                  16 * PAGE, &error_abort);
    memory_region_add_subregion(get_system_memory(), HIGH + 0x100000,
                                &flash.mr);
    *(uint32_t *)memory_region_get_ram_ptr(&rom) = 0x1234;
    *(uint32_t *)memory_region_get_ram_ptr(&flash.mr) = 0x5678;
    vm_begin(&config);
    g_assert_cmpuint(check_slots(), ==, 3);
    v = kvm_vcpu_new(vm, 0, NULL, &error_abort);

    g_assert_cmphex(guest_load(v, HIGH), ==, 0x1234);
    mini_start(v, MINI_STORE, HIGH, 0, 3, 0);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmphex(guest_load(v, HIGH), ==, 0x1234);

    g_assert_cmphex(guest_load(v, HIGH + 0x100000), ==, 0x5678);
    mini_start(v, MINI_STORE, HIGH + 0x100000, 0, 3, 0);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmpuint(flash.writes, ==, 3);
    memory_region_rom_device_set_romd(&flash.mr, false);
    g_assert_cmpuint(check_slots(), ==, 2);
    g_assert_cmphex(guest_load(v, HIGH + 0x100000), ==, 0x99);
    memory_region_rom_device_set_romd(&flash.mr, true);
    g_assert_cmphex(guest_load(v, HIGH + 0x100000), ==, 0x5678);

    /* What cannot be written is not logged. */
    g_assert_true(kvm_slots_set_logging(vm, none, 0, true, &error_abort));
    g_assert_cmpuint(kvm_slots_count(vm, true), ==, 0);
    vm_end();
    memory_region_del_subregion(get_system_memory(), &rom);
    memory_region_destroy(&rom);
    memory_region_del_subregion(get_system_memory(), &flash.mr);
    memory_region_destroy(&flash.mr);
}

/* ---- logging ---- */

static void test_logging(void)
{
    KvmVmConfig c = config;
    MemoryRegion mr = { 0 }, alias = { 0 };
    RAMBlock *blocks[2] = { ram_rb };
    Error *err = NULL;

    c.slot_bytes = 16 << 20;
    vm_begin(&c); /* four slots */
    blocks[1] = mini_ram(&mr, "more", HIGH, 8 * PAGE);
    kvm_call_counts_reset();
    g_assert_true(kvm_slots_set_logging(vm, blocks, 1, true, &error_abort));
    g_assert_cmpuint(set_region_calls(), ==, 4);
    g_assert_cmpuint(kvm_slots_count(vm, true), ==, 4);
    g_assert_true(kvm_slots_set_logging(vm, blocks, 1, true, &error_abort));
    g_assert_cmpuint(set_region_calls(), ==, 4);
    g_assert_true(kvm_slots_set_logging(vm, blocks, 2, true, &error_abort));
    g_assert_cmpuint(kvm_slots_count(vm, true), ==, 5);

    /* New slots of a block that is logged. */
    memory_region_init_alias(&alias, NULL, "alias", &mr, PAGE, 2 * PAGE);
    memory_region_add_subregion(get_system_memory(), HIGH + 0x10000, &alias);
    g_assert_cmpuint(kvm_slots_count(vm, true), ==, 6);
    memory_region_set_readonly(&alias, true);
    g_assert_cmpuint(kvm_slots_count(vm, true), ==, 5);
    g_assert_cmpuint(kvm_slots_count(vm, false), ==, 6);

    g_assert_true(kvm_slots_set_logging(vm, blocks, 2, false, &error_abort));
    g_assert_cmpuint(kvm_slots_count(vm, true), ==, 0);

    /* All or none, whichever call fails. */
    for (unsigned n = 1; n <= 5; n++) {
        kvm_fault_arm(n, ENOMEM, kvm_call_index(KVM_SET_USER_MEMORY_REGION));
        g_assert_false(kvm_slots_set_logging(vm, blocks, 2, true, &err));
        g_assert_nonnull(strstr(error_get_pretty(err), "log writes to"));
        g_clear_pointer(&err, error_free);
        g_assert_cmpuint(kvm_slots_count(vm, true), ==, 0);
    }
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    vm_end();
    memory_region_del_subregion(get_system_memory(), &alias);
    memory_region_destroy(&alias);
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&mr);
}

/* ---- hooks ---- */

static unsigned hooks_made, hooks_gone, hooks_on, hooks_off;

static void check_out(KvmVm *v, KvmSlot *slot)
{
    if (!kvm_slot_is_logged(slot) || !v->vcpus->len) {
        return;
    }
    g_assert_cmpuint(atomic_load(&v->gate), >, 0);
    for (guint i = 0; i < v->vcpus->len; i++) {
        g_assert_false(atomic_load(&((KvmVcpu *)v->vcpus->pdata[i])->in_run));
    }
}

static void on_made(KvmVm *v, KvmSlot *slot)
{
    g_assert_null(slot->priv);
    slot->priv = slot;
    hooks_made++;
    check_out(v, slot);
}

static void on_gone(KvmVm *v, KvmSlot *slot)
{
    g_assert_true(slot->priv == slot);
    slot->priv = NULL;
    hooks_gone++;
    check_out(v, slot);
}

static void on_log_changed(KvmVm *v, KvmSlot *slot, bool on)
{
    g_assert_true(slot->priv == slot);
    g_assert_false(kvm_slot_is_logged(slot));
    *(on ? &hooks_on : &hooks_off) += 1;
}

static const KvmSlotHooks hooks = { .made = on_made,
                                    .gone = on_gone,
                                    .log_changed = on_log_changed };

static void check_hooks(unsigned made, unsigned gone, unsigned on, unsigned off)
{
    g_assert_cmpuint(hooks_made, ==, made);
    g_assert_cmpuint(hooks_gone, ==, gone);
    g_assert_cmpuint(hooks_on, ==, on);
    g_assert_cmpuint(hooks_off, ==, off);
}

/* ---- a guest that runs meanwhile ---- */

typedef struct Writer {
    KvmVcpu *v;
    QemuThread thread;
    _Atomic bool end, ended;
    uint64_t mmio_exits;
} Writer;

static void *writer_thread(void *opaque)
{
    Writer *w = opaque;

    kvm_vcpu_attach_thread(w->v);
    while (!atomic_load(&w->end)) {
        int ret = kvm_vcpu_run(w->v);

        if (ret == 0) {
            g_assert_cmpuint(w->v->run->exit_reason, ==, KVM_EXIT_MMIO);
            w->mmio_exits++;
            kvm_handle_exit(w->v);
        } else {
            g_assert_cmpint(ret, ==, -EINTR);
        }
    }
    kvm_vcpu_detach_thread(w->v);
    atomic_store(&w->ended, true);
    return NULL;
}

static void writer_start(Writer *w, unsigned id, hwaddr addr)
{
    w->v = kvm_vcpu_new(vm, id, NULL, &error_abort);
    mini_start(w->v, MINI_COUNT, addr, 0, 0, 0);
    qemu_thread_create(&w->thread, "writer", writer_thread, w,
                       QEMU_THREAD_JOINABLE, &error_abort);
}

/* The BQL is given up, for its MMIO. */
static void TSA_NO_CHECK writer_stop(Writer *w)
{
    atomic_store(&w->end, true);
    bql_unlock();
    while (!atomic_load(&w->ended)) {
        kvm_vcpu_kick(w->v);
        sched_yield();
    }
    qemu_thread_join(&w->thread);
    bql_lock();
}

/* The BQL is given up: the guest's last store may be one to what is no RAM. */
static void TSA_NO_CHECK wait_for_progress(hwaddr addr)
{
    uint64_t before = ldq_le_phys(&address_space_memory, addr);

    bql_unlock();
    while (ldq_le_phys(&address_space_memory, addr) == before) {
        sched_yield();
    }
    bql_lock();
}

/*
 * A hole is punched into the block in which two vCPUs count, and filled again:
 * the slot goes and three come, and back. No count is lost, and no store meets
 * a place where there is no memory.
 */
static void test_split_while_running(void)
{
    enum {
        ROUNDS = 60
    };
    MemoryRegion hole = { 0 };
    Writer w[2] = { 0 };
    hwaddr addr[2] = { MINI_DATA, MINI_DATA + (32 << 20) };

    hooks_made = hooks_gone = hooks_on = hooks_off = 0;
    vm_begin(&config);
    kvm_slots_set_hooks(vm, &hooks);
    check_hooks(1, 0, 0, 0);
    g_assert_true(kvm_slots_set_logging(vm, &ram_rb, 1, true, &error_abort));
    check_hooks(1, 0, 1, 0);
    memory_region_init_ram(&hole, NULL, "hole", 16 * PAGE, &error_abort);
    for (unsigned i = 0; i < 2; i++) {
        stq_le_phys(&address_space_memory, addr[i], 0);
        writer_start(&w[i], i, addr[i]);
    }
    for (unsigned n = 0; n < ROUNDS; n++) {
        memory_region_add_subregion_overlap(
            get_system_memory(), MINI_DATA + (16 << 20) + n * PAGE, &hole, 1);
        if (n % 16 == 0) {
            wait_for_progress(addr[0]);
            wait_for_progress(addr[1]);
        }
        memory_region_del_subregion(get_system_memory(), &hole);
    }
    wait_for_progress(addr[0]);
    check_hooks(1 + 4 * ROUNDS, 4 * ROUNDS, 1, 0);
    g_assert_cmpuint(kvm_slots_stats(vm).gate_closed, ==, 2 * ROUNDS);
    for (unsigned i = 0; i < 2; i++) {
        writer_stop(&w[i]);
        g_assert_cmpuint(w[i].mmio_exits, ==, 0);
        /* It goes down from 0 while the counter goes up from 0. An increment
         * that was not followed by the decrement yet may be one more. */
        g_assert_cmpuint(ldq_le_phys(&address_space_memory, addr[i]) +
                             mini_regs(w[i].v).rdx,
                         <=, 1);
    }
    g_assert_true(kvm_slots_set_logging(vm, &ram_rb, 1, false, &error_abort));
    check_hooks(1 + 4 * ROUNDS, 4 * ROUNDS, 1, 1);
    kvm_slots_set_hooks(vm, NULL);
    check_hooks(1 + 4 * ROUNDS, 1 + 4 * ROUNDS, 1, 1);
    vm_end();
    memory_region_destroy(&hole);
}

/*
 * What a PC's PAM registers do: the range is RAM, then the same RAM read-only,
 * while the guest writes there. Stores that come while it is read-only are
 * dropped; those that come later are done.
 */
static void test_flips_while_writing(void)
{
    enum {
        ROUNDS = 40
    };
    MemoryRegion mr = { 0 }, pam = { 0 };
    Writer w = { 0 };
    uint64_t at_rest;

    vm_begin(&config);
    mini_ram(&mr, "pam-ram", HIGH, 64 * PAGE);
    memory_region_init_alias(&pam, NULL, "pam", &mr, 0, 8 * PAGE);
    memory_region_add_subregion_overlap(get_system_memory(), HIGH, &pam, 1);
    writer_start(&w, 0, HIGH);
    for (unsigned n = 0; n < ROUNDS; n++) {
        wait_for_progress(HIGH);
        memory_region_set_readonly(&pam, true);
        at_rest = ldq_le_phys(&address_space_memory, HIGH);
        g_usleep(100);
        g_assert_cmpuint(ldq_le_phys(&address_space_memory, HIGH), ==, at_rest);
        memory_region_set_readonly(&pam, false);
        check_slots();
    }
    wait_for_progress(HIGH);
    writer_stop(&w);
    vm_end();
    memory_region_del_subregion(get_system_memory(), &pam);
    memory_region_destroy(&pam);
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&mr);
}

/* Logging is switched on and off under writing vCPUs. */
static void test_toggle_while_writing(void)
{
    enum {
        ROUNDS = 20
    };
    Writer w = { 0 };

    vm_begin(&config);
    writer_start(&w, 0, MINI_DATA);
    for (unsigned n = 0; n < ROUNDS; n++) {
        g_assert_true(
            kvm_slots_set_logging(vm, &ram_rb, 1, n % 2 == 0, &error_abort));
        wait_for_progress(MINI_DATA);
    }
    g_assert_cmpuint(kvm_slots_stats(vm).log_toggles, ==, ROUNDS);
    g_assert_cmpuint(kvm_slots_stats(vm).gate_closed, ==, 0);
    writer_stop(&w);
    g_assert_cmpuint(w.mmio_exits, ==, 0);
    vm_end();
}

/* ---- what the kernel refuses ---- */

static void test_broken_and_mended(void)
{
    MemoryRegion mr = { 0 };
    RAMBlock *rb;
    unsigned set_region = kvm_call_index(KVM_SET_USER_MEMORY_REGION);

    vm_begin(&config);
    kvm_fault_arm(1, ENOMEM, set_region);
    rb = mini_ram(&mr, "refused", HIGH, 16 * PAGE);
    g_assert_true(atomic_load(&vm->broken));
    g_assert_cmpuint(pages_shown(rb, 0, 16 * PAGE), ==, 0);
    /* The next change, of whatever, tries again. */
    memory_region_set_enabled(&mr, false);
    memory_region_set_enabled(&mr, true);
    g_assert_false(atomic_load(&vm->broken));
    g_assert_cmpuint(pages_shown(rb, 0, 16 * PAGE), ==, 16);

    kvm_fault_arm(1, EIO, set_region);
    memory_region_set_enabled(&mr, false);
    g_assert_true(atomic_load(&vm->broken));
    g_assert_cmpuint(pages_shown(rb, 0, 16 * PAGE), ==, 16);
    memory_region_set_enabled(&mr, true);
    g_assert_false(atomic_load(&vm->broken));
    check_slots();
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    vm_end();
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&mr);
}

/*
 * The slot in which a vCPU counts goes, and what comes in its place is refused.
 * The vCPU waits for it; nowhere does it meet a place without memory.
 */
static void test_refused_while_running(void)
{
    unsigned set_region = kvm_call_index(KVM_SET_USER_MEMORY_REGION);
    MemoryRegion hole = { 0 };
    Writer w = { 0 };

    vm_begin(&config);
    memory_region_init_ram(&hole, NULL, "hole", 16 * PAGE, &error_abort);
    writer_start(&w, 0, MINI_DATA);
    for (unsigned n = 0; n < 20; n++) {
        uint64_t before;

        wait_for_progress(MINI_DATA);
        kvm_fault_arm(2, ENOMEM, set_region); /* the first is the removal */
        memory_region_add_subregion_overlap(get_system_memory(),
                                            MINI_DATA + (8 << 20), &hole, 1);
        g_assert_true(kvm_fault_fired());
        g_assert_true(atomic_load(&vm->broken));
        before = ldq_le_phys(&address_space_memory, MINI_DATA);
        g_usleep(1000);
        g_assert_cmpuint(ldq_le_phys(&address_space_memory, MINI_DATA), ==,
                         before);
        memory_region_del_subregion(get_system_memory(), &hole);
        g_assert_false(atomic_load(&vm->broken));
    }
    wait_for_progress(MINI_DATA);
    writer_stop(&w);
    g_assert_cmpuint(w.mmio_exits, ==, 0);
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    vm_end();
    memory_region_destroy(&hole);
}

/* A second VM over the same memory has the same slots, from then on. */
static void test_two_vms(void)
{
    MemoryRegion mr = { 0 };
    KvmVm *first, *second;

    vm_begin(&config);
    first = vm;
    second = kvm_vm_new(&config, &error_abort);
    g_assert_cmpuint(kvm_slots_count(second, false), ==, 0);
    g_assert_true(
        kvm_slots_set_logging(second, &ram_rb, 1, true, &error_abort));
    g_assert_true(kvm_slots_attach(second, &error_abort));
    g_assert_cmpuint(kvm_slots_count(second, true), ==, 1);
    mini_ram(&mr, "more", HIGH, 16 * PAGE);
    g_assert_cmpuint(kvm_slots_count(first, false), ==, 2);
    g_assert_cmpuint(kvm_slots_count(second, false), ==, 2);
    kvm_slots_detach(second);
    g_assert_cmpuint(kvm_slots_count(second, false), ==, 0);
    memory_region_del_subregion(get_system_memory(), &mr);
    g_assert_cmpuint(kvm_slots_count(first, false), ==, 1);
    kvm_vm_free(second);
    vm_end();
    memory_region_destroy(&mr);
}

static void test_skip(void)
{
    g_test_skip(mini_unusable());
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (mini_unusable()) {
        g_test_add_func("/kvm/slots", test_skip);
        return g_test_run();
    }
    mini_init();
    ram_rb = mini_ram(&ram, "ram", 0, RAM_BYTES);
    mini_load();
    g_test_add_func("/kvm/slots/odd-sizes", test_odd_sizes);
    g_test_add_func("/kvm/slots/parts-of-pages", test_parts_of_pages);
    g_test_add_func("/kvm/slots/shifted", test_shifted);
    g_test_add_func("/kvm/slots/many-blocks", test_many_blocks);
    g_test_add_func("/kvm/slots/slot-size", test_slot_size);
    g_test_add_func("/kvm/slots/limit", test_slot_limit);
    g_test_add_func("/kvm/slots/rom", test_rom);
    g_test_add_func("/kvm/slots/logging", test_logging);
    g_test_add_func("/kvm/slots/split-while-running", test_split_while_running);
    g_test_add_func("/kvm/slots/flips-while-writing", test_flips_while_writing);
    g_test_add_func("/kvm/slots/toggle-while-writing",
                    test_toggle_while_writing);
    g_test_add_func("/kvm/slots/broken-and-mended", test_broken_and_mended);
    g_test_add_func("/kvm/slots/refused-while-running",
                    test_refused_while_running);
    g_test_add_func("/kvm/slots/two-vms", test_two_vms);
    return g_test_run();
}
