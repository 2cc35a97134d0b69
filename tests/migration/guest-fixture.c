/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests of guests have in common: see guest-fixture.h. */
#include "qemu/osdep.h"

#include "guest-fixture.h"

const char *const caps_return_path[] = { "return-path", NULL };

void let_it_go(MigrationPair *p)
{
    migration_set_params(p->src, "'max-bandwidth':0,'downtime-limit':30000");
}

json_object *query_tracking(MigrationPair *p)
{
    return qtest_qmp_ok(p->src, "{'execute':'query-dirty-tracking'}");
}

json_object *tracking_in_pass_3(MigrationPair *p, const char *engine)
{
    json_object *r;

    migration_wait_pass(p->src, 3);
    r = query_tracking(p);
    g_assert_cmpstr(json_path_str(r, "engine"), ==, engine);
    g_assert_cmpstr(json_path_str(r, "users.0"), ==, "migration");
    return r;
}
