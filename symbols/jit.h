/* SPDX-License-Identifier: MIT */
/*
 * Names of code that a process makes at run time, as it tells perf: in a map file, a text whose
 * lines are "START SIZE NAME" in hexadecimal, or in a jitdump file, binary records with the code
 * itself. Both grow while the process runs, and a name that comes later takes the place of an
 * earlier one at the same addresses. Every byte is treated as hostile.
 */
#ifndef DT_SYMBOLS_JIT_H
#define DT_SYMBOLS_JIT_H

#include "core/types.h"

/* What is read of one file at most. The rest is counted. */
#define DT_JIT_MOST  1000000	  /* names */
#define DT_JIT_BYTES (64u << 20)  /* bytes of all names */
#define DT_JIT_NAME  1024	  /* bytes of a name: it is cut */
#define DT_JIT_FILE  (1ull << 32) /* bytes of a file */

enum dt_jit_kind { DT_JIT_MAP, DT_JIT_DUMP };

/* Addresses with one name: [low, high), of a function that begins at `start', which is below low if
 * its beginning has been overwritten by another one. */
struct dt_jit_code {
	uint64_t low, high, start;
	const char *name; /* not checked: it may hold anything but a NUL */
};

struct dt_jit;

/* Returns NULL without memory. */
struct dt_jit *dt_jit_new(enum dt_jit_kind kind);
/* Frees it; NULL is allowed. */
void dt_jit_free(struct dt_jit *m);

/*
 * Reads what the open file has that has not been read: what was added since, or all of it if it is
 * another file than the last time, or has been written anew. What is incomplete at its end is left
 * for the next time. Returns whether there are other names than before.
 */
bool dt_jit_read(struct dt_jit *m, int file);

/* Returns all code, ascending, no address twice, and how many pieces. It is m's, until the next
 * dt_jit_read(). NULL: none, or no memory. */
const struct dt_jit_code *dt_jit_all(struct dt_jit *m, size_t *n);

/* Returns how many lines or records could not be understood, or were too many. */
size_t dt_jit_unread(const struct dt_jit *m);

#endif
