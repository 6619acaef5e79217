/* SPDX-License-Identifier: MIT */
/* Records one by one. */
#include "sql/walk.h"

int dt_sql_walk_begin(struct dt_sql_walk *w, struct dt_reader *r, uint64_t from, uint64_t to,
		      bool values, struct dt_error *e)
{
	/* for the reader, to 0 is no limit */
	struct dt_reader_range range = {
		.order = DT_BY_TIME, .values = values, .from = from, .to = to ? to : 1};

	*w = (struct dt_sql_walk){.reader = r};
	return dt_reader_start(r, &range, e);
}

int dt_sql_walk_next(struct dt_sql_walk *w, struct dt_error *e)
{
	int rc = 1;

	if (w->begun && w->at + 1 < w->span.n) {
		w->at++;
		return 1;
	}
	do
		rc = dt_reader_next(w->reader, &w->span, e);
	while (rc > 0 && !w->span.n);
	w->begun = rc > 0;
	w->at = 0;
	return rc;
}
