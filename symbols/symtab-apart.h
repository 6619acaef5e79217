/* SPDX-License-Identifier: MIT */
/*
 * A symtab whose file is read by a process apart (process/apart.h): the questions of symtab.h and
 * variable.h, asked there. What comes back is checked here: it can be wrong, as whoever made the
 * file likes, and nothing else.
 */
#ifndef DT_SYMBOLS_SYMTAB_APART_H
#define DT_SYMBOLS_SYMTAB_APART_H

#include "process/apart.h"
#include "symbols/variable.h"

/* From then on dt_symtab_open() has files read apart, with debug files from the usual folders; or
 * not any more. tell: what answers there, dt_symtab_tell(). */
int dt_symtab_apart_start(dt_apart_serve *tell, struct dt_error *e);
void dt_symtab_apart_stop(void);

struct dt_symtab *dt_symtab_apart_open(const char *path, struct dt_error *e);

/* The same with a channel to whoever answers, which is closed with it, also when this fails. */
struct dt_symtab *dt_symtab_apart_begin(int channel, const char *path, struct dt_error *e);

/* The map of the file's code, as code-apart.c tells it; to be freed. NULL: as dt_apart_ask(). size:
 * of the file, bytes. */
char *dt_symtab_apart_code(const struct dt_symtab *t, uint64_t size, struct dt_apart_answer *a);

/* A file whose process has ended before it was to, or did not answer; NULL: there is none. */
const char *dt_symtab_apart_broken(void);

#endif
