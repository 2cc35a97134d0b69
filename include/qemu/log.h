/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log: lines for whoever debugs a guest or this program (-d, -D).
 *
 * Nothing is written unless its item was switched on by -d or `log`. Output
 * goes to stderr or to the file of -D; a %d in its name becomes the process
 * id. Whole calls never interleave; a multi-line record is kept together
 * with qemu_log_lock().
 *
 * Threads: any. qemu_loglevel_mask() is one relaxed atomic load.
 *
 * Used by: all. Uses: error.h.
 */
#ifndef QEMU_LOG_H
#define QEMU_LOG_H

/* Items of -d, as bits. Each is used by the room that its name says. */
#define LOG_OUT_ASM     (1u << 0) /* reserved for a code generator */
#define LOG_IN_ASM      (1u << 1) /* guest code when it is first decoded */
#define LOG_OP          (1u << 2)
#define LOG_INT         (1u << 4) /* interrupts and exceptions */
#define LOG_EXEC        (1u << 5) /* each block that is executed */
#define LOG_PCALL       (1u << 6)
#define LOG_CPU         (1u << 8)  /* CPU state before each block */
#define LOG_RESET       (1u << 9)  /* CPU state at reset */
#define LOG_UNIMP       (1u << 10) /* what the guest asks and we lack */
#define LOG_GUEST_ERROR (1u << 11) /* what a sane guest would not do */
#define LOG_PAGE        (1u << 14)
#define LOG_TRACE       (1u << 15) /* trace points (-trace) */

extern _Atomic uint32_t qemu_loglevel;

static inline bool qemu_loglevel_mask(uint32_t mask)
{
    return (atomic_load_explicit(&qemu_loglevel, memory_order_relaxed) & mask);
}
static inline bool qemu_log_enabled(void)
{
    return qemu_loglevel_mask(~0u);
}

/* Write if any of @mask is on. Lines end in \n. */
#define qemu_log_mask(mask, fmt, ...)             \
    do {                                          \
        if (unlikely(qemu_loglevel_mask(mask))) { \
            qemu_log(fmt, ##__VA_ARGS__);         \
        }                                         \
    } while (0)

/* Write if any item is on. */
void qemu_log(const char *fmt, ...) G_GNUC_PRINTF(1, 2);

/* The log's stream, locked; NULL if nothing is on. Pair with _unlock. */
FILE *qemu_log_lock(void);
void qemu_log_unlock(FILE *log);

/*
 * Switch items on. False and @errp if the file cannot be opened.
 * 0 closes the log.
 */
bool qemu_set_log(uint32_t mask, Error **errp);
/*
 * Another file (NULL: stderr); it takes effect at once. The file is made even
 * if no item is on. On failure the log stays what it was.
 */
bool qemu_set_log_filename(const char *filename, Error **errp);
bool qemu_set_log_filename_flags(const char *filename, uint32_t mask,
                                 Error **errp);

/*
 * -dfilter: only what is at these guest addresses is of interest to in_asm,
 * op, exec and cpu. "START..END", "START+LENGTH" (from START on) or
 * "START-LENGTH" (up to START), separated by commas, END included. Before
 * threads run. False and @errp: nothing changes.
 */
bool qemu_set_dfilter_ranges(const char *ranges, Error **errp);
bool qemu_log_in_addr_range(uint64_t addr); /* true without -dfilter */

typedef struct QEMULogItem {
    uint32_t mask;
    const char *name, *help;
} QEMULogItem;
extern const QEMULogItem qemu_log_items[]; /* ends with mask 0 */

/*
 * "guest_errors,unimp" → bits; "all"; "trace:PATTERN" also switches trace
 * points on. 0 and @errp for an unknown name; "none" is 0 without an error.
 */
bool qemu_str_to_log_mask(const char *str, uint32_t *mask, Error **errp);
/* The text of `-d help`. Caller frees. */
char *qemu_log_usage(void);

#endif /* QEMU_LOG_H */
