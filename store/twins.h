/* SPDX-License-Identifier: MIT */
/*
 * Which functions of two traces that stand beside each other in one file (fleet/beside.h) are the
 * same: table `twin`. Such a file has the hosts "A" and "B" (store/hosts.h), and in its table meta
 * `beside`: the number of B's first function, and in words what was brought to the same time.
 */
#ifndef DT_STORE_TWINS_H
#define DT_STORE_TWINS_H

#include "store/reader.h"
#include "store/store.h"

/* Makes the table; second: B's first function. */
int dt_twins_begin(struct dt_store *s, uint32_t second, const char *words, struct dt_error *e);
/* Adds a function's row; those with the same number are one function. */
int dt_twins_put(struct dt_store *s, uint32_t function, uint32_t number, struct dt_error *e);

/* Returns B's first function, and leads *words to what was brought to the same time; 0: the file is
 * of one trace. words may be NULL. */
uint32_t dt_twins_second(const struct dt_reader *r, const char **words);
/* Calls fn for each row, by the functions' numbers; a file without the table has none. Returns -1
 * on error. */
int dt_twins_read(struct dt_reader *r, void (*fn)(void *ctx, uint32_t function, uint32_t number),
		  void *ctx, struct dt_error *e);

#endif
