/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accelerator `kvm` as the system drives it: vCPU threads that stop, do
 * work, reset, and end in an error; interrupts and doorbells.
 */
#include "qemu/osdep.h"

#include <json-c/json.h>
#include <sys/eventfd.h>

#include "accel/kvm.h"
#include "qapi/json.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/accel-irq.h"
#include "system/accel.h"
#include "system/cpu-throttle.h"
#include "system/gsi.h"
#include "system/runstate.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "kvm-irqchip.h"
#include "kvm-mini.h"
#include "kvm-slots.h"

#define NR_CPUS   3
#define RAM_BYTES (UINT64_C(64) << 20)
#define MMIO_ADDR UINT64_C(0xc0000000)

static MemoryRegion ram;
static CPUState *cpus[NR_CPUS];

static hwaddr counter_of(int i)
{
    return MINI_DATA + i * 0x10000;
}

static uint64_t count(int i)
{
    return ldq_le_phys(&address_space_memory, counter_of(i));
}

/* Each counts in a page of its own, for ever. */
static void restart_all(void)
{
    for (int i = 0; i < NR_CPUS; i++) {
        mini_starts[i] = (MiniStart){ MINI_COUNT, counter_of(i), 0, 0, 0 };
    }
    cpu_synchronize_all_post_reset();
}

static void TSA_NO_CHECK wait_for_progress(int i)
{
    uint64_t before = count(i);

    bql_unlock();
    while (count(i) == before) {
        sched_yield();
    }
    bql_lock();
}

static void TSA_NO_CHECK sleep_ms(int ms)
{
    bql_unlock();
    g_usleep(ms * 1000);
    bql_lock();
}

/* Let the main loop's requests come, and act on them. */
static void TSA_NO_CHECK wait_for_state(RunState state)
{
    for (int ms = 0; !runstate_check(state); ms++) {
        g_assert_cmpint(ms, <, 10000);
        sleep_ms(1);
        runstate_process_requests();
    }
}

static void mend_after_error(void)
{
    runstate_set(RUN_STATE_PRELAUNCH); /* as a reset does */
    restart_all();
}

/* ---- stopping ---- */

static void test_start_and_stop(void)
{
    enum {
        ROUNDS = 40
    };
    uint64_t before[NR_CPUS];

    restart_all();
    for (int n = 0; n < ROUNDS; n++) {
        vm_start();
        wait_for_progress(n % NR_CPUS);
        vm_stop(RUN_STATE_PAUSED);
        for (int i = 0; i < NR_CPUS; i++) {
            g_assert_false(atomic_load(&kvm_vcpu(cpus[i])->in_run));
            before[i] = count(i);
        }
        if (n % 10 == 0) {
            sleep_ms(2);
        }
        for (int i = 0; i < NR_CPUS; i++) {
            g_assert_cmpuint(count(i), ==, before[i]);
        }
    }
}

static void count_work(CPUState *cpu, run_on_cpu_data data)
{
    g_assert_true(current_cpu == cpu);
    g_assert_false(atomic_load(&kvm_vcpu(cpu)->in_run));
    (*(unsigned *)data.host_ptr)++;
}

static void *kick_storm(void *opaque)
{
    _Atomic bool *end = opaque;

    for (unsigned i = 0; !atomic_load(end); i++) {
        qemu_cpu_kick(cpus[i % NR_CPUS]);
    }
    return NULL;
}

/* Work is done at once, however many kick from elsewhere. */
static void TSA_NO_CHECK test_work_in_a_kick_storm(void)
{
    enum {
        ROUNDS = 100
    };
    _Atomic bool end = false;
    unsigned n = 0;
    QemuThread thread;

    restart_all();
    vm_start();
    qemu_thread_create(&thread, "storm", kick_storm, &end, QEMU_THREAD_JOINABLE,
                       &error_abort);
    for (unsigned i = 0; i < ROUNDS; i++) {
        run_on_cpu(cpus[i % NR_CPUS], count_work, RUN_ON_CPU_HOST_PTR(&n));
    }
    g_assert_cmpuint(n, ==, ROUNDS);
    for (int i = 0; i < NR_CPUS; i++) {
        wait_for_progress(i);
    }
    atomic_store(&end, true);
    bql_unlock();
    qemu_thread_join(&thread);
    bql_lock();
    vm_stop(RUN_STATE_PAUSED);
}

