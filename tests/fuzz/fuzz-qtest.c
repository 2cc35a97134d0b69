/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: what a qtest client writes to a machine `virt` or `q35`: the
 * protocol, and registers of all devices.
 */
#include "qemu/osdep.h"

#include "char-int.h"
#include "chardev/char.h"
#include "fuzz.h"
#include "qemu/main-loop.h"

#ifdef FUZZ_X86
#define MACHINE_ARGS "-M q35"
#else
#define MACHINE_ARGS "-M virt,gic-version=3"
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_machine_start(MACHINE_ARGS " -accel qtest -m 2M -smp 2 -nodefaults -S "
                                    "-qtest null -qtest-log none");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Chardev *chr = qemu_chr_find("qtest");
    static const uint8_t end[] = "\n";

    chr_read(chr, data, (int)size);
    chr_read(chr, end, 1);
    while (g_main_context_iteration(NULL, false)) {
    }
    return 0;
}
