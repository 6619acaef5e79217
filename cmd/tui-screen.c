/* SPDX-License-Identifier: MIT */
/* Drawing with curses. */
#include "cmd/tui-screen.h"

#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "cmd/tui-curses.h"
#include "core/plain.h"

#define WIDEST 1000 /* columns that are drawn at most */

static bool utf8, colours;
static SCREEN *screen;

bool dt_screen_begin(void)
{
	const char *plain = getenv("NO_COLOR");

	setlocale(LC_CTYPE, "");
	utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	dt_screen_forget();
	screen = dt_curses.newterm(NULL, stdout, stdin);
	if (!screen)
		return false;
	/* curses would end the process its own way; whoever started it restores the terminal */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGTSTP, SIG_IGN);
	dt_curses.raw();
	dt_curses.noecho();
	dt_curses.nonl();
	dt_curses.keypad(*dt_curses.stdscr, TRUE);
	dt_curses.set_escdelay(50);
	dt_curses.nodelay(*dt_curses.stdscr, TRUE);
	dt_curses.curs_set(0);
	colours = !(plain && *plain) && dt_curses.has_colors() && dt_curses.start_color() == OK &&
		  dt_curses.use_default_colors() == OK &&
		  dt_curses.init_pair(1, COLOR_YELLOW, -1) == OK;
	/* from now on the terminal shows the other screen */
	dt_curses.refresh();
	return true;
}

void dt_screen_end(void)
{
	dt_curses.delscreen(screen);
}

void dt_screen_size(int *rows, int *columns)
{
	*rows = dt_curses.getmaxy(*dt_curses.stdscr);
	*columns = dt_curses.getmaxx(*dt_curses.stdscr);
}

void dt_screen_clear(void)
{
	dt_curses.erase();
}

/* Returns the next character of plain text, and moves *s behind it: one that can be shown. */
static wchar_t next_character(const char **s, int *width)
{
	uint32_t c;
	bool unseen;
	unsigned n = dt_plain_character(*s, strlen(*s), &c, &unseen);

	*s += n ? n : 1;
	*width = 1;
	if (!n || unseen || (c >= 127 && !utf8))
		return L'?';
	if (c < 127)
		return (wchar_t)c;
	*width = wcwidth((wchar_t)c);
	if (*width >= 1)
		return (wchar_t)c;
	*width = 1;
	return L'?';
}

void dt_screen_put(int row, int column, int width, const char *text, unsigned style)
{
	wchar_t line[WIDEST + 1];
	int used = 0, n = 0, rows, columns;
	char *plain = NULL;

	dt_screen_size(&rows, &columns);
	if (column >= columns || row >= rows)
		return;
	width = width > columns - column ? columns - column : width;
	width = width > WIDEST ? WIDEST : width;
	if (!dt_plain_is(text)) {
		size_t length = strlen(text), size = dt_plain(NULL, text, length);

		plain = malloc(size + 1);
		if (plain) {
			dt_plain(plain, text, length);
			plain[size] = '\0';
		}
		text = plain ? plain : "?";
	}
	while (*text && used < width) {
		int w;
		wchar_t c = next_character(&text, &w);

		if (used + w > width || (*text && used + w == width)) {
			line[n++] = L'>';
			used++;
			break;
		}
		line[n++] = c;
		used += w;
	}
	while (used < width) {
		line[n++] = L' ';
		used++;
	}
	free(plain);
	dt_curses.attrset(
		A_NORMAL | (style & DT_STYLE_BOLD ? A_BOLD : 0) |
		(style & DT_STYLE_REVERSE ? A_REVERSE : 0) | (style & DT_STYLE_DIM ? A_DIM : 0) |
		(style & DT_STYLE_WARN ? colours ? (attr_t)dt_curses.COLOR_PAIR(1) : A_BOLD : 0));
	dt_curses.mvaddnwstr(row, column, line, n);
	dt_curses.attrset(A_NORMAL);
}

void dt_screen_show(void)
{
	dt_curses.refresh();
}

static int meaning(wint_t key)
{
	static const struct {
		wint_t key;
		int means;
	} keys[] = {{KEY_UP, DT_KEY_UP},	 {KEY_DOWN, DT_KEY_DOWN},
		    {KEY_LEFT, DT_KEY_LEFT},	 {KEY_RIGHT, DT_KEY_RIGHT},
		    {KEY_PPAGE, DT_KEY_PAGE_UP}, {KEY_NPAGE, DT_KEY_PAGE_DOWN},
		    {KEY_HOME, DT_KEY_HOME},	 {KEY_END, DT_KEY_END},
		    {KEY_ENTER, DT_KEY_ENTER},	 {KEY_BACKSPACE, DT_KEY_BACKSPACE},
		    {KEY_BTAB, DT_KEY_BACK_TAB}, {KEY_RESIZE, DT_KEY_RESIZED}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].key == key)
			return keys[i].means;
	return DT_KEY_OTHER;
}

static int key_now(void)
{
	wint_t c;
	int rc = dt_curses.get_wch(&c);

	if (rc == KEY_CODE_YES)
		return meaning(c);
	if (rc != OK)
		return DT_KEY_NONE;
	if (c == '\r' || c == '\n')
		return DT_KEY_ENTER;
	return c == 127 || c == 8 ? DT_KEY_BACKSPACE : (int)c;
}

int dt_screen_key(int milliseconds)
{
	struct pollfd p = {STDIN_FILENO, POLLIN, 0};
	int key = key_now();

	if (key != DT_KEY_NONE)
		return key;
	if (milliseconds && poll(&p, 1, milliseconds) <= 0)
		return key_now(); /* a change of the size is no input */
	if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
		return DT_KEY_GONE;
	return key_now();
}

void dt_screen_append(char *text, size_t size, int character)
{
	size_t n = strlen(text);
	uint32_t c = (uint32_t)character;

	if (n + 5 > size)
		return;
	if (c < 0x80) {
		text[n++] = (char)c;
	} else if (c < 0x800) {
		text[n++] = (char)(0xc0 | c >> 6);
		text[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		text[n++] = (char)(0xe0 | c >> 12);
		text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		text[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		text[n++] = (char)(0xf0 | c >> 18);
		text[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		text[n++] = (char)(0x80 | (c & 0x3f));
	}
	text[n] = '\0';
}
