/* SPDX-License-Identifier: MIT */
/* Events as text: their names and values; and texts, put together from several records each. */
#ifndef DT_SHOW_EVENT_H
#define DT_SHOW_EVENT_H

#include "show/out.h"
#include "store/reader.h"

/* A text: the record that it begins with, and the bytes of it that have come. */
struct dt_text {
	struct dt_text *next;
	struct dt_record head;
	uint32_t function;  /* for the text of a point's value: row with the value's signature */
	uint32_t n, wanted; /* number of bytes: that have come, that were recorded */
	bool buffer;	    /* its head has how many there were */
	char bytes[];
};

/* The texts that have begun and not ended: none at first, when all is zero but fn and ctx. fn is
 * called for each text when it ends, whether all of it has come or not. */
struct dt_texts {
	struct dt_text *first;
	void (*fn)(void *ctx, const struct dt_text *t);
	void *ctx;
	bool failed; /* out of memory: some texts are missing */
};

/* Takes r if it is part of a text; false: it is not, and the caller has to deal with it. */
bool dt_texts_take(struct dt_texts *t, const struct dt_site *site, const struct dt_record *r);
/* Ends all texts that have begun, for the end of the trace. */
void dt_texts_end(struct dt_texts *t);

bool dt_event_is(const struct dt_record *r); /* an event or a message */

/*
 * Returns the bytes of a text that one record of it has, and in *n how many they are: those of a
 * text up to its NUL, those of a buffer, which are not known to end before the record does, all.
 * NULL: it is no such record.
 */
const char *dt_text_piece(const struct dt_site *site, const uint64_t *value, size_t *n);

/* Says whether t is the text that a point's value leads to, rather than that of an event. */
bool dt_text_of_point(const struct dt_text *t);
/* Writes such a text as path="/etc/passwd"; with "..." after it when it is cut, and as path=? when
 * it could not be read. argument: the values of the entry that the text belongs to, which may say
 * how long the buffer is that it is in; NULL: they are not known. */
void dt_text_print(struct dt_out *o, const struct dt_reader *r, const struct dt_text *t,
		   const uint64_t *argument);

/* Writes the name of the event with this body: "net:send", or "7:3" where there are no names. */
void dt_event_name(struct dt_out *o, const struct dt_reader *r, uint64_t body);

/*
 * Writes an event or a message: net:send(17, 0x0), send(0x12345), net:log("words"). mask: bit i is
 * set where the record has value[i]; t: the event's text, or NULL.
 */
void dt_event_print(struct dt_out *o, const struct dt_reader *r, const struct dt_record *record,
		    unsigned mask, const struct dt_text *t);

#endif
