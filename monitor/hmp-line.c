/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line editor: see hmp-line.h. */
#include "qemu/osdep.h"

#include "hmp-line.h"

#define LINE_MAX_BYTES 4095
#define HISTORY_MAX    64
#define SCREEN_COLUMNS 80 /* the peer may be no terminal of ours: be modest */
#define CTRL(c)        ((c)&0x1f)

typedef enum EscapeState {
    ESCAPE_NONE,
    ESCAPE_BEGUN, /* ESC */
    ESCAPE_CSI,   /* ESC [ or ESC O */
} EscapeState;

struct HmpLine {
    const HmpLineOps *ops;
    void *opaque;
    char *prompt;
    GString *text;
    gsize cursor;
    EscapeState escape;
    int escape_number;
    bool last_was_cr;
    GPtrArray *history; /* oldest first */
    guint history_at;   /* == history->len: the new line */
};

HmpLine *hmp_line_new(const char *prompt, const HmpLineOps *ops, void *opaque)
{
    HmpLine *l = g_new0(HmpLine, 1);

    l->ops = ops;
    l->opaque = opaque;
    l->prompt = g_strdup(prompt);
    l->text = g_string_new(NULL);
    l->history = g_ptr_array_new_with_free_func(g_free);
    return l;
}

void hmp_line_free(HmpLine *l)
{
    if (l) {
        g_ptr_array_unref(l->history);
        g_string_free(l->text, TRUE);
        g_free(l->prompt);
        g_free(l);
    }
}

static void echo(HmpLine *l, const char *text)
{
    l->ops->echo(l->opaque, text);
}

static void echo_left(HmpLine *l, gsize columns)
{
    if (columns) {
        g_autofree char *seq = g_strdup_printf("\033[%zuD", columns);

        echo(l, seq);
    }
}

/* Rewrite from the cursor on, which stays where it is. */
static void redraw_tail(HmpLine *l)
{
    echo(l, l->text->str + l->cursor);
    echo(l, "\033[K");
    echo_left(l, l->text->len - l->cursor);
}

void hmp_line_show(HmpLine *l)
{
    echo(l, l->prompt);
    echo(l, l->text->str);
    echo_left(l, l->text->len - l->cursor);
}

void hmp_line_restart(HmpLine *l)
{
    g_string_truncate(l->text, 0);
    l->cursor = 0;
    l->escape = ESCAPE_NONE;
    l->history_at = l->history->len;
}

static void move_to(HmpLine *l, gsize to)
{
    if (to < l->cursor) {
        echo_left(l, l->cursor - to);
    } else if (to > l->cursor) {
        g_autofree char *seq = g_strdup_printf("\033[%zuC", to - l->cursor);

        echo(l, seq);
    }
    l->cursor = to;
}

static void erase(HmpLine *l, gsize from, gsize to)
{
    move_to(l, from);
    g_string_erase(l->text, from, to - from);
    redraw_tail(l);
}

static void insert(HmpLine *l, const char *text)
{
    gsize len = MIN(strlen(text), LINE_MAX_BYTES - l->text->len);

    g_string_insert_len(l->text, l->cursor, text, len);
    l->cursor += len;
    if (l->cursor == l->text->len) {
        echo(l, l->text->str + l->cursor - len);
    } else {
        echo_left(l, 0);
        l->cursor -= len;
        redraw_tail(l);
        move_to(l, l->cursor + len);
    }
}

static void set_text(HmpLine *l, const char *text)
{
    erase(l, 0, l->text->len);
    insert(l, text);
}

static void history_go(HmpLine *l, int step)
{
    if ((step < 0 && l->history_at == 0) ||
        (step > 0 && l->history_at >= l->history->len)) {
        return;
    }
    l->history_at += step;
    set_text(l, l->history_at < l->history->len
                    ? g_ptr_array_index(l->history, l->history_at)
                    : "");
}

static void history_add(HmpLine *l, const char *line)
{
    if (*line &&
        (!l->history->len ||
         !g_str_equal(g_ptr_array_index(l->history, l->history->len - 1),
                      line))) {
        if (l->history->len == HISTORY_MAX) {
            g_ptr_array_remove_index(l->history, 0);
        }
        g_ptr_array_add(l->history, g_strdup(line));
    }
}

static void enter(HmpLine *l)
{
    g_autofree char *line = g_strdup(l->text->str);

    echo(l, "\n");
    history_add(l, line);
    hmp_line_restart(l);
    l->ops->enter(l->opaque, line);
}

/* @list in columns, sorted downwards. */
static void show_columns(HmpLine *l, const char *list)
{
    g_auto(GStrv) names = g_strsplit(list, " ", -1);
    unsigned n = g_strv_length(names), width = 0, columns, rows;
    g_autoptr(GString) text = g_string_new("\n");

    for (unsigned i = 0; i < n; i++) {
        width = MAX(width, (unsigned)strlen(names[i]) + 2);
    }
    columns = MAX(SCREEN_COLUMNS / width, 1u);
    rows = DIV_ROUND_UP(n, columns);
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned i = row; i < n; i += rows) {
            bool last = i + rows >= n;

            g_string_append_printf(text, "%-*s%s", last ? 0 : (int)width,
                                   names[i], last ? "\n" : "");
        }
    }
    echo(l, text->str);
}