/* Registers are read once, and put back before the guest goes on. */
static void test_synchronize(void)
{
    unsigned gets, puts;

    restart_all();
    vm_start();
    wait_for_progress(1);
    gets = atomic_load(&mini_gets);
    puts = atomic_load(&mini_puts);
    cpu_synchronize_state(cpus[1]);
    vm_stop(RUN_STATE_PAUSED);
    cpu_synchronize_all_states();
    cpu_synchronize_all_states();
    g_assert_cmpuint(atomic_load(&mini_gets), <=, gets + 1 + NR_CPUS);
    for (int i = 0; i < NR_CPUS; i++) {
        g_assert_true(kvm_vcpu(cpus[i])->regs_in_env);
    }
    vm_start();
    for (int i = 0; i < NR_CPUS; i++) {
        wait_for_progress(i);
    }
    g_assert_cmpuint(atomic_load(&mini_puts), >=, puts + NR_CPUS);
    vm_stop(RUN_STATE_PAUSED);
    for (int i = 0; i < NR_CPUS; i++) {
        g_assert_false(kvm_vcpu(cpus[i])->regs_in_env);
    }
}

/*
 * State that could not be set is set when the vCPU is to run; what could not be
 * read is not saved as if it were there.
 */
static void test_synchronize_fails(void)
{
    Error *err = NULL;

    restart_all();
    kvm_fault_arm(1, EIO, kvm_call_index(KVM_GET_REGS));
    cpu_synchronize_all_states();
    g_assert_true(kvm_fault_fired());
    g_assert_true(cpus[0]->env_stale);
    g_assert_false(cpus[1]->env_stale);
    vm_start();
    wait_for_progress(0);
    vm_stop(RUN_STATE_PAUSED);
    cpu_synchronize_all_states();
    g_assert_false(cpus[0]->env_stale);

    atomic_store(&mini_put_error, EIO);
    restart_all();
    g_assert_true(kvm_vcpu(cpus[0])->regs_in_env);
    g_assert_false(kvm_vcpu(cpus[1])->regs_in_env);
    stq_le_phys(&address_space_memory, counter_of(0), 0);
    vm_start();
    wait_for_progress(0);
    vm_stop(RUN_STATE_PAUSED);
    g_assert_cmpuint(kvm_vcpu(cpus[0])->put_level, ==, KVM_PUT_RUNTIME);

    /* As it was loaded: the load fails, unless it was for once. */
    atomic_store(&mini_put_error, EIO);
    g_assert_true(cpu_synchronize_all_post_init(&error_abort));
    atomic_store(&mini_put_error, -EIO);
    g_assert_false(cpu_synchronize_all_post_init(&err));
    g_assert_nonnull(strstr(error_get_pretty(err), "cannot set registers"));
    error_free(err);
    atomic_store(&mini_put_error, 0);

    restart_all();
    cpu_synchronize_all_states();
    atomic_store(&mini_put_error, EIO);
    vm_start();
    wait_for_state(RUN_STATE_INTERNAL_ERROR);
    mend_after_error();
}

/* A throttled vCPU leaves the guest to sleep, and goes on afterwards. */
static void TSA_NO_CHECK test_throttle(void)
{
    uint64_t slept_ns;

    restart_all();
    vm_start();
    wait_for_progress(0);
    cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    slept_ns = atomic_load(&cpus[0]->throttle.slept_ns);
    for (int i = 0; i < NR_CPUS; i++) {
        cpu_throttle_set(CPU_THROTTLE_CONVERGE, cpus[i], 95 * CPU_THROTTLE_PCT);
    }
    for (int ms = 0;
         atomic_load(&cpus[0]->throttle.slept_ns) < slept_ns + 100 * SCALE_MS;
         ms++) {
        g_assert_cmpint(ms, <, 20000);
        sleep_ms(1);
    }
    wait_for_progress(0);
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    wait_for_progress(0);
    vm_stop(RUN_STATE_PAUSED);
}

/* ---- the guest's end ---- */

/* A jump to nowhere is a triple fault: the machine is reset, and goes on. */
static void test_shutdown_resets(void)
{
    struct kvm_regs r;

    restart_all();
    r = mini_regs(kvm_vcpu(cpus[0]));
    r.rip = UINT64_C(0x7f0000000000);
    g_assert_cmpint(kvm_vcpu_ioctl(kvm_vcpu(cpus[0]), KVM_SET_REGS, &r), >=, 0);
    stq_le_phys(&address_space_memory, counter_of(0), 0);
    vm_start();
    for (int ms = 0; count(0) == 0; ms++) {
        g_assert_cmpint(ms, <, 10000);
        sleep_ms(1);
        runstate_process_requests();
    }
    g_assert_true(runstate_is_running());
    wait_for_progress(0);
    vm_stop(RUN_STATE_PAUSED);
}

