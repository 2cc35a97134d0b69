/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault channel: another channel that misbehaves at a chosen byte.
 *
 * Stands before any channel and lets bytes through until the plan says
 * otherwise. Directions are counted apart, from 0. For tests.
 *
 * Threads: as the channel below; the plan is constant once made.
 * Used by: tests/, migration/ (by a debug setting only). Uses: io.
 */
#ifndef IO_CHANNEL_FAULT_H
#define IO_CHANNEL_FAULT_H

#include "io/channel.h"

#define QIO_FAULT_NEVER UINT64_MAX

typedef struct QIOFaultDirection {
    size_t max_chunk;     /* bytes moved by one call at most; 0 = any */
    bool random_chunk;    /* 1..max_chunk (1..4096 if that is 0), by seed */
    unsigned delay_us;    /* slept before each call; a shutdown ends it */
    unsigned block_every; /* each Nth call says ERR_BLOCK first; 0 = none; a
                             blocking channel never does */
    uint64_t stall_at;    /* stop there until shut down */
    uint64_t cut_at;      /* read: the end; write: EPIPE, from there on */
    uint64_t error_at;    /* fail there with EIO */
} QIOFaultDirection;

typedef struct QIOFaultPlan {
    QIOFaultDirection rd, wr;
    uint32_t seed;
    bool cut_shuts; /* a cut also shuts the channel below, both ways */
} QIOFaultPlan;

/* A plan with no faults: all positions are QIO_FAULT_NEVER. */
#define QIO_FAULT_PLAN_NONE                    \
    {                                          \
        .rd = { .stall_at = QIO_FAULT_NEVER,   \
                .cut_at = QIO_FAULT_NEVER,     \
                .error_at = QIO_FAULT_NEVER }, \
        .wr = {                                \
            .stall_at = QIO_FAULT_NEVER,       \
            .cut_at = QIO_FAULT_NEVER,         \
            .error_at = QIO_FAULT_NEVER        \
        }                                      \
    }

/* Takes a reference to @below. */
QIOChannel *qio_channel_fault_new(QIOChannel *below, const QIOFaultPlan *plan);

/* Bytes let through so far. Any thread. */
uint64_t qio_channel_fault_bytes_read(QIOChannel *ioc);
uint64_t qio_channel_fault_bytes_written(QIOChannel *ioc);

/**
 * qio_fault_plan_parse: a plan from words, for test programs' arguments
 *
 * "rd.cut=1000,wr.chunk=7,wr.random=on,rd.delay=50,rd.stall=5,wr.error=9,
 * seed=3,rd.block=4,cut-shuts=on": any of these, comma-separated.
 */
bool qio_fault_plan_parse(const char *str, QIOFaultPlan *plan, Error **errp);

#endif /* IO_CHANNEL_FAULT_H */