static void complete(HmpLine *l)
{
    g_autofree char *before = g_strndup(l->text->str, l->cursor);
    g_autofree char *common = NULL;
    g_autofree char *list = l->ops->complete(before, &common);
    const char *typed = strrchr(before, ' ');

    if (!list) {
        return;
    }
    typed = typed ? typed + 1 : before;
    if (strlen(common) > strlen(typed)) {
        insert(l, common + strlen(typed));
    }
    if (!strchr(list, ' ')) {
        if (!strchr("/,:=", list[strlen(list) - 1])) {
            insert(l, " ");
        }
    } else if (strlen(common) <= strlen(typed)) {
        show_columns(l, list);
        hmp_line_show(l);
    }
}

static gsize word_start(const HmpLine *l)
{
    gsize i = l->cursor;

    while (i > 0 && l->text->str[i - 1] == ' ') {
        i--;
    }
    while (i > 0 && l->text->str[i - 1] != ' ') {
        i--;
    }
    return i;
}

static void delete_at(HmpLine *l, gsize at)
{
    if (at < l->text->len) {
        erase(l, at, at + 1);
    }
}

static void escape_done(HmpLine *l, uint8_t ch)
{
    switch (ch) {
    case 'A':
        history_go(l, -1);
        break;
    case 'B':
        history_go(l, 1);
        break;
    case 'C':
        move_to(l, MIN(l->cursor + 1, l->text->len));
        break;
    case 'D':
        move_to(l, l->cursor ? l->cursor - 1 : 0);
        break;
    case 'H':
        move_to(l, 0);
        break;
    case 'F':
        move_to(l, l->text->len);
        break;
    case '~':
        if (l->escape_number == 1) {
            move_to(l, 0);
        } else if (l->escape_number == 3) {
            delete_at(l, l->cursor);
        } else if (l->escape_number == 4) {
            move_to(l, l->text->len);
        }
        break;
    default:
        break;
    }
}

/* Returns true if @ch was part of an escape sequence. */
static bool escape_key(HmpLine *l, uint8_t ch)
{
    switch (l->escape) {
    case ESCAPE_NONE:
        if (ch != 27) {
            return false;
        }
        l->escape = ESCAPE_BEGUN;
        return true;
    case ESCAPE_BEGUN:
        l->escape = ch == '[' || ch == 'O' ? ESCAPE_CSI : ESCAPE_NONE;
        l->escape_number = 0;
        return true;
    case ESCAPE_CSI:
        if (g_ascii_isdigit(ch)) {
            l->escape_number = (l->escape_number * 10 + ch - '0') % 1000;
        } else if (ch != ';') {
            l->escape = ESCAPE_NONE;
            escape_done(l, ch);
        }
        return true;
    }
    return false;
}

static void control_key(HmpLine *l, uint8_t ch)
{
    switch (ch) {
    case CTRL('A'):
        move_to(l, 0);
        break;
    case CTRL('B'):
        move_to(l, l->cursor ? l->cursor - 1 : 0);
        break;
    case CTRL('C'):
        echo(l, "\n");
        hmp_line_restart(l);
        hmp_line_show(l);
        break;
    case CTRL('D'):
        delete_at(l, l->cursor);
        break;
    case CTRL('E'):
        move_to(l, l->text->len);
        break;
    case CTRL('F'):
        move_to(l, MIN(l->cursor + 1, l->text->len));
        break;
    case CTRL('K'):
        erase(l, l->cursor, l->text->len);
        break;
    case CTRL('L'):
        echo(l, "\033[H\033[2J");
        hmp_line_show(l);
        break;
    case CTRL('N'):
        history_go(l, 1);
        break;
    case CTRL('P'):
        history_go(l, -1);
        break;
    case CTRL('U'):
        erase(l, 0, l->cursor);
        break;
    case CTRL('W'):
        erase(l, word_start(l), l->cursor);
        break;
    case '\t':
        complete(l);
        break;
    case '\b':
    case 127:
        if (l->cursor) {
            delete_at(l, l->cursor - 1);
        }
        break;
    default:
        break;
    }
}

void hmp_line_key(HmpLine *l, uint8_t ch)
{
    bool after_cr = l->last_was_cr;

    l->last_was_cr = ch == '\r';
    if (escape_key(l, ch)) {
        return;
    }
    if (ch == '\r' || (ch == '\n' && !after_cr)) {
        enter(l);
    } else if (ch >= 32 && ch != 127) {
        char text[2] = { ch, '\0' };

        insert(l, text);
    } else if (ch != '\n') {
        control_key(l, ch);
    }
}
