/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line: what is accepted, what is refused and with which words. */
#include "qemu/osdep.h"

#include "libqtest.h"

typedef struct BadCase {
    const char *args;
    const char *words[3]; /* all must be in the message */
} BadCase;

/* Refused: exit status 1, one message that names option and value. */
static const BadCase bad_cases[] = {
    { "-nonsense", { "-nonsense", "invalid option" } },
    { "disk.img", { "disk.img" } },
    { "-m", { "-m", "requires an argument" } },
    { "-accel qtest", { "No machine specified" } },
    { "-M nosuch -accel qtest", { "unsupported machine type", "nosuch" } },
    { "-M none,nosuch=1 -accel qtest", { "nosuch" } },
    { "-M none,graphics=maybe -accel qtest", { "graphics" } },
    { "-M none -accel nosuch", { "nosuch", "no accelerator found" } },
    { "-M none,accel=nosuch:none", { "nosuch", "no accelerator found" } },
    { "-M none,accel=qtest -accel qtest", { "incompatible" } },
    { "-M none -accel qtest,nosuch=1", { "qtest", "nosuch" } },
    { "-M none -accel qtest -m 4Q", { "-m 4Q" } },
    { "-M none -accel qtest -m 1M,slots=2", { "slots" } },
    { "-M none -accel qtest -m 1M,maxmem=2G", { "maxmem" } },
    { "-M none -accel qtest -smp 0", { "cpus", "0" } },
    { "-M none -accel qtest -smp 2", { "none", "2" } },
    { "-M none -accel qtest -smp x", { "cpus" } },
    { "-M none -accel qtest -smp 1,nosuch=3", { "nosuch" } },
    { "-M none -accel qtest -smp 1,cores=2,threads=2", { "maxcpus", "4" } },
    { "-M none -accel qtest -cpu nosuch", { "nosuch" } },
    { "-M none -accel qtest -kernel /nonexistent", { "-kernel" } },
    { "-M none -accel qtest -append x", { "-append" } },
    { "-M none -accel qtest -object nosuch,id=a", { "-object", "nosuch" } },
    { "-M none -accel qtest -object {", { "-object" } },
    { "-M none -accel qtest -uuid 123", { "-uuid 123" } },
    { "-M none -accel qtest -name a,nosuch=b", { "-name", "nosuch" } },
    { "-M none -accel qtest -display gtk", { "-display gtk" } },
    { "-M none -accel qtest -vga std", { "-vga std" } },
    { "-M none -accel qtest -run-with nosuch=on", { "-run-with", "nosuch" } },
    { "-M none -accel qtest -run-with async-teardown=x",
      { "async-teardown", "x" } },
    { "-M none -accel qtest -run-with user=nosuch",
      { "-run-with", "nosuch", "doesn't exist" } },
    { "-M none -accel qtest -run-with user=0:0x", { "0:0x" } },
    { "-M none -accel qtest -run-with user=4294967295:0", { "4294967295:0" } },
    { "-M none -accel qtest -run-with chroot=/nonexistent/root",
      { "chroot=/nonexistent/root" } },
    { "-M none -accel qtest -runas nobody", { "-runas", "invalid option" } },
    { "-M none -accel qtest -chroot /", { "-chroot", "invalid option" } },
    { "-M none -accel qtest -run-with exit-with-parent=x",
      { "exit-with-parent", "x" } },
    { "-M none -accel qtest -sandbox maybe", { "-sandbox", "maybe" } },
    { "-M none -accel qtest -sandbox on,nosuch=deny", { "nosuch" } },
    { "-M none -accel qtest -sandbox on,spawn=x", { "spawn", "x" } },
    { "-M none -accel qtest -sandbox on,spawn=children",
      { "spawn", "children" } },
    { "-M none -accel qtest -sandbox on,elevateprivileges=x",
      { "elevateprivileges", "children" } },
    { "-M none -accel qtest -sandbox on,obsolete=x", { "obsolete", "x" } },
    { "-M none -accel qtest -sandbox on,resourcecontrol=x",
      { "resourcecontrol", "x" } },
    { "-M none -accel qtest -sandbox on,spawn=deny -incoming exec:true",
      { "exec:true", "spawn=deny" } },
    { "-M none -accel qtest -sandbox on,spawn=deny "
      "-run-with async-teardown=on",
      { "async-teardown", "spawn=deny" } },
    { "-M none -accel qtest -d nosuch", { "-d nosuch" } },
    { "-M none -accel qtest -d unimp -D /nonexistent/log",
      { "/nonexistent/log" } },
    { "-M none -accel qtest -D /nonexistent/log", { "-D /nonexistent/log" } },
    { "-M none -accel qtest -trace nosuch=1", { "-trace", "nosuch" } },
    { "-M none -accel qtest -msg nosuch=on", { "-msg", "nosuch" } },
    { "-M none -accel qtest -global nosuch", { "-global nosuch" } },
    { "-M none -accel qtest -global migration.nosuch=1", { "nosuch" } },
    { "-M none -accel qtest -serial nosuch", { "-serial nosuch" } },
    { "-M none -accel qtest -monitor nosuch", { "-monitor nosuch" } },
    { "-M none -accel qtest -qmp nosuch", { "-qmp nosuch" } },
    { "-M none -accel qtest -chardev nosuch,id=a", { "-chardev nosuch" } },
    { "-M none -accel qtest -mon nosuch", { "-mon nosuch" } },
    { "-M none -accel qtest -qtest nosuch", { "-qtest nosuch" } },
    { "-M none -accel qtest -add-fd fd=1,set=1", { "-add-fd", "fd 1" } },
    { "-M none -accel qtest -add-fd fd=77,set=1", { "fd 77" } },
    { "-M none -accel qtest -pidfile /nonexistent/pid",
      { "/nonexistent/pid" } },
    { "-M none -accel qtest -incoming nosuch:x", { "-incoming", "nosuch" } },
    { "-M none -accel qtest -device nosuch", { "-device" } },
};

