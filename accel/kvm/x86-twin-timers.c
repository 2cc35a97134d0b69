/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See x86-twin.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/timer.h"

#include "x86-twin.h"

/* ---- local APIC: Intel SDM volume 3, chapter "APIC", 10.5.4 ---- */

#define APIC_IRR        0x200
#define APIC_LVT_TIMER  0x320
#define APIC_TIMER_INIT 0x380
#define APIC_TIMER_NOW  0x390
#define APIC_TIMER_DIV  0x3e0
#define LVT_MASKED      (1u << 16)
#define LVT_MODE(lvt)   ((lvt) >> 17 & 3)

enum {
    MODE_ONESHOT,
    MODE_PERIODIC,
};

static uint32_t apic_reg(const struct kvm_lapic_state *s, unsigned offset)
{
    uint32_t v;

    memcpy(&v, s->regs + offset, sizeof(v));
    return v;
}

static void set_apic_reg(struct kvm_lapic_state *s, unsigned offset, uint32_t v)
{
    memcpy(s->regs + offset, &v, sizeof(v));
}

/* Of one count: KVM's APICs have a bus of 1 GHz. */
static int64_t count_ns(const struct kvm_lapic_state *s)
{
    uint32_t div = apic_reg(s, APIC_TIMER_DIV);

    return INT64_C(1) << ((((div & 3) | (div >> 1 & 4)) + 1) & 7);
}

static bool counts(const struct kvm_lapic_state *s)
{
    return LVT_MODE(apic_reg(s, APIC_LVT_TIMER)) <= MODE_PERIODIC &&
           apic_reg(s, APIC_TIMER_INIT);
}

static bool is_periodic(const struct kvm_lapic_state *s)
{
    return LVT_MODE(apic_reg(s, APIC_LVT_TIMER)) == MODE_PERIODIC;
}

bool kvm_x86_apic_fired_since(const struct kvm_lapic_state *s, int64_t ns)
{
    int64_t left_ns = apic_reg(s, APIC_TIMER_NOW) * count_ns(s);
    int64_t all_ns = apic_reg(s, APIC_TIMER_INIT) * count_ns(s);

    return counts(s) && is_periodic(s) && all_ns - left_ns < ns;
}

bool kvm_x86_apic_is_over(const struct kvm_lapic_state *s)
{
    return counts(s) && !is_periodic(s) && !apic_reg(s, APIC_TIMER_NOW);
}

static unsigned irr_of(unsigned vector)
{
    return APIC_IRR + vector / 32 * 0x10;
}

bool kvm_x86_apic_is_requested(const struct kvm_lapic_state *s, uint8_t vector)
{
    return apic_reg(s, irr_of(vector)) >> vector % 32 & 1;
}

static void request_timer(struct kvm_lapic_state *s)
{
    uint32_t lvt = apic_reg(s, APIC_LVT_TIMER);
    unsigned vector = lvt & 0xff, at = irr_of(vector);

    if (!(lvt & LVT_MASKED) && vector >= 16) {
        set_apic_reg(s, at, apic_reg(s, at) | 1u << vector % 32);
    }
}

void kvm_x86_apic_advance(struct kvm_lapic_state *s, int64_t ns)
{
    int64_t unit = count_ns(s);
    int64_t all_ns = apic_reg(s, APIC_TIMER_INIT) * unit;
    int64_t left_ns = apic_reg(s, APIC_TIMER_NOW) * unit;

    if (!counts(s)) {
        return;
    }
    if (kvm_x86_apic_is_over(s)) {
        set_apic_reg(s, APIC_TIMER_INIT, 0); /* or the kernel fires it again */
        return;
    }
    left_ns -= ns;
    if (left_ns <= 0 && is_periodic(s)) {
        request_timer(s);
        left_ns = all_ns - -left_ns % all_ns;
    }
    set_apic_reg(s, APIC_TIMER_NOW, MAX(left_ns / unit, 1));
}

/* ---- PIT ---- */

#define PIT_HZ 1193182
/* The kernel lets it tick no faster. */
#define PIT_MIN_NS 200000

/* Of the machine's PIT, from one change to the next. BQL. */
static KvmX86PitLedger ledger;

static int64_t period_ns(const struct kvm_pit_channel_state *c)
{
    int64_t count = c->count ? c->count : 0x10000;

    return MAX(count * INT64_C(1000000000) / PIT_HZ, PIT_MIN_NS);
}

/* Modes 2 and 3, and what the hardware takes for them. */
static bool ticks(const struct kvm_pit_channel_state *c)
{
    return (c->mode & 3) >= 2 && c->mode <= 7;
}

void kvm_x86_pit_stopped(KvmX86PitLedger *l,
                         const struct kvm_pit_channel_state *c, int64_t now_ns)
{
    if (l->period_ns != period_ns(c) || now_ns < l->begin_ns) {
        l->owed += 0.5; /* the guest has started it, nobody knows when */
    } else {
        int64_t period = l->period_ns;

        l->owed += (double)((now_ns - l->begin_ns) % period) / (double)period;
    }
    l->period_ns = period_ns(c);
    l->begin_ns = now_ns;
}

bool kvm_x86_pit_started(KvmX86PitLedger *l, int64_t now_ns, bool may_add)
{
    l->owed += (double)(now_ns - l->begin_ns) / (double)l->period_ns;
    l->begin_ns = now_ns;
    if (l->owed < 1 || !may_add) {
        return false;
    }
    l->owed -= 1;
    return true;
}

static bool pit_call(KvmVm *vm, unsigned long req, struct kvm_pit_state2 *state,
                     Error **errp)
{
    int ret = kvm_vm_ioctl(vm, req, state);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot move the PIT");
    }
    return ret >= 0;
}

bool kvm_x86_pit_save(KvmVm *from, struct kvm_pit_state2 *state, Error **errp)
{
    if (!pit_call(from, KVM_GET_PIT2, state, errp)) {
        return false;
    }
    if (!ticks(&state->channels[0])) {
        return true;
    }
    /* To set it has the kernel wait for ticks that are on their way. */
    if (!pit_call(from, KVM_SET_PIT2, state, errp)) {
        return false;
    }
    kvm_x86_pit_stopped(&ledger, &state->channels[0], get_clock());
    return true;
}

static int pulse(KvmVm *vm)
{
    struct kvm_irq_level line = { .irq = 0, .level = 1 };
    int ret = kvm_vm_ioctl(vm, KVM_IRQ_LINE, &line);

    line.level = 0;
    return ret < 0 ? ret : kvm_vm_ioctl(vm, KVM_IRQ_LINE, &line);
}

bool kvm_x86_pit_load(KvmVm *to, struct kvm_pit_state2 *state, bool requested,
                      Error **errp)
{
    int ret = 0;

    if (!pit_call(to, KVM_SET_PIT2, state, errp)) {
        return false;
    }
    if (ticks(&state->channels[0]) &&
        kvm_x86_pit_started(&ledger, get_clock(), !requested)) {
        ret = pulse(to);
    }
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot raise the PIT's interrupt");
    }
    return ret >= 0;
}
