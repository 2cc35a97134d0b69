/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts and doorbells in the kernel: see kvm-irqchip.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/memory.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "kvm-irqchip.h"

typedef struct IrqFd {
    int gsi, fd, resample_fd;
} IrqFd;

typedef struct Route {
    int gsi;
    uint64_t address;
    uint32_t data;
} Route;

typedef struct Zone {
    bool pio;
    hwaddr addr;
    uint64_t size;
} Zone;

/* What devices have registered: one machine per process. BQL. */
static struct {
    KvmVm *vm; /* that has them; NULL: none yet */
    GArray *irqfds, *routes, *bells, *zones;
    bool flushing;
} regs;

static void regs_init(void)
{
    if (!regs.irqfds) {
        regs.irqfds = g_array_new(FALSE, FALSE, sizeof(IrqFd));
        regs.routes = g_array_new(FALSE, FALSE, sizeof(Route));
        regs.bells = g_array_new(FALSE, FALSE, sizeof(AccelDoorbell));
        regs.zones = g_array_new(FALSE, FALSE, sizeof(Zone));
    }
}

/* ---- to the kernel ---- */

static int tell_irqfd(KvmVm *vm, const IrqFd *i, bool add)
{
    struct kvm_irqfd k = {
        .fd = i->fd,
        .gsi = i->gsi,
        .flags = add ? 0 : KVM_IRQFD_FLAG_DEASSIGN,
    };

    if (add && i->resample_fd >= 0) {
        k.flags |= KVM_IRQFD_FLAG_RESAMPLE;
        k.resamplefd = i->resample_fd;
    }
    return kvm_vm_ioctl(vm, KVM_IRQFD, &k);
}

static int tell_bell(KvmVm *vm, const AccelDoorbell *b, bool add)
{
    struct kvm_ioeventfd k = {
        .datamatch = b->match ? b->data : 0,
        .addr = b->addr,
        .len = b->size,
        .fd = b->fd,
        .flags = (b->pio ? KVM_IOEVENTFD_FLAG_PIO : 0) |
                 (b->match ? KVM_IOEVENTFD_FLAG_DATAMATCH : 0) |
                 (add ? 0 : KVM_IOEVENTFD_FLAG_DEASSIGN),
    };

    return kvm_vm_ioctl(vm, KVM_IOEVENTFD, &k);
}

static int tell_zone(KvmVm *vm, const Zone *z, bool add)
{
    struct kvm_coalesced_mmio_zone k = { .addr = z->addr,
                                         .size = z->size,
                                         .pio = z->pio };

    return add ? kvm_vm_ioctl(vm, KVM_REGISTER_COALESCED_MMIO, &k)
               : kvm_vm_ioctl(vm, KVM_UNREGISTER_COALESCED_MMIO, &k);
}

/* The kernel takes the whole table: its own lines, and the messages. */
static int tell_routes(KvmVm *vm)
{
    unsigned fixed = kvm_arch_nr_fixed_routes(vm);
    unsigned n = fixed + regs.routes->len;
    g_autofree struct kvm_irq_routing *table = g_malloc0(
        sizeof(*table) + n * sizeof(table->entries[0]));

    if (!n && vm->irqchip != KVM_IRQCHIP_SPLIT) {
        return 0; /* there have never been any, so it has none */
    }
    table->nr = n;
    kvm_arch_fixed_routes(vm, table->entries);
    for (guint i = 0; i < regs.routes->len; i++) {
        const Route *r = &g_array_index(regs.routes, Route, i);
        struct kvm_irq_routing_entry *e = &table->entries[fixed + i];

        e->gsi = r->gsi;
        e->type = KVM_IRQ_ROUTING_MSI;
        e->u.msi.address_lo = r->address;
        e->u.msi.address_hi = r->address >> 32;
        e->u.msi.data = r->data;
    }
    return kvm_vm_ioctl(vm, KVM_SET_GSI_ROUTING, table);
}

/* ---- a VM takes part ---- */

bool kvm_irqchip_init(KvmVm *vm, Error **errp)
{
    int ret;

    regs_init();
    if (vm->irqchip != KVM_IRQCHIP_OFF &&
        !kvm_cap_require(KVM_HAS_IRQCHIP, errp)) {
        return false;
    }
    if (!kvm_arch_irqchip_create(vm, errp)) {
        return false;
    }
    ret = kvm_cap(KVM_HAS_IRQ_ROUTING) ? tell_routes(vm) : 0;
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot lay out the interrupt lines");
        return false;
    }
    return true;
}

