/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/memory.h"

#include "kvm-caps.h"
#include "kvm-regs.h"
#include "kvm-slots.h"

#define RAM_BYTES (UINT64_C(16) << 20)
#define GDT_ADDR  0x1000
#define TSS_ADDR  0x2000
#define TSS_LIMIT 0x2068
#define TSS_IOMAP 0x68
#define PML4_ADDR 0x5000
#define PDPT_ADDR 0x6000
#define PD_ADDR   0x7000
#define SEL_DATA  0x23
#define SEL_CODE  0x2b
#define PTE_USER  0x67 /* present, writable, user, accessed, dirty */

const char *regs_unusable(void)
{
    static char *why;
    Error *err = NULL;

    if (!why && (!kvm_dev_open(&err) || !kvm_caps_probe(&err) ||
                 !kvm_arch_check_host(&err))) {
        why = g_strdup(error_get_pretty(err));
        error_free(err);
    }
    return why;
}

static void write64(hwaddr addr, uint64_t val)
{
    stq_le_phys(&address_space_memory, addr, val);
}

void regs_init(void)
{
    static MemoryRegion ram;
    uint8_t end = 0xff;

    get_system_io();
    memory_region_init_ram(&ram, NULL, "ram", RAM_BYTES, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0, &ram);
    write64(GDT_ADDR + (SEL_DATA & ~7), UINT64_C(0x00cff3000000ffff));
    write64(GDT_ADDR + (SEL_CODE & ~7), UINT64_C(0x00affb000000ffff));
    stw_le_phys(&address_space_memory, TSS_ADDR + 0x66, TSS_IOMAP);
    address_space_write(&address_space_memory, TSS_ADDR + TSS_LIMIT,
                        MEMTXATTRS_UNSPECIFIED, &end, 1);
    write64(PML4_ADDR, PDPT_ADDR | PTE_USER);
    write64(PDPT_ADDR, PD_ADDR | PTE_USER);
    for (uint64_t i = 0; i < 512; i++) {
        write64(PD_ADDR + 8 * i, i << 21 | 0x80 | PTE_USER);
    }
}

RegsVm regs_vm_new(const char *option)
{
    KvmVmConfig config = { .kind = KVM_LOG_BITMAP, .irqchip = KVM_IRQCHIP_ON };
    RegsVm r;

    r.vm = kvm_vm_new(&config, &error_abort);
    g_assert_true(kvm_slots_attach(r.vm, &error_abort));
    r.cpu = x86_test_cpu_make(option);
    r.cpu->apic_id = 0;
    g_assert_true(cpu_realize(CPU(r.cpu), &error_abort));
    r.cpu->is_bsp = true; /* of its machine */
    cpu_reset(CPU(r.cpu));
    r.v = kvm_vcpu_new(r.vm, 0, CPU(r.cpu), &error_abort);
    return r;
}

void regs_vm_free(RegsVm *r)
{
    kvm_vm_free(r->vm);
}

void regs_start(CPUX86State *env, uint64_t rip)
{
    const uint32_t data = 0x00c0f300, code = 0x00a0fb00;

    for (int i = 0; i < CPU_NB_SEGS; i++) {
        cpu_x86_load_seg_cache(env, i, SEL_DATA, 0, UINT32_MAX, data);
    }
    cpu_x86_load_seg_cache(env, R_CS, SEL_CODE, 0, UINT32_MAX, code);
    env->tr = (SegmentCache){ 0x30, TSS_ADDR, TSS_LIMIT, 0x8b00 };
    env->ldt = (SegmentCache){ 0 };
    env->gdt = (SegmentCache){ .base = GDT_ADDR, .limit = 0x3f };
    env->idt = (SegmentCache){ .base = 0, .limit = 0 };
    env->cr[0] = 0x80050033;
    env->cr[3] = PML4_ADDR;
    env->cr[4] = CR4_PAE_MASK | CR4_OSFXSR_MASK | CR4_OSXMMEXCPT_MASK;
    env->efer = MSR_EFER_LME | MSR_EFER_LMA;
    env->eip = rip;
    env->eflags = 2 | IOPL_MASK; /* or the TSS: not every host heeds both */
    env->mp_state = X86_MP_RUNNABLE;
    memset(env->regs, 0, sizeof(env->regs));
    env->regs[R_ESP] = 0x80000;
}

void regs_put(RegsVm *r)
{
    g_assert_true(kvm_arch_put_registers(r->v, KVM_PUT_FULL, &error_abort));
}

void regs_get(RegsVm *r)
{
    g_assert_true(kvm_arch_get_registers(r->v, &error_abort));
}

void regs_run(RegsVm *r)
{
    int ret;

    do {
        ret = kvm_vcpu_run(r->v);
    } while (ret == -EINTR || ret == -EAGAIN);
    if (ret < 0 || r->v->run->exit_reason != KVM_EXIT_IO ||
        r->v->run->io.port != REGS_PORT) {
        g_autoptr(GString) text = g_string_new(NULL);

        regs_get(r);
        CPU_GET_CLASS(r->cpu)->dump_state(CPU(r->cpu), text);
        g_error("KVM_RUN: %d, exit reason %u\n%s", ret, r->v->run->exit_reason,
                text->str);
    }
    /* Complete the instruction. */
    atomic_store((_Atomic uint8_t *)&r->v->run->immediate_exit, 1);
    g_assert_cmpint(kvm_vcpu_ioctl(r->v, KVM_RUN, 0), ==, -EINTR);
    r->v->io_pending = false;
}
