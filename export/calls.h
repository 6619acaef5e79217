/* SPDX-License-Identifier: MIT */
/* Calls with all of their arguments, for the formats that write a call at its end. */
#ifndef DT_EXPORT_CALLS_H
#define DT_EXPORT_CALLS_H

#include "show/further.h"
#include "show/words.h"

/* Set reader, formats (NULL: without values) and events; all else zero. */
struct dt_export_calls {
	struct dt_reader *reader;
	struct dt_formats *formats;
	/* of the format, with its own ctx: begin, end, other and loss, all but end may be NULL */
	const struct dt_pair_events *events;
	struct dt_pair *pair; /* that calls them */
	struct dt_further further;
};

/* Pairs all records, and calls the format's events. Returns -1 on error. */
int dt_export_calls_run(struct dt_export_calls *x, const struct dt_reader_range *range,
			struct dt_error *e);

/* In an event about the end of a call: adds the call and its result as text. x->formats is not
 * NULL. */
void dt_export_calls_words(struct dt_export_calls *x, struct dt_json *t, const struct dt_call *c);

#endif