static int tell_bells_and_zones(KvmVm *vm)
{
    int ret = tell_routes(vm);

    for (guint i = 0; ret >= 0 && i < regs.bells->len; i++) {
        ret = tell_bell(vm, &g_array_index(regs.bells, AccelDoorbell, i), true);
        if (ret == -EEXIST) {
            ret = 0; /* it has been here before and was not taken back */
        }
    }
    for (guint i = 0; ret >= 0 && i < regs.zones->len; i++) {
        ret = tell_zone(vm, &g_array_index(regs.zones, Zone, i), true);
    }
    return ret;
}

/* Failures mean that it had not got it. */
static void take_bells_and_zones(KvmVm *vm)
{
    for (guint i = 0; i < regs.bells->len; i++) {
        tell_bell(vm, &g_array_index(regs.bells, AccelDoorbell, i), false);
    }
    for (guint i = 0; i < regs.zones->len; i++) {
        tell_zone(vm, &g_array_index(regs.zones, Zone, i), false);
    }
}

/* @from or @to NULL: none. On failure it is where it was, or nowhere. */
static int move_irqfd(KvmVm *from, KvmVm *to, const IrqFd *f)
{
    int ret = from ? tell_irqfd(from, f, false) : 0;

    if (ret >= 0 && to) {
        ret = tell_irqfd(to, f, true);
        if (ret < 0 && from && tell_irqfd(from, f, true) < 0) {
            kvm_vm_set_broken(from,
                              "the kernel does not take back an "
                              "interrupt by eventfd",
                              true);
        }
    }
    return ret;
}

/*
 * All irqfds from @from to @to, or on failure none. The kernel lets an eventfd
 * raise a line of one VM only. What is signalled in between is not lost: the
 * eventfd keeps it, and the kernel looks when it gets it.
 */
static int move_irqfds(KvmVm *from, KvmVm *to)
{
    int ret = 0;
    guint i;

    for (i = 0; i < regs.irqfds->len && ret >= 0; i++) {
        ret = move_irqfd(from, to, &g_array_index(regs.irqfds, IrqFd, i));
    }
    if (ret < 0) {
        for (i--; i-- > 0;) {
            move_irqfd(to, from, &g_array_index(regs.irqfds, IrqFd, i));
        }
    }
    return ret;
}

bool kvm_irqchip_move(KvmVm *to, Error **errp)
{
    KvmVm *from = regs.vm;
    int ret = tell_bells_and_zones(to);

    if (ret >= 0) {
        ret = move_irqfds(from, to);
    }
    if (ret < 0) {
        take_bells_and_zones(to);
        error_setg_errno(errp, -ret,
                         "the kernel does not take the devices' interrupts "
                         "and doorbells");
        return false;
    }
    if (from) {
        take_bells_and_zones(from);
    }
    regs.vm = to;
    return true;
}

void kvm_irqchip_detach(KvmVm *vm)
{
    if (regs.vm == vm) {
        move_irqfds(vm, NULL);
        take_bells_and_zones(vm);
        regs.vm = NULL;
    }
}

/* ---- lines and messages ---- */

void kvm_set_gsi(int gsi, int level)
{
    int ret = kvm_arch_set_gsi(kvm_vm(), gsi, level);

    if (ret < 0) {
        error_report("KVM: cannot set interrupt line %d: %s", gsi,
                     strerror(-ret));
    }
}

static bool kvm_send_msi(uint64_t address, uint32_t data, Error **errp)
{
    struct kvm_msi msi = { .address_lo = address,
                           .address_hi = address >> 32,
                           .data = data };
    int ret;

    if (regs.vm->irqchip == KVM_IRQCHIP_OFF) {
        error_setg(errp, "kernel-irqchip=off has no message-signalled "
                         "interrupts");
        return false;
    }
    if (!kvm_cap_require(KVM_HAS_SIGNAL_MSI, errp)) {
        return false;
    }
    ret = kvm_vm_ioctl(regs.vm, KVM_SIGNAL_MSI, &msi);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "the kernel does not take the message");
        return false;
    }
    return true;
}

