/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest moves to another kernel VM: see kvm-twin.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/dirty-choice.h"
#include "system/dirty-memory.h"
#include "system/memory.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "kvm-irqchip.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "kvm-twin.h"

typedef enum Step {
    STEP_NONE,
    STEP_PREPARED,
    STEP_SAVED,
    STEP_GONE,
} Step;

/* One at a time. BQL. */
static struct {
    Step step;
    KvmVm *from, *to;
    KvmArchMove *arch;
    int64_t begin_ns; /* the gate was closed */
    KvmTwinStats stats;
} twin;

static _Atomic int64_t stand_ns; /* as in its stats; 0: none yet */

/* Around accel_data's change, and its use by threads without the BQL. */
static pthread_rwlock_t swap_lock = PTHREAD_RWLOCK_INITIALIZER;

/* VMs that are being freed. */
static struct {
    QemuMutex lock;
    QemuCond done;
    unsigned pending;
    int64_t free_ns;
} freeing = {
    .lock = { PTHREAD_MUTEX_INITIALIZER },
    .done = { PTHREAD_COND_INITIALIZER },
};

KvmTwinStats kvm_twin_stats(void)
{
    KvmTwinStats s = twin.stats;

    QEMU_LOCK_GUARD(&freeing.lock);
    s.free_ns = freeing.free_ns;
    return s;
}

void kvm_twin_with_vcpu(CPUState *cpu, void (*fn)(KvmVcpu *v))
{
    pthread_rwlock_rdlock(&swap_lock);
    if (cpu->accel_data) {
        fn(kvm_vcpu(cpu));
    }
    pthread_rwlock_unlock(&swap_lock);
}

static KvmVcpu *vcpu_at(KvmVm *vm, guint i)
{
    return vm->vcpus->pdata[i];
}

/* ---- freed elsewhere: it takes the kernel milliseconds ---- */

static void *free_thread(void *opaque)
{
    int64_t begin_ns = get_clock();

    kvm_vm_free_alone(opaque);
    QEMU_LOCK_GUARD(&freeing.lock);
    freeing.free_ns = get_clock() - begin_ns;
    freeing.pending--;
    qemu_cond_broadcast(&freeing.done);
    return NULL;
}

/* @vm has no vCPU that anybody knows. */
static void free_vm(KvmVm *vm)
{
    QemuThread thread;

    for (guint i = 0; i < vm->vcpus->len; i++) {
        kvm_ring_vcpu_gone(vcpu_at(vm, i));
        vcpu_at(vm, i)->cs = NULL;
    }
    kvm_slots_leave(vm);
    WITH_QEMU_LOCK_GUARD(&freeing.lock)
    {
        freeing.pending++;
    }
    if (!qemu_thread_create(&thread, "kvm-free", free_thread, vm,
                            QEMU_THREAD_DETACHED, NULL)) {
        free_thread(vm);
    }
}

void kvm_twin_wait_freed(void)
{
    QEMU_LOCK_GUARD(&freeing.lock);
    while (freeing.pending) {
        qemu_cond_wait(&freeing.done, &freeing.lock);
    }
}

/* ---- prepare ---- */

bool kvm_twin_possible(Error **errp)
{
    if (!kvm_vm()) {
        error_setg(errp, "there is no KVM here");
        return false;
    }
    if (atomic_load(&kvm_vm()->broken)) {
        error_setg(errp, "the kernel does not take the guest's memory");
        return false;
    }
    return kvm_arch_can_move(kvm_vm(), errp);
}

/* Slots that are logged from the start shall not begin with all pages set. */
static void begin_with_none_set(KvmVm *vm)
{
    const uint64_t bits = KVM_DIRTY_LOG_MANUAL_PROTECT_ENABLE;

    if (vm->manual_protect & ~bits &&
        kvm_vm_enable_cap(vm, KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, bits) == 0) {
        vm->manual_protect = bits;
    }
}