/* KVM_RUN fails: the machine stops and the process lives. */
static void test_run_fails(void)
{
    static const int errors[] = { EIO, ENOMEM, EINVAL };

    for (unsigned i = 0; i < G_N_ELEMENTS(errors); i++) {
        restart_all();
        vm_start();
        wait_for_progress(0);
        kvm_fault_arm(1, errors[i], kvm_call_index(KVM_RUN));
        /* Somebody has to come out to enter again. */
        for (int n = 0; n < NR_CPUS; n++) {
            qemu_cpu_kick(cpus[n]);
        }
        wait_for_state(RUN_STATE_INTERNAL_ERROR);
        g_assert_true(kvm_fault_fired());
        g_assert_true(all_vcpus_paused());
        mend_after_error();
    }
    vm_start();
    wait_for_progress(0);
    vm_stop(RUN_STATE_PAUSED);
}

/*
 * The host gives no memory, and no page is found that is missing: the
 * instruction is run again; if that does not help, the guest stops, until it
 * does.
 */
static void test_no_memory(void)
{
    restart_all();
    vm_start();
    wait_for_progress(0);
    kvm_fault_arm(1, EFAULT, kvm_call_index(KVM_RUN));
    for (int n = 0; n < NR_CPUS; n++) {
        qemu_cpu_kick(cpus[n]);
    }
    for (int n = 0; n < NR_CPUS; n++) {
        wait_for_progress(n);
    }
    g_assert_true(kvm_fault_fired());
    g_assert_true(runstate_is_running());

    kvm_fault_arm_all(EFAULT, kvm_call_index(KVM_RUN));
    for (int n = 0; n < NR_CPUS; n++) {
        qemu_cpu_kick(cpus[n]);
    }
    wait_for_state(RUN_STATE_IO_ERROR);
    g_assert_true(all_vcpus_paused());
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    vm_start();
    for (int n = 0; n < NR_CPUS; n++) {
        wait_for_progress(n);
    }
    vm_stop(RUN_STATE_PAUSED);
}

/* Memory that the kernel does not give stops the guest, until it does. */
static void test_broken(void)
{
    MemoryRegion mr = { 0 };
    uint64_t before;

    restart_all();
    vm_start();
    wait_for_progress(0);
    /* Refused once: the first vCPU that comes by tries again. */
    kvm_fault_arm(1, ENOMEM, kvm_call_index(KVM_SET_USER_MEMORY_REGION));
    mini_ram(&mr, "refused", 0x80000000, 0x10000);
    g_assert_true(kvm_fault_fired());
    wait_for_progress(0);
    g_assert_false(atomic_load(&kvm_vm()->broken));
    g_assert_true(runstate_is_running());
    memory_region_set_enabled(&mr, false);

    /* Refused for good: the kernel does not take what is too far away. */
    memory_region_set_address(&mr, UINT64_C(1) << 62);
    memory_region_set_enabled(&mr, true);
    g_assert_true(atomic_load(&kvm_vm()->broken));
    wait_for_state(RUN_STATE_INTERNAL_ERROR);
    mend_after_error();
    before = count(0);
    vm_start();
    wait_for_state(RUN_STATE_INTERNAL_ERROR);
    g_assert_cmpuint(count(0), ==, before);
    memory_region_del_subregion(get_system_memory(), &mr);
    memory_region_destroy(&mr);
    mend_after_error();
    vm_start();
    wait_for_progress(0);
    vm_stop(RUN_STATE_PAUSED);
}

/* ---- exits that this kernel will not give us at will ---- */

static void gather(void *opaque, const char *text)
{
    g_string_append(opaque, text);
}

typedef struct ForgedExit {
    const char *name;
    uint32_t reason;
    void (*fill)(struct kvm_run *run); /* NULL: nothing to fill */
    RunState state;
    const char *words; /* in what is reported */
} ForgedExit;

static void fill_emulation(struct kvm_run *run)
{
    run->internal.suberror = KVM_INTERNAL_ERROR_EMULATION;
    run->internal.ndata = 2;
    run->internal.data[0] = 0xabc;
    run->internal.data[1] = 0x12;
}

static void fill_too_much(struct kvm_run *run)
{
    run->internal.suberror = 4711;
    run->internal.ndata = 1000; /* more than there is */
}

static void fill_entry(struct kvm_run *run)
{
    run->fail_entry.hardware_entry_failure_reason = 0x80000021;
}

