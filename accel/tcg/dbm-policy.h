/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policy of the DBM tracker: which groups are armed, and which are tracked by
 * single pages.
 *
 *              fault                    collects with one page
 *   unarmed  -------->  armed  ---------------------------->  single
 *      ^ ^                |                                      |
 *      | +--- collects ---+                                      |
 *      |      without any                                        |
 *      +--------------- a collect with several pages ------------+
 *
 * Nothing but cost depends on it. Pure functions of a group's byte.
 *
 * Used by: dbm-tracker.c. Uses: nothing.
 */
#ifndef ACCEL_TCG_DBM_POLICY_H
#define ACCEL_TCG_DBM_POLICY_H

/* A group's byte; its other bits are the policy's counts. */
enum {
    DBM_GROUP_ARMED = 1 << 7,
    DBM_GROUP_SINGLE = 1 << 6,
};

typedef enum DbmChange {
    DBM_NO_CHANGE,
    DBM_DISARMED,
    DBM_FALLEN,
    DBM_BACK,
    DBM_NR_CHANGES
} DbmChange;

/**
 * dbm_judge: what becomes of a group after a collect
 *
 * @state: its byte
 * @nr_fresh: dirty pages that this collect found
 * @nr_writable: these, and those that are not cleaned yet
 *
 * Returns the new byte. *@change: what happened, for counting.
 */
uint8_t dbm_judge(uint8_t state, unsigned nr_fresh, unsigned nr_writable,
                  DbmChange *change);

#endif /* ACCEL_TCG_DBM_POLICY_H */
