/* SPDX-License-Identifier: MIT */
/*
 * A symtab whose file is read by a separate process (process/apart.h), which answers the questions
 * of symtab.h and variable.h. The answers are checked here: their contents can be wrong in any way
 * that the maker of the file likes, but they can do no other harm.
 */
#ifndef DT_SYMBOLS_SYMTAB_APART_H
#define DT_SYMBOLS_SYMTAB_APART_H

#include "process/apart.h"
#include "symbols/variable.h"

/* Start and stop reading files apart. In between, dt_symtab_open() has every file read by a process
 * of its own, with debug files from the usual folders. tell: the function that answers there,
 * dt_symtab_tell(). Starting returns 0, or -1 with an error. */
int dt_symtab_apart_start(dt_apart_serve *tell, struct dt_error *e);
void dt_symtab_apart_stop(void);

/* Opens a file in a separate process; NULL and an error if that fails. */
struct dt_symtab *dt_symtab_apart_open(const char *path, struct dt_error *e);

/*
 * As dt_symtab_apart_open(), with a channel to a process that answers. The channel is closed with
 * the symtab, and also if this fails.
 */
struct dt_symtab *dt_symtab_apart_begin(int channel, const char *path, struct dt_error *e);

/* Asks for the map of the file's code; the caller frees the answer. Returns NULL as dt_apart_ask()
 * does. size: bytes of the file. See code-apart.c. */
char *dt_symtab_apart_code(const struct dt_symtab *t, uint64_t size, struct dt_apart_answer *a);

/*
 * Returns the name of a file whose process ended too early or did not answer; NULL if there is
 * none.
 */
const char *dt_symtab_apart_broken(void);

#endif
