/* SPDX-License-Identifier: MIT */
/*
 * Libraries that only some commands use: each is loaded when it is used, and devtrace works without
 * it otherwise. Whoever uses one has a table of its functions, which dt_library_load() fills in.
 * The static program (make static) loads nothing; it holds most of them, and their tables know the
 * addresses.
 */
#ifndef DT_PROCESS_LIBRARY_H
#define DT_PROCESS_LIBRARY_H

#include <stddef.h>

#include "core/error.h"

/* The static program is linked with all of its libraries. */
#ifdef DT_STATIC
#define DT_IS_STATIC 1
#else
#define DT_IS_STATIC 0
#endif

/*
 * Called first of all: the static program has names of users and hosts looked up by itself, in
 * files and by DNS, whatever /etc/nsswitch.conf says, since the libraries named there are made for
 * the machine's own C library.
 */
void dt_library_prepare(void);

/* A function or variable of a library, and where its address belongs in the table. */
struct dt_library_symbol {
	const char *name;
	size_t offset; /* bytes from the beginning of the table */
	void *linked;  /* its address if it is linked in; NULL: it is looked for in the library */
};

struct dt_library {
	const char *file;    /* such as "libfuse3.so.3" */
	const char *package; /* of Debian, which has the file */
	const char *what;    /* what can not be done without, such as "pages can not be served" */
	const struct dt_library_symbol *symbol;
	size_t symbols;
	void *table; /* pointers only; the first is NULL as long as it is not filled in */
	size_t size; /* bytes of the table */
};

/* An entry of the array `symbol'; the static program does not hold those that are LOADED. */
#define DT_LIBRARY_LOADED(type, member, symbol_)                                                   \
	{                                                                                          \
#symbol_, offsetof(struct type, member), NULL                                      \
	}
#ifdef DT_STATIC
#define DT_LIBRARY_SYMBOL(type, member, symbol_)                                                   \
	{                                                                                          \
#symbol_, offsetof(struct type, member), (void *)&symbol_                          \
	}
#else
#define DT_LIBRARY_SYMBOL DT_LIBRARY_LOADED
#endif

/*
 * Loads a library and fills in its table, once; the library stays. 0, or -1 and an error that says
 * what can not be done and which package is missing. Not for two threads at a time.
 */
int dt_library_load(const struct dt_library *l, struct dt_error *e);

#endif
