/* SPDX-License-Identifier: MIT */
#include "cmd/new-trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/outside.h"

#define FILES 2 /* that SQLite has beside a trace; old ones would be taken for the new trace's */

static const char *const beside[FILES] = {"-wal", "-shm"};

int dt_new_trace_open(struct dt_new_trace *a, const char *output, struct dt_needs *needs,
		      struct dt_error *e)
{
	char name[4096];

	*a = (struct dt_new_trace){.output = output};
	if (dt_format(a->folder, sizeof(a->folder), "%s-new.XXXXXX", output) >= sizeof(a->folder) ||
	    dt_format(a->trace, sizeof(a->trace), "%s/trace.db", a->folder) >= sizeof(a->trace)) {
		a->folder[0] = '\0';
		return dt_fail(e, "%s: cannot create: %s", output, strerror(ENAMETOOLONG));
	}
	if (!mkdtemp(a->folder)) {
		a->folder[0] = '\0';
		return dt_fail(e, "%s: cannot create: %s", output, strerror(errno));
	}
	dt_format(a->trace, sizeof(a->trace), "%s/trace.db", a->folder);
	dt_needs_add(needs, DT_NEED_FOLDER, a->folder);
	dt_needs_place(needs, a->trace, output);
	for (unsigned i = 0; i < FILES; i++)
		if (dt_format(name, sizeof(name), "%s%s", output, beside[i]) < sizeof(name))
			dt_needs_removed(needs, name, false);
	return 0;
}

int dt_new_trace_place(struct dt_new_trace *a, struct dt_error *e)
{
	char name[4096];

	for (unsigned i = 0; i < FILES; i++)
		if (dt_format(name, sizeof(name), "%s%s", a->output, beside[i]) < sizeof(name))
			dt_outside_remove(name);
	return dt_outside_move(a->trace, a->output) < 0
		       ? dt_fail(e, "%s: cannot create: %s", a->output, strerror(errno))
		       : 0;
}

void dt_new_trace_close(struct dt_new_trace *a)
{
	if (!a->folder[0])
		return;
	dt_outside_remove(a->trace);
	dt_outside_remove(a->folder);
	a->folder[0] = '\0';
}
