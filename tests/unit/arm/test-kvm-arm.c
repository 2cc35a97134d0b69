/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers and GICv3 in the kernel of an arm64 host: set and read back, moved
 * from one VM into another under a program that looks at them.
 */
#include "qemu/osdep.h"

#include "arm-test.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/memory.h"
#include "target/arm/host-regs.h"
#include "vmstate/savevm.h"

#include "arm-kvm.h"
#include "kvm-caps.h"
#include "kvm-slots.h"

#define RAM_BASE   UINT64_C(0x40000000)
#define RAM_BYTES  (UINT64_C(16) << 20)
#define TABLE_IN   (RAM_BASE + 0x10000)
#define TABLE_OUT  (RAM_BASE + 0x11000)
#define STOP_ADDR  UINT64_C(0x10000000) /* a store here stops the program */
#define GIC_DIST   UINT64_C(0x08000000)
#define GIC_REDIST UINT64_C(0x080a0000)
#define NR_IRQS    96

typedef struct Vm {
    KvmVm *vm;
    ARMCPU *cpu;
    KvmVcpu *v;
} Vm;

static Vm a, b;

static Vm vm_new(KvmLogKind kind)
{
    KvmVmConfig config = { .kind = kind,
                           .ring_entries = kind == KVM_LOG_RING ? 1024 : 0,
                           .irqchip = KVM_IRQCHIP_ON };
    Vm r;

    r.vm = kvm_vm_new(&config, &error_abort);
    g_assert_true(kvm_slots_attach(r.vm, &error_abort));
    r.cpu = arm_test_cpu_new("max", NULL);
    r.v = kvm_vcpu_new(r.vm, 0, CPU(r.cpu), &error_abort);
    g_assert_true(
        kvm_arm_gic_realize(r.vm, GIC_DIST, GIC_REDIST, NR_IRQS, &error_abort));
    return r;
}

static void put(Vm *r, KvmPutLevel level)
{
    g_assert_true(kvm_arch_put_registers(r->v, level, &error_abort));
}

static void get(Vm *r)
{
    g_assert_true(kvm_arch_get_registers(r->v, &error_abort));
}

static void move(Vm *from, Vm *to)
{
    const VMStateDescription *vmsd = CPU_GET_CLASS(from->cpu)->vmsd;
    g_autoptr(GByteArray) d = NULL;

    get(from);
    d = arm_test_save(vmsd, from->cpu);
    g_assert_true(arm_test_load(vmsd, to->cpu, vmsd->version_id, d->data,
                                d->len, NULL, &error_abort));
    g_assert_true(kvm_arm_copy_vm_state(from->vm, to->vm, &error_abort));
    put(to, KVM_PUT_FULL);
}

/* ---- registers ---- */

static void test_core(void)
{
    CPUARMState *env = &a.cpu->env;

    put(&a, KVM_PUT_RESET);
    for (int i = 0; i < 31; i++) {
        env->xregs[i] = UINT64_C(0x0101010101010101) * (i + 1);
    }
    for (int i = 0; i < 32; i++) {
        env->vfp.zregs[i].d[0] = UINT64_C(0x1111111111111111) * (i + 1);
        env->vfp.zregs[i].d[1] = ~env->vfp.zregs[i].d[0];
    }
    env->vfp.fpsr = 0x1f;
    env->vfp.fpcr = 0x01000000;
    env->pc = 0x40001234;
    arm_pstate_write(env, PSTATE_N | PSTATE_C | PSTATE_DAIF | PSTATE_MODE_EL1h);
    env->xregs[31] = 0x40080000;
    env->sp_el[0] = 0x40090000;
    env->elr_el[1] = 0x4000abcc;
    env->banked_spsr[BANKED_SPSR_EL1] = 0x3c5;
    put(&a, KVM_PUT_RUNTIME);
    memset(env->xregs, 0, sizeof(env->xregs));
    memset(&env->vfp, 0, sizeof(env->vfp));
    env->pc = 0;
    arm_pstate_write(env, PSTATE_MODE_EL1t);
    get(&a);
    for (int i = 0; i < 31; i++) {
        g_assert_cmphex(env->xregs[i], ==,
                        UINT64_C(0x0101010101010101) * (i + 1));
    }
    for (int i = 0; i < 32; i++) {
        g_assert_cmphex(env->vfp.zregs[i].d[0], ==,
                        UINT64_C(0x1111111111111111) * (i + 1));
        g_assert_cmphex(env->vfp.zregs[i].d[1], ==, ~env->vfp.zregs[i].d[0]);
    }
    g_assert_cmphex(env->vfp.fpsr, ==, 0x1f);
    g_assert_cmphex(env->vfp.fpcr, ==, 0x01000000);
    g_assert_cmphex(env->pc, ==, 0x40001234);
    g_assert_cmphex(arm_pstate_read(env), ==,
                    PSTATE_N | PSTATE_C | PSTATE_DAIF | PSTATE_MODE_EL1h);
    g_assert_cmphex(env->xregs[31], ==, 0x40080000);
    g_assert_cmphex(env->sp_el[0], ==, 0x40090000);
    g_assert_cmphex(env->elr_el[1], ==, 0x4000abcc);
    g_assert_cmphex(env->banked_spsr[BANKED_SPSR_EL1], ==, 0x3c5);
}

