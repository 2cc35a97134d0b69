/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libqtest: start a binary as a child, drive it by QMP and qtest, look at how
 * it ends.
 *
 *     QTestState *s = qtest_start("-M none -m 16M");
 *     qtest_writel(s, 0x1000, 42);
 *     g_autoptr(json_object) r = qtest_qmp(s, "{'execute':'query-status'}");
 *     qtest_quit(s);
 *
 * The binary is QTEST_QEMU_BINARY of the environment, or the one that meson
 * passes in; it may be the real QEMU. Whatever goes wrong that a test did not
 * ask for ends the test program with the child's stderr shown.
 *
 * Threads: one thread per QTestState.
 * Used by: tests/qtest, tests/migration. Uses: glib, json-c.
 */
#ifndef TESTS_QTEST_LIBQTEST_H
#define TESTS_QTEST_LIBQTEST_H

#include <json-c/json.h>

typedef struct QTestState QTestState;

/* Path of the binary under test; "aarch64" or "x86_64" of it. */
const char *qtest_binary(void);
const char *qtest_arch(void);
bool qtest_has_accel(const char *name);

/* ---- beginning and end ---- */

/*
 * Start with the common options (no display, no default devices, a QMP
 * socket, a qtest socket, accelerator qtest unless @args has an -accel), do
 * the QMP greeting, and return. @args is parsed as by a shell.
 */
QTestState *qtest_start(const char *args);
QTestState *qtest_startf(const char *fmt, ...) G_GNUC_PRINTF(1, 2);

/*
 * The same in parts: flags choose what there is.
 */
enum {
    QTEST_NO_QTEST = 1,     /* no qtest socket, no accelerator added */
    QTEST_NO_HANDSHAKE = 2, /* connected, but greeting not read */
    QTEST_NO_QMP = 4,       /* nothing is connected: just a child */
    QTEST_OOB = 8,          /* enable "oob" in the handshake */
};
QTestState *qtest_start_flags(const char *args, unsigned flags);

/* Another QMP connection to a server socket at @path; greeting done. */
QTestState *qtest_connect_qmp(const char *path);

/* `quit`, wait, assert exit status 0, free. */
void qtest_quit(QTestState *s);
/* SIGKILL and free: for a child that is past asking. */
void qtest_kill(QTestState *s);
/* Wait for the child's end: its exit status, or 128 + signal. */
int qtest_wait_exit(QTestState *s);
/* True once it has ended, without waiting. */
bool qtest_has_exited(QTestState *s);
void qtest_free(QTestState *s); /* the child must have ended */
void qtest_signal(QTestState *s, int sig);
pid_t qtest_pid(QTestState *s);
/* What it wrote on stderr / stdout so far. Caller frees. */
char *qtest_stderr(QTestState *s);
char *qtest_stdout(QTestState *s);
/* A directory of this state's own, removed with it. */
const char *qtest_dir(QTestState *s);

/**
 * qtest_run: run to the end
 *
 * Returns the exit status; *@out, *@err (may be NULL) are what it wrote.
 * Kills it after 20 s, which is an error of the test.
 */
int qtest_run(const char *args, char **out, char **err);

/*
 * Whether the address sanitizer looks for leaks in children to come (it does).
 * It does so by a process of its own and by /proc: not where these are denied.
 */
void qtest_set_leak_check(bool on);

/* ---- QMP ---- */

/* Send @fmt (JSON with ' for ", %-formatted) and return the whole answer. */
json_object *qtest_qmp(QTestState *s, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* The same with file descriptors attached. */
json_object *qtest_qmp_fds(QTestState *s, const int *fds, size_t nfds,
                           const char *fmt, ...) G_GNUC_PRINTF(4, 5);
/* Asserts success, returns the member "return". */
json_object *qtest_qmp_ok(QTestState *s, const char *fmt, ...)
    G_GNUC_PRINTF(2, 3);
/* Asserts an error, returns its words ("desc"). Caller frees. */
char *qtest_qmp_fail(QTestState *s, const char *fmt, ...) G_GNUC_PRINTF(2, 3);
/* Send bytes as they are; no answer is awaited. */
void qtest_qmp_send_raw(QTestState *s, const char *bytes, size_t len);
/* The next answer or greeting (events before it are kept). NULL: hung up. */
json_object *qtest_qmp_receive(QTestState *s);
/* human-monitor-command; what it printed. Caller frees. */
char *qtest_hmp(QTestState *s, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

/* Wait for the event @name; events before it stay for later calls. */
json_object *qtest_event(QTestState *s, const char *name);
/* NULL if none came in @ms. */
json_object *qtest_event_timeout(QTestState *s, const char *name, int ms);
void qtest_events_clear(QTestState *s);
/* Assert query-status's member "status". */
void qtest_assert_status(QTestState *s, const char *status);
/* Wait (10 s at most) until it is. */
void qtest_wait_status(QTestState *s, const char *status);

/* A member by path: "a.b.0.c"; NULL if there is none. Borrowed. */
json_object *json_path(json_object *v, const char *path);
const char *json_path_str(json_object *v, const char *path);
int64_t json_path_int(json_object *v, const char *path);
bool json_path_bool(json_object *v, const char *path);

/* ---- qtest protocol ---- */

/* One line, and its answer without the newline. Caller frees. */
char *qtest_line(QTestState *s, const char *fmt, ...) G_GNUC_PRINTF(2, 3);

uint8_t qtest_readb(QTestState *s, uint64_t addr);
uint16_t qtest_readw(QTestState *s, uint64_t addr);
uint32_t qtest_readl(QTestState *s, uint64_t addr);
uint64_t qtest_readq(QTestState *s, uint64_t addr);
void qtest_writeb(QTestState *s, uint64_t addr, uint8_t v);
void qtest_writew(QTestState *s, uint64_t addr, uint16_t v);
void qtest_writel(QTestState *s, uint64_t addr, uint32_t v);
void qtest_writeq(QTestState *s, uint64_t addr, uint64_t v);
/* I/O ports. */
uint8_t qtest_inb(QTestState *s, uint16_t port);
uint16_t qtest_inw(QTestState *s, uint16_t port);
uint32_t qtest_inl(QTestState *s, uint16_t port);
void qtest_outb(QTestState *s, uint16_t port, uint8_t v);
void qtest_outw(QTestState *s, uint16_t port, uint16_t v);
void qtest_outl(QTestState *s, uint16_t port, uint32_t v);
void qtest_memread(QTestState *s, uint64_t addr, void *buf, size_t size);
void qtest_memwrite(QTestState *s, uint64_t addr, const void *buf, size_t size);
void qtest_memset(QTestState *s, uint64_t addr, uint8_t v, size_t size);
int64_t qtest_clock_step(QTestState *s, int64_t ns);
int64_t qtest_clock_step_next(QTestState *s);
void qtest_irq_intercept_in(QTestState *s, const char *path);
void qtest_irq_intercept_out(QTestState *s, const char *path);
bool qtest_get_irq(QTestState *s, int n); /* as last told */
void qtest_set_irq_in(QTestState *s, const char *path, const char *name, int n,
                      int level);

#endif /* TESTS_QTEST_LIBQTEST_H */
