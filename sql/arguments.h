/* SPDX-License-Identifier: MIT */
/* Values by their names, as JSON: {"fd":3,"path":"/etc/passwd"}. Numbers are JSON numbers. */
#ifndef DT_SQL_ARGUMENTS_H
#define DT_SQL_ARGUMENTS_H

#include <sqlite3.h>

#include "show/json.h"
#include "show/format.h"

/* Replaces what is in t by the arguments of a function, or the values of a point. faults: DT_FAULT
 * of the record's flags. */
void dt_sql_arguments(struct dt_formats *f, struct dt_json *t, uint32_t function,
		      const uint64_t *value, bool faults);
/* Replaces what is in t by the arguments of a call, with what came after its entry; full NULL:
 * nothing came. */
void dt_sql_call_arguments(struct dt_formats *f, struct dt_json *t, uint32_t function,
			   const uint64_t *argument, const struct dt_full *full);
/* Replaces what is in t by the one value of a point that leads to a text: the n bytes. */
void dt_sql_text_argument(struct dt_formats *f, struct dt_json *t, uint32_t function,
			  const char *bytes, size_t n);
/* Gives SQLite a text: as a number if it is one, otherwise as it is. */
void dt_sql_put_value(sqlite3_context *to, const char *text, size_t n);
/* Gives SQLite the JSON in t. */
void dt_sql_put_json(sqlite3_context *to, struct dt_json *t);

#endif
