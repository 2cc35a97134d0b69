/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -smp: from what the user said of CPUs and their grouping to all of it.
 *
 * What is missing is derived so that sockets * dies * clusters * cores *
 * threads = maxcpus: cores take what is left, or sockets if cores are given,
 * or threads if both are.
 */
#include "qemu/osdep.h"

#include "hw/boards.h"
#include "qemu/error.h"

/* 0: not given. */
static bool take(bool has, int64_t value, const char *name, unsigned *out,
                 Error **errp)
{
    if (!has) {
        *out = 0;
        return true;
    }
    if (value < 1 || value > 65536) {
        error_setg(errp,
                   "Invalid CPU topology: %s is %" PRId64
                   ", expected 1 to 65536",
                   name, value);
        return false;
    }
    *out = value;
    return true;
}

static bool take_all(const SMPConfiguration *c, CpuTopology *t, Error **errp)
{
    return take(c->has_cpus, c->cpus, "cpus", &t->cpus, errp) &&
           take(c->has_sockets, c->sockets, "sockets", &t->sockets, errp) &&
           take(c->has_dies, c->dies, "dies", &t->dies, errp) &&
           take(c->has_clusters, c->clusters, "clusters", &t->clusters, errp) &&
           take(c->has_cores, c->cores, "cores", &t->cores, errp) &&
           take(c->has_threads, c->threads, "threads", &t->threads, errp) &&
           take(c->has_maxcpus, c->maxcpus, "maxcpus", &t->max_cpus, errp);
}

static uint64_t product(const CpuTopology *t)
{
    return (uint64_t)t->sockets * t->dies * t->clusters * t->cores * t->threads;
}

static void derive(CpuTopology *t, unsigned default_cpus)
{
    unsigned want;

    if (!t->cpus && !t->max_cpus && !t->sockets && !t->cores && !t->threads) {
        t->cpus = default_cpus;
    }
    t->dies = MAX(t->dies, 1);
    t->clusters = MAX(t->clusters, 1);
    want = t->max_cpus ? t->max_cpus : t->cpus;
    if (!want) {
        t->sockets = MAX(t->sockets, 1);
        t->cores = MAX(t->cores, 1);
        t->threads = MAX(t->threads, 1);
    } else if (!t->cores) {
        t->sockets = MAX(t->sockets, 1);
        t->threads = MAX(t->threads, 1);
        t->cores = 1;
        t->cores = MAX(want / product(t), 1);
    } else if (!t->sockets) {
        t->threads = MAX(t->threads, 1);
        t->sockets = 1;
        t->sockets = MAX(want / product(t), 1);
    } else if (!t->threads) {
        t->threads = 1;
        t->threads = MAX(want / product(t), 1);
    }
    if (!t->max_cpus) {
        t->max_cpus = want ? want : MIN(product(t), 65536);
    }
    if (!t->cpus) {
        t->cpus = t->max_cpus;
    }
}

static bool check(const MachineClass *mc, const CpuTopology *t, Error **errp)
{
    unsigned most = MAX(mc->max_cpus, 1);

    if (product(t) != t->max_cpus) {
        error_setg(errp,
                   "Invalid CPU topology: sockets (%u) * dies (%u) * "
                   "clusters (%u) * cores (%u) * threads (%u) must be "
                   "maxcpus (%u)",
                   t->sockets, t->dies, t->clusters, t->cores, t->threads,
                   t->max_cpus);
        return false;
    }
    if (t->max_cpus < t->cpus) {
        error_setg(errp,
                   "Invalid CPU topology: maxcpus (%u) must not be less than "
                   "cpus (%u)",
                   t->max_cpus, t->cpus);
        return false;
    }
    if (t->cpus < mc->min_cpus) {
        error_setg(errp,
                   "Invalid SMP CPUs %u. The min CPUs supported by machine "
                   "'%s' is %u",
                   t->cpus, mc->name, mc->min_cpus);
        return false;
    }
    if (t->max_cpus > most) {
        error_setg(errp,
                   "Invalid SMP CPUs %u. The max CPUs supported by machine "
                   "'%s' is %u",
                   t->max_cpus, mc->name, most);
        return false;
    }
    return true;
}

bool machine_parse_smp(MachineState *ms, const SMPConfiguration *config,
                       Error **errp)
{
    MachineClass *mc = MACHINE_GET_CLASS(ms);
    CpuTopology t;

    if (!take_all(config, &t, errp)) {
        return false;
    }
    if (t.dies > 1 && !mc->smp_dies) {
        error_setg(errp, "dies > 1 not supported by machine '%s'", mc->name);
        return false;
    }
    if (t.clusters > 1 && !mc->smp_clusters) {
        error_setg(errp, "clusters > 1 not supported by machine '%s'",
                   mc->name);
        return false;
    }
    derive(&t, MAX(mc->default_cpus, 1));
    if (!check(mc, &t, errp)) {
        return false;
    }
    ms->smp = t;
    return true;
}