static void test_bad(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad_cases); i++) {
        const BadCase *c = &bad_cases[i];
        g_autofree char *err = NULL, *out = NULL;
        int status;

        qtest_set_leak_check(!strstr(c->args, "spawn=deny"));
        status = qtest_run(c->args, &out, &err);

        g_test_message("%s", err);
        g_assert_cmpint(status, ==, 1);
        g_assert_true(g_str_has_prefix(err, "qemu-system-"));
        for (size_t w = 0; w < ARRAY_SIZE(c->words) && c->words[w]; w++) {
            if (!strstr(err, c->words[w])) {
                g_error("%s: '%s' is not in: %s", c->args, c->words[w], err);
            }
        }
        g_assert_cmpstr(out, ==, "");
    }
}

/* Each must come up and answer. */
static const char *const good_args[] = {
    "-machine none",
    "--machine none",
    "-machine none,",
    "-machine type=none -machine graphics=off -machine suppress-vmdesc=on,",
    "-M none -accel kvm -accel qtest",
    "-M none -accel nosuch -accel qtest",
    "-M none -m 0",
    "-M none -m 1",
    "-M none -m size=4M",
    "-M none -m 1G",
    "-M none -smp 1",
    "-M none -smp cpus=1,maxcpus=1,sockets=1,cores=1,threads=1",
    "-M none,dump-guest-core=off,mem-merge=off -m 4M",
    "-M none -name vega,debug-threads=on",
    "-M none -serial null -serial none",
    "-M none -monitor none",
    "-M none -L /somewhere -no-user-config -audio none -vga none -net none",
    "-M none -parallel none -nic none",
    "-M none -msg timestamp=on,guest-name=off",
    "-M none -d unimp,guest_errors -D /dev/null",
    "-M none -trace runstate_* -trace enable=vm_*,file=/dev/null",
    "-M none -sandbox off",
    "-M none -sandbox off,spawn=deny",
    "-M none -sandbox on",
    "-M none -sandbox enable=on,obsolete=allow",
    ("-M none -sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,"
     "resourcecontrol=deny"),
    "-M none -no-reboot -no-shutdown",
    "-M none -only-migratable",
    "-M none -run-with exit-with-parent=on",
    "-M none -global migration.send-section-footer=on",
    "-M none -chardev null,id=c0 -mon chardev=c0",
    "-M none -chardev ringbuf,id=c0,size=4096 -serial chardev:c0",
    "-M none -qtest-log none -uuid 00112233-4455-6677-8899-aabbccddeeff",
};

static void test_good(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(good_args); i++) {
        QTestState *s;

        qtest_set_leak_check(!strstr(good_args[i], "spawn=deny"));
        s = qtest_start(good_args[i]);
        qtest_assert_status(s, "running");
        qtest_quit(s);
    }
}

typedef struct OutputCase {
    const char *args;
    const char *begin;  /* of stdout */
    const char *within; /* stdout */
} OutputCase;

