/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Line editor: what someone types at an HMP prompt, as it becomes a line.
 *
 * Keys: printable bytes, backspace, ^A ^E ^B ^F and arrows, ^D delete, ^K ^U
 * ^W cut, ^P ^N or arrows for history, ^L redraw, ^C drop, Tab complete,
 * Home, End, Del. It echoes with plain bytes and the few ANSI sequences that
 * every terminal knows. A line is at most 4,095 bytes.
 *
 * Why not readline or libedit: a prompt is a dialogue on any character device
 * (sockets, ptys, a terminal that it shares with a serial port, several at
 * once), whose bytes come from the main loop when they come, and whose prompt
 * goes away while a command suspends it. readline is one line of one terminal
 * per process; libedit reads its descriptor itself, and sets it up as a
 * terminal, which it need not be. What would be left of either is this file.
 *
 * Used by: hmp.c. Uses: glib.
 */
#ifndef MONITOR_HMP_LINE_H
#define MONITOR_HMP_LINE_H

typedef struct HmpLine HmpLine;

typedef struct HmpLineOps {
    void (*echo)(void *opaque, const char *text);
    void (*enter)(void *opaque, const char *line);
    /* As hmp_complete(). */
    char *(*complete)(const char *line, char **common);
} HmpLineOps;

HmpLine *hmp_line_new(const char *prompt, const HmpLineOps *ops, void *opaque);
void hmp_line_free(HmpLine *l);
/* Show the prompt and what is typed so far. */
void hmp_line_show(HmpLine *l);
/* Forget what is typed so far; show nothing. */
void hmp_line_restart(HmpLine *l);
/* May call enter. */
void hmp_line_key(HmpLine *l, uint8_t ch);

#endif /* MONITOR_HMP_LINE_H */
