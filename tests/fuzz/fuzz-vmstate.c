/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: the state of one device of the machine `virt`. The first byte
 * chooses the section, the second its version (relative to the newest), the
 * rest is its payload.
 */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "io/channel-buffer.h"
#include "system/reset.h"
#include "vmstate/savevm.h"

#ifndef FUZZ_MACHINE
#define FUZZ_MACHINE "virt,gic-version=3"
#endif

bool fuzz_taken;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_machine_start("-M " FUZZ_MACHINE " -accel qtest -m 2M -smp 2 "
                       "-nodefaults -S -incoming defer");
    return 0;
}

static SaveStateEntry *section(unsigned n)
{
    SaveStateEntry *se, *found = NULL;
    unsigned count = 0;

    for (se = savevm_first(); se; se = se->next) {
        count += !savevm_is_live(se);
    }
    n %= count;
    for (se = savevm_first(); se && !found; se = se->next) {
        if (!savevm_is_live(se) && n-- == 0) {
            found = se;
        }
    }
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    QIOChannelBuffer *in;
    g_autoptr(Error) err = NULL;
    SaveStateEntry *se;
    QEMUFile *f;

    if (size < 2) {
        return 0;
    }
    se = section(data[0]);
    in = qio_channel_buffer_new_data(data + 2, size - 2);
    f = qemu_file_new_input(QIO_CHANNEL(in));
    fuzz_taken = savevm_load_payload(f, se, se->version_id - data[1], &err);
    if (fuzz_taken) {
        /* What was taken can be saved, too. */
        QIOChannelBuffer *out = qio_channel_buffer_new(0);
        QEMUFile *to = qemu_file_new_output(QIO_CHANNEL(out));

        savevm_save_full(to, se, NULL, NULL);
        qemu_fclose(to, NULL);
        qio_channel_unref(QIO_CHANNEL(out));
    } else {
        g_assert_nonnull(strstr(error_get_pretty(err), se->idstr));
    }
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(in));
    return 0;
}
