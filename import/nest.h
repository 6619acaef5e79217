/* SPDX-License-Identifier: MIT */
/* Which call is in which, by their times. */
#ifndef DT_IMPORT_NEST_H
#define DT_IMPORT_NEST_H

#include "import/calls.h"

/* A record to be. */
struct dt_import_record {
	uint64_t value;
	int64_t ns;
	uint32_t thread, name, depth, order;
	uint8_t kind; /* enum dt_import_kind: BEGIN and END of calls, or as the item's */
};

struct dt_import_records {
	struct dt_import_record *record;
	size_t n, size;
};

/* Makes records of the items, in the order of time; frees the items. Returns -1 on error; the
 * caller frees to->record. */
int dt_import_nest(struct dt_imported *m, struct dt_import_records *to, struct dt_error *e);

#endif
