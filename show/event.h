/* SPDX-License-Identifier: MIT */
/* Events as text: their names and values, and texts put together from the records they came in. */
#ifndef DT_SHOW_EVENT_H
#define DT_SHOW_EVENT_H

#include "show/out.h"
#include "store/reader.h"

/* A text: the record it begins with, and the bytes there are of it. */
struct dt_text {
	struct dt_text *next;
	struct dt_record head;
	uint32_t function;  /* row; of the text of a point's value: its signature tells which */
	uint32_t n, wanted; /* bytes: that are there, that were recorded */
	char bytes[];
};

/* Those that have begun. Zeroed: none. fn is told of each when it ends, whole or not. */
struct dt_texts {
	struct dt_text *first;
	void (*fn)(void *ctx, const struct dt_text *t);
	void *ctx;
	bool failed; /* no memory */
};

/* True when r is of a text, and dealt with. */
bool dt_texts_take(struct dt_texts *t, const struct dt_site *site, const struct dt_record *r);
/* The trace has ended: so have they. */
void dt_texts_end(struct dt_texts *t);

bool dt_event_is(const struct dt_record *r); /* an event or a message */

/* Is it the text of a point's value? Those are printed so: path="/etc/passwd". */
bool dt_text_of_point(const struct dt_text *t);
void dt_text_print(struct dt_out *o, const struct dt_reader *r, const struct dt_text *t);

/* "net:send", "7:3" where there are no names. */
void dt_event_name(struct dt_out *o, const struct dt_reader *r, uint64_t body);

/* "net:send(17, 0x0)", "send(0x12345)", "net:log("words")". mask: of its values. t: NULL or its
 * text */
void dt_event_print(struct dt_out *o, const struct dt_reader *r, const struct dt_record *record,
		    unsigned mask, const struct dt_text *t);

#endif