/* ---- routes ---- */

static Route *find_route(int gsi)
{
    for (guint i = 0; i < regs.routes->len; i++) {
        Route *r = &g_array_index(regs.routes, Route, i);

        if (r->gsi == gsi) {
            return r;
        }
    }
    return NULL;
}

bool kvm_irqchip_update_routes(Error **errp)
{
    int ret = regs.vm ? tell_routes(regs.vm) : 0;

    if (ret < 0) {
        error_setg_errno(errp, -ret, "the kernel does not take the routes");
    }
    return ret >= 0;
}

static int kvm_route_add(uint64_t address, uint32_t data, Error **errp)
{
    Route r = { .address = address, .data = data };
    int ret;

    if (regs.vm->irqchip == KVM_IRQCHIP_OFF) {
        error_setg(errp, "kernel-irqchip=off has no message-signalled "
                         "interrupts");
        return -1;
    }
    if (!kvm_cap_require(KVM_HAS_IRQ_ROUTING, errp)) {
        return -1;
    }
    r.gsi = kvm_arch_nr_gsis(regs.vm);
    while (find_route(r.gsi)) {
        r.gsi++;
    }
    if (r.gsi >= kvm_cap(KVM_HAS_IRQ_ROUTING)) {
        error_setg(errp, "the kernel has no more than %d routes",
                   kvm_cap(KVM_HAS_IRQ_ROUTING));
        return -1;
    }
    g_array_append_val(regs.routes, r);
    ret = tell_routes(regs.vm);
    if (ret < 0) {
        g_array_set_size(regs.routes, regs.routes->len - 1);
        tell_routes(regs.vm);
        error_setg_errno(errp, -ret, "the kernel does not take the route");
        return -1;
    }
    return r.gsi;
}

static bool kvm_route_update(int gsi, uint64_t address, uint32_t data,
                             Error **errp)
{
    Route *r = find_route(gsi), old = *r;
    int ret;

    r->address = address;
    r->data = data;
    ret = tell_routes(regs.vm);
    if (ret < 0) {
        *r = old;
        tell_routes(regs.vm);
        error_setg_errno(errp, -ret, "the kernel does not take the route");
        return false;
    }
    return true;
}

static void kvm_route_remove(int gsi)
{
    Route *r = find_route(gsi);

    g_array_remove_index(regs.routes,
                         r - &g_array_index(regs.routes, Route, 0));
    tell_routes(regs.vm); /* on failure a line that nobody raises */
}

/* ---- eventfds ---- */

static bool kvm_irqfd_add(int gsi, int fd, int resample_fd, Error **errp)
{
    IrqFd i = { .gsi = gsi, .fd = fd, .resample_fd = resample_fd };
    int ret;

    if (regs.vm->irqchip == KVM_IRQCHIP_OFF) {
        error_setg(errp, "kernel-irqchip=off has no interrupts by eventfd");
        return false;
    }
    if (!kvm_cap_require(
            resample_fd >= 0 ? KVM_HAS_IRQFD_RESAMPLE : KVM_HAS_IRQFD, errp)) {
        return false;
    }
    ret = tell_irqfd(regs.vm, &i, true);
    if (ret < 0) {
        error_setg_errno(
            errp, -ret, "the kernel does not raise line %d by an eventfd", gsi);
        return false;
    }
    g_array_append_val(regs.irqfds, i);
    return true;
}

static void kvm_irqfd_remove(int gsi, int fd)
{
    for (guint i = 0; i < regs.irqfds->len; i++) {
        IrqFd f = g_array_index(regs.irqfds, IrqFd, i);

        if (f.gsi == gsi && f.fd == fd) {
            g_array_remove_index(regs.irqfds, i);
            tell_irqfd(regs.vm, &f, false);
            return;
        }
    }
}

static bool kvm_doorbell_add(const AccelDoorbell *bell, Error **errp)
{
    int ret;

    if (!kvm_cap_require(bell->size ? KVM_HAS_IOEVENTFD
                                    : KVM_HAS_IOEVENTFD_ANY_LENGTH,
                         errp)) {
        return false;
    }
    ret = tell_bell(regs.vm, bell, true);
    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "the kernel does not take a doorbell at %s "
                         "0x%" PRIx64,
                         bell->pio ? "port" : "address", bell->addr);
        return false;
    }
    g_array_append_vals(regs.bells, bell, 1);
    return true;
}

