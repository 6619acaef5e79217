/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "cmd/tui-curses.h"

#include "process/library.h"

#ifdef DT_STATIC
/* as in struct dt_curses; <term.h> would declare them, and make macros of words */
int setupterm(const char *name, int fd, int *rc);
struct term *set_curterm(struct term *to);
int del_curterm(struct term *what);
#endif

struct dt_curses dt_curses;

int dt_curses_load(struct dt_error *e)
{
	static const struct dt_library_symbol symbol[] = {
#define X(name) DT_LIBRARY_SYMBOL(dt_curses, name, name),
		DT_CURSES(X)
#undef X
			DT_LIBRARY_SYMBOL(dt_curses, setupterm, setupterm),
		DT_LIBRARY_SYMBOL(dt_curses, set_curterm, set_curterm),
		DT_LIBRARY_SYMBOL(dt_curses, del_curterm, del_curterm),
		DT_LIBRARY_SYMBOL(dt_curses, stdscr, stdscr),
	};

	return dt_library_load(&(struct dt_library){.file = DT_CURSES_SONAME,
						    .package = "libncursesw6",
						    .what = "the screen can not be drawn",
						    .symbol = symbol,
						    .symbols = sizeof(symbol) / sizeof(*symbol),
						    .table = &dt_curses,
						    .size = sizeof(dt_curses)},
			       e);
}
