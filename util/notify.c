/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notifier lists: see include/qemu/notify.h. */
#include "qemu/osdep.h"

#include "qemu/notify.h"

void notifier_list_init(NotifierList *list)
{
    *list = (NotifierList){ NULL, NULL };
}

void notifier_list_add(NotifierList *list, Notifier *notifier)
{
    notifier->next = NULL;
    notifier->prev = list->last;
    if (list->last) {
        list->last->next = notifier;
    } else {
        list->first = notifier;
    }
    list->last = notifier;
}

void notifier_list_remove(NotifierList *list, Notifier *notifier)
{
    if (notifier->prev) {
        notifier->prev->next = notifier->next;
    } else {
        assert(list->first == notifier);
        list->first = notifier->next;
    }
    if (notifier->next) {
        notifier->next->prev = notifier->prev;
    } else {
        assert(list->last == notifier);
        list->last = notifier->prev;
    }
    notifier->next = notifier->prev = NULL;
}

void notifier_list_notify(NotifierList *list, void *data)
{
    Notifier *it = list->first, *next;

    while (it) {
        /*
         * Read the successor before the call (it may remove itself), but
         * again after it if there was none (it may have added one).
         */
        next = it->next;
        it->notify(it, data);
        it = next ? next : (it == list->last ? NULL : it->next);
    }
}

bool notifier_list_empty(const NotifierList *list)
{
    return !list->first;
}
