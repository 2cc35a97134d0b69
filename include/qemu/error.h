/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Error: a reason in words, handed upward until someone can say it.
 *
 * Recipes
 *   A function that can fail takes `Error **errp` last and returns bool
 *   (true = ok) or a pointer (NULL = failed). It sets the error at the place
 *   that knows most; it never both reports and returns one.
 *     if (!frob(x, errp)) { return false; }              pass it on
 *     if (!frob(x, errp)) { error_prepend(errp, ...); }  needs ERRP_GUARD()
 *     frob(x, &error_fatal)      start-up only: print, exit(1)
 *     frob(x, &error_abort)      cannot fail: a bug if it does
 *     frob(x, NULL)              do not care why
 *   Wrong: looking at *errp to learn whether a call failed (the caller may
 *   have passed NULL): look at the return value.
 *   Out-parameters stay untouched on failure.
 *
 * Threads: an Error belongs to one thread at a time. error_report() and its
 * kin may be called from any thread.
 *
 * Used by: all. Uses: glib.
 */
#ifndef QEMU_ERROR_H
#define QEMU_ERROR_H

/* The QMP "class" member of an error reply (QEMU's QapiErrorClass). */
typedef enum ErrorClass {
    ERROR_CLASS_GENERIC_ERROR,
    ERROR_CLASS_COMMAND_NOT_FOUND,
    ERROR_CLASS_DEVICE_NOT_ACTIVE,
    ERROR_CLASS_DEVICE_NOT_FOUND,
    ERROR_CLASS_KVM_MISSING_CAP,
} ErrorClass;

/* Sentinels: print and exit(1); print and abort(). */
extern Error *error_fatal;
extern Error *error_abort;

/**
 * error_setg: set @errp to a new error with the given words
 *
 * @errp: NULL (nothing happens), or points to NULL, or a sentinel
 *
 * One sentence without a full stop or newline. Preserves errno.
 */
#define error_setg(errp, fmt, ...)                           \
    error_set_internal((errp), __FILE__, __LINE__, __func__, \
                       ERROR_CLASS_GENERIC_ERROR, 0, (fmt), ##__VA_ARGS__)

/* The same, followed by ": " and strerror(@os_errno) unless that is 0. */
#define error_setg_errno(errp, os_errno, fmt, ...)                   \
    error_set_internal((errp), __FILE__, __LINE__, __func__,         \
                       ERROR_CLASS_GENERIC_ERROR, (os_errno), (fmt), \
                       ##__VA_ARGS__)

/* The same with an error class other than GenericError. */
#define error_set(errp, err_class, fmt, ...)                                 \
    error_set_internal((errp), __FILE__, __LINE__, __func__, (err_class), 0, \
                       (fmt), ##__VA_ARGS__)

void error_set_internal(Error **errp, const char *src, int line,
                        const char *func, ErrorClass err_class, int os_errno,
                        const char *fmt, ...) G_GNUC_PRINTF(7, 8);

/**
 * error_propagate: move @local_err (may be NULL) to @dst_errp
 *
 * If @dst_errp already holds an error, @local_err is freed: the first wins.
 */
void error_propagate(Error **dst_errp, Error *local_err);

/* Put words before / after (a hint line, printed only on stderr and HMP). */
void error_prepend(Error **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
void error_append_hint(Error **errp, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

const char *error_get_pretty(const Error *err);
const char *error_get_hint(const Error *err); /* NULL if none */
ErrorClass error_get_class(const Error *err);
const char *error_class_str(ErrorClass err_class); /* "GenericError" ... */
Error *error_copy(const Error *err);
void error_free(Error *err);
void error_free_or_abort(Error **errp); /* tests: there must be an error */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Error, error_free)

/*
 * Say it: one line "PROGRAM: words" on stderr, or to the current monitor of
 * this thread when one is set (error_report_set_monitor()).
 */
void error_report(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void warn_report(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void info_report(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void error_report_err(Error *err); /* frees @err */
void warn_report_err(Error *err);  /* frees @err */
void error_reportf_err(Error *err, const char *fmt, ...)
    G_GNUC_PRINTF(2, 3); /* with a prefix */

/* "qemu-system-aarch64": the first word of messages. Set once by main(). */
void error_init(const char *argv0);
const char *error_get_progname(void);
/* -msg timestamp=on, guest-name=on (@guest_name NULL = off). Main thread. */
void error_set_timestamps(bool enabled);
bool error_timestamps_enabled(void);
void error_set_guest_name(const char *guest_name);
/*
 * Redirect this thread's reports to @puts(@opaque, text); NULL restores
 * stderr. Used by HMP so that a command's messages reach who typed it.
 */
void error_report_set_monitor(void (*puts)(void *opaque, const char *text),
                              void *opaque);

/*
 * ERRP_GUARD: first line of a function that looks at or prepends to *errp.
 * Makes errp non-NULL and non-sentinel for the length of the function.
 */
#define ERRP_GUARD()                                                 \
    g_auto(ErrorPropagator) _auto_errp_prop = { .errp = errp };      \
    do {                                                             \
        if (!errp || errp == &error_fatal || errp == &error_abort) { \
            errp = &_auto_errp_prop.local_err;                       \
        }                                                            \
    } while (0)

typedef struct ErrorPropagator {
    Error *local_err;
    Error **errp;
} ErrorPropagator;

static inline void error_propagator_cleanup(ErrorPropagator *prop)
{
    error_propagate(prop->errp, prop->local_err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ErrorPropagator, error_propagator_cleanup)

#endif /* QEMU_ERROR_H */
