/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: migration URIs. What is taken has a form that is taken. */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "qapi/json.h"
#include "qapi/qapi-types-migration.h"
#include "transport.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *uri = g_strndup((const char *)data, size);
    g_autoptr(Error) err = NULL;
    g_autoptr(MigrationAddress) addr = migration_uri_parse(uri, &err);

    g_assert_true(!addr == !!err);
    if (addr) {
        g_autofree char *text = migration_address_uri(addr);
        g_autoptr(json_object) v = qapi_MigrationAddress_to_json(addr);
        g_autoptr(MigrationAddress)
            again = qapi_MigrationAddress_from_json(v, NULL, &error_abort);

        g_assert_nonnull(text);
        g_assert_cmpint(again->transport, ==, addr->transport);
    }
    return 0;
}
