/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs and run state with an accelerator that only counts: see
 * include/system/cpus.h, accel-ops.h and runstate.h.
 */
#include "qemu/osdep.h"

#include "fake-cpu.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/qmp-event.h"
#include "qemu/timer.h"
#include "system/reset.h"
#include "system/runstate.h"

#define NR_CPUS 4

static GString *seen_events;

static void on_event(void *opaque, const char *name, json_object *event)
{
    g_string_append_printf(seen_events, "%s ", name);
}

static void check_events(const char *expected)
{
    g_assert_cmpstr(seen_events->str, ==, expected);
    g_string_truncate(seen_events, 0);
}

static void TSA_NO_CHECK sleep_ms(int ms)
{
    bql_unlock();
    g_usleep(ms * 1000);
    bql_lock();
}

/* ---- tests ---- */

static void test_start_and_stop(void)
{
    uint64_t before[NR_CPUS];

    g_assert_true(all_vcpus_paused());
    vm_start();
    check_events("RESUME ");
    for (int i = 0; i < NR_CPUS; i++) {
        fake_wait_for_round(i);
    }
    vm_stop(RUN_STATE_PAUSED);
    check_events("STOP ");
    g_assert_true(all_vcpus_paused());
    g_assert_true(runstate_check(RUN_STATE_PAUSED));
    for (int i = 0; i < NR_CPUS; i++) {
        g_assert_false(atomic_load(&fake_cpu(i)->running));
        before[i] = fake_rounds(i);
    }
    sleep_ms(5);
    for (int i = 0; i < NR_CPUS; i++) {
        g_assert_cmpuint(fake_rounds(i), ==, before[i]);
    }
    vm_stop(RUN_STATE_PAUSED); /* stopped already: nothing to tell */
    check_events("");
}

/* All are signalled before any is waited for: the slowest counts, not the sum. */
static void test_stop_is_parallel(void)
{
    for (int i = 0; i < NR_CPUS; i++) {
        atomic_store(&fake_cpus[i]->slow, true);
    }
    vm_start();
    for (int i = 0; i < NR_CPUS; i++) {
        fake_wait_for_round(i);
    }
    vm_stop(RUN_STATE_PAUSED);
    g_assert_cmpint(vm_stop_last_times().drain_ns, >=,
                    (int64_t)FAKE_SLOW_EXIT_US * 1000 * 9 / 10);
    g_assert_cmpint(vm_stop_last_times().drain_ns, <,
                    (int64_t)FAKE_SLOW_EXIT_US * 1000 * (NR_CPUS - 1));
    for (int i = 0; i < NR_CPUS; i++) {
        atomic_store(&fake_cpus[i]->slow, false);
    }
    check_events("RESUME STOP ");
}

/* A halted vCPU sleeps; an interrupt from another thread wakes it. */
static void test_halt_and_interrupt(void)
{
    CPUState *cpu = fake_cpu(1);
    uint64_t before;

    vm_start();
    fake_wait_for_round(1);
    run_on_cpu(cpu, fake_halt, RUN_ON_CPU_NULL);
    sleep_ms(5);
    before = fake_rounds(1);
    sleep_ms(5);
    g_assert_cmpuint(fake_rounds(1), ==, before);

    cpu_interrupt(cpu, CPU_INTERRUPT_HARD);
    fake_wait_for_round(1);
    vm_stop(RUN_STATE_PAUSED);
    cpu->halted = 0;
    cpu_reset_interrupt(cpu, CPU_INTERRUPT_HARD);
    check_events("RESUME STOP ");
}

static void count_work(CPUState *cpu, run_on_cpu_data data)
{
    g_assert_true(current_cpu == cpu);
    g_assert_true(bql_locked());
    g_assert_false(atomic_load(&cpu->running));
    (*(int *)data.host_ptr)++;
}

static void check_work(void)
{
    int n = 0;

    for (int i = 0; i < NR_CPUS; i++) {
        async_run_on_cpu(fake_cpu(i), count_work, RUN_ON_CPU_HOST_PTR(&n));
        run_on_cpu(fake_cpu(i), count_work, RUN_ON_CPU_HOST_PTR(&n));
    }
    g_assert_cmpint(n, ==, 2 * NR_CPUS);
}

static void test_work(void)
{
    check_work(); /* of stopped ones */
    vm_start();
    check_work();
    vm_stop(RUN_STATE_PAUSED);
    check_events("RESUME STOP ");
}

typedef struct Note {
    char letter;
    GString *log;
} Note;

static void note(void *opaque, bool running, RunState state)
{
    Note *n = opaque;

    if (!running) {
        g_assert_true(all_vcpus_paused());
    }
    g_string_append_c(n->log, running ? n->letter : toupper(n->letter));
}

static void test_change_handlers(void)
{
    g_autoptr(GString) log = g_string_new(NULL);
    Note a = { 'a', log }, b = { 'b', log }, c = { 'c', log };
    VMChangeStateEntry *eb, *ea, *ec;

    eb = qemu_add_vm_change_state_handler(note, &b);
    ec = qemu_add_vm_change_state_handler(note, &c);
    ea = qemu_add_vm_change_state_handler_prio(note, &a, -1);
    vm_start();
    vm_stop(RUN_STATE_PAUSED);
    g_assert_cmpstr(log->str, ==, "abcCBA");
    qemu_del_vm_change_state_handler(ea);
    qemu_del_vm_change_state_handler(eb);
    qemu_del_vm_change_state_handler(ec);
    check_events("RESUME STOP ");
}

