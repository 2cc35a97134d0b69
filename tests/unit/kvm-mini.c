/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel VM with little in it: see kvm-mini.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/runstate.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "kvm-mini.h"

#define GDT_ADDR  0x1000
#define TSS_ADDR  0x2000
#define TSS_LIMIT 0x2068
#define TSS_IOMAP 0x68
#define PML4_ADDR 0x5000
#define PDPT_ADDR 0x6000
#define PD_ADDR   0x7000 /* four of them */
#define SEL_CODE  0x2b
#define SEL_DATA  0x23

/* Where KVM keeps three pages of its own on Intel: outside of our RAM. */
#define KVM_TSS_ADDR      0xfffbd000
#define KVM_IDENTITY_ADDR 0xfffbc000

_Atomic unsigned mini_puts, mini_gets;
_Atomic int mini_put_error;
MiniStart mini_starts[64];

/* Each program in 64 bytes. */
extern const uint8_t mini_programs[], mini_programs_end[];
asm(".pushsection .rodata\n"
    ".globl mini_programs, mini_programs_end\n"
    ".balign 64\n"
    "mini_programs:\n"
    /* MINI_TOUCH */
    "1:  xorl %ecx, %ecx\n"
    "2:  movq %rdx, (%rdi,%rcx)\n"
    "    addq $4096, %rcx\n"
    "    cmpq %rsi, %rcx\n"
    "    jb 2b\n"
    "    incq %rbx\n"
    "    decq %rdx\n"
    "    jnz 1b\n"
    "3:  outb %al, $0xf4\n"
    "    jmp 3b\n"
    ".balign 64\n"
    /* MINI_SPIN */
    "1:  incq %rbx\n"
    "    jmp 1b\n"
    ".balign 64\n"
    /* MINI_OUT */
    "    xchgq %rdx, %rcx\n"
    "1:  outb %al, %dx\n"
    "    decq %rcx\n"
    "    jnz 1b\n"
    "3:  outb %al, $0xf4\n"
    "    jmp 3b\n"
    ".balign 64\n"
    /* MINI_STORE */
    "1:  movl %edx, (%rdi)\n"
    "    decq %rdx\n"
    "    jnz 1b\n"
    "3:  outb %al, $0xf4\n"
    "    jmp 3b\n"
    ".balign 64\n"
    /* MINI_LOAD */
    "    movl (%rdi), %eax\n"
    "3:  outb %al, $0xf4\n"
    "    jmp 3b\n"
    ".balign 64\n"
    /* MINI_COUNT */
    "1:  incq (%rdi)\n"
    "    decq %rdx\n"
    "    jnz 1b\n"
    "3:  outb %al, $0xf4\n"
    "    jmp 3b\n"
    ".balign 64\n"
    /* MINI_ORDER */
    "1:  movq (%rdi), %rbx\n"
    "    movq 8(%rdi), %rcx\n"
    "    incq %rax\n"
    "2:  subq $4096, %rcx\n"
    "    movq %rax, (%rbx,%rcx)\n"
    "    jnz 2b\n"
    "    outb %al, $0xf4\n"
    "    jmp 1b\n"
    ".balign 64\n"
    /* MINI_HALT */
    "1:  incq (%rdi)\n"
    "    hlt\n"
    "    jmp 1b\n"
    ".balign 64\n"
    "mini_programs_end:\n"
    ".popsection\n");

/* ---- the architecture ---- */

bool kvm_arch_check_host(Error **errp)
{
    return true;
}

unsigned long kvm_arch_vm_type(void)
{
    return 0;
}

bool kvm_arch_init_vm(KvmVm *vm, Error **errp)
{
    uint64_t identity = KVM_IDENTITY_ADDR;
    int ret = kvm_vm_ioctl(vm, KVM_SET_IDENTITY_MAP_ADDR, &identity);

    if (ret >= 0) {
        ret = kvm_vm_ioctl(vm, KVM_SET_TSS_ADDR, KVM_TSS_ADDR);
    }
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot place KVM's own pages");
    }
    return ret >= 0;
}

void kvm_arch_destroy_vm(KvmVm *vm)
{
}

