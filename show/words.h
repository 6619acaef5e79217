/* SPDX-License-Identifier: MIT */
/* Calls as text of JSON: how the page, exports and tables show them. */
#ifndef DT_SHOW_WORDS_H
#define DT_SHOW_WORDS_H

#include "show/json.h"
#include "show/format.h"
#include "store/more.h"

/* One thread at a time. */
void dt_words_call(struct dt_formats *f, struct dt_json *t, uint32_t function,
		   const uint64_t *argument);
/* The same with what came behind the entry. */
void dt_words_more(struct dt_formats *f, struct dt_json *t, uint32_t function,
		   const uint64_t *argument, const struct dt_more *more, size_t n);
void dt_words_result(struct dt_formats *f, struct dt_json *t, uint32_t function,
		     const uint64_t *result);

#endif
