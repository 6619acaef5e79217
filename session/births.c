/* SPDX-License-Identifier: MIT */
/* What new threads tell of themselves. */
#include "session/births.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "session/domain.h"
#include "session/doubt.h"
#include "session/lives.h"
#include "session/thread-table.h"
#include "session/tids.h"

bool dt_births_new(const struct dt_session *s)
{
	for (unsigned i = 0, n = dt_domains(s); i < n; i++)
		if (dt_shared_births(s->domain[i]->shared) != s->domain[i]->births)
			return true;
	return false;
}

static int by_ticks(const void *a, const void *b)
{
	const struct dt_birth *x = a, *y = b;

	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

/*
 * Tells whether a birth can be true. Each process can write there what it likes: so it must be of a
 * number that the domain's processes can have, and not of a time that has not come.
 */
static bool is_possible(struct dt_session *s, const struct dt_domain *d, const struct dt_birth *b)
{
	uint64_t apart = dt_doubt_apart(s);
	bool known;

	return b->tid && dt_doubt_number(s, b->tid) && dt_doubt_number(s, b->pid) &&
	       dt_doubt_number(s, b->parent) && b->ticks + apart >= s->began &&
	       b->ticks <= dt_ticks() + apart &&
	       (!d->doubted || dt_thread_table_owns(s, d, b->tid, b->ticks, &known));
}

static void take(struct dt_session *s, const struct dt_birth *b)
{
	if (dt_tids_born(s, b))
		return;
	dt_lives_begin(s, b->tid, b->pid, b->ticks, b->made, b->pid == b->tid);
	if (b->pid == b->tid && b->parent && b->parent != b->pid)
		dt_lives_made_by(s, b->pid, b->parent);
}

void dt_births_take(struct dt_session *s)
{
	struct dt_birth birth[DT_BIRTHS];
	size_t n = 0;

	for (unsigned k = 0, domains = dt_domains(s); k < domains; k++) {
		struct dt_domain *d = s->domain[k];

		if (dt_shared_births(d->shared) == d->births)
			continue;
		n = 0;
		for (unsigned i = 0; i < DT_BIRTHS; i++) {
			struct dt_birth *b = &birth[n];

			if (!dt_shared_birth_take(d->shared, i, b))
				continue;
			d->births++;
			if (s->offset && b->core < s->targets.shared.geometry.cores)
				b->ticks -= (uint64_t)dt_offset_correction(&s->offset[b->core]);
			n += is_possible(s, d, b);
		}
		/* a process before its threads */
		qsort(birth, n, sizeof(*birth), by_ticks);
		for (size_t i = 0; i < n; i++)
			take(s, &birth[i]);
	}
}

void dt_births_end(struct dt_session *s)
{
	struct dt_shared_counts c = dt_domains_counts(s);
	char text[16];

	s->results.births_missed = c.births_missed + s->lives.refused;
	if (!s->store || !s->results.births_missed)
		return;
	dt_format(text, sizeof(text), "%u", s->results.births_missed);
	dt_store_meta(s->store, "births_missed", text, NULL);
}
