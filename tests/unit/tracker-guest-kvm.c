/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracker oracle: its guest under KVM. See tracker-oracle.h. */
#include "qemu/osdep.h"

#include "tracker-oracle.h"

/*
 * rsi: list, rcx: its length, rax: value; r8, r9: list and length again. Each
 * in 64 bytes.
 */
enum {
    CODE_STORE,
    CODE_LOOP,
    CODE_CROSS,
};
#define CODE(program) (GUEST_CODE_BASE + (program)*64)

extern const uint8_t oracle_programs[], oracle_programs_end[];
asm(".pushsection .rodata\n"
    ".globl oracle_programs, oracle_programs_end\n"
    ".balign 64\n"
    "oracle_programs:\n"
    /* CODE_STORE */
    "1:  movq (%rsi), %rdi\n"
    "    addq $8, %rsi\n"
    "    movq %rax, (%rdi)\n"
    "    decq %rcx\n"
    "    jnz 1b\n"
    "2:  outb %al, $0xf4\n"
    "    jmp 2b\n"
    ".balign 64\n"
    /* CODE_LOOP */
    "1:  movq %r8, %rsi\n"
    "    movq %r9, %rcx\n"
    "    incq %rax\n"
    "2:  movq (%rsi), %rdi\n"
    "    addq $8, %rsi\n"
    "    movq %rax, (%rdi)\n"
    "    decq %rcx\n"
    "    jnz 2b\n"
    "    jmp 1b\n"
    ".balign 64\n"
    /* CODE_CROSS: 16 bytes at rdi, half of them in the next page */
    "    movq %rax, %xmm0\n"
    "    punpcklqdq %xmm0, %xmm0\n"
    "1:  movdqu %xmm0, (%rdi)\n"
    "    addq $8192, %rdi\n"
    "    decq %rcx\n"
    "    jnz 1b\n"
    "2:  outb %al, $0xf4\n"
    "    jmp 2b\n"
    ".balign 64\n"
    "oracle_programs_end:\n"
    ".popsection\n");

void TSA_ACQUIRE(bql) oracle_guest_init(void)
{
    guest_init();
    guest_write(GUEST_CODE_BASE, oracle_programs,
                oracle_programs_end - oracle_programs);
}

/* The kernel has no points to be held at. */
const int guest_points[GUEST_POINT_NUM] = { -1, -1, -1 };

int guest_round_point(DirtyTrackerPoint point)
{
    g_assert_not_reached();
}

uint64_t guest_faults(GuestVcpu *g)
{
    return 0; /* nobody counts them: CAN_COUNT is not set */
}

uint32_t guest_ring_used(GuestVcpu *g)
{
    uint32_t entries = g->v->vm->ring_entries, n = 0;

    for (uint32_t i = 0; i < entries; i++) {
        n += dirty_gfn_is_dirty(&g->v->ring[i]);
    }
    return n;
}

void guest_forget_code(GuestVcpu *g)
{
}

bool guest_is_asleep(GuestVcpu *g)
{
    g_assert_not_reached();
}

/* Past the dirty bitmaps: a list is the test's, not the guest's. */
static void put_list(GuestVcpu *g, const uint64_t *pages, size_t n)
{
    uint64_t base = LISTS + (g == va ? 0 : LIST_BYTES);
    uint8_t *host = qemu_ram_get_host_addr(guest_ram());
    uint64_t *list = (uint64_t *)(host + (base - GUEST_RAM_BASE));

    g_assert_cmpuint(n, >, 0);
    g_assert_cmpuint(n * 8, <=, LIST_BYTES);
    for (size_t i = 0; i < n; i++) {
        list[i] = GUEST_RAM_BASE + pages[i] * PAGE;
    }
    g->regs = (struct kvm_regs){ .rsi = base, .rcx = n, .r8 = base, .r9 = n };
}

void guest_store_pages(GuestVcpu *g, const uint64_t *pages, size_t n,
                       uint64_t val)
{
    put_list(g, pages, n);
    g->regs.rax = val;
    g_assert_cmphex(guest_run(g, CODE(CODE_STORE)), ==, 0);
}

void guest_store_page(GuestVcpu *g, uint64_t page, uint64_t val)
{
    guest_store_pages(g, &page, 1, val);
}

void guest_store_crossing(GuestVcpu *g, uint64_t first, unsigned n,
                          uint64_t val)
{
    g->regs = (struct kvm_regs){
        .rdi = GUEST_RAM_BASE + (first + 1) * PAGE - 8,
        .rcx = n,
        .rax = val,
    };
    g_assert_cmphex(guest_run(g, CODE(CODE_CROSS)), ==, 0);
}

/* Needs CAN_SLEEP. */
void guest_store_and_sleep(GuestVcpu *g, uint64_t page, uint64_t val)
{
    g_assert_not_reached();
}

void guest_start_store(GuestThread *t, GuestVcpu *g, const uint64_t *pages,
                       size_t n, uint64_t val)
{
    put_list(g, pages, n);
    g->regs.rax = val;
    guest_start(t, g, CODE(CODE_STORE));
}

void guest_start_loop(GuestThread *t, GuestVcpu *g, const uint64_t *pages,
                      size_t n)
{
    put_list(g, pages, n);
    guest_start(t, g, CODE(CODE_LOOP));
}

void guest_start_wfe(GuestThread *t, GuestVcpu *g, uint64_t first,
                     uint64_t second, uint64_t val)
{
    g_assert_not_reached();
}

void guest_end_wfe(void)
{
    g_assert_not_reached();
}
