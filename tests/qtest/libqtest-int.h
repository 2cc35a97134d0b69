/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What libqtest's files know of each other.
 *
 * Used by: libqtest*.c. Uses: libqtest.h.
 */
#ifndef TESTS_QTEST_LIBQTEST_INT_H
#define TESTS_QTEST_LIBQTEST_INT_H

#include "libqtest.h"

#define QTEST_MAX_IRQS 1024

struct QTestState {
    char *dir; /* NULL: a further connection to someone else's child */
    pid_t pid; /* 0: ended and collected, or not ours */
    int status;

    int qmp_fd; /* -1: none */
    GString *qmp_in;
    GQueue events; /* json_object *, not asked for yet */

    int qtest_fd; /* -1: none */
    GString *qtest_in;
    bool irq[QTEST_MAX_IRQS];
};

/* End the test program, showing what the child wrote on stderr. */
void qtest_die(QTestState *s, const char *fmt, ...)
    G_GNUC_PRINTF(2, 3) G_GNUC_NORETURN;
/* Wait until @fd can be read, @ms at most; false: it cannot. */
bool qtest_poll(int fd, int ms);
/* The next line without its newline; NULL: end of file. Dies after @ms;
 * @may_time_out: NULL then, and *@timed_out. Caller frees. */
char *qtest_get_line(QTestState *s, int fd, GString *in, int ms,
                     bool *timed_out);
void qtest_put(QTestState *s, int fd, const char *bytes, size_t len,
               const int *fds, size_t nfds);
void qtest_qmp_handshake(QTestState *s, bool oob);

#define QTEST_TIMEOUT_MS 120000

#endif /* TESTS_QTEST_LIBQTEST_INT_H */
