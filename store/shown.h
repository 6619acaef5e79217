/* SPDX-License-Identifier: MIT */
/*
 * How functions are called where people read their names: "f", or "libx.so:f" if the trace has
 * functions of that name in several files, whatever of them is shown. Both are patterns
 * (symbols/pattern.h). Two files of the same name in several folders are told apart by their paths,
 * "/opt/x/libx.so:f".
 */
#ifndef DT_STORE_SHOWN_H
#define DT_STORE_SHOWN_H

#include "store/info.h"

/* What has been found out so far; zero-initialised. Functions are known by their row. */
struct dt_shown {
	uint32_t *slot; /* open addressing: the first function of each name; 0: free */
	size_t slots;	/* a power of two */
	size_t names;	/* slots that are used */
	struct dt_shown_function *function;
	size_t functions, room; /* elements of function: known, and with room */
	bool *clash;		/* by module: another file with its name is in another folder */
	size_t modules;		/* elements of clash */
	uint64_t seed;		/* of the hashes: nobody who names functions knows it */
	char **text;		/* names with modules */
	size_t texts, text_room;
};

/* What a trace has; element i is row i + 1. */
struct dt_shown_rows {
	struct dt_function_info *function;
	const struct dt_module_info *module;
	size_t functions, modules;
	uint32_t second; /* of two traces beside each other (store/twins.h) the second one's first
			    function, whose names are no other's; 0: there is one trace */
};

/* Sets dt_function_info.shown of all functions that were added since the last call, and of those
 * whose name is no longer alone; the strings are the reader's until dt_shown_free(). Returns -1
 * when out of memory. */
int dt_shown_update(struct dt_shown *s, const struct dt_shown_rows *t);
/* Frees what *s holds. */
void dt_shown_free(struct dt_shown *s);

#endif
