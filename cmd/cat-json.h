/* SPDX-License-Identifier: MIT */
/* The records of a trace as JSON lines: doc/json.md. */
#ifndef DT_CMD_CAT_JSON_H
#define DT_CMD_CAT_JSON_H

#include "show/out.h"
#include "store/reader.h"

struct dt_cat_json {
	const struct dt_reader *reader;
	struct dt_out *out;
	uint64_t first;	    /* ticks: the trace's first record */
	double tenths;	    /* of a nanosecond, that a tick has */
	struct dt_out name; /* for an event's name */
};

/* Begins, with all of *k zero; out belongs to the caller. Returns -1 on error. */
int dt_cat_json_begin(struct dt_cat_json *k, struct dt_reader *r, struct dt_out *out,
		      struct dt_error *e);
/* Prints the records of a span, and what was lost before them. */
void dt_cat_json_span(struct dt_cat_json *k, const struct dt_span *s);

#endif
