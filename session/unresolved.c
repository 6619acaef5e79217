/* SPDX-License-Identifier: MIT */
#include "session/unresolved.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "elf/ifunc.h"
#include "symbols/pattern.h"
#include "symbols/symtab.h"

static const char suffix[] = ".resolver";

/* Tells whether a function has that name, or one of its further names is that. */
static bool is_known(const struct dt_symtab *t, const char *name)
{
	struct dt_selection one = {0};
	bool *chosen, known = true;
	size_t n;

	dt_symtab_functions(t, &n);
	chosen = calloc(n + 1, sizeof(*chosen));
	if (chosen && !strpbrk(name, "*?[:' \n") && dt_selection_add(&one, name, false, NULL) == 0)
		known = dt_selection_symtab(&one, "", t, chosen) != 0;
	dt_selection_clear(&one);
	free(chosen);
	return known;
}

void dt_unresolved_each(const struct dt_symtab *t, void (*fn)(void *ctx, const char *name),
			void *ctx)
{
	size_t n;
	const struct dt_function *f = dt_symtab_functions(t, &n);

	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(f[i].name);
		char name[256];

		if (length < sizeof(suffix) || length >= sizeof(name) ||
		    strcmp(f[i].name + length - (sizeof(suffix) - 1), suffix) != 0)
			continue;
		dt_format(name, sizeof(name), "%.*s", (int)(length - (sizeof(suffix) - 1)),
			  f[i].name);
		if (!dt_ifunc_is_left(name))
			fn(ctx, name);
	}
}

struct wanted {
	const char *name;
	bool found;
};

static void compare(void *ctx, const char *name)
{
	struct wanted *w = ctx;

	w->found = w->found || strcmp(name, w->name) == 0;
}

bool dt_unresolved(const struct dt_symtab *t, const char *name)
{
	struct wanted w = {.name = name};

	dt_unresolved_each(t, compare, &w);
	return w.found && !is_known(t, name);
}

void dt_unresolved_say(const struct dt_say *say, const char *path, const char *name)
{
	dt_say(say,
	       "%s: calls of %s are not recorded: which function it is, is chosen when the program "
	       "begins (IFUNC), and the code that chooses, '%s%s', does not show which there are; "
	       "choose them by their own names ('devtrace list -v %s')",
	       path, name, name, suffix, path);
}
