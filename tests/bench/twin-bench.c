/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * twin-bench: what it costs to move a running guest to a kernel VM that logs in
 * another way.
 *
 * One vCPU writes to each page of its memory in turn and counts. In the midst of
 * it the guest moves. Told are
 *   prepare   the new VM is made; the guest runs
 *   stand     vCPUs stand still, in all
 *   state     of which reading and setting state, and the change itself
 *   free      the old VM goes, on a thread of its own
 *   lost      what the guest did less than it would have done, in time of its
 *             vCPU's thread, until it is as fast as before
 *   a page    the same, for each page it uses
 * with nobody tracking, and from rings to a bitmap while tracking: then every
 * page was written, and is mapped and writable in the old VM. (From a bitmap to
 * rings that do not hold what the guest writes there is no "as fast as before".)
 *
 * --gib N: only that size; --out DIR.
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "accel/kvm.h"
#include "bench-out.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "system/accel.h"
#include "system/dirty-choice.h"
#include "system/dirty-memory.h"
#include "system/runstate.h"

#include "../unit/kvm-mini.h"
#include "kvm-trackers.h"
#include "kvm-twin.h"

#define PAGE        UINT64_C(4096)
#define LOW_BYTES   (32 * MiB)
#define BIG_BASE    (4 * GiB)
#define TABLES_BASE UINT64_C(0x400000)
#define CODE_BASE   UINT64_C(0x20000)
#define COUNTER     UINT64_C(0x100000) /* pages written, ever */
#define PASSES_WARM 2

extern const uint8_t twin_code[], twin_code_end[];
asm(".pushsection .rodata\n"
    ".globl twin_code, twin_code_end\n"
    "twin_code:\n" /* a store to each page of [rdi, rdi + rsi), for ever */
    "1:  xorl %ecx, %ecx\n"
    "2:  movq %rdx, (%rdi,%rcx)\n"
    "    incq 0x100000\n"
    "    addq $4096, %rcx\n"
    "    cmpq %rsi, %rcx\n"
    "    jb 2b\n"
    "    jmp 1b\n"
    "twin_code_end:\n"
    ".popsection\n");

static struct {
    MemoryRegion low, big;
    RAMBlock *rb;
    CPUState *cpu;
    uint64_t bytes;
} vm;

/* ---- the guest ---- */

static uint64_t written(void)
{
    return ldq_le_phys(&address_space_memory, COUNTER);
}

static void map_big(void)
{
    const uint64_t pdpt = 0x6000; /* the harness's */

    for (uint64_t i = 0; i < vm.bytes / GiB; i++) {
        uint64_t at = BIG_BASE / GiB + i, pd = TABLES_BASE + i * PAGE;

        stq_le_phys(&address_space_memory, pdpt + at * 8, pd | 0x27);
        for (uint64_t k = 0; k < 512; k++) {
            stq_le_phys(&address_space_memory, pd + k * 8,
                        (at * GiB + k * 2 * MiB) | 0xe7);
        }
    }
}

