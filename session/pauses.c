/* SPDX-License-Identifier: MIT */
#include "session/pauses.h"

#include <stdlib.h>
#include <x86intrin.h>

#include "session/rings.h"
#include "session/session.h"
#include "store/store.h"

#define MOMENT	23u /* ticks, as a power of two: some 4 ms */
#define SINGLES 16u /* as many pauses that end in one are told one by one */

static void put(struct dt_session *s, const struct dt_pause *p)
{
	/* a file that can not be written is noticed by who writes its records */
	if (s->store)
		dt_store_pause(s->store, p, NULL);
}

void dt_pauses_start(struct dt_session *s, bool active)
{
	struct dt_pauses *p = &s->pauses;
	uint64_t now = __rdtsc();

	if (active && p->stopped)
		put(s, &(struct dt_pause){p->stopped, now, true, 1, DT_NOT_KNOWN});
	if (active)
		p->stopped = 0;
	else if (!p->stopped)
		p->stopped = now;
}

static int by_end(const void *a, const void *b)
{
	const struct dt_thaw *x = a, *y = b;

	return x->end < y->end ? -1 : x->end > y->end;
}

/* The thaws up to pos that have not been told, in their order. *behind: how many are later. */
static size_t find(const struct dt_shared *m, uint64_t pos, uint64_t told, struct dt_thaw *found,
		   uint32_t *behind)
{
	size_t n = 0;

	*behind = 0;
	for (unsigned i = 0; i < DT_THAWS; i++) {
		struct dt_thaw x;
		bool whole = dt_shared_thaw(m, i, &x);

		*behind += x.pos > pos + 1;
		/* not whole: it has just been used again */
		if (!whole || x.pos > pos + 1 || x.end <= told)
			continue;
		x.pos--;
		found[n++] = x;
	}
	qsort(found, n, sizeof(*found), by_end);
	return n;
}

/*
 * One that is known whole. When there are many, all of a moment are told as one. Who ends a pause reads
 * the clock before its record has a place, so that the record in front may be later: it was short.
 */
static void add(struct dt_session *s, struct dt_pause *one)
{
	struct dt_pauses *p = &s->pauses;
	uint64_t moment = one->end >> MOMENT;

	if (one->begin > one->end)
		one->begin = one->end;
	if (p->many.times && moment != p->moment) {
		put(s, &p->many);
		p->many.times = 0;
	}
	if (moment != p->moment)
		p->singles = 0;
	p->moment = moment;
	if (p->singles < SINGLES) {
		p->singles++;
		put(s, one);
		return;
	}
	if (!p->many.times)
		p->many = (struct dt_pause){.begin = one->begin};
	if (one->begin < p->many.begin)
		p->many.begin = one->begin;
	if (one->end > p->many.end)
		p->many.end = one->end;
	p->many.times += one->times;
	p->many.missed += one->missed;
}

void dt_pauses_take(struct dt_session *s, const struct dt_record *r, size_t n, uint64_t pos)
{
	const struct dt_shared *m = &s->targets.shared;
	struct dt_pauses *p = &s->pauses;
	uint32_t thaws = dt_shared_thaws(m), behind, before;
	struct dt_thaw t[DT_THAWS];
	size_t found;

	if (thaws == p->thaws)
		goto out;
	found = find(m, pos + n * 64, p->told, t, &behind);
	/* those whose places have been used again since: just before the first that is found */
	before = thaws - p->thaws - behind - (uint32_t)found;
	if ((int32_t)before < 0 || !found)
		before = 0;
	for (size_t i = 0; i < found; i++) {
		size_t at = t[i].pos > pos ? (t[i].pos - pos) / 64 : 0;
		uint64_t since = at ? r[at - 1].ticks : p->last;
		/* who ended one reads the clock first, then this: two at a time may do so in turns */
		uint64_t missed = t[i].missed > p->missed ? t[i].missed - p->missed : 0;
		struct dt_pause one = {t[i].begin ? t[i].begin : since, t[i].end, false, 1, missed};

		if (i == 0 && before) {
			one.begin = p->last;
			one.times += before;
		}
		p->missed += missed;
		p->told = one.end;
		add(s, &one);
	}
	p->thaws += (uint32_t)found + before;
out:
	if (n)
		p->last = r[n - 1].ticks;
}

void dt_pauses_end(struct dt_session *s)
{
	const struct dt_shared *m = &s->targets.shared;
	struct dt_pauses *p = &s->pauses;
	uint64_t now = __rdtsc(), frozen = dt_shared_frozen_at(m);

	dt_pauses_take(s, NULL, 0, dt_shared_ring_pos(m, m->geometry.cores));
	if (p->many.times)
		put(s, &p->many);
	if (p->stopped)
		put(s, &(struct dt_pause){p->stopped, now, true, 1, DT_NOT_KNOWN});
	if (m->careful && dt_rings_frozen(m))
		put(s, &(struct dt_pause){frozen ? frozen : p->last, now, false, 1,
					  dt_shared_counts(m).missed - p->missed});
}