static bool make_vcpus(KvmVm *from, KvmVm *to, Error **errp)
{
    for (guint i = 0; i < from->vcpus->len; i++) {
        const KvmVcpu *v = vcpu_at(from, i);

        if (!kvm_vcpu_new(to, v->id, v->cs, errp)) {
            return false;
        }
    }
    return true;
}

static bool fill(KvmVm *vm, RAMBlock *const *blocks, size_t nr_blocks,
                 Error **errp)
{
    if (nr_blocks && vm->kind == KVM_LOG_BITMAP) {
        begin_with_none_set(vm);
    }
    if (!kvm_slots_set_logging(vm, blocks, nr_blocks, true, errp) ||
        !kvm_slots_attach(vm, errp) || !make_vcpus(twin.from, vm, errp)) {
        return false;
    }
    twin.arch = kvm_arch_move_prepare(twin.from, vm, errp);
    return twin.arch != NULL;
}

static bool prepare(KvmLogKind kind, uint32_t ring_entries,
                    RAMBlock *const *blocks, size_t nr_blocks, Error **errp)
{
    int64_t begin_ns = get_clock();
    KvmVmConfig config = { .kind = kind, .ring_entries = ring_entries };

    assert(bql_locked());
    if (twin.step != STEP_NONE) {
        error_setg(errp, "another change of it is under way");
        return false;
    }
    if (!kvm_twin_possible(errp)) {
        return false;
    }
    twin.from = kvm_vm();
    config.irqchip = twin.from->irqchip;
    config.slot_bytes = twin.from->slot_bytes;
    config.smm = twin.from->nr_spaces > 1;
    twin.to = kvm_vm_new(&config, errp);
    if (!twin.to) {
        twin.stats.failures++;
        return false;
    }
    if (!fill(twin.to, blocks, nr_blocks, errp)) {
        twin.stats.failures++;
        free_vm(twin.to);
        return false;
    }
    twin.step = STEP_PREPARED;
    twin.stats.prepare_ns = get_clock() - begin_ns;
    return true;
}

/* ---- save ---- */

/* Came and went vCPUs meanwhile? */
static bool same_vcpus(Error **errp)
{
    bool same = twin.from->vcpus->len == twin.to->vcpus->len;

    for (guint i = 0; same && i < twin.to->vcpus->len; i++) {
        same = vcpu_at(twin.from, i)->id == vcpu_at(twin.to, i)->id;
    }
    if (!same) {
        error_setg(errp, "a CPU came or went meanwhile");
    }
    return same;
}

/* Nothing to complete, and all that is known here is known to the kernel. */
static bool settle(KvmVcpu *v, Error **errp)
{
    if (v->io_pending) {
        int ret;

        kvm_vcpu_kick(v);
        ret = kvm_vcpu_ioctl(v, KVM_RUN, 0);
        if (ret != -EINTR) {
            error_setg_errno(errp, ret < 0 ? -ret : EINVAL,
                             "vCPU %lu does not complete its instruction",
                             v->id);
            return false;
        }
        v->io_pending = false;
    }
    kvm_coalesced_flush(v);
    if (v->regs_in_env) {
        if (!kvm_arch_put_registers(v, v->put_level, errp)) {
            return false;
        }
        v->put_level = 0; /* KVM_PUT_RUNTIME; env is current, still */
    }
    return true;
}

static bool save_all(Error **errp)
{
    if (twin.from != kvm_vm() || !same_vcpus(errp)) {
        return false;
    }
    if (atomic_load(&twin.to->broken)) {
        error_setg(errp, "the kernel does not take the guest's memory twice");
        return false;
    }
    for (guint i = 0; i < twin.from->vcpus->len; i++) {
        if (!settle(vcpu_at(twin.from, i), errp)) {
            return false;
        }
    }
    return kvm_arch_move_save(twin.arch, errp);
}

