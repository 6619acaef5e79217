/* SPDX-License-Identifier: MIT */
/* Reading the arguments of calls: from the records of their entries, and from those after them. */
#ifndef DT_VIEW_ENTRIES_H
#define DT_VIEW_ENTRIES_H

#include "store/more.h"
#include "store/reader.h"

struct dt_entry {
	/* set by the caller: which call */
	uint64_t begin; /* ticks */
	uint32_t thread, function;
	bool wanted; /* false: it is skipped */
	/* filled in: */
	bool known;	      /* the entry was found */
	uint64_t argument[4]; /* its record's values */
	struct dt_more *more; /* the n records after it that belong to it */
	size_t n, room;
};

/* Fills in the wanted ones of n entries, which must be sorted by begin, in one pass over the time
 * from the first to the last: they should be near each other, or it takes long. 0, or -1 and an
 * error. The caller calls dt_entries_free() in any case. */
int dt_entries_read(struct dt_reader *r, struct dt_entry *entry, size_t n, struct dt_error *e);
/* Frees what was filled in, not the array itself. */
void dt_entries_free(struct dt_entry *entry, size_t n);

#endif