bool kvm_arch_init_vcpu(KvmVcpu *v, Error **errp)
{
    enum {
        MOST = 256
    };
    g_autofree struct kvm_cpuid2 *cpuid = g_malloc0(
        sizeof(*cpuid) + MOST * sizeof(cpuid->entries[0]));
    int ret;

    cpuid->nent = MOST;
    ret = kvm_dev_ioctl(KVM_GET_SUPPORTED_CPUID, cpuid);
    if (ret >= 0) {
        ret = kvm_vcpu_ioctl(v, KVM_SET_CPUID2, cpuid);
    }
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot set CPUID");
    }
    return ret >= 0;
}

void kvm_arch_destroy_vcpu(KvmVcpu *v)
{
}

bool kvm_arch_get_registers(KvmVcpu *v, Error **errp)
{
    struct kvm_regs regs;
    int ret = kvm_vcpu_ioctl(v, KVM_GET_REGS, &regs);

    atomic_fetch_add(&mini_gets, 1);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot read registers");
    }
    return ret >= 0;
}

bool kvm_arch_put_registers(KvmVcpu *v, KvmPutLevel level, Error **errp)
{
    const MiniStart *s = &mini_starts[v->cs->cpu_index];

    int err = atomic_load(&mini_put_error);

    atomic_fetch_add(&mini_puts, 1);
    if (err) {
        if (err > 0) {
            atomic_store(&mini_put_error, 0);
        }
        error_setg_errno(errp, abs(err), "cannot set registers");
        return false;
    }
    if (level != KVM_PUT_RUNTIME) {
        mini_start(v, s->program, s->rdi, s->rsi, s->rdx, s->rcx);
    }
    return true;
}

void kvm_arch_pre_run(KvmVcpu *v)
{
}

void kvm_arch_post_run(KvmVcpu *v)
{
}

bool kvm_arch_handle_exit(KvmVcpu *v, KvmExitAction *action)
{
    return false;
}

unsigned long kvm_arch_vcpu_id(CPUState *cs)
{
    return cs->cpu_index;
}

bool kvm_arch_has_work(KvmVcpu *v)
{
    return cpu_test_interrupt(v->cs, CPU_INTERRUPT_HARD);
}

/* ---- start ---- */

const char *mini_unusable(void)
{
    static char *why;
    Error *err = NULL;

    if (!why && (!kvm_dev_open(&err) || !kvm_caps_probe(&err))) {
        why = g_strdup(error_get_pretty(err));
        error_free(err);
    }
    return why;
}

void TSA_NO_CHECK mini_init(void)
{
    main_loop_init();
    timers_init();
    runstate_init();
    get_system_memory();
    get_system_io();
}

RAMBlock *mini_ram(MemoryRegion *mr, const char *name, hwaddr gpa,
                   uint64_t size)
{
    memory_region_init_ram_flags_nomigrate(mr, NULL, name, size, RAM_NORESERVE,
                                           &error_abort);
    memory_region_add_subregion(get_system_memory(), gpa, mr);
    return qemu_ram_block_from_host(memory_region_get_ram_ptr(mr),
                                    &(ram_addr_t){ 0 });
}

static void write64(hwaddr addr, uint64_t val)
{
    stq_le_phys(&address_space_memory, addr, val);
}

void mini_load(void)
{
    uint8_t end = 0xff;

    write64(GDT_ADDR + (SEL_DATA & ~7), 0x00cff3000000ffff);
    write64(GDT_ADDR + (SEL_CODE & ~7), 0x00affb000000ffff);
    address_space_set(&address_space_memory, TSS_ADDR, 0, TSS_LIMIT,
                      MEMTXATTRS_UNSPECIFIED);
    cpu_physical_memory_write(TSS_ADDR + 0x66, &(uint16_t){ TSS_IOMAP }, 2);
    cpu_physical_memory_write(TSS_ADDR + TSS_LIMIT, &end, 1);
    write64(PML4_ADDR, PDPT_ADDR | 0x27);
    for (uint64_t i = 0; i < 4; i++) {
        write64(PDPT_ADDR + i * 8, (PD_ADDR + i * 0x1000) | 0x27);
    }
    for (uint64_t i = 0; i < 4 * 512; i++) {
        write64(PD_ADDR + i * 8, i << 21 | 0xe7);
    }
    cpu_physical_memory_write(MINI_CODE, mini_programs,
                              mini_programs_end - mini_programs);
}

/* ---- a vCPU ---- */

