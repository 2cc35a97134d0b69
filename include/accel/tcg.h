/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accelerator `tcg`: the software engine for AArch64 guests.
 *
 * Guest instructions are decoded once, then interpreted or, on x86-64, made
 * into instructions of the host; one host thread per vCPU. Its dirty trackers
 * are "bitmap", "ring" and "dbm".
 *
 * Used by: system/main.c. Uses: nothing.
 */
#ifndef ACCEL_TCG_H
#define ACCEL_TCG_H

void tcg_accel_register_types(void);

#endif /* ACCEL_TCG_H */
