/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notifier lists: see include/qemu/notify.h. */
#include "qemu/osdep.h"

#include "qemu/notify.h"

typedef struct Note {
    Notifier notifier;
    char letter;
    NotifierList *remove_from, *add_to;
    Notifier *add;
} Note;

static void note_called(Notifier *notifier, void *data)
{
    Note *note = container_of(notifier, Note, notifier);

    g_string_append_c(data, note->letter);
    if (note->remove_from) {
        notifier_list_remove(note->remove_from, notifier);
        note->remove_from = NULL;
    }
    if (note->add) {
        notifier_list_add(note->add_to, note->add);
        note->add = NULL;
    }
}

static void check(NotifierList *list, const char *expected)
{
    g_autoptr(GString) s = g_string_new(NULL);

    notifier_list_notify(list, s);
    g_assert_cmpstr(s->str, ==, expected);
}

static void test_order(void)
{
    NotifierList list = NOTIFIER_LIST_INITIALIZER(list);
    Note a = { { note_called }, 'a' }, b = { { note_called }, 'b' };

    g_assert_true(notifier_list_empty(&list));
    check(&list, "");
    notifier_list_add(&list, &a.notifier);
    notifier_list_add(&list, &b.notifier);
    check(&list, "ab");
    notifier_list_remove(&list, &a.notifier);
    check(&list, "b");
    notifier_list_add(&list, &a.notifier);
    check(&list, "ba");
}

static void test_changes_while_called(void)
{
    NotifierList list;
    Note a = { { note_called }, 'a' }, b = { { note_called }, 'b' };
    Note c = { { note_called }, 'c' };

    notifier_list_init(&list);
    notifier_list_add(&list, &a.notifier);
    notifier_list_add(&list, &b.notifier);
    a.remove_from = &list;
    b.add_to = &list;
    b.add = &c.notifier;
    check(&list, "abc");
    check(&list, "bc");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/notify/in-order-of-adding", test_order);
    g_test_add_func("/notify/list-changes-while-called",
                    test_changes_while_called);
    return g_test_run();
}
