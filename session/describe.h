/* SPDX-License-Identifier: MIT */
/* What is written to the trace file about a pc when it first appears. */
#ifndef DT_SESSION_DESCRIBE_H
#define DT_SESSION_DESCRIBE_H

#include "session/state.h"

/* Fills in the row of the site that r was recorded at, and writes the rows of its function, types
 * and events. The trace file calls it for each pc that is new; with the session's lock. */
void dt_describe(void *session, const struct dt_record *r, struct dt_site_row *row);

/* Tells whether r's pc is a place where a hook records calls. r must be a program's record, not the
 * kernel's. With the lock. */
bool dt_describe_is_call(struct dt_session *s, const struct dt_record *r);

/*
 * Writes the row of the function that an address of the module's file is in, and returns its
 * number; 0: it can not be written. start: where a function begins that no symbol names; 0: that is
 * not known. *is_main: it is the program's main().
 */
int64_t dt_describe_caller(struct dt_session *s, const struct dt_module *m, uint64_t address,
			   uint64_t start, bool *is_main);

/* Tells what r has of a stack; 0: nothing. Otherwise it is not to be described. */
enum dt_stack_record dt_describe_stack(struct dt_session *s, const struct dt_record *r);

/*
 * Writes what a point is called: the name of its event, or of its function and the offset in that.
 */
void dt_describe_name(const struct dt_module *m, const struct dt_point *point, char *out,
		      size_t size);

#endif
