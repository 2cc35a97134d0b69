/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migrations from within: see migration-harness.h. */
#include "qemu/osdep.h"

#include "migration-harness.h"
#include "migration/migration.h"
#include "qapi/qapi-commands-migration.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "state.h"
#include "system/dirty-memory.h"
#include "system/machine-info.h"
#include "system/ram-block.h"
#include "system/runstate.h"

/* ------------------------------------------------ the transport's twin */

struct MigrationConnect {
    MigrationConnectFunc func;
    void *opaque;
    bool cancelled;
};

struct FakeTransport fake;

static void hand_out(void *opaque)
{
    MigrationConnect *c = opaque;
    Error *err = NULL;

    fake.pending = NULL;
    if (!c->cancelled) {
        if (!fake.channel) {
            error_setg(&err, "nobody listens there");
        }
        c->func(fake.channel ? qio_channel_ref(fake.channel) : NULL, err,
                c->opaque);
    }
    g_free(c);
}

MigrationConnect *migration_transport_connect(const MigrationAddress *addr,
                                              MigrationConnectFunc func,
                                              void *opaque, Error **errp)
{
    MigrationConnect *c = g_new0(MigrationConnect, 1);

    c->func = func;
    c->opaque = opaque;
    fake.pending = c;
    if (!fake.never) {
        aio_bh_schedule_oneshot(hand_out, c);
    }
    return c;
}

void migration_connect_cancel(MigrationConnect *connect)
{
    connect->cancelled = true;
    if (fake.never) {
        g_free(connect);
        fake.pending = NULL;
    }
}

MigrationAddress *migration_uri_parse(const char *uri, Error **errp)
{
    return g_new0(MigrationAddress, 1);
}

MigrationAddress *migration_channels_parse(const char *uri, bool has_channels,
                                           const MigrationChannelList *channels,
                                           Error **errp)
{
    MigrationAddress *addr = g_new0(MigrationAddress, 1);

    addr->transport = MIGRATION_ADDRESS_TYPE_FILE;
    return addr;
}

MigrationListener *migration_transport_listen(const MigrationAddress *addr,
                                              unsigned max_channels,
                                              MigrationIncomingFunc func,
                                              void *opaque, Error **errp)
{
    error_setg(errp, "not in this test");
    return NULL;
}

SocketAddressList *migration_listener_addresses(MigrationListener *listener)
{
    return NULL;
}

void migration_listener_free(MigrationListener *listener)
{
}

/* ------------------------------------------------------------ set-up */

struct HarnessRam t;

void TSA_ACQUIRE(bql) set_up(void)
{
    SystemMachineInfo *machine = machine_info_for_update();

    qom_register_types();
    migration_register_types();
    main_loop_init();
    timers_init();
    runstate_init();
    machine->name = "none";
    machine->target_name = "test";
    machine->target_page_bits = machine->target_page_bits_min = 12;
    t.rb = qemu_ram_alloc(RAM_BYTES, 0, NULL, &error_abort);
    qemu_ram_set_idstr(t.rb, "ram", &error_abort);
    qemu_ram_set_migratable(t.rb, true);
    t.host = qemu_ram_get_host_addr(t.rb);
    for (size_t i = 0; i < RAM_BYTES; i += 4096) {
        t.host[i] = i / 4096 % 4;
    }
    migration_init(&error_abort);
    vm_start();
}

void go(void)
{
    Error *err = NULL;

    qmp_migrate("file:x", false, NULL, false, false, &err);
    if (err) {
        g_error("%s", error_get_pretty(err));
    }
}

MigrationStatus status_now(void)
{
    g_autoptr(MigrationInfo) info = qmp_query_migrate(&error_abort);

    return info->status;
}

MigrationStatus TSA_REQUIRES(bql) run_until(MigrationStatus want)
{
    int64_t end_ns = get_clock() + INT64_C(100000000000);

    while (status_now() != want && !migration_status_is_end(status_now())) {
        g_assert_cmpint(get_clock(), <, end_ns);
        main_loop_iterate(false);
        bql_unlock();
        g_usleep(100);
        bql_lock();
    }
    return status_now();
}

MigrationStatus TSA_REQUIRES(bql) run_to_end(void)
{
    return run_until(MIGRATION_STATUS_COMPLETED);
}

void revive(void)
{
    g_assert_true(runstate_check(RUN_STATE_POSTMIGRATE));
    vm_start();
}

void guest_writes_all(void)
{
    ram_block_set_dirty(t.rb, 0, RAM_BYTES, 1u << DIRTY_MEMORY_MIGRATION);
}

void set_return_path(bool on)
{
    MigrationCapabilityStatus status = { MIGRATION_CAPABILITY_RETURN_PATH, on };
    MigrationCapabilityStatusList list = { NULL, &status };

    qmp_migrate_set_capabilities(&list, &error_abort);
}

void set_limits(uint64_t bandwidth, uint64_t promised, uint64_t downtime_ms)
{
    MigrationParameters p = {
        .has_max_bandwidth = true,
        .max_bandwidth = bandwidth,
        .has_avail_switchover_bandwidth = true,
        .avail_switchover_bandwidth = promised,
        .has_downtime_limit = true,
        .downtime_limit = downtime_ms,
    };

    qmp_migrate_set_parameters(&p, &error_abort);
}

void target_says(int fd, uint16_t type, uint32_t value)
{
    uint8_t msg[8] = { 0,           type,        0,          4,
                       value >> 24, value >> 16, value >> 8, value };

    g_assert_cmpint(write(fd, msg, sizeof(msg)), ==, sizeof(msg));
}
