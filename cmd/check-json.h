/* SPDX-License-Identifier: MIT */
/* What devtrace check says as JSON lines: doc/json.md. */
#ifndef DT_CMD_CHECK_JSON_H
#define DT_CMD_CHECK_JSON_H

#include "analyse/check.h"

/* Prints a note of what an import left out or changed, or an older version did wrong. */
void dt_check_json_told(const char *path, const char *what, const char *because);

/* Prints a line for each kind of fault. note: they are no faults of this trace, and why not; NULL:
 * they are. */
void dt_check_json_faults(const char *path, const struct dt_check *c, const char *note);
/* Prints one kind as a note. */
void dt_check_json_note(const char *path, const struct dt_check *c, enum dt_fault_kind kind,
			const char *note);
/* Prints the line of a trace that has been checked: r may be NULL, and error then says why it could
 * not be. asked_sql: it was compared with view and sql. */
void dt_check_json_trace(const char *path, struct dt_reader *r, const struct dt_check *c,
			 bool asked_sql, const char *error);

#endif
