/* SPDX-License-Identifier: MIT */
/* What words of a filter or sum name although there is no such thing among the functions that are
 * known: mistyped names. Whether it is so is known for certain only when everything is recorded. */
#ifndef DT_FILTER_UNMET_H
#define DT_FILTER_UNMET_H

#include "filter/filter.h"
#include "filter/sums.h"
#include "symbols/pattern.h"

struct dt_unmet {
	const struct dt_meanings *meanings;
	uint32_t rows; /* of functions: those below this are looked at */
	/* says a line about a name, with near ones; the text is only lent */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/* Says which patterns that add functions mean none. */
void dt_unmet_patterns(const struct dt_unmet *u, const struct dt_selection *s);

/* Says which functions and arguments a filter names that there are not. Nothing is said where no
 * function is known at all. */
void dt_unmet_filter(const struct dt_unmet *u, struct dt_filter *f);

/* Says so if no function that s means (all, if it has no pattern) has an argument of that name;
 * returns whether one has, or none is known at all. */
bool dt_unmet_value(const struct dt_unmet *u, struct dt_selection *s, const char *name);

/* The same of a sum's value and keys. filter: of the sum's `if'; NULL: there is none. */
void dt_unmet_sum(const struct dt_unmet *u, const struct dt_sums_words *w,
		  struct dt_filter *filter);

#endif
