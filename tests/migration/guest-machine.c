/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest machine: see guest-machine.h. */
#include "qemu/osdep.h"

#include "guest-check.h"
#include "guest-machine.h"

#include "../guest/x86_64/counter-sector.h"

#define MIB          (UINT64_C(1) << 20)
#define COUNTER_FROM (16 * MIB)

typedef struct GuestMachine {
    const char *arch;
    const char *machine, *cpu;
    const char *accel;
    const char *image; /* file name; %s is the guest's */
    const char *peer_args;
    uint64_t ram_base;
} GuestMachine;

static const GuestMachine machines[] = {
    { "aarch64", "virt", "-cpu cortex-a57", "tcg", "%s-aarch64.bin", "",
      UINT64_C(0x40000000) },
    { "x86_64", "q35", "", "kvm", "x86_64/%s-x86_64.elf", "-bios qboot.rom",
      0 },
};

static const GuestMachine *machine(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(machines); i++) {
        if (g_str_equal(machines[i].arch, qtest_arch())) {
            return &machines[i];
        }
    }
    return NULL;
}

static bool is_sector(const MigrationTest *t)
{
    return g_str_has_prefix(t->guest, "counter-sector");
}

static unsigned cpus_of(const MigrationTest *t)
{
    return t->guest_cpus ? t->guest_cpus : 1;
}

static const char *accel_of(const MigrationTest *t)
{
    const char *given = g_getenv("MIGRATION_TEST_ACCEL");

    return t && t->accel ? t->accel : given ? given : machine()->accel;
}

/* Of the target at first, and whenever the sides have changed places twice. */
static const char *accel_of_side(const MigrationPair *p, bool target)
{
    const char *other = g_getenv("MIGRATION_TEST_ACCEL_OTHER");

    return other && target != p->swapped ? other : accel_of(p->test);
}

static bool is_kvm(const MigrationTest *t)
{
    return g_str_has_prefix(accel_of(t), "kvm");
}

/* Under KVM it is the host's. */
static const char *cpu_args(const MigrationTest *t)
{
    return g_str_equal(qtest_arch(), "aarch64") && is_kvm(t) ? "-cpu host"
                                                             : machine()->cpu;
}

/* NULL if there is no such file. */
static char *image_path(const char *guest)
{
    const char *dir = g_getenv("MIGRATION_TEST_GUESTS");
    g_auto(GStrv) parts = NULL;
    g_autofree char *name = NULL, *path = NULL;

    if (!dir || !machine()) {
        return NULL;
    }
    if (g_str_has_prefix(guest, "counter-sector")) {
        path = g_strdup_printf("%s/x86_64/%s.img", dir, guest);
    } else {
        parts = g_strsplit(machine()->image, "%s", -1);
        name = g_strjoinv(guest, parts);
        path = g_build_filename(dir, name, NULL);
    }
    return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path)
                                                 : NULL;
}

static bool binary_has_machine(const char *name)
{
    g_autofree char *out = NULL, *line = g_strdup_printf("\n%s ", name);

    g_assert_cmpint(qtest_run("-machine help", &out, NULL), ==, 0);
    return strstr(out, line) != NULL;
}

static const char *find_why_not(void)
{
    g_autofree char *image = image_path("page-counter"), *accel = NULL;

    if (!image) {
        return "needs the guests of tests/guest";
    }
    accel = g_strdup(accel_of(NULL));
    accel[strcspn(accel, ",")] = 0;
    if (!qtest_has_accel(accel)) {
        return "the binary has not the accelerator for guests";
    }
    if (!binary_has_machine(machine()->machine)) {
        return "the binary has not the machine for guests";
    }
    if (g_str_equal(accel, "kvm") && access("/dev/kvm", R_OK | W_OK)) {
        return errno == ENOENT ? "there is no /dev/kvm"
                               : "no permission for /dev/kvm";
    }
    return NULL;
}

const char *guest_machine_why_not(void)
{
    static const char *why;
    static bool known;

    if (!known) {
        why = find_why_not();
        known = true;
    }
    return why;
}

uint64_t guest_machine_ram_base(void)
{
    return machine()->ram_base;
}

static uint64_t counter_bytes(const MigrationTest *t)
{
    const char *ws = t->guest_args ? strstr(t->guest_args, "ws=") : NULL;

    return (ws ? strtoul(ws + 3, NULL, 10) : 100) * MIB;
}

/* A disk in the pair's folder, with this test's parameters in it, if any. */
static char *make_disk(const MigrationPair *p)
{
    g_autofree char *from = image_path(p->test->guest), *data = NULL;
    char *path = g_build_filename(p->dir, "disk.img", NULL);
    uint32_t range[2] = { COUNTER_FROM, counter_bytes(p->test) };
    g_autoptr(GError) err = NULL;
    gsize size;

    g_file_get_contents(from, &data, &size, &err);
    g_assert_no_error(err);
    g_assert_cmpint(size, ==, SECTOR_SIZE);
    g_assert_cmpint(memcmp(data + SECTOR_PARAMETERS, SECTOR_MAGIC, 8), ==, 0);
    if (p->test->guest_args) {
        memcpy(data + SECTOR_PARAMETERS + 8, range, sizeof(range));
    }
    g_file_set_contents(path, data, size, &err);
    g_assert_no_error(err);
    return path;
}

