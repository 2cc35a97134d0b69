/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error: see include/qemu/error.h for the contract and the recipes. */
#include "qemu/osdep.h"

#include "qemu/error.h"

struct Error {
    char *msg;
    GString *hint; /* NULL: none */
    const char *src, *func;
    int line;
    ErrorClass err_class;
};

Error *error_fatal;
Error *error_abort;

static void error_handle(Error **errp, Error *err)
{
    if (errp == &error_abort) {
        fprintf(stderr, "Unexpected error in %s() at %s:%d:\n", err->func,
                err->src, err->line);
        error_report_err(err);
        abort();
    }
    if (errp == &error_fatal) {
        error_report_err(err);
        exit(1);
    }
    if (errp && !*errp) {
        *errp = err;
    } else {
        error_free(err);
    }
}

void error_set_internal(Error **errp, const char *src, int line,
                        const char *func, ErrorClass err_class, int os_errno,
                        const char *fmt, ...)
{
    int saved_errno = errno;
    Error *err;
    va_list ap;

    if (!errp) {
        return;
    }
    assert(*errp == NULL);

    err = g_new0(Error, 1);
    va_start(ap, fmt);
    err->msg = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    if (os_errno) {
        char *words = err->msg;

        err->msg = g_strdup_printf("%s: %s", words, g_strerror(os_errno));
        g_free(words);
    }
    err->err_class = err_class;
    err->src = src;
    err->line = line;
    err->func = func;

    error_handle(errp, err);
    errno = saved_errno;
}

void error_propagate(Error **dst_errp, Error *local_err)
{
    if (local_err) {
        error_handle(dst_errp, local_err);
    }
}

void error_prepend(Error **errp, const char *fmt, ...)
{
    g_autofree char *prefix = NULL;
    char *old;
    va_list ap;

    if (!errp || !*errp) {
        return;
    }
    va_start(ap, fmt);
    prefix = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    old = (*errp)->msg;
    (*errp)->msg = g_strconcat(prefix, old, NULL);
    g_free(old);
}

void error_append_hint(Error **errp, const char *fmt, ...)
{
    int saved_errno = errno;
    va_list ap;

    if (!errp || !*errp) {
        return;
    }
    if (!(*errp)->hint) {
        (*errp)->hint = g_string_new(NULL);
    }
    va_start(ap, fmt);
    g_string_append_vprintf((*errp)->hint, fmt, ap);
    va_end(ap);
    errno = saved_errno;
}

const char *error_get_pretty(const Error *err)
{
    return err->msg;
}

const char *error_get_hint(const Error *err)
{
    return err->hint ? err->hint->str : NULL;
}

ErrorClass error_get_class(const Error *err)
{
    return err->err_class;
}

const char *error_class_str(ErrorClass err_class)
{
    static const char *const names[] = {
        [ERROR_CLASS_GENERIC_ERROR] = "GenericError",
        [ERROR_CLASS_COMMAND_NOT_FOUND] = "CommandNotFound",
        [ERROR_CLASS_DEVICE_NOT_ACTIVE] = "DeviceNotActive",
        [ERROR_CLASS_DEVICE_NOT_FOUND] = "DeviceNotFound",
        [ERROR_CLASS_KVM_MISSING_CAP] = "KVMMissingCap",
    };

    assert((size_t)err_class < ARRAY_SIZE(names));
    return names[err_class];
}

Error *error_copy(const Error *err)
{
    Error *copy = g_new0(Error, 1);

    *copy = *err;
    copy->msg = g_strdup(err->msg);
    copy->hint = err->hint ? g_string_new(err->hint->str) : NULL;
    return copy;
}

void error_free(Error *err)
{
    if (err) {
        g_free(err->msg);
        if (err->hint) {
            g_string_free(err->hint, TRUE);
        }
        g_free(err);
    }
}

void error_free_or_abort(Error **errp)
{
    assert(errp && *errp);
    error_free(*errp);
    *errp = NULL;
}
