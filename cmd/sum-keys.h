/* SPDX-License-Identifier: MIT */
/* The keys of a sum's rows as text. */
#ifndef DT_CMD_SUM_KEYS_H
#define DT_CMD_SUM_KEYS_H

#include "filter/sums.h"
#include "show/format.h"
#include "show/out.h"

/* Returns a key as text for people, valid until the next call. term: what it is of. */
const char *dt_sum_key_text(struct dt_formats *f, const struct dt_sums_row *row,
			    const struct dt_sums_term *term, const struct dt_sums_part *part);

/* Prints a key as a JSON value. */
void dt_sum_key_json(struct dt_formats *f, const struct dt_sums_row *row,
		     const struct dt_sums_term *term, const struct dt_sums_part *part);

#endif
