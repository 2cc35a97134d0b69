/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: what a QMP client writes, up to the commands themselves. Those
 * that reach out of the process (files, peers, its end) are not executed, but
 * their arguments go through the parser of a command that takes nothing.
 */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "qapi/json.h"
#include "qapi/qapi-types-migration.h"
#include "qapi/qapi-types-qom.h"
#include "qemu/main-loop.h"
#include "qmp-dispatch.h"

static const char *const not_executed[] = {
    "quit",
    "chardev-add",
    "dumpdtb",
    "getfd",
    "closefd",
    "add-fd",
    "remove-fd",
    "human-monitor-command",
    "memsave",
    "pmemsave",
    "object-add",
    "ringbuf-read",
    "migrate",
    "chardev-remove",
    "cont",
    "calc-dirty-rate",
    "object-del",
    "ringbuf-write",
    "migrate-incoming",
    "system_wakeup",
};

static bool may_run(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(not_executed); i++) {
        if (g_str_equal(name, not_executed[i])) {
            return false;
        }
    }
    return true;
}

/* The types of the largest inputs among those that are not executed. */
static void only_parse(json_object *request)
{
    json_object *args = NULL;

    if (json_object_object_get_ex(request, "arguments", &args)) {
        json_object *list;

        qapi_free_ObjectOptions(qapi_ObjectOptions_from_json(args, "", NULL));
        if (json_object_is_type(args, json_type_object) &&
            json_object_object_get_ex(args, "channels", &list)) {
            qapi_free_MigrationChannelList(
                qapi_MigrationChannelList_from_json(list, "channels", NULL));
        }
    }
}

static void emit(void *opaque, json_object *v, Error *err)
{
    const char *name = v ? qmp_command_name(v) : NULL;
    json_object *reply;
    g_autofree char *text = NULL;

    if (err) {
        reply = qmp_error_reply(err, NULL);
    } else if (name && !may_run(name)) {
        only_parse(v);
        json_object_put(v);
        return;
    } else {
        reply = qmp_dispatch(v, true, true);
    }
    g_assert_nonnull(reply);
    text = qobject_to_json(reply);
    g_assert_nonnull(text);
    json_object_put(reply);
    json_object_put(v);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_machine_start("-M virt -accel qtest -m 2M -nodefaults -S");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    JSONMessageParser *parser = json_message_parser_new(emit, NULL);
    size_t half = size / 2;

    json_message_parser_feed(parser, (const char *)data, half);
    json_message_parser_feed(parser, (const char *)data + half, size - half);
    json_message_parser_flush(parser);
    json_message_parser_free(parser);
    while (g_main_context_iteration(NULL, false)) {
    }
    return 0;
}
