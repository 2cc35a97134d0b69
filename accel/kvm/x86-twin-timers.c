/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See x86-twin.h. */
#include "qemu/osdep.h"

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
