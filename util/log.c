/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log: see include/qemu/log.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/log.h"
#include "qemu/thread.h"
#include "qemu/trace.h"
#include "qemu/write-guard.h"

_Atomic uint32_t qemu_loglevel;

/* One log per process. */
static struct {
    QemuMutex lock;
    /* Guarded by lock. */
    FILE *file;     /* NULL: nothing open */
    char *filename; /* NULL: stderr */
} qemu_log_state = { .lock = { PTHREAD_MUTEX_INITIALIZER } };

const QEMULogItem qemu_log_items[] = {
    { LOG_IN_ASM, "in_asm", "guest code, each block when it is first decoded" },
    { LOG_OP, "op", "the operations that a block is decoded into" },
    { LOG_INT, "int", "interrupts and exceptions the guest takes" },
    { LOG_EXEC, "exec", "every block before it is executed" },
    { LOG_CPU, "cpu", "CPU registers before every block" },
    { LOG_RESET, "cpu_reset", "CPU registers before a reset" },
    { LOG_UNIMP, "unimp", "what the guest asks for and is not implemented" },
    { LOG_GUEST_ERROR, "guest_errors", "what a correct guest would not do" },
    { LOG_TRACE, "trace", "trace points that are switched on" },
    { 0, NULL, NULL },
};

/* "a%d.log" → "a1234.log"; the %d must be the only conversion, or none. */
static char *expand_filename(const char *name, Error **errp)
{
    const char *pct = strchr(name, '%');
    g_autofree char *head = NULL;

    if (!pct) {
        return g_strdup(name);
    }
    if (pct[1] != 'd' || strchr(pct + 2, '%')) {
        error_setg(errp, "Bad log file name '%s': only one %%d may be in it",
                   name);
        return NULL;
    }
    head = g_strndup(name, pct - name);
    return g_strdup_printf("%s%d%s", head, getpid(), pct + 2);
}

static void close_locked(void)
{
    if (qemu_log_state.file && qemu_log_state.file != stderr) {
        fclose(qemu_log_state.file);
    }
    qemu_log_state.file = NULL;
}

/* Without the lock: the guard of files takes others. */
static FILE *open_file(const char *name, bool append, Error **errp)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : 0);
    int fd = open(name, flags, 0666);
    FILE *f = NULL;

    if (fd >= 0 && !qemu_begin_write(fd, name, !append, errp)) {
        close(fd);
        return NULL;
    }
    if (fd >= 0) {
        f = fdopen(fd, append ? "a" : "w");
    }
    if (!f) {
        error_setg_errno(errp, errno, "Could not open log file '%s'", name);
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    setvbuf(f, NULL, _IOLBF, 0);
    return f;
}

/* What to open is in *@name (NULL: stderr). False: something is open. */
static bool is_closed(char **name)
{
    QEMU_LOCK_GUARD(&qemu_log_state.lock);
    if (qemu_log_state.file) {
        return false;
    }
    *name = g_strdup(qemu_log_state.filename);
    return true;
}

static bool open_log(Error **errp)
{
    g_autofree char *name = NULL;
    FILE *f = stderr;

    if (!is_closed(&name)) {
        return true;
    }
    if (name) {
        /* It was open when its name was set: it keeps what it got since. */
        f = open_file(name, true, errp);
        if (!f) {
            return false;
        }
    }
    QEMU_LOCK_GUARD(&qemu_log_state.lock);
    if (!qemu_log_state.file) {
        qemu_log_state.file = f;
    } else if (name) {
        fclose(f); /* somebody else was faster */
    }
    return true;
}

bool qemu_set_log(uint32_t mask, Error **errp)
{
    if (mask && !open_log(errp)) {
        return false;
    }
    QEMU_LOCK_GUARD(&qemu_log_state.lock);
    if (mask == 0) {
        close_locked();
    }
    atomic_store_explicit(&qemu_loglevel, mask, memory_order_relaxed);
    return true;
}

bool qemu_set_log_filename(const char *filename, Error **errp)
{
    return qemu_set_log_filename_flags(
        filename, atomic_load_explicit(&qemu_loglevel, memory_order_relaxed),
        errp);
}

bool qemu_set_log_filename_flags(const char *filename, uint32_t mask,
                                 Error **errp)
{
    char *expanded = NULL;
    FILE *f = NULL;

    if (filename) {
        expanded = expand_filename(filename, errp);
        if (!expanded) {
            return false;
        }
        /* Also when nothing is on yet: who names a bad file hears it now. */
        f = open_file(expanded, false, errp);
        if (!f) {
            g_free(expanded);
            return false;
        }
    }
    WITH_QEMU_LOCK_GUARD(&qemu_log_state.lock)
    {
        close_locked();
        g_free(qemu_log_state.filename);
        qemu_log_state.filename = expanded;
        qemu_log_state.file = f;
    }
    return qemu_set_log(mask, errp);
}

FILE *TSA_NO_CHECK qemu_log_lock(void)
{
    /* Held until qemu_log_unlock(), which the analysis cannot follow. */
    qemu_mutex_lock(&qemu_log_state.lock);
    if (!qemu_log_state.file) {
        qemu_mutex_unlock(&qemu_log_state.lock);
        return NULL;
    }
    return qemu_log_state.file;
}

void TSA_NO_CHECK qemu_log_unlock(FILE *log)
{
    if (log) {
        fflush(log);
        qemu_mutex_unlock(&qemu_log_state.lock);
    }
}

void qemu_log(const char *fmt, ...)
{
    FILE *log = qemu_log_lock();
    va_list ap;

    if (log) {
        va_start(ap, fmt);
        vfprintf(log, fmt, ap);
        va_end(ap);
        qemu_log_unlock(log);
    }
}

static uint32_t item_by_name(const char *name)
{
    for (const QEMULogItem *i = qemu_log_items; i->mask; i++) {
        if (g_str_equal(name, i->name)) {
            return i->mask;
        }
    }
    return 0;
}

bool qemu_str_to_log_mask(const char *str, uint32_t *mask, Error **errp)
{
    g_auto(GStrv) parts = g_strsplit(str, ",", -1);
    uint32_t result = 0;

    for (char **p = parts; *p; p++) {
        uint32_t bits = item_by_name(*p);

        if (g_str_equal(*p, "all")) {
            for (const QEMULogItem *i = qemu_log_items; i->mask; i++) {
                bits |= i->mask;
            }
        } else if (g_str_has_prefix(*p, "trace:") && (*p)[6]) {
            if (!trace_enable(*p + 6, errp)) {
                return false;
            }
            bits = LOG_TRACE;
        } else if (!bits && !g_str_equal(*p, "none")) {
            error_setg(errp, "Unknown log item '%s'", *p);
            return false;
        }
        result |= bits;
    }
    *mask = result;
    return true;
}

char *qemu_log_usage(void)
{
    GString *s = g_string_new("Log items (comma separated):\n");

    for (const QEMULogItem *i = qemu_log_items; i->mask; i++) {
        g_string_append_printf(s, "%-15s %s\n", i->name, i->help);
    }
    g_string_append(s, "trace:PATTERN   switch trace points on "
                       "(names, or patterns with * and ?)\n");
    return g_string_free(s, FALSE);
}
