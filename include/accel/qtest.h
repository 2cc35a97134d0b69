/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qtest: a machine driven from outside.
 *
 * Two things that are independent of each other. The accelerator `qtest` has
 * vCPUs that never execute anything, and a guest clock that only steps. The
 * protocol server (-qtest) reads and writes guest memory and ports for a test
 * program; it works beside any accelerator, whether the VM runs or not, and
 * while an incoming stream is loaded.
 *
 * Threads: main loop, under the BQL.
 *
 * Used by: system/main.c. Uses: chardev, system.
 */
#ifndef ACCEL_QTEST_H
#define ACCEL_QTEST_H

bool qtest_enabled(void); /* is the accelerator qtest */
bool qtest_driver(void);  /* is there a protocol server */

/**
 * qtest_server_init: open the server
 *
 * @chrdev: as -qtest takes it (a chardev spec)
 * @log: -qtest-log: a file; "none": no log; NULL: stderr
 */
bool qtest_server_init(const char *chrdev, const char *log, Error **errp);

/*
 * Interrupt lines belong to a room that this one does not see; who starts up
 * connects them. All false: no such device or line.
 */
typedef struct QTestIrqOps {
    /* Call qtest_irq_seen() for the inputs / outputs @name of @path. */
    bool (*intercept)(const char *path, const char *name, bool out);
    /* Drive input @n of @name. */
    bool (*set_in)(const char *path, const char *name, int n, int level);
} QTestIrqOps;
void qtest_set_irq_ops(const QTestIrqOps *ops);
void qtest_irq_seen(void *opaque, int n, int level);

void qtest_accel_register_types(void);

#endif /* ACCEL_QTEST_H */
