/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: the command line, one word a line; each word also alone as
 * key=value text and as JSON, for the types that options are made of. What
 * ends the process there (help) jumps back here.
 */
#include "qemu/osdep.h"

#include <setjmp.h>

#include "cmdline/cmdline.h"
#include "fuzz.h"
#include "qapi/keyval.h"
#include "qapi/qapi-types-machine.h"
#include "qapi/qapi-types-migration.h"
#include "qapi/qapi-types-qom.h"
#include "qemu/error.h"

/* What a jump out of `help` leaves behind is no leak. */
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));

static jmp_buf ended;
static bool is_parsing;

void __real_exit(int status) G_GNUC_NORETURN;
void __wrap_exit(int status) G_GNUC_NORETURN;

void __wrap_exit(int status)
{
    if (is_parsing) {
        is_parsing = false;
        longjmp(ended, 1);
    }
    __real_exit(status);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    error_init("fuzz");
    return 0;
}

static void parse_types(json_object *v, bool keyval)
{
    if (keyval) {
        qapi_free_MigrationChannel(
            qapi_MigrationChannel_from_keyval(v, NULL, NULL));
        qapi_free_ObjectOptions(qapi_ObjectOptions_from_keyval(v, NULL, NULL));
    } else {
        qapi_free_MigrationChannel(
            qapi_MigrationChannel_from_json(v, NULL, NULL));
        qapi_free_ObjectOptions(qapi_ObjectOptions_from_json(v, NULL, NULL));
    }
}

static void parse_word(const char *word)
{
    g_autoptr(json_object) v = NULL, again = json_object_new_object();
    bool help;

    if (*word == '{') {
        v = qobject_from_json(word, NULL);
        if (v) {
            parse_types(v, false);
        }
        return;
    }
    v = keyval_parse(word, "type", &help, NULL);
    if (v) {
        parse_types(v, true);
        keyval_merge(again, v, NULL);
        keyval_parse_into(again, word, NULL, &help, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    g_auto(GStrv) words = g_strsplit(text, "\n", -1);

    for (char **w = words; *w; w++) {
        parse_word(*w);
    }
    if (__lsan_disable) {
        __lsan_disable();
    }
    is_parsing = true;
    if (*words && !setjmp(ended)) {
        options_free(options_parse((int)g_strv_length(words), words, NULL));
    }
    is_parsing = false;
    if (__lsan_enable) {
        __lsan_enable();
    }
    return 0;
}
