/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: a whole incoming stream, into the machine `none` with 1 MiB. */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "globalstate.h"
#include "io/channel-buffer.h"
#include "loadvm.h"
#include "ram/ram.h"
#include "system/machine-info.h"
#include "qemu/main-loop.h"

bool fuzz_taken;

int TSA_NO_CHECK LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_machine_start("-M none -m 1M -nodefaults -S -incoming defer");
    bql_unlock();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    QIOChannelBuffer *in = qio_channel_buffer_new_data(data, size);
    QIOChannel *back = qio_channel_null_new();
    LoadVM lv = {
        .f = qemu_file_new_input(QIO_CHANNEL(in)),
        .rp = qemu_file_new_output(back),
    };
    g_autoptr(Error) err = NULL;

    ram_load_configure(&(RamLoadConfig){
        .target_page_bits = machine_info()->target_page_bits,
    });
    global_state_reset();
    fuzz_taken = loadvm_run(&lv, &err);
    if (fuzz_taken) {
        loadvm_skip_vmdesc(&lv);
        g_assert_null(err);
    } else {
        /* Every error says where. */
        g_assert_nonnull(strstr(error_get_pretty(err), "at byte "));
    }
    qemu_fclose(lv.rp, NULL);
    qemu_fclose(lv.f, NULL);
    qio_channel_unref(back);
    qio_channel_unref(QIO_CHANNEL(in));
    return 0;
}