static void fill_hw(struct kvm_run *run)
{
    run->hw.hardware_exit_reason = 0x99;
}

static void fill_crash(struct kvm_run *run)
{
    run->system_event.type = KVM_SYSTEM_EVENT_CRASH;
}

static void fill_event(struct kvm_run *run)
{
    run->system_event.type = 99;
}

static const ForgedExit forged[] = {
    { "emulation", KVM_EXIT_INTERNAL_ERROR, fill_emulation,
      RUN_STATE_INTERNAL_ERROR,
      "cannot emulate (suberror 1, data 0xabc 0x12)" },
    { "suberror", KVM_EXIT_INTERNAL_ERROR, fill_too_much,
      RUN_STATE_INTERNAL_ERROR, "suberror 4711" },
    { "fail-entry", KVM_EXIT_FAIL_ENTRY, fill_entry, RUN_STATE_INTERNAL_ERROR,
      "refuses its state (hardware reason 0x80000021)" },
    { "hardware", KVM_EXIT_UNKNOWN, fill_hw, RUN_STATE_INTERNAL_ERROR,
      "hardware reason 0x99" },
    { "number", 12345, NULL, RUN_STATE_INTERNAL_ERROR, "exit 12345" },
    { "event", KVM_EXIT_SYSTEM_EVENT, fill_event, RUN_STATE_INTERNAL_ERROR,
      "unknown system event 99" },
    { "crash", KVM_EXIT_SYSTEM_EVENT, fill_crash, RUN_STATE_GUEST_PANICKED,
      "has crashed" },
};

static void forge(const ForgedExit *f)
{
    g_autoptr(GString) said = g_string_new(NULL);
    KvmVcpu *v = kvm_vcpu(cpus[0]);

    restart_all();
    vm_prepare_start(); /* running, but for the vCPUs */
    memset(&v->run->internal, 0, 64);
    v->run->exit_reason = f->reason;
    if (f->fill) {
        f->fill(v->run);
    }
    error_report_set_monitor(gather, said);
    g_assert_cmpint(kvm_handle_exit(v), ==, KVM_LEAVE);
    error_report_set_monitor(NULL, NULL);
    g_assert_cmpint(runstate_get(), ==, f->state);
    if (!strstr(said->str, f->words)) {
        g_error("%s: '%s' is not in: %s", f->name, f->words, said->str);
    }
    runstate_set(RUN_STATE_PRELAUNCH);
}

static void test_forged_exits(void)
{
    KvmVcpu *v = kvm_vcpu(cpus[0]);

    for (unsigned i = 0; i < G_N_ELEMENTS(forged); i++) {
        forge(&forged[i]);
    }
    v->run->exit_reason = KVM_EXIT_HYPERCALL;
    v->run->hypercall.ret = 0;
    g_assert_cmpint(kvm_handle_exit(v), ==, KVM_GO_ON);
    g_assert_cmpint((int)v->run->hypercall.ret, ==, -ENOSYS);
    restart_all();
    vm_start();
    wait_for_progress(0);
    vm_stop(RUN_STATE_PAUSED);
}

/* ---- without an irqchip ---- */

static void read_halted(CPUState *cpu, run_on_cpu_data data)
{
    *(uint32_t *)data.host_ptr = cpu->halted;
}

/* Asked on its own thread, between two runs: while it runs, only that knows,
 * and one that was woken goes on being halted until it does run. */
static bool sleeps(int i)
{
    uint32_t halted = 0;

    run_on_cpu(cpus[i], read_halted, RUN_ON_CPU_HOST_PTR(&halted));
    return halted;
}

/* HLT is ours then: the vCPU sleeps until an interrupt comes. */
static void test_halt(void)
{
    for (int i = 0; i < NR_CPUS; i++) {
        mini_starts[i] = (MiniStart){ MINI_HALT, counter_of(i), 0, 0, 0 };
        stq_le_phys(&address_space_memory, counter_of(i), 0);
    }
    cpu_synchronize_all_post_reset();
    vm_start();
    for (int i = 0; i < NR_CPUS; i++) {
        while (count(i) == 0) {
            sleep_ms(1);
        }
    }
    for (unsigned n = 0; n < 20; n++) {
        uint64_t asleep;

        while (!sleeps(0)) {
            sleep_ms(1); /* a busy host takes its time */
        }
        asleep = count(0);
        sleep_ms(7);
        g_assert_cmpuint(count(0), ==, asleep);
        /* As long as it is requested there is no sleep. */
        cpu_interrupt(cpus[0], CPU_INTERRUPT_HARD);
        while (count(0) < asleep + 3) {
            sleep_ms(1);
        }
        cpu_reset_interrupt(cpus[0], CPU_INTERRUPT_HARD);
    }
    while (!sleeps(1)) {
        sleep_ms(1);
    }
    g_assert_cmpuint(count(1), ==, 1);
    vm_stop(RUN_STATE_PAUSED);
    for (int i = 0; i < NR_CPUS; i++) {
        cpus[i]->halted = 0;
    }
}

