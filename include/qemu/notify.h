/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notifier: a list of functions to call when something happens.
 *
 * Notifiers are called in the order they were added. A notifier may remove
 * itself, and add others (called in the same round), while it is called.
 *
 * Threads: a list belongs to its owner's lock (the BQL unless the owner says
 * otherwise); there is none inside.
 *
 * Used by: all. Uses: nothing.
 */
#ifndef QEMU_NOTIFY_H
#define QEMU_NOTIFY_H

struct Notifier {
    void (*notify)(Notifier *notifier, void *data);
    /* The list's; zero while the notifier is on none. */
    Notifier *next, *prev;
};

typedef struct NotifierList {
    Notifier *first, *last;
} NotifierList;

#define NOTIFIER_LIST_INITIALIZER(head) \
    {                                   \
        NULL, NULL                      \
    }

void notifier_list_init(NotifierList *list);
/* @notifier must not be on a list already, and must stay until removed. */
void notifier_list_add(NotifierList *list, Notifier *notifier);
void notifier_list_remove(NotifierList *list, Notifier *notifier);
void notifier_list_notify(NotifierList *list, void *data);
bool notifier_list_empty(const NotifierList *list);

#endif /* QEMU_NOTIFY_H */
