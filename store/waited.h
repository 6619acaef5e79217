/* SPDX-License-Identifier: MIT */
/* What threads waited for, as the session has seen it while they waited (session/witness.h). */
#ifndef DT_STORE_WAITED_H
#define DT_STORE_WAITED_H

#include "store/reader.h"
#include "store/store.h"

/* All that was seen, by thread and time. All zero at first. */
struct dt_waited {
	struct dt_waited_row *row;
	size_t n;
	bool loaded;
};

/* Reads the table; of a file without it there is nothing. Rows that come later are not read.
 * Returns -1 on error. */
int dt_waited_load(struct dt_waited *w, struct dt_reader *r, struct dt_error *e);
void dt_waited_free(struct dt_waited *w);

/* Returns the number, from 1, of what was seen last of a thread between two ticks; 0: nothing. */
uint32_t dt_waited_between(const struct dt_waited *w, uint32_t tid, uint64_t begin, uint64_t end);

#endif
