/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tcg-harness.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qom/object.h"
#include "target/arm/arm-cpu.h"
#include "tcg-harness.h"

void cpu_register_types(void); /* system/cpus-internal.h */

static struct {
    MemoryRegion ram;
    unsigned vcpus;
} guest;

void guest_init(void)
{
    uint32_t wfi[512];
    unsigned i;

    main_loop_init();
    qom_register_types();
    cpu_register_types();
    arm_cpu_register_types();
    tcg_engine_init(&error_abort);
    memory_region_init_ram(&guest.ram, NULL, "ram", GUEST_RAM_BYTES,
                           &error_abort);
    memory_region_add_subregion(get_system_memory(), GUEST_RAM_BASE,
                                &guest.ram);
    for (i = 0; i < ARRAY_SIZE(wfi); i++) {
        wfi[i] = A64_WORD_WFI;
    }
    guest_write(GUEST_VECTORS, wfi, sizeof(wfi));
}

RAMBlock *guest_ram(void)
{
    return guest.ram.ram_block;
}

MemoryRegion *guest_ram_region(void)
{
    return &guest.ram;
}

TcgVcpu *guest_vcpu(const char *model)
{
    g_autofree char *type = g_strconcat(model, ARM_CPU_TYPE_SUFFIX, NULL);
    CPUState *cs = CPU(object_new(type));

    cs->cpu_index = guest.vcpus++;
    cs->as = &address_space_memory;
    g_assert_true(CPU_GET_CLASS(cs)->realize(cs, &error_abort));
    arm_cpu_env(cs)->sys.vbar_el1 = GUEST_VECTORS;
    arm_cpu_env(cs)->sys.sctlr_el1 |= SCTLR_M;
    return tcg_vcpu_new(cs);
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

uint64_t guest_read64(hwaddr addr)
{
    return address_space_ldq_le(&address_space_memory, addr,
                                MEMTXATTRS_UNSPECIFIED, NULL);
}

static void prepare(TcgVcpu *v, vaddr pc)
{
    CPUARMState *env = v->env;

    arm_pstate_write(env, PSTATE_MODE_EL1t | PSTATE_DAIF |
                              (arm_pstate_read(env) & PSTATE_NZCV));
    env->pc = pc;
    env->sys.esr_el1 = 0;
    v->cs->halted = 0;
    atomic_store(&v->cs->exit_request, false);
}

uint32_t guest_run(TcgVcpu *v, vaddr pc)
{
    prepare(v, pc);
    tcg_exec(v);
    g_assert_true(v->cs->halted);
    return v->env->sys.esr_el1;
}

static void *guest_thread(void *opaque)
{
    GuestThread *t = opaque;

    while (!t->v->cs->halted) {
        /* As vcpu_thread_wait() does: forget requests, then look. */
        atomic_store(&t->v->cs->exit_request, false);
        if (atomic_load(&t->stop)) {
            break;
        }
        tcg_exec(t->v);
    }
    return NULL;
}

void guest_start(GuestThread *t, TcgVcpu *v, vaddr pc)
{
    t->v = v;
    atomic_store(&t->stop, false);
    prepare(v, pc);
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
    atomic_store(&t->v->cs->exit_request, true);
    tcg_ask(t->v);
    qemu_event_set(&t->v->wake);
    qemu_event_set(&t->v->cs->wake);
    guest_join(t);
}
