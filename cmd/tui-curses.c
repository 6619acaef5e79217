/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "cmd/tui-curses.h"

#include <dlfcn.h>
#include <stddef.h>

struct dt_curses dt_curses;

int dt_curses_load(struct dt_error *e)
{
	static const struct {
		const char *name;
		size_t offset;
	} symbol[] = {
#define X(name) {#name, offsetof(struct dt_curses, name)},
		DT_CURSES(X)
#undef X
			{"setupterm", offsetof(struct dt_curses, setupterm)},
		{"set_curterm", offsetof(struct dt_curses, set_curterm)},
		{"del_curterm", offsetof(struct dt_curses, del_curterm)},
		{"stdscr", offsetof(struct dt_curses, stdscr)},
	};
	void *library;

	if (dt_curses.newterm)
		return 0;
	/* the name by which a linked program would load it; the Makefile reads it from the
	 * library */
	library = dlopen(DT_CURSES_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return dt_fail(e, "%s; it is in Debian's libncursesw6", dlerror());
	for (size_t i = 0; i < sizeof(symbol) / sizeof(*symbol); i++) {
		void *s = dlsym(library, symbol[i].name);

		if (!s) {
			dt_fail(e, "%s", dlerror());
			dt_curses = (struct dt_curses){.newterm = NULL};
			dlclose(library);
			return -1;
		}
		*(void **)((char *)&dt_curses + symbol[i].offset) = s;
	}
	return 0;
}
