/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entering, leaving, asking, waiting; the contract is in tcg-int.h. */
#include "qemu/osdep.h"

#include "qemu/timer.h"
#include "system/dirty-memory.h"
#include "tcg-int.h"

/*
 * The engine's shared state: one per process, as the dirty tracker's and the
 * CODE client's hooks know no instance.
 */
static struct {
    /* Append-only: an entry is published by the count. */
    TcgVcpu *vcpus[TCG_MAX_VCPUS];
    _Atomic unsigned nr_vcpus;
    QemuMutex register_lock;

    _Atomic uint64_t epoch;
    _Atomic uint64_t handshakes;
    _Atomic unsigned waiters;
    QemuMutex wait_lock;
    QemuCond wait_cond; /* a vCPU left or has seen a new epoch */
} tcg;

void (*tcg_test_hook)(TcgTestPoint point, TcgVcpu *v);

static void __attribute__((constructor)) tcg_sync_init(void)
{
    qemu_mutex_init(&tcg.register_lock);
    qemu_mutex_init(&tcg.wait_lock);
    qemu_cond_init(&tcg.wait_cond);
}

void tcg_vcpu_register(TcgVcpu *v)
{
    unsigned n;

    QEMU_LOCK_GUARD(&tcg.register_lock);
    n = atomic_load_explicit(&tcg.nr_vcpus, memory_order_relaxed);
    g_assert(n < TCG_MAX_VCPUS);
    tcg.vcpus[n] = v;
    /* Release: pairs with the acquire in tcg_nr_vcpus(). */
    atomic_store_explicit(&tcg.nr_vcpus, n + 1, memory_order_release);
}

unsigned tcg_nr_vcpus(void)
{
    return atomic_load_explicit(&tcg.nr_vcpus, memory_order_acquire);
}

TcgVcpu *tcg_vcpu(unsigned i)
{
    return tcg.vcpus[i];
}

uint64_t tcg_handshakes(void)
{
    return atomic_load_explicit(&tcg.handshakes, memory_order_relaxed);
}

static void wake_waiters(void)
{
    /*
     * Sequentially consistent, as is the waiter's increment: either we see
     * the waiter, or it sees what we stored before.
     */
    if (atomic_load(&tcg.waiters)) {
        qemu_mutex_lock(&tcg.wait_lock);
        qemu_cond_broadcast(&tcg.wait_cond);
        qemu_mutex_unlock(&tcg.wait_lock);
    }
}

/* Bring @v's own state up to date with epoch and memory map. */
static void catch_up(TcgVcpu *v)
{
    uint64_t epoch = atomic_load(&tcg.epoch);

    if (epoch != atomic_load_explicit(&v->seen_epoch, memory_order_relaxed)) {
        tcg_tlb_forget_writes(v);
        if (v->view_generation != address_space_generation(v->cs->as)) {
            tcg_tlb_flush(v);
        }
        /* Sequentially consistent: see wake_waiters(). */
        atomic_store(&v->seen_epoch, epoch);
        wake_waiters();
    }
}

void tcg_enter(TcgVcpu *v)
{
    /*
     * Sequentially consistent: either the handshake sees us active and waits,
     * or we see its epoch here.
     */
    atomic_store(&v->active, true);
    catch_up(v);
}

void tcg_leave(TcgVcpu *v)
{
    atomic_store(&v->active, false);
    wake_waiters();
}

void tcg_ask(TcgVcpu *v)
{
    atomic_store(&v->chain_key, 0);
}

bool tcg_poll(TcgVcpu *v)
{
    uint32_t interrupts;

    atomic_store(&v->chain_key, v->gen);
    /* Pairs with the store of 0 in tcg_ask(), which follows the request. */
    atomic_thread_fence(memory_order_seq_cst);
    catch_up(v);
    tcg_blocks_follow_log(v);
    if (v->flush_pending) {
        tcg_blocks_flush(v);
    }
    if (atomic_load_explicit(&v->inval_pending, memory_order_acquire)) {
        tcg_apply_invalidations(v);
    }
    interrupts = atomic_load_explicit(&v->cs->interrupt_request,
                                      memory_order_acquire);
    return vcpu_must_exit(v->cs) || v->ring_full ||
           (interrupts & ~(CPU_INTERRUPT_HARD | CPU_INTERRUPT_FIQ)) ||
           arm_interrupt_unmasked(v->env, interrupts);
}

static bool has_answered(TcgVcpu *v, uint64_t epoch)
{
    return !atomic_load(&v->active) || atomic_load(&v->seen_epoch) >= epoch;
}

static void wait_for(TcgVcpu *v, uint64_t epoch)
{
    int spins;

    if (has_answered(v, epoch)) {
        return;
    }
    tcg_ask(v);
    tcg_test_point(TCG_POINT_WAITING, v);
    /* A block takes well under a microsecond: mostly this is enough. */
    for (spins = 0; spins < 200; spins++) {
        if (has_answered(v, epoch)) {
            return;
        }
    }
    atomic_fetch_add(&tcg.waiters, 1);
    qemu_mutex_lock(&tcg.wait_lock);
    while (!has_answered(v, epoch)) {
        qemu_cond_wait(&tcg.wait_cond, &tcg.wait_lock);
    }
    qemu_mutex_unlock(&tcg.wait_lock);
    atomic_fetch_sub(&tcg.waiters, 1);
}

void tcg_handshake(void)
{
    uint64_t epoch = atomic_fetch_add(&tcg.epoch, 1) + 1;
    unsigned n = tcg_nr_vcpus(), i;
    int64_t begin_ns = get_clock();

    atomic_fetch_add_explicit(&tcg.handshakes, 1, memory_order_relaxed);
    /* Ask all, then wait: the slowest one's time, not the sum. */
    for (i = 0; i < n; i++) {
        if (!has_answered(tcg.vcpus[i], epoch)) {
            tcg_ask(tcg.vcpus[i]);
        }
    }
    for (i = 0; i < n; i++) {
        wait_for(tcg.vcpus[i], epoch);
    }
    dirty_memory_note_wait(get_clock() - begin_ns);
}

void tcg_send_event(void)
{
    unsigned n = tcg_nr_vcpus(), i;

    for (i = 0; i < n; i++) {
        atomic_store(&tcg.vcpus[i]->event_sent, true);
        qemu_event_set(&tcg.vcpus[i]->wake);
    }
}

void tcg_wait_event(TcgVcpu *v, int ms)
{
    qemu_event_reset(&v->wake);
    if (atomic_load(&v->event_sent) || tcg_chain_key(v) == 0 ||
        vcpu_must_exit(v->cs)) {
        return;
    }
    tcg_leave(v);
    qemu_event_timedwait(&v->wake, ms);
    tcg_enter(v);
}
