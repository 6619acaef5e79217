/* SPDX-License-Identifier: MIT */
/* What calls were called with: the records of their entries, and those behind them. */
#ifndef DT_VIEW_ENTRIES_H
#define DT_VIEW_ENTRIES_H

#include "store/more.h"
#include "store/reader.h"

struct dt_entry {
	uint64_t begin; /* ticks */
	uint32_t thread, function;
	bool wanted;
	/* answers */
	bool known;
	uint64_t argument[4];
	struct dt_more *more;
	size_t n, room;
};

/* Of those that are wanted of n, which are in the order of their begins, in one reading. Those that
 * are near each other, or it takes long. */
int dt_entries_read(struct dt_reader *r, struct dt_entry *entry, size_t n, struct dt_error *e);
void dt_entries_free(struct dt_entry *entry, size_t n);

#endif
