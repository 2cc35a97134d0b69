/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGBUS in guest memory: see ram_access_try() in include/system/ram-block.h.
 *
 * Each thread has a place to jump back to, set only while it accesses memory
 * under ram_access_try(). The handler does nothing but note the address and
 * jump; the words are found afterwards, in normal context. Outside of such an
 * access a page stands in for the one that is not there (ram-plug.c), and the
 * VM is stopped. Where that cannot be, the handler names the block as well as
 * a signal handler may, and lets the default action happen.
 */
#include "qemu/osdep.h"

#include <setjmp.h>
#include <signal.h>

#include "qemu/error.h"

#include "ram-block-internal.h"

typedef struct SigbusGuard {
    sigjmp_buf env;
    void *volatile fault_addr;
    volatile sig_atomic_t active;
} SigbusGuard;

static __thread SigbusGuard sigbus_guard;

static void write_stderr(const char *text)
{
    ssize_t ret = write(STDERR_FILENO, text, strlen(text));

    (void)ret;
}

/* snprintf() is not for signal handlers. */
static void write_stderr_hex(uint64_t value)
{
    char text[2 + 16 + 1] = "0x";
    int digits = 1;

    while (digits < 16 && value >> (4 * digits)) {
        digits++;
    }
    for (int i = 0; i < digits; i++) {
        text[2 + i] = "0123456789abcdef"[value >> (4 * (digits - 1 - i)) & 15];
    }
    write_stderr(text);
}

static void write_reason(const void *addr)
{
    ram_addr_t offset;
    const RAMBlock *rb = ram_block_from_host_try(addr, &offset);

    write_stderr("SIGBUS: the host has no memory ");
    if (rb) {
        write_stderr("for RAM block '");
        write_stderr(rb->idstr);
        write_stderr("' at offset ");
        write_stderr_hex(offset);
    } else {
        write_stderr("at address ");
        write_stderr_hex((uintptr_t)addr);
    }
    write_stderr(" (file system or pool of huge pages full, or file "
                 "truncated)\n");
}

static void sigbus_handler(int sig, siginfo_t *info, void *ucontext)
{
    if (sigbus_guard.active) {
        sigbus_guard.fault_addr = info->si_addr;
        sigbus_guard.active = 0;
        /* The jump does not restore the mask: what was there at the fault. */
        pthread_sigmask(SIG_SETMASK, &((ucontext_t *)ucontext)->uc_sigmask,
                        NULL);
        siglongjmp(sigbus_guard.env, 1);
    }
    if (ram_plug(info->si_addr, info->si_code == BUS_MCEERR_AR ||
                                    info->si_code == BUS_MCEERR_AO)) {
        return;
    }
    write_reason(info->si_addr);
    signal(sig, SIG_DFL);
    raise(sig);
}

void ram_sigbus_init(void)
{
    static gsize done;

    if (g_once_init_enter(&done)) {
        struct sigaction sa = { .sa_sigaction = sigbus_handler,
                                .sa_flags = SA_SIGINFO };

        ram_plug_init();
        sigaction(SIGBUS, &sa, NULL);
        g_once_init_leave(&done, 1);
    }
}

bool ram_access_try(void (*fn)(void *opaque), void *opaque, Error **errp)
{
    RAMBlock *rb;
    ram_addr_t offset;

    assert(!sigbus_guard.active);
    if (sigsetjmp(sigbus_guard.env, 0) == 0) {
        sigbus_guard.active = 1;
        atomic_signal_fence(memory_order_seq_cst);
        fn(opaque);
        atomic_signal_fence(memory_order_seq_cst);
        sigbus_guard.active = 0;
        return true;
    }

    rb = qemu_ram_block_from_host(sigbus_guard.fault_addr, &offset);
    if (rb) {
        error_setg(
            errp,
            "the host has no memory for RAM block '%s' at offset 0x%" PRIx64
            " (file system or pool of huge pages full, or file "
            "truncated)",
            qemu_ram_get_idstr(rb), offset);
    } else {
        error_setg(errp, "the host has no memory at address %p",
                   sigbus_guard.fault_addr);
    }
    return false;
}

typedef struct Access {
    uint8_t *host;
    const void *buf;
    size_t length;
    uint8_t byte;
} Access;

static void do_copy(void *opaque)
{
    Access *a = opaque;

    memcpy(a->host, a->buf, a->length);
}

static void do_fill(void *opaque)
{
    Access *a = opaque;

    memset(a->host, a->byte, a->length);
}

bool ram_block_access_in_range(const RAMBlock *rb, ram_addr_t offset,
                               size_t length, Error **errp)
{
    if (offset > rb->max_length || length > rb->max_length - offset) {
        error_setg(errp,
                   "0x%zx bytes at offset 0x%" PRIx64
                   " lie outside of RAM block '%s'",
                   length, offset, rb->idstr);
        return false;
    }
    return true;
}

bool ram_block_copy_in(RAMBlock *rb, ram_addr_t offset, const void *buf,
                       size_t length, Error **errp)
{
    Access a = { .host = rb->host + offset, .buf = buf, .length = length };

    return ram_block_access_in_range(rb, offset, length, errp) &&
           ram_access_try(do_copy, &a, errp);
}

bool ram_block_fill(RAMBlock *rb, ram_addr_t offset, uint8_t byte,
                    size_t length, Error **errp)
{
    Access a = { .host = rb->host + offset, .byte = byte, .length = length };

    return ram_block_access_in_range(rb, offset, length, errp) &&
           ram_access_try(do_fill, &a, errp);
}
