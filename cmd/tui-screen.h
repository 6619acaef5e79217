/* SPDX-License-Identifier: MIT */
/* The screen and the keys of devtrace tui: all that is done with curses. */
#ifndef DT_CMD_TUI_SCREEN_H
#define DT_CMD_TUI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* Keys that are no characters; characters are their code points. */
enum dt_screen_key {
	DT_KEY_NONE = -1,     /* none came in time */
	DT_KEY_GONE = -2,     /* the terminal is gone */
	DT_KEY_UP = 0x200000, /* above all code points */
	DT_KEY_DOWN,
	DT_KEY_LEFT,
	DT_KEY_RIGHT,
	DT_KEY_PAGE_UP,
	DT_KEY_PAGE_DOWN,
	DT_KEY_HOME,
	DT_KEY_END,
	DT_KEY_ENTER,
	DT_KEY_BACKSPACE,
	DT_KEY_BACK_TAB,
	DT_KEY_RESIZED,
	DT_KEY_OTHER, /* one that means nothing here */
};

#define DT_KEY_ESCAPE	 27
#define DT_KEY_INTERRUPT 3 /* Ctrl-C, which is a key like others */

/* How text looks, as bits. */
enum dt_screen_style {
	DT_STYLE_PLAIN = 0,
	DT_STYLE_BOLD = 1,
	DT_STYLE_REVERSE = 2,
	DT_STYLE_DIM = 4,
	DT_STYLE_WARN = 8, /* what one must not overlook */
};

/* Looks whether the terminal can do what is needed, for dt_screen_restore() too. Returns NULL, or
 * what is wrong. */
const char *dt_screen_prepare(void);
/* Makes the terminal show what it showed before dt_screen_begin(), in a process that has called
 * dt_screen_prepare(); its modes (termios) are left to the caller. */
void dt_screen_restore(void);
/* Frees what dt_screen_prepare() keeps. */
void dt_screen_forget(void);

/*
 * Begins to draw on the terminal; the process must not be confined yet. What the terminal was like
 * before is restored by another process (cmd/tui.c), which knows what curses has changed. False:
 * the terminal can not do what is needed.
 */
bool dt_screen_begin(void);
/* Frees what dt_screen_begin() has made; the terminal stays as it is. */
void dt_screen_end(void);

/* Gives the size in characters. */
void dt_screen_size(int *rows, int *columns);

/* Begins an empty picture, which dt_screen_show() puts on the screen. */
void dt_screen_clear(void);
/*
 * Puts text, in UTF-8, at a place, filled up with blanks to `width' columns. Text that is longer is
 * cut, and ends with '>'. What could control the terminal is shown as in C; what the terminal can
 * not show becomes '?'.
 */
void dt_screen_put(int row, int column, int width, const char *text, unsigned style);
void dt_screen_show(void);

/* Waits up to so many milliseconds (-1: for ever) for a key. */
int dt_screen_key(int milliseconds);

/* Appends a character, a code point, to UTF-8 text with room for `size' bytes, if it fits. */
void dt_screen_append(char *text, size_t size, int character);

#endif