static size_t place(Vm *r, uint64_t id)
{
    const KvmArmVcpu *x = r->v->arch;

    for (size_t i = 0; i < x->n_ids; i++) {
        if (x->ids[i] == id) {
            return i;
        }
    }
    g_error("no register 0x%" PRIx64, id);
}

static void test_list(void)
{
    uint64_t *values = arm_cpu_host_values(a.cpu);
    size_t vbar = place(&a, ARM64_SYS_REG(3, 0, 12, 0, 0));
    size_t tpidr = place(&a, ARM64_SYS_REG(3, 3, 13, 0, 2));

    put(&a, KVM_PUT_RESET);
    g_test_message("%zu registers", a.cpu->host_regs_count);
    g_assert_cmpuint(a.cpu->host_regs_count, >, 100);
    values[vbar] = 0x40002000;
    values[tpidr] = 0xfeedface;
    put(&a, KVM_PUT_FULL);
    memset(values, 0, a.cpu->host_regs_count * sizeof(*values));
    get(&a);
    g_assert_cmphex(values[vbar], ==, 0x40002000);
    g_assert_cmphex(values[tpidr], ==, 0xfeedface);
    /* And where a debugger looks. */
    g_assert_cmphex(a.cpu->env.sys.vbar_el1, ==, 0x40002000);
}

static void test_power(void)
{
    put(&a, KVM_PUT_RESET);
    arm_cpu_set_power_state(a.cpu, PSCI_OFF);
    put(&a, KVM_PUT_FULL);
    arm_cpu_set_power_state(a.cpu, PSCI_ON);
    get(&a);
    g_assert_cmpint(arm_cpu_power_state(a.cpu), ==, PSCI_OFF);
    arm_cpu_set_power_state(a.cpu, PSCI_ON);
    put(&a, KVM_PUT_FULL);
}

/* ---- a program that looks at its registers ---- */

/*
 * x0: table to load, x1: where to store, x2: the address that stops it.
 *   ldp x3..x18, ldp q0..q3; str x0,[x2]; stp ...; str x0,[x2]; b .
 */
static const uint32_t program[] = {
    0xa9401003, /* ldp x3, x4, [x0] */
    0xa9411805, /* ldp x5, x6, [x0, #16] */
    0xad410400, /* ldp q0, q1, [x0, #32] */
    0xad420c02, /* ldp q2, q3, [x0, #64] */
    0xd53be048, /* mrs x8, cntvct_el0 */
    0xf9003028, /* str x8, [x1, #96] */
    0xf9000040, /* str x0, [x2] */
    0xa9001023, /* stp x3, x4, [x1] */
    0xa9011825, /* stp x5, x6, [x1, #16] */
    0xad010420, /* stp q0, q1, [x1, #32] */
    0xad020c22, /* stp q2, q3, [x1, #64] */
    0xd53be048, /* mrs x8, cntvct_el0 */
    0xf9003428, /* str x8, [x1, #104] */
    0xf9000040, /* str x0, [x2] */
    0x14000000, /* b . */
};

static void run(Vm *r)
{
    int ret;

    do {
        ret = kvm_vcpu_run(r->v);
    } while (ret == -EINTR || ret == -EAGAIN);
    if (ret < 0 || r->v->run->exit_reason != KVM_EXIT_MMIO ||
        r->v->run->mmio.phys_addr != STOP_ADDR) {
        g_error("KVM_RUN: %d, exit reason %u", ret, r->v->run->exit_reason);
    }
    /* Complete the instruction. */
    atomic_store((_Atomic uint8_t *)&r->v->run->immediate_exit, 1);
    g_assert_cmpint(kvm_vcpu_ioctl(r->v, KVM_RUN, 0), ==, -EINTR);
    r->v->io_pending = false;
}

static void start_program(Vm *r)
{
    uint8_t table[96];
    CPUARMState *env = &r->cpu->env;

    for (size_t i = 0; i < sizeof(table); i++) {
        table[i] = i * 37 + 11;
    }
    address_space_write(&address_space_memory, TABLE_IN, MEMTXATTRS_UNSPECIFIED,
                        table, sizeof(table));
    memset(table, 0, sizeof(table));
    address_space_write(&address_space_memory, TABLE_OUT,
                        MEMTXATTRS_UNSPECIFIED, table, sizeof(table));
    address_space_write(&address_space_memory, RAM_BASE, MEMTXATTRS_UNSPECIFIED,
                        program, sizeof(program));
    cpu_reset(CPU(r->cpu));
    put(r, KVM_PUT_RESET);
    arm_cpu_host_values(r->cpu)[place(r, ARM64_SYS_REG(3, 0, 1, 0, 2))] =
        3u << 20; /* CPACR_EL1: vectors may be used */
    arm_pstate_write(env, PSTATE_DAIF | PSTATE_MODE_EL1h);
    env->xregs[0] = TABLE_IN;
    env->xregs[1] = TABLE_OUT;
    env->xregs[2] = STOP_ADDR;
    env->pc = RAM_BASE;
    put(r, KVM_PUT_FULL);
}