void guest_machine_args(GString *args, const MigrationPair *p, bool target,
                        bool own)
{
    const MigrationTest *t = p->test;
    const GuestMachine *m = machine();

    g_string_append_printf(args,
                           "-M %s,memory-backend=mem -accel %s %s -m %zuM "
                           "-smp %u ",
                           m->machine, accel_of_side(p, target), cpu_args(t),
                           p->ram_bytes / (size_t)MIB, cpus_of(t));
    if (t->guest_low_kib) {
        g_string_append_printf(args, "-M max-ram-below-4g=%uK ",
                               t->guest_low_kib);
    }
    if (is_sector(t)) {
        g_autofree char *disk = make_disk(p);

        g_string_append_printf(args,
                               "-drive if=none,id=d0,file=%s,format=raw "
                               "-device ide-hd,drive=d0,secs=1,cyls=1,heads=1",
                               disk);
    } else {
        g_autofree char *image = image_path(t->guest);

        g_string_append_printf(args, "-kernel %s -append '%s' %s", image,
                               t->guest_args ? t->guest_args : "",
                               own ? "" : m->peer_args);
    }
}

/* ------------------------------------------------- looking at a guest */

static bool counter_works(const uint8_t *ram, unsigned cpu)
{
    return *(const volatile uint8_t *)(ram + COUNTER_FROM) > 0;
}

static uint64_t counter_progress(const uint8_t *ram)
{
    return *(const volatile uint8_t *)(ram + COUNTER_FROM);
}

static bool counter_check(const MigrationPair *p, const uint8_t *ram,
                          GString *why)
{
    return page_counter_check(ram, COUNTER_FROM, counter_bytes(p->test), NULL,
                              why);
}

static bool workload_works(const uint8_t *ram, unsigned cpu)
{
    return workload_ctl(ram, cpu)->state == CTL_RUNNING;
}

static uint64_t workload_progress(const uint8_t *ram)
{
    return workload_ctl(ram, 0)->ops;
}

static bool workload_check_pair(const MigrationPair *p, const uint8_t *ram,
                                GString *why)
{
    return workload_check(ram, p->ram_bytes, machine()->ram_base,
                          p->test->guest_low_kib * UINT64_C(1024),
                          cpus_of(p->test), why);
}

static bool clocks_work(const uint8_t *ram, unsigned cpu)
{
    return clocks_page(ram, cpu)->magic == CLOCKS_MAGIC;
}

static uint64_t clocks_progress(const uint8_t *ram)
{
    return clocks_page(ram, 0)->loops;
}

static bool clocks_check_pair(const MigrationPair *p, const uint8_t *ram,
                              GString *why)
{
    return clocks_check(ram, cpus_of(p->test), why);
}

static bool remap_works(const uint8_t *ram, unsigned cpu)
{
    return remap_page(ram)->loops > 0;
}

static uint64_t remap_progress(const uint8_t *ram)
{
    return remap_page(ram)->flips;
}

static bool remap_check_pair(const MigrationPair *p, const uint8_t *ram,
                             GString *why)
{
    return remap_check(ram, why);
}

typedef struct Guest {
    const char *name; /* or how it begins */
    bool (*works)(const uint8_t *ram, unsigned cpu);
    uint64_t (*progress)(const uint8_t *ram);
    bool (*check)(const MigrationPair *p, const uint8_t *ram, GString *why);
} Guest;

static const Guest guests[] = {
    { "page-counter", counter_works, counter_progress, counter_check },
    { "counter-sector", counter_works, counter_progress, counter_check },
    { "workload", workload_works, workload_progress, workload_check_pair },
    { "clocks", clocks_work, clocks_progress, clocks_check_pair },
    { "remap", remap_works, remap_progress, remap_check_pair },
};

static const Guest *guest_of(const MigrationTest *t)
{
    for (size_t i = 0; i < G_N_ELEMENTS(guests); i++) {
        if (g_str_has_prefix(t->guest, guests[i].name)) {
            return &guests[i];
        }
    }
    g_error("no guest is called %s", t->guest);
}

bool guest_machine_works(const MigrationTest *t, const uint8_t *ram)
{
    for (unsigned cpu = 0; cpu < cpus_of(t); cpu++) {
        if (!guest_of(t)->works(ram, cpu)) {
            return false;
        }
    }
    return true;
}

uint64_t guest_machine_progress(const MigrationTest *t, const uint8_t *ram)
{
    return guest_of(t)->progress(ram);
}

bool guest_machine_check(const MigrationPair *p, const uint8_t *ram,
                         GString *why)
{
    return guest_of(p->test)->check(p, ram, why);
}
