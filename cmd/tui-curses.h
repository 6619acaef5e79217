/* SPDX-License-Identifier: MIT */
/*
 * libncursesw, loaded only by devtrace tui: linked, it took half a millisecond of the start of
 * every other command (doc/dev/decisions.md).
 */
#ifndef DT_CMD_TUI_CURSES_H
#define DT_CMD_TUI_CURSES_H

#define NCURSES_WIDECHAR 1
#define NCURSES_NOMACROS 1
#include <curses.h>

#include "core/error.h"

/* The functions that are used, by their names. */
#define DT_CURSES(X)                                                                               \
	X(newterm)                                                                                 \
	X(delscreen)                                                                               \
	X(raw)                                                                                     \
	X(noecho)                                                                                  \
	X(nonl)                                                                                    \
	X(keypad)                                                                                  \
	X(nodelay)                                                                                 \
	X(set_escdelay)                                                                            \
	X(curs_set)                                                                                \
	X(has_colors)                                                                              \
	X(start_color)                                                                             \
	X(use_default_colors)                                                                      \
	X(init_pair)                                                                               \
	X(COLOR_PAIR)                                                                              \
	X(refresh)                                                                                 \
	X(erase)                                                                                   \
	X(attrset)                                                                                 \
	X(mvaddnwstr)                                                                              \
	X(get_wch)                                                                                 \
	X(getmaxx)                                                                                 \
	X(getmaxy)                                                                                 \
	X(tigetstr)                                                                                \
	X(tigetnum)                                                                                \
	X(tparm)                                                                                   \
	X(putp)

struct dt_curses {
#define X(name) __typeof__(name) *name;
	DT_CURSES(X)
#undef X
	/* <term.h> declares these, but also makes macros of words like lines and columns */
	int (*setupterm)(const char *name, int fd, int *rc);
	struct term *(*set_curterm)(struct term *to);
	int (*del_curterm)(struct term *what);
	WINDOW **stdscr;
};

extern struct dt_curses dt_curses;

/* Loads the library; -1: it is not there, or not as it should be. */
int dt_curses_load(struct dt_error *e);

#endif
