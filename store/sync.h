/* SPDX-License-Identifier: MIT */
/* What a trace says that brings its machine's clock together with others': the table sync. */
#ifndef DT_STORE_SYNC_H
#define DT_STORE_SYNC_H

#include "store/reader.h"
#include "store/store.h"

/* All that is said, in the order of the file. All zero at first. */
struct dt_sync {
	struct dt_sync_row *row;
	size_t n;
};

/* Reads the table; of a file without it there is nothing. Returns -1 on error. */
int dt_sync_load(struct dt_sync *s, struct dt_reader *r, struct dt_error *e);
void dt_sync_free(struct dt_sync *s);

#endif
