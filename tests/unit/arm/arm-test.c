/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"

#include "../idle-accel.h"
#include "arm-test.h"
#include "io/channel-buffer.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel.h"

void arm_test_init(void)
{
    idle_accel_init();
    arm_cpu_register_types();
}

ARMCPU *arm_test_cpu_new(const char *model, void (*setup)(ARMCPU *cpu))
{
    const char *type = arm_cpu_type_from_model(model);
    ARMCPU *cpu;

    g_assert_nonnull(type);
    cpu = ARM_CPU(object_new(type));
    cpu->psci_conduit = PSCI_CONDUIT_HVC;
    cpu->reset_cbar = 0x08000000;
    if (setup) {
        setup(cpu);
    }
    g_assert_true(cpu_realize(CPU(cpu), &error_abort));
    return cpu;
}

GBytes *arm_test_data(const char *name)
{
    g_autofree char *path = g_build_filename(TEST_DATA_DIR, name, NULL);
    g_autoptr(GError) err = NULL;
    char *text;
    gsize len;

    g_file_get_contents(path, &text, &len, &err);
    g_assert_no_error(err);
    return g_bytes_new_take(text, len);
}

char **arm_test_data_lines(const char *name)
{
    g_autoptr(GBytes) all = arm_test_data(name);
    g_autofree char *text = g_strndup(g_bytes_get_data(all, NULL),
                                      g_bytes_get_size(all));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GPtrArray) kept = g_ptr_array_new();

    for (char **l = lines; *l; l++) {
        if (**l && **l != '#') {
            g_ptr_array_add(kept, g_strdup(*l));
        }
    }
    g_assert_cmpuint(kept->len, >, 10);
    g_ptr_array_add(kept, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&kept), FALSE);
}

GByteArray *arm_test_save(const VMStateDescription *vmsd, void *opaque)
{
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(b));
    GByteArray *bytes = g_byte_array_new();

    g_assert_true(vmstate_save_state(f, vmsd, opaque, NULL, &error_abort));
    qemu_fclose(f, NULL);
    g_byte_array_append(bytes, b->data, b->usage);
    qio_channel_unref(QIO_CHANNEL(b));
    return bytes;
}

bool arm_test_load(const VMStateDescription *vmsd, void *opaque, int version,
                   const void *data, size_t len, size_t *taken, Error **errp)
{
    QIOChannelBuffer *b = qio_channel_buffer_new_data(data, len);
    QEMUFile *f = qemu_file_new_input(QIO_CHANNEL(b));
    bool ok = vmstate_load_state(f, vmsd, opaque, version, errp);

    if (taken) {
        *taken = qemu_file_position(f);
    }
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(b));
    return ok;
}

void arm_test_load_fails(const VMStateDescription *vmsd, void *opaque,
                         int version, const void *data, size_t len,
                         const char *words)
{
    Error *err = NULL;

    g_assert_false(arm_test_load(vmsd, opaque, version, data, len, NULL, &err));
    if (!strstr(error_get_pretty(err), words)) {
        g_error("'%s' is not in '%s'", words, error_get_pretty(err));
    }
    error_free(err);
}

void arm_test_round_trip(const VMStateDescription *vmsd, void *opaque,
                         int version, const char *file)
{
    g_autoptr(GBytes) data = arm_test_data(file);
    g_autoptr(GByteArray) again = NULL;
    const uint8_t *bytes = g_bytes_get_data(data, NULL);
    size_t taken, len = g_bytes_get_size(data);

    g_assert_true(
        arm_test_load(vmsd, opaque, version, bytes, len, &taken, &error_abort));
    g_assert_cmpuint(taken, ==, len);
    again = arm_test_save(vmsd, opaque);
    g_assert_cmpmem(again->data, again->len, bytes, len);
}