static void test_no_irqchip(void)
{
    Error *err = NULL;

    g_assert_false(accel_has_gsi());
    g_assert_false(accel_send_msi(0xfee00000, 0x51, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "kernel-irqchip=off"));
    g_clear_pointer(&err, error_free);
    g_assert_cmpint(accel_route_add(0xfee00000, 0x51, &err), ==, -1);
    g_clear_pointer(&err, error_free);
    g_assert_false(accel_irqfd_add(3, 0, -1, &err));
    g_clear_pointer(&err, error_free);
}

/* ---- doorbells and coalesced stores ---- */

typedef struct Device {
    MemoryRegion mr;
    uint64_t writes, last;
    bool in_order;
} Device;

static uint64_t device_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

/* The program counts down. */
static void device_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    Device *d = opaque;

    d->in_order = !d->writes || val + 1 == d->last ? d->in_order : false;
    d->last = val;
    d->writes++;
}

static const MemoryRegionOps device_ops = { .read = device_read,
                                            .write = device_write };

static void device_begin(Device *d)
{
    *d = (Device){ .in_order = true };
    memory_region_init_io(&d->mr, NULL, &device_ops, d, "device", 4096);
    memory_region_add_subregion(get_system_memory(), MMIO_ADDR, &d->mr);
}

static void device_end(Device *d)
{
    memory_region_del_subregion(get_system_memory(), &d->mr);
    memory_region_destroy(&d->mr);
}