static bool twin_save(Error **errp)
{
    bool ok;

    assert(bql_locked());
    if (twin.step != STEP_PREPARED) {
        error_setg(errp, "there is no kernel VM for it yet");
        return false;
    }
    twin.begin_ns = get_clock();
    kvm_gate_close(twin.from);
    ok = save_all(errp);
    if (ok) {
        kvm_slots_freeze(twin.from, true);
        twin.step = STEP_SAVED;
    } else {
        twin.stats.failures++;
        kvm_gate_open(twin.from);
    }
    twin.stats.save_ns = get_clock() - twin.begin_ns;
    return ok;
}

/* ---- go, and back ---- */

static void swap_vcpu(KvmVcpu *from, KvmVcpu *to)
{
    to->cs = from->cs;
    to->io_pending = false;
    to->regs_in_env = from->regs_in_env;
    to->put_level = from->put_level;
    atomic_store(&to->exits, atomic_load(&from->exits));
    if (to->cs) {
        to->cs->accel_data = to;
    }
}

/* Two VMs: their locks are never held together. */
static void hand_over_thread(KvmVcpu *from, KvmVcpu *to)
{
    bool has_thread;
    pthread_t thread;

    WITH_QEMU_LOCK_GUARD(&from->vm->lock)
    {
        has_thread = from->has_thread;
        thread = from->thread;
        from->has_thread = false;
    }
    QEMU_LOCK_GUARD(&to->vm->lock);
    to->has_thread = has_thread;
    to->thread = thread;
}

static void swap(KvmVm *from, KvmVm *to)
{
    pthread_rwlock_wrlock(&swap_lock);
    for (guint i = 0; i < from->vcpus->len; i++) {
        hand_over_thread(vcpu_at(from, i), vcpu_at(to, i));
        swap_vcpu(vcpu_at(from, i), vcpu_at(to, i));
    }
    kvm_vm_set_current(to);
    pthread_rwlock_unlock(&swap_lock);
}

/* A page that the kernel wrote while it got ready to run another VM. */
static void mark(KvmVm *vm, hwaddr addr)
{
    MemoryRegionSection s = memory_region_find(get_system_memory(), addr, 1);

    if (s.mr && memory_region_is_ram(s.mr)) {
        ram_block_set_dirty_pages(s.mr->ram_block,
                                  s.offset_within_region >> DIRTY_PAGE_BITS, 1,
                                  DIRTY_CLIENTS_NOCODE);
    }
}

/* The old VM goes on. */
static void stay(void)
{
    kvm_arch_move_undo(twin.arch, mark);
    kvm_slots_freeze(twin.from, false);
    kvm_gate_open(twin.from);
    twin.step = STEP_PREPARED; /* nothing more comes but finish */
    twin.stats.failures++;
}

static bool twin_go(Error **errp)
{
    int64_t begin_ns = get_clock(), loaded_ns;

    assert(bql_locked() && twin.step == STEP_SAVED);
    if (!kvm_arch_move_load(twin.arch, errp)) {
        stay();
        return false;
    }
    loaded_ns = get_clock();
    if (!kvm_irqchip_move(twin.to, errp)) {
        stay();
        return false;
    }
    swap(twin.from, twin.to);
    twin.step = STEP_GONE;
    twin.stats.load_ns = loaded_ns - begin_ns;
    twin.stats.swap_ns = get_clock() - loaded_ns;
    twin.stats.stand_ns = get_clock() - twin.begin_ns;
    atomic_store(&stand_ns, twin.stats.stand_ns);
    return true;
}

/* The new one has not run: the old one's state is the guest's. */
static void twin_go_back(void)
{
    Error *err = NULL;

    assert(bql_locked() && twin.step == STEP_GONE);
    swap(twin.to, twin.from);
    if (!kvm_irqchip_move(twin.from, &err)) {
        kvm_vm_set_broken(twin.from, error_get_pretty(err), true);
        error_free(err);
    }
    twin.stats.backs++;
    stay();
}