static void test_moved(void)
{
    uint8_t in[96], out[96];
    uint64_t before, after;

    start_program(&a);
    run(&a);
    move(&a, &b);
    memset(a.cpu->env.xregs, 0xaa, sizeof(a.cpu->env.xregs));
    run(&b);
    address_space_read(&address_space_memory, TABLE_IN, MEMTXATTRS_UNSPECIFIED,
                       in, sizeof(in));
    address_space_read(&address_space_memory, TABLE_OUT, MEMTXATTRS_UNSPECIFIED,
                       out, sizeof(out));
    g_assert_cmpmem(out, sizeof(out), in, sizeof(in));
    before = ldq_le_phys(&address_space_memory, TABLE_OUT + 96);
    after = ldq_le_phys(&address_space_memory, TABLE_OUT + 104);
    g_assert_cmpuint(before, !=, 0);
    g_assert_cmpuint(after, >=, before);
    get(&b);
    g_assert_cmphex(b.cpu->env.pc, ==, RAM_BASE + 14 * 4);
}

/* ---- GIC ---- */

static void test_gic(void)
{
    KvmGicState *s = kvm_arm_gic_state_new(1);
    KvmGicState *t = kvm_arm_gic_state_new(1);
    g_autoptr(GByteArray) d = NULL, e = NULL;

    /* Twice: the kernel tidies up what is written to some. */
    g_assert_true(kvm_arm_gic_get(a.vm, s, &error_abort));
    g_assert_true(kvm_arm_gic_put(a.vm, s, &error_abort));
    g_assert_true(kvm_arm_gic_get(a.vm, s, &error_abort));
    kvm_arm_gic_test_change(s);
    g_assert_true(kvm_arm_gic_put(b.vm, s, &error_abort));
    g_assert_true(kvm_arm_gic_get(b.vm, t, &error_abort));
    d = arm_test_save(&vmstate_kvm_arm_gicv3, s);
    e = arm_test_save(&vmstate_kvm_arm_gicv3, t);
    g_assert_cmpuint(d->len, ==, e->len);
    for (size_t i = 0; i < d->len; i++) {
        if (d->data[i] != e->data[i]) {
            g_test_message("byte %zu of the section: 0x%x, expected 0x%x", i,
                           e->data[i], d->data[i]);
            g_test_fail();
        }
    }
    kvm_arm_gic_state_free(s);
    kvm_arm_gic_state_free(t);
}

/* What a real QEMU sends for one CPU has the size and order of ours. */
static void test_gic_section(void)
{
    KvmGicState *s = kvm_arm_gic_state_new(1);
    g_autoptr(GBytes) data = arm_test_data("arm_gicv3.bin");
    g_autoptr(GByteArray) again = NULL;
    size_t taken;

    g_assert_true(arm_test_load(&vmstate_kvm_arm_gicv3, s, 1,
                                g_bytes_get_data(data, NULL),
                                g_bytes_get_size(data), &taken, &error_abort));
    g_assert_cmpuint(taken, ==, g_bytes_get_size(data));
    again = arm_test_save(&vmstate_kvm_arm_gicv3, s);
    g_assert_cmpmem(again->data, again->len, g_bytes_get_data(data, NULL),
                    g_bytes_get_size(data));
    kvm_arm_gic_state_free(s);
}

/* ---- rings ---- */

/* ACQ_REL with a bitmap beside it, both before the first slot. */
static void test_ring(void)
{
    Vm r = vm_new(KVM_LOG_RING);

    if (!r.vm->ring_with_bitmap) {
        g_test_message("the kernel has no bitmap beside rings");
    }
    g_assert_cmpint(kvm_ring_cap(), ==, KVM_CAP_DIRTY_LOG_RING_ACQ_REL);
    g_assert_nonnull(r.v->ring);
    kvm_vm_free(r.vm);
}

static int skip_all(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    return 0;
}

int main(int argc, char **argv)
{
    static MemoryRegion ram;
    Error *err = NULL;

    g_test_init(&argc, &argv, NULL);
    if (!kvm_dev_open(&err) || !kvm_caps_probe(&err) ||
        !kvm_arch_check_host(&err)) {
        return skip_all(error_get_pretty(err));
    }
    arm_test_init();
    get_system_io();
    memory_region_init_ram(&ram, NULL, "ram", RAM_BYTES, &error_abort);
    memory_region_add_subregion(get_system_memory(), RAM_BASE, &ram);
    a = vm_new(KVM_LOG_BITMAP);
    b = vm_new(KVM_LOG_BITMAP);
    g_test_add_func("/kvm-arm/core", test_core);
    g_test_add_func("/kvm-arm/list", test_list);
    g_test_add_func("/kvm-arm/power", test_power);
    g_test_add_func("/kvm-arm/moved", test_moved);
    g_test_add_func("/kvm-arm/gic", test_gic);
    g_test_add_func("/kvm-arm/gic/section", test_gic_section);
    if (kvm_ring_cap()) {
        g_test_add_func("/kvm-arm/ring", test_ring);
    }
    return g_test_run();
}
