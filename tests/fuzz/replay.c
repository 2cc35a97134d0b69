/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main program of a fuzz target that replays seeds: files of a folder. */
#include "qemu/osdep.h"

#include "fuzz.h"

static GPtrArray *files_of(const char *folder)
{
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) err = NULL;
    GDir *dir = g_dir_open(folder, 0, &err);
    const char *name;

    g_assert_no_error(err);
    while ((name = g_dir_read_name(dir))) {
        g_ptr_array_add(files, g_build_filename(folder, name, NULL));
    }
    g_dir_close(dir);
    return files;
}

/* In memory of exactly its size, so that sanitizers see what lies beyond. */
static void replay(const char *path)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;
    uint8_t *data;
    gsize len = 0;

    g_file_get_contents(path, &text, &len, &err);
    g_assert_no_error(err);
    data = malloc(len);
    g_assert_true(data || !len);
    if (len) {
        memcpy(data, text, len);
    }
    LLVMFuzzerTestOneInput(data, len);
    free(data);
}

int main(int argc, char **argv)
{
    g_autoptr(GPtrArray) files = NULL;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    files = files_of(argv[1]);
    printf("1..%u\n", files->len);
    LLVMFuzzerInitialize(&argc, &argv);
    for (guint i = 0; i < files->len; i++) {
        replay(files->pdata[i]);
        printf("ok %u %s\n", i + 1, (char *)files->pdata[i]);
        fflush(stdout);
    }
    g_assert_cmpuint(files->len, >, 0);
    return 0;
}
