/* SPDX-License-Identifier: MIT */
/* Values by their names, as JSON: {"fd":3,"path":"/etc/passwd"}. Numbers are numbers. */
#ifndef DT_SQL_ARGUMENTS_H
#define DT_SQL_ARGUMENTS_H

#include <sqlite3.h>

#include "show/json.h"
#include "show/format.h"

/* Replaces what is in t: of a function's arguments, or a point's values. */
void dt_sql_arguments(struct dt_formats *f, struct dt_json *t, uint32_t function,
		      const uint64_t *value, bool faults);
/* Of a call, with what came behind its entry; full NULL: nothing did. */
void dt_sql_call_arguments(struct dt_formats *f, struct dt_json *t, uint32_t function,
			   const uint64_t *argument, const struct dt_full *full);
/* The one value of a point that leads to a text. */
void dt_sql_text_argument(struct dt_formats *f, struct dt_json *t, uint32_t function,
			  const char *bytes, size_t n);
/* Text that is a number, as one; other text as it is. */
void dt_sql_put_value(sqlite3_context *to, const char *text, size_t n);
void dt_sql_put_json(sqlite3_context *to, struct dt_json *t);

#endif
