/* SPDX-License-Identifier: MIT */
/* What a session has left out of its trace, because its filter did not want it (session/sieve.h).
 */
#ifndef DT_STORE_LEFT_OUT_H
#define DT_STORE_LEFT_OUT_H

#include "store/reader.h"
#include "store/store.h"

/* Calls fn for each function of which calls were left out. Returns -1 on error. */
int dt_left_out_read(struct dt_reader *r, void (*fn)(void *ctx, const struct dt_left_out_row *row),
		     void *ctx, struct dt_error *e);

/* Returns how many calls were left out. *functions: of how many functions; it may be NULL. */
uint64_t dt_left_out_calls(struct dt_reader *r, uint64_t *functions);

/* Writes the words by which calls are chosen, as the file has them by now, also while it is being
 * recorded; "": all calls are written. */
void dt_left_out_words(struct dt_reader *r, char *out, size_t size);

#endif
