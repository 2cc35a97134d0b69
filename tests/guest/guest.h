/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest program here may use: implemented once per architecture.
 *
 * Freestanding, no memory translation, no interrupts, no library. main()
 * runs on vCPU 0; main_secondary() on each that cpu_start() brings up.
 */
#ifndef TESTS_GUEST_GUEST_H
#define TESTS_GUEST_GUEST_H

#include <stdint.h>

#define PAGE_SIZE 4096ull

void guest_main(const char *cmdline);
void guest_main_secondary(uint64_t cpu);

extern const uint64_t ram_base; /* where RAM begins */
void console_putc(char c);
void console_puts(const char *s);
void console_put_u64(uint64_t v); /* decimal */
uint64_t clock_ticks(void);
uint64_t clock_hz(void);
void cpu_relax(void);
int cpu_start(uint64_t cpu); /* 0: started */
void cpu_stop(void) __attribute__((noreturn));

/* A compiler barrier: what is above is stored before what is below. */
#define barrier() __asm__ volatile("" ::: "memory")

/* "name=value" words of the command line. */
const char *param_find(const char *cmdline, const char *name); /* or 0 */
uint64_t param_u64(const char *cmdline, const char *name, uint64_t otherwise);

#endif /* TESTS_GUEST_GUEST_H */
