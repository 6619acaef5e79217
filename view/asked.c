/* SPDX-License-Identifier: MIT */
/* Reading a request's values. */
#include "view/asked.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void dt_refuse(struct dt_asked *a, int status, const char *why)
{
	a->answer->status = status;
	a->answer->type = "application/json";
	a->answer->text.bytes.n = 0;
	dt_json_print(&a->answer->text, "{\"error\":");
	dt_json_string(&a->answer->text, why);
	dt_json_print(&a->answer->text, "}");
}

bool dt_asked_number(struct dt_asked *a, const char *name, uint64_t least, uint64_t most,
		     uint64_t *v)
{
	const char *text = a->r->value(a->r->ctx, name);
	char *end, why[128];

	errno = 0;
	*v = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (text && *text >= '0' && *text <= '9' && !*end && !errno && *v >= least && *v <= most)
		return true;
	snprintf(why, sizeof(why), "%s: a number from %lu to %lu is wanted", name,
		 (unsigned long)least, (unsigned long)most);
	dt_refuse(a, 400, why);
	return false;
}

bool dt_asked_range(struct dt_asked *a, uint64_t *from, uint64_t *to)
{
	if (!dt_asked_number(a, "from", 0, 1ull << 60, from) ||
	    !dt_asked_number(a, "to", 0, 1ull << 60, to))
		return false;
	if (*to < *from) {
		dt_refuse(a, 400, "to: not before from");
		return false;
	}
	*from += a->origin;
	*to += a->origin;
	return true;
}