static void make_big(uint64_t gib, bool thp)
{
    void *host;

    vm.bytes = gib * GiB;
    vm.rb = mini_ram(&vm.big, "big", BIG_BASE, vm.bytes);
    host = qemu_ram_get_host_addr(vm.rb);
    madvise(host, vm.bytes, thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(host, 1, vm.bytes);
    map_big();
}

static void drop_big(void)
{
    memory_region_del_subregion(get_system_memory(), &vm.big);
    memory_region_destroy(&vm.big);
}

static void start(void)
{
    KvmVcpu *v = kvm_vcpu(vm.cpu);
    struct kvm_regs r = { .rip = CODE_BASE,
                          .rflags = 2,
                          .rsp = 0xff00,
                          .rdi = BIG_BASE,
                          .rsi = vm.bytes,
                          .rdx = 1 };

    g_assert_cmpint(kvm_vcpu_ioctl(v, KVM_SET_REGS, &r), >=, 0);
    vm_start();
}

static void TSA_NO_CHECK sleep_us(unsigned us)
{
    bql_unlock();
    g_usleep(us);
    bql_lock();
}

static void wait_pages(uint64_t n)
{
    uint64_t end = written() + n;

    while (written() < end) {
        sleep_us(1000);
    }
}

/* Of the vCPU's thread: whoever else is on the host does not count. */
static int64_t cpu_ns(void)
{
    struct timespec ts;
    clockid_t clock;

    pthread_getcpuclockid(kvm_vcpu(vm.cpu)->thread, &clock);
    clock_gettime(clock, &ts);
    return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Pages a nanosecond, over at least 0.2 s. */
static double speed(void)
{
    uint64_t before = written();
    int64_t begin_ns = cpu_ns();

    sleep_us(200000);
    return (double)(written() - before) / (double)(cpu_ns() - begin_ns);
}

/* ---- one move ---- */

typedef struct Result {
    KvmTwinStats s;
    double lost_ns;
} Result;

static Result move(bool tracked)
{
    const DirtyTrackerOps *to = kvm_vm()->kind == KVM_LOG_RING
                                    ? &kvm_bitmap_tracker
                                    : &kvm_ring_tracker;
    uint64_t pages = vm.bytes / PAGE, before, did;
    int64_t begin_ns, took_ns;
    Result r;

    before = written();
    begin_ns = cpu_ns();
    if (tracked) {
        memory_global_dirty_log_switch(to, GLOBAL_DIRTY_MIGRATION,
                                       &error_abort);
    } else {
        dirty_tracker_change(to, &error_abort);
    }
    /* The first pass faults everywhere; then it is fast again. */
    wait_pages(2 * pages);
    took_ns = cpu_ns() - begin_ns;
    did = written() - before;
    r.lost_ns = (double)took_ns - (double)did / speed();
    kvm_twin_wait_freed();
    r.s = kvm_twin_stats();
    return r;
}

static void tell(uint64_t gib, bool thp, bool tracked, const Result *r)
{
    const KvmTwinStats *s = &r->s;

    bench_row("moves");
    bench_num("GiB", (double)gib, 0);
    bench_text("host pages", thp ? "THP" : "4 KiB");
    bench_text("tracked", tracked ? "yes" : "no");
    bench_text("to", kvm_vm()->kind == KVM_LOG_RING ? "ring" : "bitmap");
    bench_num("prepare ms", s->prepare_ns * 1e-6, 2);
    bench_num("stand ms", s->stand_ns * 1e-6, 3);
    bench_num("state ms", (s->save_ns + s->load_ns + s->swap_ns) * 1e-6, 3);
    bench_num("free ms", s->free_ns * 1e-6, 1);
    bench_num("lost ms", r->lost_ns * 1e-6, 1);
    bench_num("a page us",
              r->lost_ns * 1e-3 / ((double)vm.bytes / (double)PAGE), 3);
    bench_row_end();
}

/* Nobody tracks; there and back. */
static void measure_idle(uint64_t gib, bool thp)
{
    for (unsigned i = 0; i < 2; i++) {
        Result r;

        wait_pages(PASSES_WARM * vm.bytes / PAGE);
        r = move(false);
        tell(gib, thp, false, &r);
    }
}

static void measure_tracked(uint64_t gib, bool thp)
{
    Result r;

    dirty_tracker_change(&kvm_ring_tracker, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    wait_pages(vm.bytes / PAGE);
    r = move(true);
    tell(gib, thp, true, &r);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
}

static void measure(uint64_t gib, bool thp)
{
    make_big(gib, thp);
    start();
    measure_idle(gib, thp);
    measure_tracked(gib, thp);
    vm_stop(RUN_STATE_PAUSED);
    drop_big();
}

static void TSA_ACQUIRE(bql) make_machine(void)
{
    qom_register_types();
    accel_register_types();
    cpu_register_types();
    kvm_accel_register_types();
    mini_cpu_register_type();
    mini_init();
    g_assert_true(accel_try("kvm", NULL, NULL, &error_abort));
    mini_ram(&vm.low, "low", 0, LOW_BYTES);
    mini_load();
    address_space_write(&address_space_memory, CODE_BASE,
                        MEMTXATTRS_UNSPECIFIED, twin_code,
                        twin_code_end - twin_code);
    vm.cpu = CPU(object_new(TYPE_MINI_CPU));
    g_assert_true(cpu_realize(vm.cpu, &error_abort));
    mini_starts[0] = (MiniStart){ MINI_SPIN, 0, 0, 0, 0 };
    cpu_synchronize_all_post_reset();
}

static uint64_t gib_available(void)
{
    g_autofree char *text = NULL;
    const char *line = NULL;

    if (g_file_get_contents("/proc/meminfo", &text, NULL, NULL)) {
        line = strstr(text, "MemAvailable:");
    }
    return line ? g_ascii_strtoull(line + strlen("MemAvailable:"), NULL, 10) *
                      KiB / GiB
                : 0;
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    static const uint64_t sizes[] = { 1, 4, 8 };
    uint64_t only = bench_arg(argc, argv, "gib", 0);

    if (mini_unusable()) {
        printf("skipped: %s\n", mini_unusable());
        return 0;
    }
    make_machine();
    bench_out_begin(bench_arg_str(argc, argv, "out"), "twin-bench");
    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
        if (only && only != sizes[i]) {
            continue;
        }
        if (gib_available() < sizes[i] + 1) {
            bench_say("%" PRIu64 " GiB: not enough memory here\n", sizes[i]);
            continue;
        }
        measure(sizes[i], false);
        measure(sizes[i], true);
    }
    bench_out_end();
    cpus_shutdown();
    bql_unlock();
    return 0;
}
