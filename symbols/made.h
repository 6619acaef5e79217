/* SPDX-License-Identifier: MIT */
/*
 * Names of code that a process makes at run time, as it tells perf: in a map file, a text whose
 * lines are "START SIZE NAME" in hexadecimal, or in a jitdump file, binary records with the code
 * itself. Both grow while the process runs, and a name that comes later takes the place of an
 * earlier one at the same addresses. Every byte is treated as hostile.
 */
#ifndef DT_SYMBOLS_MADE_H
#define DT_SYMBOLS_MADE_H

#include "core/types.h"

/* What is read of one file at most. The rest is counted. */
#define DT_MADE_MOST  1000000	   /* names */
#define DT_MADE_BYTES (64u << 20)  /* bytes of all names */
#define DT_MADE_NAME  1024	   /* bytes of a name: it is cut */
#define DT_MADE_FILE  (1ull << 32) /* bytes of a file */

enum dt_made_kind { DT_MADE_MAP, DT_MADE_DUMP };

/* Addresses with one name: [low, high), of a function that begins at `start', which is below low if
 * its beginning has been overwritten by another one. */
struct dt_made_code {
	uint64_t low, high, start;
	const char *name; /* not checked: it may hold anything but a NUL */
};

struct dt_made;

/* Returns NULL without memory. */
struct dt_made *dt_made_new(enum dt_made_kind kind);
/* Frees it; NULL is allowed. */
void dt_made_free(struct dt_made *m);

/*
 * Reads what the open file has that has not been read: what was added since, or all of it if it is
 * another file than the last time, or has been written anew. What is incomplete at its end is left
 * for the next time. Returns whether there are other names than before.
 */
bool dt_made_read(struct dt_made *m, int file);

/* Returns all code, ascending, no address twice, and how many pieces. It is m's, until the next
 * dt_made_read(). NULL: none, or no memory. */
const struct dt_made_code *dt_made_all(struct dt_made *m, size_t *n);

/* Returns how many lines or records could not be understood, or were too many. */
size_t dt_made_unread(const struct dt_made *m);

#endif