static uint64_t take(int fd)
{
    uint64_t n = 0;

    return read(fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

/* Run a program on vCPU 0's kernel state, on this thread: it is paused. */
static void run_here(MiniProgram program, uint64_t rdi, uint64_t rdx,
                     uint64_t rcx)
{
    KvmVcpu *v = kvm_vcpu(cpus[0]);
    int ret;

    mini_start(v, program, rdi, 0, rdx, rcx);
    atomic_store(&cpus[0]->exit_request, false);
    if (!mini_run(v, &ret)) {
        g_error("it ends by %d, exit %u at 0x%llx", ret, v->run->exit_reason,
                mini_regs(v).rip);
    }
}

static void test_doorbell(void)
{
    AccelDoorbell bell = { .addr = MMIO_ADDR + 8, .size = 4 };
    AccelDoorbell port = { .pio = true, .addr = 0x600, .size = 1 };
    Device d;

    device_begin(&d);
    bell.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    port.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    g_assert_true(accel_doorbell_add(&bell, &error_abort));
    g_assert_true(accel_doorbell_add(&port, &error_abort));
    run_here(MINI_STORE, bell.addr, 7, 0);
    g_assert_cmpuint(take(bell.fd), ==, 7);
    run_here(MINI_STORE, MMIO_ADDR, 3, 0);
    g_assert_cmpuint(take(bell.fd), ==, 0);
    g_assert_cmpuint(d.writes, ==, 3);
    run_here(MINI_OUT, 0, 5, 0x600);
    g_assert_cmpuint(take(port.fd), ==, 5);
    accel_doorbell_remove(&bell);
    accel_doorbell_remove(&port);
    run_here(MINI_STORE, bell.addr, 2, 0);
    g_assert_cmpuint(take(bell.fd), ==, 0);
    g_assert_cmpuint(d.writes, ==, 5);

    /* Only one value. */
    bell.match = true;
    bell.data = 3;
    g_assert_true(accel_doorbell_add(&bell, &error_abort));
    run_here(MINI_STORE, bell.addr, 6, 0); /* 6, 5, 4, 3, 2, 1 */
    g_assert_cmpuint(take(bell.fd), ==, 1);
    g_assert_cmpuint(d.writes, ==, 10);
    accel_doorbell_remove(&bell);
    close(bell.fd);
    close(port.fd);
    device_end(&d);
}

static void test_coalesced(void)
{
    uint64_t exits;
    Device d;

    device_begin(&d);
    g_assert_true(accel_coalesce_add(false, MMIO_ADDR, 16, &error_abort));
    exits = atomic_load(&kvm_vcpu(cpus[0])->exits);
    run_here(MINI_STORE, MMIO_ADDR, 20, 0);
    /* One exit, of the port that ends it; all stores are done before it. */
    g_assert_cmpuint(atomic_load(&kvm_vcpu(cpus[0])->exits) - exits, ==, 1);
    g_assert_cmpuint(d.writes, ==, 20);
    g_assert_true(d.in_order);
    /* More than the ring holds: what finds no place is an exit, in order. */
    run_here(MINI_STORE, MMIO_ADDR, 1000, 0);
    g_assert_cmpuint(d.writes, ==, 1020);
    g_assert_cmpuint(d.last, ==, 1);
    accel_coalesce_remove(false, MMIO_ADDR, 16);
    exits = atomic_load(&kvm_vcpu(cpus[0])->exits);
    run_here(MINI_STORE, MMIO_ADDR, 20, 0);
    g_assert_cmpuint(atomic_load(&kvm_vcpu(cpus[0])->exits) - exits, ==, 21);
    device_end(&d);
}

/* The same for a port. */
static void test_coalesced_port(void)
{
    Device d = { .in_order = true };
    uint64_t exits;

    memory_region_init_io(&d.mr, NULL, &device_ops, &d, "port", 4);
    memory_region_add_subregion(get_system_io(), 0x520, &d.mr);
    g_assert_true(accel_coalesce_add(true, 0x520, 1, &error_abort));
    exits = atomic_load(&kvm_vcpu(cpus[0])->exits);
    run_here(MINI_OUT, 0, 20, 0x520);
    g_assert_cmpuint(atomic_load(&kvm_vcpu(cpus[0])->exits) - exits, ==, 1);
    g_assert_cmpuint(d.writes, ==, 20);
    accel_coalesce_remove(true, 0x520, 1);
    memory_region_del_subregion(get_system_io(), &d.mr);
    memory_region_destroy(&d.mr);
}

/* ---- interrupts ---- */

#define APIC_SVR 0xf0
#define APIC_IRR 0x200

static struct kvm_lapic_state lapic(void)
{
    struct kvm_lapic_state s;

    g_assert_cmpint(kvm_vcpu_ioctl(kvm_vcpu(cpus[0]), KVM_GET_LAPIC, &s), >=,
                    0);
    return s;
}

static void enable_lapic(void)
{
    struct kvm_lapic_state s = lapic();
    uint32_t svr = 0x1ff;

    memcpy(s.regs + APIC_SVR, &svr, sizeof(svr));
    memset(s.regs + APIC_IRR, 0, 0x80);
    g_assert_cmpint(kvm_vcpu_ioctl(kvm_vcpu(cpus[0]), KVM_SET_LAPIC, &s), >=,
                    0);
}

static bool is_requested(unsigned vector)
{
    struct kvm_lapic_state s = lapic();
    uint32_t word;

    memcpy(&word, s.regs + APIC_IRR + vector / 32 * 0x10, sizeof(word));
    return word >> vector % 32 & 1;
}

static void wait_for_request(unsigned vector)
{
    for (int ms = 0; !is_requested(vector); ms++) {
        g_assert_cmpint(ms, <, 5000);
        g_usleep(1000);
    }
}

static uint32_t msi_data(unsigned vector)
{
    return vector;
}
#define MSI_ADDRESS UINT64_C(0xfee00000)

static void test_msi(void)
{
    int gsi, second, fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    enable_lapic();
    g_assert_true(accel_send_msi(MSI_ADDRESS, msi_data(0x51), &error_abort));
    g_assert_true(is_requested(0x51));
    gsi = accel_route_add(MSI_ADDRESS, msi_data(0x52), &error_abort);
    second = accel_route_add(MSI_ADDRESS, msi_data(0x53), &error_abort);
    g_assert_cmpint(gsi, >=, 24);
    g_assert_cmpint(second, ==, gsi + 1);
    g_assert_true(accel_irqfd_add(gsi, fd, -1, &error_abort));
    g_assert_false(is_requested(0x52));
    eventfd_write(fd, 1);
    wait_for_request(0x52);
    g_assert_true(
        accel_route_update(gsi, MSI_ADDRESS, msi_data(0x54), &error_abort));
    eventfd_write(fd, 1);
    wait_for_request(0x54);
    g_assert_false(is_requested(0x53));
    accel_irqfd_remove(gsi, fd);
    enable_lapic();
    eventfd_write(fd, 1);
    g_usleep(10000);
    g_assert_false(is_requested(0x54));
    accel_route_remove(gsi);
    g_assert_cmpint(accel_route_add(MSI_ADDRESS, 0x55, &error_abort), ==, gsi);
    accel_route_remove(gsi);
    accel_route_remove(second);
    close(fd);
}

/* Line 5 through the I/O APIC, set by a device and by an eventfd. */
static void test_lines(void)
{
    struct kvm_irqchip chip = { .chip_id = KVM_IRQCHIP_IOAPIC };
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    g_assert_true(accel_has_gsi());
    enable_lapic();
    g_assert_cmpint(kvm_vm_ioctl(kvm_vm(), KVM_GET_IRQCHIP, &chip), >=, 0);
    chip.chip.ioapic.redirtbl[5].bits = 0x61; /* edge, to APIC 0 */
    chip.chip.ioapic.redirtbl[2].bits = 0x62;
    g_assert_cmpint(kvm_vm_ioctl(kvm_vm(), KVM_SET_IRQCHIP, &chip), >=, 0);
    accel_set_gsi(5, 1);
    g_assert_true(is_requested(0x61));
    accel_set_gsi(5, 0);
    enable_lapic();
    accel_set_gsi(5, 0);
    g_assert_false(is_requested(0x61));
    g_assert_true(accel_irqfd_add(5, fd, -1, &error_abort));
    eventfd_write(fd, 1);
    wait_for_request(0x61);
    accel_irqfd_remove(5, fd);
    close(fd);
    /* As on a PC: line 0 is pin 2. */
    accel_set_gsi(0, 1);
    g_assert_true(is_requested(0x62));
    accel_set_gsi(0, 0);
}

static void set_first_pic(uint8_t irr, uint8_t imr)
{
    struct kvm_irqchip chip = { .chip_id = KVM_IRQCHIP_PIC_MASTER };

    g_assert_cmpint(kvm_vm_ioctl(kvm_vm(), KVM_GET_IRQCHIP, &chip), >=, 0);
    chip.chip.pic.irr = irr;
    chip.chip.pic.imr = imr;
    g_assert_cmpint(kvm_vm_ioctl(kvm_vm(), KVM_SET_IRQCHIP, &chip), >=, 0);
}

static void set_pin_2(uint64_t entry)
{
    struct kvm_irqchip chip = { .chip_id = KVM_IRQCHIP_IOAPIC };

    g_assert_cmpint(kvm_vm_ioctl(kvm_vm(), KVM_GET_IRQCHIP, &chip), >=, 0);
    chip.chip.ioapic.redirtbl[2].bits = entry;
    g_assert_cmpint(kvm_vm_ioctl(kvm_vm(), KVM_SET_IRQCHIP, &chip), >=, 0);
}

/* What became of an edge on line 0: of it depends that no tick is lost. */
static void test_pulse(void)
{
    const uint64_t masked = 0x10000;

    enable_lapic();
    g_assert_true(accel_has_pulse());
    /* By the PIC. */
    set_pin_2(masked);
    set_first_pic(0, 0xfe);
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_TAKEN);
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_WAITS);
    /* Masked: it keeps one. */
    set_first_pic(0, 0xff);
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_TAKEN);
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_MASKED);
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_MASKED);
    /* Unmasked again, with the one that it kept. */
    set_first_pic(1, 0xfe);
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_WAITS);
    /* By the I/O APIC's pin 2, whatever the PIC keeps behind its mask. */
    set_first_pic(1, 0xff);
    set_pin_2(0x62);
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_SENT);
    g_assert_true(is_requested(0x62));
    g_assert_false(accel_pulse_may_be_lost(0));
    set_pin_2(0x64);
    g_assert_true(accel_pulse_may_be_lost(0));
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_SENT);
    g_assert_true(is_requested(0x64));
    g_assert_false(accel_pulse_may_be_lost(0));
    /* A call that fails takes nothing. */
    enable_lapic();
    kvm_fault_arm(1, EIO, kvm_call_index(KVM_IRQ_LINE_STATUS));
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_WAITS);
    g_assert_cmpint(accel_pulse_gsi(0), ==, ACCEL_PULSE_SENT);
    set_pin_2(masked);
    set_first_pic(0, 0);
    enable_lapic();
}