static const OutputCase output_cases[] = {
    { "-version", "QEMU emulator version 11.1.3", "Ferry" },
    { "--version", "QEMU emulator version 11.1.3", "Ferry" },
    { "-help", "QEMU emulator version 11.1.3", "-incoming" },
    { "-h", "QEMU emulator version 11.1.3", "-machine" },
    { "-M help", "Supported machines are:\n", "none  " },
    { "-machine none,help", "none options:\n", "smp=" },
    { "-accel help", "Accelerators supported in QEMU binary:\n", "qtest\n" },
    { "-cpu help", "Available CPUs:\n", "" },
    { "-d help", "Log items", "guest_errors" },
    { "-object help", "", "monitor-qmp" },
    { "-chardev help", "", "socket" },
    { "-trace help", "", "runstate_set" },
};

static void test_output(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(output_cases); i++) {
        const OutputCase *c = &output_cases[i];
        g_autofree char *out = NULL, *err = NULL;

        g_assert_cmpint(qtest_run(c->args, &out, &err), ==, 0);
        g_assert_cmpstr(err, ==, "");
        g_assert_true(g_str_has_prefix(out, c->begin));
        g_assert_nonnull(strstr(out, c->within));
    }
}

/* The messages of one that cannot be had; kvm is passed over in silence. */
static void test_accel_fallback(void)
{
    QTestState *s = qtest_start("-M none -accel nosuch -accel qtest");
    g_autofree char *err = qtest_stderr(s);
    g_autofree char *quiet = NULL;

    g_assert_nonnull(strstr(err, "invalid accelerator nosuch"));
    qtest_quit(s);
    s = qtest_start("-M none -accel kvm -accel qtest");
    quiet = qtest_stderr(s);
    g_assert_cmpstr(quiet, ==, "");
    qtest_quit(s);
}

static bool has_kvm(void)
{
    g_autofree char *out = NULL;

    qtest_run("-accel help", &out, NULL);
    return strstr(out, "kvm") != NULL;
}

typedef struct KvmCase {
    const char *fault; /* FERRY_KVM_FAULT; NULL: none */
    const char *args;
    const char *words[2];
} KvmCase;

/* Why KVM can't be had is one line; what is wrong with an option, too. */
static const KvmCase kvm_cases[] = {
    { "1:2:100", "-accel kvm", { "there is no KVM on this host" } },
    { "1:13:100", "-accel kvm", { "this user may not use KVM" } },
    { "1:5:0", "-accel kvm", { "cannot ask KVM for its version" } },
    { "nonsense", "-accel kvm", { "FERRY_KVM_FAULT must be" } },
    { "1:2:100",
      "-accel kvm -accel tcg",
      { "there is no KVM on this host", "no software engine" } },
    { NULL,
      "-accel kvm,dirty-ring-size=1000",
      { "dirty-ring-size 1000", "power of two from 256 to 65536" } },
    { NULL,
      "-accel kvm,dirty-tracking=bitmap,dirty-ring-size=1024",
      { "dirty-ring-size=1024 contradicts" } },
    { NULL, "-accel kvm,kernel-irqchip=x", { "kernel-irqchip", "split" } },
    { "1:28:6a",
      "-accel kvm,kernel-irqchip=split",
      { "cannot lay out the interrupt lines" } },
    { NULL, "-accel kvm,nosuch=1", { "nosuch" } },
};

static void test_kvm(void)
{
    if (!has_kvm()) {
        g_test_skip("this binary has no kvm");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(kvm_cases); i++) {
        const KvmCase *c = &kvm_cases[i];
        g_autofree char *args = g_strdup_printf("-M none %s", c->args);
        g_autofree char *err = NULL;

        if (c->fault) {
            g_setenv("FERRY_KVM_FAULT", c->fault, true);
        }
        g_assert_cmpint(qtest_run(args, NULL, &err), ==, 1);
        g_unsetenv("FERRY_KVM_FAULT");
        for (size_t w = 0; w < 2 && c->words[w]; w++) {
            /* Where there is none, that is said, and no more is looked at. */
            if (!strstr(err, c->words[w]) && !strstr(err, "/dev/kvm")) {
                g_error("%s: '%s' is not in: %s", args, c->words[w], err);
            }
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cmdline/refused", test_bad);
    g_test_add_func("/cmdline/accepted", test_good);
    g_test_add_func("/cmdline/output", test_output);
    g_test_add_func("/cmdline/accel-fallback", test_accel_fallback);
    g_test_add_func("/cmdline/kvm", test_kvm);
    return g_test_run();
}