static void twin_finish(void)
{
    assert(bql_locked());
    assert(twin.step == STEP_PREPARED || twin.step == STEP_GONE);
    twin.stats.flushes += kvm_arch_move_flushes(twin.arch);
    kvm_arch_move_free(twin.arch);
    twin.arch = NULL;
    if (twin.step == STEP_GONE) {
        twin.stats.moves++;
        kvm_gate_open(twin.from);
        free_vm(twin.from);
    } else {
        free_vm(twin.to);
    }
    twin.from = twin.to = NULL;
    twin.step = STEP_NONE;
}

/* ---- its price ---- */

/* What the kernel counts: include/uapi/linux/kvm.h, kvm_stats_header. */
#define STAT_NAME_MAX 256

/* Statistic @name of those in @fd, of one value; 0: there is none. */
static uint64_t read_stat(int fd, const struct kvm_stats_header *h,
                          const char *name)
{
    size_t size = sizeof(struct kvm_stats_desc) + h->name_size;
    uint8_t buf[sizeof(struct kvm_stats_desc) + STAT_NAME_MAX];
    const struct kvm_stats_desc *d = (const void *)buf;
    uint64_t value;

    if (h->name_size > STAT_NAME_MAX) {
        return 0;
    }
    for (uint32_t i = 0; i < h->num_desc; i++) {
        if (pread(fd, buf, size, h->desc_offset + i * size) != (ssize_t)size) {
            return 0;
        }
        if (strncmp(d->name, name, h->name_size) == 0) {
            return pread(fd, &value, sizeof(value),
                         h->data_offset + d->offset) == sizeof(value)
                       ? value
                       : 0;
        }
    }
    return 0;
}

uint64_t kvm_twin_mapped_pages(KvmVm *vm)
{
    struct kvm_stats_header h;
    uint64_t n = 0;
    int fd = kvm_vm_ioctl(vm, KVM_GET_STATS_FD, 0);

    if (fd < 0) {
        return 0;
    }
    if (pread(fd, &h, sizeof(h), 0) == sizeof(h)) {
        n = read_stat(fd, &h, "pages_4k") +
            (read_stat(fd, &h, "pages_2m") << 9) +
            (read_stat(fd, &h, "pages_1g") << 18);
    }
    close(fd);
    return n;
}

static void twin_cost(DirtyTrackerMoveCost *cost)
{
    cost->stand_ns = (double)atomic_load(&stand_ns);
    cost->pages = (double)kvm_twin_mapped_pages(kvm_vm());
}

/* ---- for trackers ---- */

/* Without vCPUs, setup can still give it rings; not take them. */
static bool has_bitmap(void)
{
    return !kvm_vm() || kvm_vm()->kind == KVM_LOG_BITMAP;
}

static bool has_rings(void)
{
    KvmVm *vm = kvm_vm();

    return !vm || (vm->kind == KVM_LOG_BITMAP && !vm->vcpus->len) ||
           (vm->kind == KVM_LOG_RING &&
            (vm->ring_entries == dirty_tracking_ring_entries() ||
             !dirty_tracking_ring_entries()));
}

static bool prepare_bitmap(RAMBlock *const *blocks, size_t nr_blocks,
                           Error **errp)
{
    return prepare(KVM_LOG_BITMAP, 0, blocks, nr_blocks, errp);
}

static bool prepare_rings(RAMBlock *const *blocks, size_t nr_blocks,
                          Error **errp)
{
    return prepare(KVM_LOG_RING, dirty_tracking_ring_entries(), blocks,
                   nr_blocks, errp);
}

const DirtyTrackerMove kvm_twin_to_bitmap = {
    .is_there = has_bitmap,
    .prepare = prepare_bitmap,
    .save = twin_save,
    .go = twin_go,
    .go_back = twin_go_back,
    .finish = twin_finish,
    .cost = twin_cost,
};

const DirtyTrackerMove kvm_twin_to_rings = {
    .is_there = has_rings,
    .prepare = prepare_rings,
    .save = twin_save,
    .go = twin_go,
    .go_back = twin_go_back,
    .finish = twin_finish,
    .cost = twin_cost,
};
