/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of tests/migration/guest-check.h: an oracle must be able to fail. */
#include "qemu/osdep.h"

#include "../migration/guest-check.h"

#define RAM_BASE   0x40000000u
#define RAM_BYTES  0x200000u
#define SET_OFFSET 0x180000u
#define SET_PAGES  16u

static bool counter_ok(const uint8_t *values, unsigned n)
{
    g_autofree uint8_t *ram = g_malloc0(n * 4096);
    GString *why = g_string_new(NULL);
    bool ok;

    for (unsigned i = 0; i < n; i++) {
        ram[i * 4096] = values[i];
    }
    ok = page_counter_check(ram, 0, n * 4096, NULL, why);
    g_assert_cmpint(ok, ==, why->len == 0);
    g_string_free(why, TRUE);
    return ok;
}

static void test_page_counter(void)
{
    g_assert_true(counter_ok((uint8_t[]){ 5, 5, 5, 5 }, 4));
    g_assert_true(counter_ok((uint8_t[]){ 6, 6, 5, 5 }, 4));
    g_assert_true(counter_ok((uint8_t[]){ 0, 255, 255, 255 }, 4));
    g_assert_false(counter_ok((uint8_t[]){ 6, 5, 6, 5 }, 4));
    g_assert_false(counter_ok((uint8_t[]){ 5, 5, 6, 6 }, 4));
    g_assert_false(counter_ok((uint8_t[]){ 7, 5, 5, 5 }, 4));
    g_assert_false(counter_ok((uint8_t[]){ 5, 5, 5, 3 }, 4));
}

/* A guest of one vCPU that wrote page i of its set i times. */
static uint8_t *workload_ram(void)
{
    uint8_t *ram = g_malloc0(RAM_BYTES);
    struct ctl_page *c = (struct ctl_page *)(ram + CTL_OFFSET);

    c->magic = CTL_MAGIC;
    c->state = CTL_RUNNING;
    c->base = RAM_BASE + SET_OFFSET;
    c->pages = SET_PAGES;
    c->bytes = 32;
    for (uint64_t i = 0; i < SET_PAGES; i++) {
        uint64_t *q = (uint64_t *)(ram + SET_OFFSET + i * 4096);

        q[0] = q[2] = q[3] = i;
        q[1] = i ^ ~(c->base + i * 4096);
        c->writes += i;
    }
    return ram;
}

static bool workload_ok(const uint8_t *ram)
{
    GString *why = g_string_new(NULL);
    bool ok = workload_check(ram, RAM_BYTES, RAM_BASE, 0, 1, why);

    g_string_free(why, TRUE);
    return ok;
}

static void test_workload(void)
{
    g_autofree uint8_t *ram = workload_ram();
    struct ctl_page *c = (struct ctl_page *)(ram + CTL_OFFSET);
    uint64_t *q = (uint64_t *)(ram + SET_OFFSET + 3 * 4096);

    g_assert_true(workload_ok(ram));

    c->writes--; /* written, not yet counted */
    g_assert_true(workload_ok(ram));
    c->writes--;
    g_assert_false(workload_ok(ram));
    c->writes += 3; /* a write was lost */
    g_assert_false(workload_ok(ram));
    c->writes--;
    g_assert_true(workload_ok(ram));

    q[1] ^= 1; /* torn, unless it is being written */
    g_assert_false(workload_ok(ram));
    c->current = c->base + 3 * 4096;
    g_assert_true(workload_ok(ram));
    q[1] ^= 1;
    c->current = 0;
    q[3]++;
    g_assert_false(workload_ok(ram));
    q[3]--;

    c->errors = 1;
    g_assert_false(workload_ok(ram));
    c->errors = 0;
    c->pages = UINT64_MAX; /* nonsense must not be followed */
    g_assert_false(workload_ok(ram));
    c->pages = SET_PAGES;
    c->base = 0;
    g_assert_false(workload_ok(ram));
}

/* The same set, at 4 GiB: half of RAM is there. */
static void test_workload_high(void)
{
    g_autofree uint8_t *ram = workload_ram();
    struct ctl_page *c = (struct ctl_page *)(ram + CTL_OFFSET);
    uint64_t low = SET_OFFSET - 4096;
    GString *why = g_string_new(NULL);

    c->base = (UINT64_C(1) << 32) + 4096;
    for (uint64_t i = 0; i < SET_PAGES; i++) {
        uint64_t *q = (uint64_t *)(ram + SET_OFFSET + i * 4096);

        q[1] = i ^ ~(c->base + i * 4096);
    }
    g_assert_true(workload_check(ram, RAM_BYTES, 0, low, 1, why));
    g_assert_false(workload_check(ram, RAM_BYTES, 0, low + 4096, 1, why));
    g_assert_false(workload_check(ram, RAM_BYTES, 0, 0, 1, why));
    c->pages = (RAM_BYTES - low) / 4096; /* a page too many */
    g_assert_false(workload_check(ram, RAM_BYTES, 0, low, 1, why));
    g_string_free(why, TRUE);
}

static bool remap_ok(const uint8_t *ram)
{
    GString *why = g_string_new(NULL);
    bool ok = remap_check(ram, why);

    g_assert_cmpint(ok, ==, why->len == 0);
    g_string_free(why, TRUE);
    return ok;
}

static void test_remap(void)
{
    g_autofree uint8_t *ram = g_malloc0(RAM_BYTES);
    volatile struct remap_page *r = remap_page(ram);
    uint64_t *page = (uint64_t *)(ram + REMAP_END - 4096);

    g_assert_false(remap_ok(ram));
    r->magic = REMAP_MAGIC;
    g_assert_true(remap_ok(ram));
    *page = 1;
    g_assert_false(remap_ok(ram));
    r->current[1] = REMAP_END - 4096;
    g_assert_true(remap_ok(ram));
    *page = 2;
    g_assert_false(remap_ok(ram));
    r->current[1] = 0;
    r->count[REMAP_PAGES - 1] = 2;
    g_assert_true(remap_ok(ram));
    r->errors = 1;
    g_assert_false(remap_ok(ram));
}

static bool clocks_ok(const uint8_t *ram)
{
    GString *why = g_string_new(NULL);
    bool ok = clocks_check(ram, 2, why);

    g_assert_cmpint(ok, ==, why->len == 0);
    g_string_free(why, TRUE);
    return ok;
}

static void test_clocks(void)
{
    g_autofree uint8_t *ram = g_malloc0(RAM_BYTES);
    volatile struct clock_page *p = clocks_page(ram, 1);
    volatile uint64_t *const must_be_0[] = { &p->tsc_steps, &p->kvm_steps,
                                             &p->all_steps, &p->rtc_steps,
                                             &p->others };

    clocks_page(ram, 0)->magic = CLOCKS_MAGIC;
    g_assert_false(clocks_ok(ram));
    p->magic = CLOCKS_MAGIC;
    g_assert_true(clocks_ok(ram));
    for (size_t i = 0; i < G_N_ELEMENTS(must_be_0); i++) {
        *must_be_0[i] = 1;
        g_assert_false(clocks_ok(ram));
        *must_be_0[i] = 0;
    }
    g_assert_true(clocks_ok(ram));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/guest-check/page-counter", test_page_counter);
    g_test_add_func("/guest-check/workload", test_workload);
    g_test_add_func("/guest-check/workload-high", test_workload_high);
    g_test_add_func("/guest-check/clocks", test_clocks);
    g_test_add_func("/guest-check/remap", test_remap);
    return g_test_run();
}
