/* SPDX-License-Identifier: MIT */
/* What the terminal can do, and making it what it was before: without drawing on it. */
#include "cmd/tui-screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/tui-curses.h"

/* Returns a capability of the terminal; NULL: it has none. */
static const char *capability(const char *name)
{
	const char *s = dt_curses.tigetstr(name);

	return s == (const char *)-1 ? NULL : s;
}

const char *dt_screen_prepare(void)
{
	static char why[sizeof(struct dt_error) + 32];
	const char *name = getenv("TERM");
	struct dt_error e;
	int rc;

	if (!name || !*name)
		return "TERM is not set: say which terminal this is";
	if (dt_curses_load(&e) < 0) {
		snprintf(why, sizeof(why), "%s", e.text);
		return why;
	}
	if (dt_curses.setupterm(NULL, STDOUT_FILENO, &rc) == OK && capability("cup") &&
	    capability("clear"))
		return NULL;
	snprintf(why, sizeof(why),
		 "the terminal '%.60s' (TERM) is not known here, or can not move its cursor", name);
	return why;
}

void dt_screen_restore(void)
{
	static const char *const names[] = {"sgr0", "op", "rmkx", "cnorm", "rmcup"};
	int height = dt_curses.tigetnum("lines");

	/* without another screen to leave, what comes next is at the bottom */
	if (!capability("rmcup") && height > 0) {
		dt_curses.putp(dt_curses.tparm(capability("cup"), (long)height - 1, 0l, 0l, 0l, 0l,
					       0l, 0l, 0l, 0l));
		dt_curses.putp("\r\n");
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (capability(names[i]))
			dt_curses.putp(capability(names[i]));
	fflush(stdout);
	dt_screen_forget();
}

void dt_screen_forget(void)
{
	dt_curses.del_curterm(dt_curses.set_curterm(NULL));
}
