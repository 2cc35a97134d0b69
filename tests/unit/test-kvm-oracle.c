/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scenarios of test-tracker-oracle.c over the trackers of KVM, with a
 * guest that really runs. Skipped where there is no /dev/kvm.
 *
 * The kernel has no points at which a vCPU could be held in a fault; what
 * needs that is left out. Each engine (kvm-engines.c) needs a kernel VM of a
 * kind: it is made between scenarios, over the same memory.
 */
#include "qemu/osdep.h"

#include "tracker-oracle.h"

int main(int argc, char **argv)
{
    const char *why = mini_unusable();

    g_test_init(&argc, &argv, NULL);
    if (!why) {
        oracle_init();
    }
    oracle_add_all(why);
    return g_test_run();
}
