/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * No twin on arm64 yet: its GIC is made by the board (kvm_arm_gic_realize()),
 * which a second VM has none of. A kernel VM keeps its kind of log here.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "kvm-arch.h"

bool kvm_arch_can_move(KvmVm *vm, Error **errp)
{
    error_setg(errp, "a running guest does not change between rings and a "
                     "bitmap on this architecture");
    return false;
}

/* Never called: the question above comes first. */
KvmArchMove *kvm_arch_move_prepare(KvmVm *from, KvmVm *to, Error **errp)
{
    g_assert_not_reached();
}

bool kvm_arch_move_save(KvmArchMove *m, Error **errp)
{
    g_assert_not_reached();
}

bool kvm_arch_move_load(KvmArchMove *m, Error **errp)
{
    g_assert_not_reached();
}

void kvm_arch_move_undo(KvmArchMove *m, void (*mark)(KvmVm *vm, hwaddr addr))
{
    g_assert_not_reached();
}

void kvm_arch_move_free(KvmArchMove *m)
{
    g_assert_not_reached();
}

unsigned kvm_arch_move_flushes(const KvmArchMove *m)
{
    g_assert_not_reached();
}
