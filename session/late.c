/* SPDX-License-Identifier: MIT */
/* Entries of calls of the kernel that come late. */
#include "session/late.h"

#include <stdlib.h>
#include <string.h>

#include "session/kernel.h"

uint64_t dt_late_begin(struct dt_session *s, bool last)
{
	uint64_t waits;

	if (!s->sieve || !s->kernel || s->has_log)
		return UINT64_MAX;
	waits = dt_kernel_waits(s->kernel, last);
	return waits == UINT64_MAX || !waits ? waits : waits - 1;
}

static int by_time(const void *a, const void *b)
{
	const struct dt_record *x = a, *y = b;

	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

int dt_late_take(struct dt_session *s, struct dt_late *l, struct dt_error *e)
{
	const struct dt_record *late;
	size_t n;

	if (!s->sieve || !s->kernel || s->has_log)
		return 0;
	late = dt_kernel_late(s->kernel, &n);
	if (!n)
		return 0;
	if (l->n + n > l->room) {
		size_t room = 2 * (l->n + n);
		struct dt_record *more = realloc(l->record, room * sizeof(*more));

		if (!more)
			return dt_fail(e, "out of memory");
		l->record = more;
		l->room = room;
	}
	memcpy(l->record + l->n, late, n * sizeof(*late));
	l->n += n;
	qsort(l->record, l->n, sizeof(*l->record), by_time);
	return 0;
}

struct dt_record *dt_late_next(struct dt_late *l, uint64_t until, unsigned *core)
{
	struct dt_record *r;

	if (l->given == l->n || l->record[l->given].ticks > until)
		return NULL;
	r = &l->record[l->given];
	l->given++;
	*core = r->core;
	r->core = 0; /* as all records in the ring of a core */
	return r;
}

void dt_late_done(struct dt_late *l)
{
	l->n -= l->given;
	if (l->n)
		memmove(l->record, l->record + l->given, l->n * sizeof(*l->record));
	l->given = 0;
}

void dt_late_free(struct dt_late *l)
{
	free(l->record);
}
