/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See kvm-harness.h. */
#include "qemu/osdep.h"

#include "kvm-harness.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "qemu/error.h"
#include "qom/object.h"

#define LOW_BYTES (UINT64_C(2) << 20)

void cpu_register_types(void); /* system/cpus-internal.h */

static struct {
    MemoryRegion low, ram;
    KvmVmConfig config; /* of kvm_vm() */
    GPtrArray *vcpus;   /* GuestVcpu */
} guest;

/* ---- memory and VMs ---- */

void TSA_NO_CHECK guest_init(void)
{
    mini_init();
    qom_register_types();
    cpu_register_types();
    mini_cpu_register_type();
    mini_ram(&guest.low, "low", 0, LOW_BYTES);
    mini_ram(&guest.ram, "ram", GUEST_RAM_BASE, GUEST_RAM_BYTES);
    mini_load();
    guest.vcpus = g_ptr_array_new();
}

RAMBlock *guest_ram(void)
{
    return qemu_ram_block_from_host(memory_region_get_ram_ptr(&guest.ram),
                                    &(ram_addr_t){ 0 });
}

MemoryRegion *guest_ram_region(void)
{
    return &guest.ram;
}

static void put_into_vm(GuestVcpu *g)
{
    g->v = kvm_vcpu_new(kvm_vm(), g->cs->cpu_index, g->cs, &error_abort);
    g->cs->accel_data = g->v;
    kvm_ring_vcpu_made(g->v);
    mini_start(g->v, MINI_SPIN, 0, 0, 0, 0);
}

static bool same_config(const KvmVmConfig *a, const KvmVmConfig *b)
{
    return a->kind == b->kind && a->ring_entries == b->ring_entries &&
           a->irqchip == b->irqchip && a->slot_bytes == b->slot_bytes &&
           a->smm == b->smm;
}

void guest_use_vm(const KvmVmConfig *config)
{
    KvmVm *vm = kvm_vm();

    if (vm && same_config(config, &guest.config)) {
        return;
    }
    if (vm) {
        kvm_vm_free(vm);
    }
    guest.config = *config;
    vm = kvm_vm_new(config, &error_abort);
    kvm_slots_attach(vm, &error_abort);
    kvm_vm_set_current(vm);
    for (guint i = 0; i < guest.vcpus->len; i++) {
        put_into_vm(guest.vcpus->pdata[i]);
    }
}

GuestVcpu *guest_vcpu(const char *type)
{
    GuestVcpu *g = g_new0(GuestVcpu, 1);

    g->cs = CPU(object_new(type));
    g->cs->cpu_index = guest.vcpus->len;
    g->cs->as = &address_space_memory;
    g_ptr_array_add(guest.vcpus, g);
    if (kvm_vm()) {
        put_into_vm(g);
    }
    return g;
}

void guest_write(hwaddr addr, const void *buf, size_t len)
{
    address_space_write(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED,
                        buf, len);
}

void guest_write64(hwaddr addr, uint64_t val)
{
    guest_write(addr, &val, sizeof(val));
}

/* ---- running ---- */

/* The kernel may still have to complete the store to the port. */
static void complete_io(GuestVcpu *g)
{
    if (g->v->io_pending) {
        atomic_store(&g->cs->exit_request, true);
        g_assert_cmpint(kvm_vcpu_run(g->v), ==, -EINTR);
    }
    atomic_store(&g->cs->exit_request, false);
}

static void prepare(GuestVcpu *g, vaddr pc)
{
    complete_io(g);
    g->regs.rip = pc;
    g->regs.rflags = MINI_RFLAGS;
    g->parked = false;
    g_assert_cmpint(kvm_vcpu_ioctl(g->v, KVM_SET_REGS, &g->regs), >=, 0);
}

/* Neither a program's end nor anything that it may do. */
static void G_NORETURN lost(KvmVcpu *v, uint32_t reason)
{
    struct kvm_regs r = mini_regs(v);
    struct kvm_sregs s = { 0 };

    kvm_vcpu_ioctl(v, KVM_GET_SREGS, &s);
    g_error("exit %u: rip %#llx rsi %#llx rdi %#llx cr2 %#llx cs %#x cpl %u",
            reason, r.rip, r.rsi, r.rdi, s.cr2, s.cs.selector, s.ss.dpl);
}

/* Until it parks, or somebody wants it out. Returns what guest_run() does. */
static uint32_t run_until_parked(GuestVcpu *g)
{
    KvmVcpu *v = g->v;

    while (!g->parked) {
        int ret = kvm_vcpu_run(v);
        uint32_t reason = v->run->exit_reason;

        if (ret == -EINTR || ret == -EAGAIN) {
            if (atomic_load(&g->cs->exit_request)) {
                break;
            }
        } else if (ret < 0) {
            g_error("KVM_RUN: %s", g_strerror(-ret));
        } else if (reason == KVM_EXIT_DIRTY_RING_FULL) {
            dirty_tracker_vcpu_exit(g->cs);
        } else if (reason == KVM_EXIT_IO && v->run->io.port == MINI_PORT) {
            g->parked = true;
        } else if (reason == KVM_EXIT_MMIO) {
            g->parked = true;
            return 1;
        } else if (reason != KVM_EXIT_INTR) {
            lost(v, reason);
        }
    }
    return 0;
}

uint32_t guest_run(GuestVcpu *g, vaddr pc)
{
    uint32_t ret;

    prepare(g, pc);
    kvm_vcpu_attach_thread(g->v);
    ret = run_until_parked(g);
    kvm_vcpu_detach_thread(g->v);
    g_assert_true(g->parked);
    return ret;
}

bool guest_is_parked(GuestVcpu *g)
{
    return g->parked;
}

static void *guest_thread(void *opaque)
{
    GuestThread *t = opaque;

    kvm_vcpu_attach_thread(t->g->v);
    while (!t->g->parked) {
        /* As vcpu_thread_wait() does: forget requests, then look. */
        atomic_store(&t->g->cs->exit_request, false);
        if (atomic_load(&t->stop)) {
            break;
        }
        run_until_parked(t->g);
    }
    kvm_vcpu_detach_thread(t->g->v);
    return NULL;
}

void guest_start(GuestThread *t, GuestVcpu *g, vaddr pc)
{
    t->g = g;
    atomic_store(&t->stop, false);
    prepare(g, pc);
    qemu_thread_create(&t->thread, "guest", guest_thread, t,
                       QEMU_THREAD_JOINABLE, &error_abort);
}

void guest_join(GuestThread *t)
{
    qemu_thread_join(&t->thread);
}

void guest_stop(GuestThread *t)
{
    atomic_store(&t->stop, true);
    atomic_store(&t->g->cs->exit_request, true);
    kvm_vcpu_kick(t->g->v);
    qemu_event_set(&t->g->cs->wake);
    guest_join(t);
}
