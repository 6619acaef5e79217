/* SPDX-License-Identifier: MIT */
#include "fleet/nest.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pair.h"

struct finding {
	struct dt_reader *reader;
	const char *function;
	struct dt_times *call;
	size_t n, room;
	bool failed;
};

static void on_end(void *ctx, const struct dt_call *c)
{
	struct finding *k = ctx;
	const struct dt_function_info *f = dt_reader_function(k->reader, c->function);

	if (!f || (strcmp(f->name, k->function) && strcmp(f->shown, k->function)) ||
	    (c->flags & DT_CALL_UNTIMED))
		return;
	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 64;
		struct dt_times *more = realloc(k->call, room * sizeof(*more));

		if (!more) {
			k->failed = true;
			return;
		}
		k->call = more;
		k->room = room;
	}
	k->call[k->n++] = (struct dt_times){.begin = c->begin, .end = c->end};
}

static int by_begin(const void *p, const void *q)
{
	const struct dt_times *a = p, *b = q;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

int dt_nest_calls(struct dt_reader *r, const char *function, struct dt_times **call, size_t *n,
		  struct dt_error *e)
{
	const struct dt_reader_range range = {.order = DT_BY_THREAD};
	struct finding k = {.reader = r, .function = function};
	const struct dt_pair_events events = {.end = on_end, .ctx = &k};
	int rc = dt_pair_run(r, &range, &events, e);

	if (!rc && k.failed)
		rc = dt_fail(e, "out of memory");
	if (!rc && !k.n)
		rc = dt_fail(e, "no whole call of '%s' is in the trace", function);
	if (rc) {
		free(k.call);
		return -1;
	}
	qsort(k.call, k.n, sizeof(*k.call), by_begin);
	*call = k.call;
	*n = k.n;
	return 0;
}
