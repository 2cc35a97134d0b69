/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: the state of one device, of all that a binary has. The first
 * byte chooses the section (see section()), the second its version (relative
 * to the newest), the rest is its payload.
 *
 * aarch64: `virt` with both interrupt controllers. x86_64: `q35` and what `pc`
 * has instead; with a KVM also the kernel's devices, and vCPUs get the state.
 */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "io/channel-buffer.h"
#include "qemu/error.h"
#include "system/cpus.h"
#include "vmstate/savevm.h"

bool fuzz_taken;
static bool has_kvm;

#ifdef FUZZ_X86
#include "hw/i386/pc.h"

/* The table of a device of `pc`, for the one of `q35` with the same state. */
static void also_as(const char *type, void *dev)
{
    const DeviceClass *dc = DEVICE_CLASS(object_class_by_name(type));

    vmstate_register(NULL, 0, dc->vmsd, dev, &error_fatal);
}

static void start_machine_of_all(void)
{
    PCMachineState *pcms;

    has_kvm = access("/dev/kvm", R_OK | W_OK) == 0;
    fuzz_machine_start(has_kvm ? "-M q35 -accel kvm -m 2M -smp 2 "
                                 "-nodefaults -S -incoming defer"
                               : "-M q35 -accel qtest -m 2M -smp 2 "
                                 "-nodefaults -S -incoming defer");
    pcms = PC_MACHINE(current_machine());
    also_as(TYPE_I440FX, pcms->bridge);
    also_as(TYPE_PIIX4_PM, pcms->pm);
}
#else
#include "hw/intc/arm_gic.h"

static void start_machine_of_all(void)
{
    fuzz_machine_start("-M virt,gic-version=3 -accel qtest -m 2M -smp 2 "
                       "-nodefaults -S -incoming defer");
    arm_gic_create(64, 2, 0x10000000, 0x10010000, &error_fatal);
}
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    start_machine_of_all();
    return 0;
}

/* A number that stays when sections are added or left out. */
static uint8_t number_of(const SaveStateEntry *se)
{
    uint32_t hash = 5381 + se->instance_id;

    for (const char *p = se->idstr; *p; p++) {
        hash = hash * 33 + (uint8_t)*p;
    }
    return hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24;
}

/* The section with the number @n, or with the next larger one. */
static SaveStateEntry *section(uint8_t n)
{
    SaveStateEntry *found = NULL;

    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        if (!savevm_is_live(se) &&
            (!found ||
             (uint8_t)(number_of(se) - n) < (uint8_t)(number_of(found) - n))) {
            found = se;
        }
    }
    return found;
}

/* What was taken can be saved, too. */
static void save(SaveStateEntry *se)
{
    QIOChannelBuffer *out = qio_channel_buffer_new(0);
    QEMUFile *to = qemu_file_new_output(QIO_CHANNEL(out));
    g_autoptr(Error) err = NULL;

    if (!savevm_save_full(to, se, NULL, &err)) {
        g_assert_nonnull(strstr(error_get_pretty(err), se->idstr));
    }
    qemu_fclose(to, NULL);
    qio_channel_unref(QIO_CHANNEL(out));
}

/* As at the end of a migration: an engine may refuse, and says why. */
static void hand_to_vcpus(void)
{
    g_autoptr(Error) err = NULL;

    if (!cpu_synchronize_all_post_init(&err)) {
        g_assert_nonnull(err);
    }
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
    if (has_kvm) {
        cpu_synchronize_all_pre_loadvm();
    }
    fuzz_taken = savevm_load_payload(f, se, se->version_id - data[1], &err);
    if (fuzz_taken) {
        save(se);
        if (has_kvm) {
            hand_to_vcpus();
        }
    } else {
        g_assert_nonnull(strstr(error_get_pretty(err), se->idstr));
    }
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(in));
    return 0;
}
