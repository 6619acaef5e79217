/* SPDX-License-Identifier: MIT */
/* A trace file as what filters and failures ask about names (filter/meanings.h). */
#ifndef DT_ANALYSE_MEANINGS_H
#define DT_ANALYSE_MEANINGS_H

#include "filter/filter.h"
#include "filter/meanings.h"
#include "store/reader.h"

/* Returns the meanings in a trace; r must live as long as it is used. */
struct dt_meanings dt_meanings_of(const struct dt_reader *r);

/* Makes a filter for the trace of r, which must live as long; see dt_filter_new(). */
struct dt_filter *dt_meanings_filter(const char *text, const struct dt_reader *r,
				     struct dt_error *e);

#endif
