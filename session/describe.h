/* SPDX-License-Identifier: MIT */
/* What the trace file is told of a pc when it first appears. */
#ifndef DT_SESSION_DESCRIBE_H
#define DT_SESSION_DESCRIBE_H

#include "session/state.h"

void dt_describe(void *session, const struct dt_record *r, struct dt_site_row *row);

/* Is r's pc a place where a hook records calls? r is a program's. */
bool dt_describe_is_call(struct dt_session *s, const struct dt_record *r);

/* What a point is called: its event, or its function and how far in. */
void dt_describe_name(const struct dt_module *m, const struct dt_point *point, char *out,
		      size_t size);

#endif
