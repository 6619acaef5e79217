/* SPDX-License-Identifier: MIT */
/* Calls as text, added to a JSON text: the form in which the page, exports and tables show them. */
#ifndef DT_SHOW_WORDS_H
#define DT_SHOW_WORDS_H

#include "show/json.h"
#include "show/format.h"
#include "store/more.h"

/*
 * Add a call, or its result, as show/format.h writes it; it is not quoted. They share a buffer:
 * only one thread may be in them at a time.
 */
void dt_words_call(struct dt_formats *f, struct dt_json *t, uint32_t function,
		   const uint64_t *argument);
/* Adds a call with values from the records after its entry. */
void dt_words_full(struct dt_formats *f, struct dt_json *t, uint32_t function,
		   const uint64_t *argument, const struct dt_full *full);
/* Does the same with the values from the n records after its entry. */
void dt_words_more(struct dt_formats *f, struct dt_json *t, uint32_t function,
		   const uint64_t *argument, const struct dt_more *more, size_t n);
void dt_words_result(struct dt_formats *f, struct dt_json *t, uint32_t function,
		     const uint64_t *result);

#endif