static void kvm_doorbell_remove(const AccelDoorbell *bell)
{
    for (guint i = 0; i < regs.bells->len; i++) {
        AccelDoorbell b = g_array_index(regs.bells, AccelDoorbell, i);

        if (b.pio == bell->pio && b.addr == bell->addr &&
            b.size == bell->size && b.match == bell->match &&
            b.data == bell->data && b.fd == bell->fd) {
            g_array_remove_index(regs.bells, i);
            tell_bell(regs.vm, &b, false);
            return;
        }
    }
}

/* ---- coalesced stores ---- */

static bool kvm_coalesce_add(bool pio, hwaddr addr, uint64_t size, Error **errp)
{
    Zone z = { .pio = pio, .addr = addr, .size = size };
    int ret;

    if (!kvm_cap_require(pio ? KVM_HAS_COALESCED_PIO : KVM_HAS_COALESCED_MMIO,
                         errp)) {
        return false;
    }
    ret = tell_zone(regs.vm, &z, true);
    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "the kernel gathers no stores to %s "
                         "0x%" PRIx64,
                         pio ? "port" : "address", addr);
        return false;
    }
    g_array_append_val(regs.zones, z);
    return true;
}

static void kvm_coalesce_remove(bool pio, hwaddr addr, uint64_t size)
{
    accel_coalesce_flush();
    for (guint i = 0; i < regs.zones->len; i++) {
        Zone z = g_array_index(regs.zones, Zone, i);

        if (z.pio == pio && z.addr == addr && z.size == size) {
            g_array_remove_index(regs.zones, i);
            tell_zone(regs.vm, &z, false);
            return;
        }
    }
}

/* The ring that the kernel fills; every vCPU's mapping shows the same. */
static struct kvm_coalesced_mmio_ring *ring_of(const KvmVcpu *v)
{
    int page = kvm_cap(KVM_HAS_COALESCED_MMIO);

    return page ? (void *)((uint8_t *)v->run + (size_t)page * getpagesize())
                : NULL;
}

static bool ring_empty(struct kvm_coalesced_mmio_ring *ring)
{
    /* Acquire: pairs with the kernel's release of `last`. */
    return ring->first == __atomic_load_n(&ring->last, __ATOMIC_ACQUIRE);
}

static void do_store(struct kvm_coalesced_mmio *e)
{
    address_space_rw(e->pio ? &address_space_io : &address_space_memory,
                     e->phys_addr, MEMTXATTRS_UNSPECIFIED, e->data,
                     MIN(e->len, sizeof(e->data)), true);
}

void kvm_coalesced_flush(const KvmVcpu *v)
{
    struct kvm_coalesced_mmio_ring *ring = ring_of(v);
    const uint32_t n = (getpagesize() - sizeof(*ring)) /
                       sizeof(ring->coalesced_mmio[0]);

    if (!ring || ring_empty(ring)) {
        return;
    }
    BQL_LOCK_GUARD();
    if (regs.flushing) {
        return; /* a device that we call flushes: it is being done */
    }
    regs.flushing = true;
    while (!ring_empty(ring)) {
        do_store(&ring->coalesced_mmio[ring->first]);
        /* Release: the entry is read before the kernel uses it again. */
        __atomic_store_n(&ring->first, (ring->first + 1) % n, __ATOMIC_RELEASE);
    }
    regs.flushing = false;
}

static void kvm_coalesce_flush(void)
{
    KvmVm *vm = kvm_vm();

    if (vm->vcpus->len) {
        kvm_coalesced_flush(vm->vcpus->pdata[0]);
    }
}

const AccelIrqOps kvm_irq_ops = {
    .send_msi = kvm_send_msi,
    .route_add = kvm_route_add,
    .route_update = kvm_route_update,
    .route_remove = kvm_route_remove,
    .irqfd_add = kvm_irqfd_add,
    .irqfd_remove = kvm_irqfd_remove,
    .doorbell_add = kvm_doorbell_add,
    .doorbell_remove = kvm_doorbell_remove,
    .coalesce_add = kvm_coalesce_add,
    .coalesce_remove = kvm_coalesce_remove,
    .coalesce_flush = kvm_coalesce_flush,
};