/* What devices have moves to a second VM, or stays, whichever call fails. */
static void test_second_vm(void)
{
    KvmVmConfig config = { .irqchip = KVM_IRQCHIP_ON };
    KvmVm *second = kvm_vm_new(&config, &error_abort);
    AccelDoorbell bell = { .addr = MMIO_ADDR, .size = 4 };
    int gsi[2], fd[2];
    Error *err = NULL;

    for (int i = 0; i < 2; i++) {
        fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        gsi[i] = accel_route_add(MSI_ADDRESS, 0x70 + i, &error_abort);
        g_assert_true(accel_irqfd_add(gsi[i], fd[i], -1, &error_abort));
    }
    bell.fd = fd[0];
    g_assert_true(accel_doorbell_add(&bell, &error_abort));
    for (unsigned n = 1;; n++) {
        bool ok;

        kvm_fault_arm(n, ENOSPC, KVM_CALL_ANY);
        ok = kvm_irqchip_move(second, &err);
        if (ok) {
            break;
        }
        g_assert_true(kvm_fault_fired());
        g_assert_cmpuint(n, <, 7);
        g_assert_nonnull(err);
        g_clear_pointer(&err, error_free);
        /* The first still has them, both. */
        enable_lapic();
        eventfd_write(fd[0], 1);
        eventfd_write(fd[1], 1);
        wait_for_request(0x70);
        wait_for_request(0x71);
    }
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    enable_lapic();
    eventfd_write(fd[1], 1);
    g_usleep(10000);
    g_assert_false(is_requested(0x71));
    g_assert_true(kvm_irqchip_move(kvm_vm(), &error_abort));
    eventfd_write(fd[1], 1);
    wait_for_request(0x71);
    accel_doorbell_remove(&bell);
    for (int i = 0; i < 2; i++) {
        accel_irqfd_remove(gsi[i], fd[i]);
        accel_route_remove(gsi[i]);
        close(fd[i]);
    }
    kvm_vm_free(second);
}