static struct kvm_segment segment(uint16_t selector, uint8_t type, bool code,
                                  unsigned cpl)
{
    return (struct kvm_segment){ .limit = 0xffffffff,
                                 .selector = (selector & ~3) | cpl,
                                 .type = type,
                                 .present = 1,
                                 .dpl = cpl,
                                 .db = !code,
                                 .s = 1,
                                 .l = code,
                                 .g = 1 };
}

static void set_mode(KvmVcpu *v, unsigned cpl)
{
    struct kvm_mp_state mp = { .mp_state = KVM_MP_STATE_RUNNABLE };
    struct kvm_sregs s;

    g_assert_cmpint(kvm_vcpu_ioctl(v, KVM_GET_SREGS, &s), >=, 0);
    s.cs = segment(SEL_CODE, 11, true, cpl);
    s.ds = s.es = s.ss = s.fs = s.gs = segment(SEL_DATA, 3, false, cpl);
    s.gdt.base = GDT_ADDR;
    s.gdt.limit = 47;
    s.tr = (struct kvm_segment){ .base = TSS_ADDR,
                                 .limit = TSS_LIMIT,
                                 .selector = 0x30,
                                 .type = 11,
                                 .present = 1 };
    s.ldt.unusable = 1;
    s.cr0 = 0x80050033;
    s.cr3 = PML4_ADDR;
    s.cr4 = 0x620;
    s.efer = 0x500;
    g_assert_cmpint(kvm_vcpu_ioctl(v, KVM_SET_SREGS, &s), >=, 0);
    if (v->vm->irqchip != KVM_IRQCHIP_OFF) {
        g_assert_cmpint(kvm_vcpu_ioctl(v, KVM_SET_MP_STATE, &mp), >=, 0);
    }
}

void mini_start(KvmVcpu *v, MiniProgram program, uint64_t rdi, uint64_t rsi,
                uint64_t rdx, uint64_t rcx)
{
    struct kvm_regs r = { .rip = MINI_PROGRAM(program),
                          .rflags = MINI_RFLAGS,
                          .rsp = 0xff00,
                          .rdi = rdi,
                          .rsi = rsi,
                          .rdx = rdx,
                          .rcx = rcx };

    set_mode(v, program == MINI_HALT ? 0 : 3);
    g_assert_cmpint(kvm_vcpu_ioctl(v, KVM_SET_REGS, &r), >=, 0);
}

struct kvm_regs mini_regs(KvmVcpu *v)
{
    struct kvm_regs r;

    g_assert_cmpint(kvm_vcpu_ioctl(v, KVM_GET_REGS, &r), >=, 0);
    return r;
}

bool mini_run(KvmVcpu *v, int *ret)
{
    for (;;) {
        *ret = kvm_vcpu_run(v);
        if (*ret < 0) {
            return false;
        }
        if (v->run->exit_reason == KVM_EXIT_IO &&
            v->run->io.port == MINI_PORT) {
            return true;
        }
        if (v->run->exit_reason != KVM_EXIT_IO &&
            v->run->exit_reason != KVM_EXIT_MMIO) {
            return false;
        }
        kvm_handle_exit(v);
    }
}

/* ---- a CPU type ---- */

static bool cpu_realize_mini(CPUState *cpu, Error **errp)
{
    return true;
}

static void cpu_reset_mini(CPUState *cpu)
{
}

static bool cpu_has_work_mini(CPUState *cpu)
{
    return cpu_test_interrupt(cpu, CPU_INTERRUPT_HARD);
}

static vaddr cpu_get_pc_mini(CPUState *cpu)
{
    return kvm_vcpu(cpu) ? mini_regs(kvm_vcpu(cpu)).rip : 0;
}

static void cpu_dump_mini(CPUState *cpu, GString *out)
{
}

static void mini_cpu_class_init(ObjectClass *oc, const void *data)
{
    CPUClass *cc = CPU_CLASS(oc);

    cc->realize = cpu_realize_mini;
    cc->reset = cpu_reset_mini;
    cc->has_work = cpu_has_work_mini;
    cc->get_pc = cpu_get_pc_mini;
    cc->dump_state = cpu_dump_mini;
}

void mini_cpu_register_type(void)
{
    static const TypeInfo info = {
        .name = TYPE_MINI_CPU,
        .parent = TYPE_CPU,
        .instance_size = sizeof(CPUState),
        .class_init = mini_cpu_class_init,
    };

    type_register_static(&info);
}