static void test_requests(void)
{
    unsigned before = fake_cpus[0]->resets;

    vm_start();
    qemu_system_reset_request(SHUTDOWN_CAUSE_GUEST_RESET);
    runstate_process_requests();
    g_assert_cmpuint(fake_cpus[0]->resets, ==, before + 1);
    g_assert_true(runstate_is_running());
    check_events("RESUME RESET ");

    qemu_system_powerdown_request();
    qemu_system_vmstop_request(RUN_STATE_PAUSED);
    runstate_process_requests();
    check_events("POWERDOWN STOP ");
    g_assert_true(runstate_check(RUN_STATE_PAUSED));

    /* With -no-shutdown the guest's wish leaves a VM that must be reset. */
    vm_start();
    runstate_set_no_shutdown(true);
    qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
    runstate_process_requests();
    check_events("RESUME SHUTDOWN STOP ");
    g_assert_true(runstate_check(RUN_STATE_SHUTDOWN));
    g_assert_true(runstate_needs_reset());
    qemu_system_reset_request(SHUTDOWN_CAUSE_HOST_QMP_SYSTEM_RESET);
    runstate_process_requests();
    g_assert_true(runstate_check(RUN_STATE_PRELAUNCH));
    check_events("RESET ");
    runstate_set_no_shutdown(false);
}

/* The rules that migration leans on, and a few that must not be. */
static void test_transitions(void)
{
    static const struct {
        RunState from, to;
        bool ok;
    } t[] = {
        { RUN_STATE_RUNNING, RUN_STATE_FINISH_MIGRATE, true },
        { RUN_STATE_FINISH_MIGRATE, RUN_STATE_POSTMIGRATE, true },
        { RUN_STATE_FINISH_MIGRATE, RUN_STATE_RUNNING, true },
        { RUN_STATE_POSTMIGRATE, RUN_STATE_RUNNING, true },
        { RUN_STATE_PAUSED, RUN_STATE_FINISH_MIGRATE, true },
        { RUN_STATE_INMIGRATE, RUN_STATE_RUNNING, true },
        { RUN_STATE_INMIGRATE, RUN_STATE_PAUSED, true },
        { RUN_STATE_INMIGRATE, RUN_STATE_PRELAUNCH, true },
        { RUN_STATE_PRELAUNCH, RUN_STATE_INMIGRATE, true },
        { RUN_STATE_POSTMIGRATE, RUN_STATE_PAUSED, false },
        { RUN_STATE_RUNNING, RUN_STATE_INMIGRATE, false },
        { RUN_STATE_RUNNING, RUN_STATE_POSTMIGRATE, false },
        { RUN_STATE_SHUTDOWN, RUN_STATE_RUNNING, false },
        { RUN_STATE_INTERNAL_ERROR, RUN_STATE_RUNNING, false },
        { RUN_STATE_PRELAUNCH, RUN_STATE_PAUSED, false },
    };
    RunState state = RUN_STATE_COLO;

    for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
        g_assert_cmpint(runstate_transition_valid(t[i].from, t[i].to), ==,
                        t[i].ok);
    }
    g_assert_true(runstate_from_str("finish-migrate", &state));
    g_assert_cmpint(state, ==, RUN_STATE_FINISH_MIGRATE);
    g_assert_false(runstate_from_str("nonsense", &state));
    g_assert_cmpint(state, ==, RUN_STATE_FINISH_MIGRATE);
}

/* Kicks from threads without the BQL, while it goes in and out: none is lost. */
static void *kicker(void *opaque)
{
    FakeCPU *f = opaque;

    for (int i = 0; i < 300; i++) {
        uint64_t before = atomic_load(&f->rounds);

        atomic_store(&f->has_work, true);
        qemu_cpu_kick(CPU(f));
        for (int us = 0; atomic_load(&f->rounds) == before; us += 20) {
            g_assert_cmpint(us, <, 5000000);
            g_usleep(20);
        }
        atomic_store(&f->has_work, false);
    }
    return NULL;
}

static void TSA_NO_CHECK test_kick_never_lost(void)
{
    QemuThread thread;

    fake_cpu(2)->halted = 1;
    vm_start();
    qemu_thread_create(&thread, "kicker", kicker, fake_cpus[2],
                       QEMU_THREAD_JOINABLE, &error_abort);
    bql_unlock();
    qemu_thread_join(&thread);
    bql_lock();
    vm_stop(RUN_STATE_PAUSED);
    fake_cpu(2)->halted = 0;
    check_events("RESUME STOP ");
}

int main(int argc, char **argv)
{
    QmpEventSink *sink;
    int ret;

    g_test_init(&argc, &argv, NULL);
    fake_cpus_init(NR_CPUS);
    seen_events = g_string_new(NULL);
    sink = qmp_event_add_sink(on_event, NULL);

    g_test_add_func("/cpus/start-and-stop", test_start_and_stop);
    g_test_add_func("/cpus/stop-is-parallel", test_stop_is_parallel);
    g_test_add_func("/cpus/halt-and-interrupt", test_halt_and_interrupt);
    g_test_add_func("/cpus/work", test_work);
    g_test_add_func("/cpus/kick-is-never-lost", test_kick_never_lost);
    g_test_add_func("/runstate/change-handlers", test_change_handlers);
    g_test_add_func("/runstate/requests", test_requests);
    g_test_add_func("/runstate/transitions", test_transitions);
    ret = g_test_run();
    fake_cpus_exit();
    qmp_event_remove_sink(sink);
    g_string_free(seen_events, TRUE);
    return ret;
}