static void test_skip(void)
{
    g_test_skip(mini_unusable());
}

/* @off: kernel-irqchip=off */
static void TSA_ACQUIRE(bql) make_cpus(bool off)
{
    g_autoptr(json_object) props = json_object_new_object();

    json_object_object_add(props, "kernel-irqchip",
                           json_object_new_string(off ? "off" : "on"));
    qom_register_types();
    accel_register_types();
    cpu_register_types();
    kvm_accel_register_types();
    mini_cpu_register_type();
    mini_init();
    g_assert_true(accel_try("kvm", props, NULL, &error_abort));
    mini_ram(&ram, "ram", 0, RAM_BYTES);
    mini_load();
    for (int i = 0; i < NR_CPUS; i++) {
        cpus[i] = CPU(object_new(TYPE_MINI_CPU));
        g_assert_true(cpu_realize(cpus[i], &error_abort));
    }
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    bool off = getenv("KVM_TEST_IRQCHIP_OFF");
    int ret;

    g_test_init(&argc, &argv, NULL);
    if (mini_unusable()) {
        g_test_add_func("/kvm/cpus", test_skip);
        return g_test_run();
    }
    make_cpus(off);
    g_test_add_func("/kvm/cpus/start-and-stop", test_start_and_stop);
    g_test_add_func("/kvm/cpus/work-in-a-kick-storm",
                    test_work_in_a_kick_storm);
    g_test_add_func("/kvm/cpus/synchronize", test_synchronize);
    g_test_add_func("/kvm/cpus/synchronize-fails", test_synchronize_fails);
    g_test_add_func("/kvm/cpus/throttle", test_throttle);
    g_test_add_func("/kvm/cpus/shutdown-resets", test_shutdown_resets);
    g_test_add_func("/kvm/cpus/run-fails", test_run_fails);
    g_test_add_func("/kvm/cpus/no-memory", test_no_memory);
    g_test_add_func("/kvm/cpus/broken", test_broken);
    g_test_add_func("/kvm/cpus/forged-exits", test_forged_exits);
    g_test_add_func("/kvm/irq/doorbell", test_doorbell);
    g_test_add_func("/kvm/irq/coalesced", test_coalesced);
    g_test_add_func("/kvm/irq/coalesced-port", test_coalesced_port);
    if (off) {
        g_test_add_func("/kvm/irq/halt", test_halt);
        g_test_add_func("/kvm/irq/none", test_no_irqchip);
    } else {
        g_test_add_func("/kvm/irq/msi", test_msi);
        g_test_add_func("/kvm/irq/lines", test_lines);
        g_test_add_func("/kvm/irq/pulse", test_pulse);
        g_test_add_func("/kvm/irq/second-vm", test_second_vm);
    }
    ret = g_test_run();
    cpus_shutdown();
    bql_unlock();
    return ret;
}
