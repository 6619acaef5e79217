/* SPDX-License-Identifier: MIT */
/*
 * Choosing functions by shell-style patterns: "tcp_*", "ns::*", "libc.so.6:read", "*:alloc?", and
 * events: "net:send", "net:*", "7:3".
 * What stands before a single ':' is matched against the module's file name, its soname and the
 * names of links to it (also without ".so..."), and against its whole path when it has a '/'. A
 * pattern matches a function by any of its names: demangled, linkage, aliases, each also without
 * template arguments and without a compiler's suffix
 * (".constprop.0", ".cold"), so that "f" means every copy of f.
 */
#ifndef DT_SYMBOLS_PATTERN_H
#define DT_SYMBOLS_PATTERN_H

#include "core/error.h"
#include "symbols/symtab.h"

struct dt_pattern {
	char *text;   /* as given */
	char *module; /* NULL: any */
	char *name;
	bool remove;
	bool told;     /* it has been said that it matches nothing, and never will */
	uint64_t hits; /* functions it has matched so far */
};

/* Patterns as they are given; zero-initialised: none, which means every function. */
struct dt_selection {
	struct dt_pattern *pattern;
	size_t n;
};

/* Appends a pattern that adds functions, or removes them. -1 and an error for an empty one. */
int dt_selection_add(struct dt_selection *s, const char *text, bool remove, struct dt_error *e);
void dt_selection_clear(struct dt_selection *s);

/*
 * Is a function with these names, in this module (path or name), chosen? In whatever order
 * the patterns were given: core/choice.h.
 */
bool dt_selection_match(struct dt_selection *s, const char *module, const char *const *names,
			size_t n);

/* What no pattern matches: is it chosen? */
bool dt_selection_rest(const struct dt_selection *s);

/*
 * The same for a USDT probe, which only a pattern with its provider for a module means; by_name:
 * and more of its name than stars.
 */
bool dt_selection_usdt(struct dt_selection *s, const char *provider, const char *name,
		       bool by_name);

/*
 * The same for an event: its subsystem stands for the module. Each is known by its name, and by its
 * number.
 */
bool dt_selection_event(struct dt_selection *s, const char *const subsystem[2],
			const char *const event[2]);

/*
 * Is it the name of start-up code that the compiler puts into every program and library (_start,
 * frame_dummy ...)? It is chosen by its exact name only: nobody asks what it does, and its probes
 * would take the room of those of functions that matter.
 */
bool dt_name_is_startup(const char *name);

/*
 * Does the table have start-up code of a compiler? Else what is called _start there is somebody's
 * own.
 */
bool dt_symtab_has_startup(const struct dt_symtab *t);

/*
 * The same for every function of a symbol table with its aliases: chosen[i] belongs to the i-th of
 * dt_symtab_functions(). Start-up code is not, but by its exact name. Returns how many are chosen,
 * -1 when out of memory.
 */
int64_t dt_selection_symtab(struct dt_selection *s, const char *module, const struct dt_symtab *t,
			    bool *chosen);

/*
 * May the pattern match anything in this module? For leaving modules unread. Here and above: by
 * what it is called, its path, and behind a newline each its soname and other names.
 */
bool dt_pattern_module(const struct dt_pattern *p, const char *module);

/* Does it match this name, whatever the module? */
bool dt_pattern_name(const struct dt_pattern *p, const char *name);

/* Suggestions for a pattern that matched nothing: offer every name, then read the best ones. */
#define DT_NEAR 3

struct dt_near {
	char want[128];
	char name[DT_NEAR][256]; /* best first */
	unsigned cost[DT_NEAR];
	size_t n;
};

void dt_near_start(struct dt_near *near, const char *pattern);
void dt_near_offer(struct dt_near *near, const char *name);
void dt_near_symtab(struct dt_near *near, const struct dt_symtab *t);

/* As the end of a message: "; near names: a, b"; "" when there are none. */
#define DT_NEAR_TEXT (DT_NEAR * 258 + 16)
void dt_near_text(const struct dt_near *near, char text[DT_NEAR_TEXT]);

#endif
