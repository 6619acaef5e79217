/* SPDX-License-Identifier: MIT */
/*
 * Chooses functions by shell-style patterns: "tcp_*", "ns::*", "libc.so.6:read", "*:alloc?", and
 * events: "net:send", "net:*", "7:3". The text before a single ':' is matched against the module's
 * file name, its soname and the names of links to it (also without ".so..."), and against its whole
 * path when it has a '/'. A pattern matches a function by any of its names: demangled, linkage,
 * aliases, each also without template arguments and without a compiler's suffix (".constprop.0",
 * ".cold"), so that "f" means every copy of f. Names
 * of C++, and patterns, may have the arguments that names are shown without (shorten.h), or not. A
 * function without a name is matched by its address, "0x61d0", and by each name of its file with
 * the address after it, "ls+0x61d0" (nameless.h).
 */
#ifndef DT_SYMBOLS_PATTERN_H
#define DT_SYMBOLS_PATTERN_H

#include "core/error.h"
#include "symbols/symtab.h"

/* One pattern. */
struct dt_pattern {
	char *text;   /* as given */
	char *module; /* the part before ':'; NULL: any module */
	char *name;
	char *shorter; /* name without what names of C++ are shown without (shorten.h), NULL: the
			  same */
	bool remove;
	bool told;     /* the user has been told that it matches nothing and never will */
	uint64_t hits; /* functions it has matched so far */
};

/* Patterns in the order given. Zero-initialised: none, which means every function. */
struct dt_selection {
	struct dt_pattern *pattern;
	size_t n;
};

/*
 * Returns the single ':' that ends a module's (or USDT provider's) prefix, NULL if there is none;
 * "::" is part of a name.
 */
const char *dt_pattern_prefix_end(const char *text);

/*
 * Appends a pattern that adds functions or removes them. Returns 0, or -1 with an error for an
 * empty pattern.
 */
int dt_selection_add(struct dt_selection *s, const char *text, bool remove, struct dt_error *e);
/* Frees all patterns. */
void dt_selection_clear(struct dt_selection *s);

/*
 * Is a function with these n names, in this module (path or name), chosen? The order of the
 * patterns does not matter: core/choice.h.
 */
bool dt_selection_match(struct dt_selection *s, const char *module, const char *const *names,
			size_t n);

/* The most bytes of the other names of a function, with newlines between them and a NUL. */
#define DT_OTHER_NAMES 4096

/* The same of a function with one name, and others with newlines between them; NULL: it has none.
 */
bool dt_selection_named(struct dt_selection *s, const char *module, const char *name,
			const char *others);

/* Is something chosen that no pattern matches? */
bool dt_selection_rest(const struct dt_selection *s);

/*
 * Is a USDT probe chosen? Only a pattern that has the probe's provider in place of a module chooses
 * it; by_name: and whose name is more than stars.
 */
bool dt_selection_usdt(struct dt_selection *s, const char *provider, const char *name,
		       bool by_name);

/*
 * Is an event chosen? Its subsystem takes the place of the module. Subsystem and event are given by
 * their names and by their numbers.
 */
bool dt_selection_event(struct dt_selection *s, const char *const subsystem[2],
			const char *const event[2]);

/*
 * Is it the name of start-up code that the compiler puts into every program and library (_start,
 * frame_dummy ...)? Such a function is chosen only by its exact name: it is of no interest, and its
 * probes would take the room of probes for functions that are.
 */
bool dt_name_is_startup(const char *name);

/*
 * Does the table have a compiler's start-up code? If not, a function called _start is the program's
 * own.
 */
bool dt_symtab_has_startup(const struct dt_symtab *t);

/*
 * Chooses among all functions of a symbol table, by all their names. chosen[i] is for the i-th of
 * dt_symtab_functions(). Start-up code is chosen only by its exact name. Returns how many are
 * chosen, -1 if there is no memory.
 */
int64_t dt_selection_symtab(struct dt_selection *s, const char *module, const struct dt_symtab *t,
			    bool *chosen);

/*
 * May the pattern match anything in this module? If not, the module need not be read. module, here
 * and above, is its path or name, followed by its soname and other names, each after a newline.
 */
bool dt_pattern_module(const struct dt_pattern *p, const char *module);

/* May the pattern mean a function of this module that has no name, by its address? */
bool dt_pattern_by_address(const struct dt_pattern *p, const char *module);

/* Does the pattern match this name, whatever the module? */
bool dt_pattern_name(const struct dt_pattern *p, const char *name);

/*
 * Suggestions for a pattern that matched nothing: every name is offered, and the best ones are
 * kept.
 */
#define DT_NEAR 3

/* The best names so far. */
struct dt_near {
	char want[128];		 /* the pattern's name, lower case, without wildcards */
	char name[DT_NEAR][256]; /* best first */
	unsigned cost[DT_NEAR];
	size_t n;
};

/* Begins a search for names near the pattern. */
void dt_near_start(struct dt_near *near, const char *pattern);
/* Offers one name. */
void dt_near_offer(struct dt_near *near, const char *name);
/* Offers the other names of a function, as dt_selection_named() has them; NULL: none. */
void dt_near_offer_others(struct dt_near *near, const char *others);
/* Offers all names of a symbol table. */
void dt_near_symtab(struct dt_near *near, const struct dt_symtab *t);

/* Writes the suggestions as the end of a message: "; near names: a, b", or "" if there are none. */
#define DT_NEAR_TEXT (DT_NEAR * 258 + 16)
void dt_near_text(const struct dt_near *near, char text[DT_NEAR_TEXT]);

#endif
