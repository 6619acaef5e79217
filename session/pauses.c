/* SPDX-License-Identifier: MIT */
#include "session/pauses.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "session/doubt.h"
#include "session/rings.h"
#include "store/store.h"
#include "session/domain.h"

#define MOMENT	23u /* a moment is 2^MOMENT ticks, some 4 ms */
#define SINGLES 16u /* so many pauses that end in one moment are told one by one */

static void put(struct dt_session *s, const struct dt_pause *p)
{
	/* an error is noticed where records are written to the same file */
	if (dt_session_has_file(s))
		dt_store_pause(s->store, p, NULL);
}

void dt_pauses_start(struct dt_session *s, bool active)
{
	struct dt_pauses *p = &s->domain[0]->pauses;
	uint64_t now = dt_ticks();

	if (active && p->stopped)
		put(s, &(struct dt_pause){p->stopped, now, true, 1, DT_NOT_KNOWN});
	/* a pause before the first record has begun now at the earliest */
	for (unsigned i = 0; i < s->domains && active; i++)
		if (!s->domain[i]->pauses.last)
			s->domain[i]->pauses.last = s->domain[i]->pauses.all_told = now;
	if (active)
		p->stopped = 0;
	else if (!p->stopped)
		p->stopped = now;
}

/*
 * Tells a pause whose begin and end are known. When there are many, the further ones of a moment
 * are told as one. The thread that ends a pause reads the clock before its record has a place, so
 * the record before may be later; then the pause was short.
 */
static void add(struct dt_session *s, struct dt_pauses *p, struct dt_pause *one)
{
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

void dt_pauses_take(struct dt_session *s, struct dt_domain *d, const struct dt_record *r, size_t n,
		    uint64_t pos)
{
	const struct dt_shared *m = d->shared;
	struct dt_pauses *p = &d->pauses;
	uint32_t thaws = dt_shared_thaws(m), more = thaws - p->thaws, unseen = 0;
	struct dt_thaw t;

	/* a program that runs wild or means harm may have written this: it is not believed */
	if (more > INT32_MAX || !dt_domains_freeze(s))
		thaws = p->thaws;
	else if (more > DT_THAWS)
		unseen = more - DT_THAWS;
	for (uint32_t i = p->thaws + unseen; i != thaws; i++) {
		if (!dt_shared_thaw(m, i, &t)) {
			if (dt_shared_thaws(m) - i <= DT_THAWS)
				break; /* the entry is being written; its record is still to come */
			/* this pause is told with the next one that can be read, perhaps with later
			 * records */
			unseen++;
			continue;
		}
		if (t.pos > pos + n * 64)
			break;
		size_t at = t.pos > pos ? (t.pos - pos) / 64 : 0;
		uint64_t since = at ? r[at - 1].ticks : p->last;
		/* the thread that ends a pause reads the clock first, then this count; two at the
		 * same time may do so in turns */
		uint64_t missed = t.missed > p->missed ? t.missed - p->missed : 0;
		struct dt_pause one = {t.begin ? t.begin : since, t.end, false, 1 + unseen, missed};

		if (unseen)
			one.begin = p->all_told;
		unseen = 0;
		p->missed += missed;
		p->thaws = i + 1;
		if (one.begin + dt_doubt_apart(s) < s->began ||
		    one.end > dt_ticks() + dt_doubt_apart(s))
			continue;
		if (t.end > p->all_told)
			p->all_told = t.end;
		add(s, p, &one);
	}
	if (n)
		p->last = r[n - 1].ticks;
	if (!unseen && p->last > p->all_told)
		p->all_told = p->last;
}

static void end(struct dt_session *s, struct dt_domain *d, uint64_t now)
{
	const struct dt_shared *m = d->shared;
	struct dt_pauses *p = &d->pauses;
	uint64_t frozen = dt_shared_frozen_at(m);

	dt_pauses_take(s, d, NULL, 0, dt_shared_ring_pos(m, m->geometry.cores));
	if (p->many.times)
		put(s, &p->many);
	if (p->stopped)
		put(s, &(struct dt_pause){p->stopped, now, true, 1, DT_NOT_KNOWN});
	if (m->careful && dt_rings_frozen(m) && dt_domains_freeze(s))
		put(s, &(struct dt_pause){frozen > s->began && frozen < now ? frozen : p->last, now,
					  false, 1, dt_shared_counts(m).missed - p->missed});
}

void dt_pauses_end(struct dt_session *s)
{
	uint64_t now = dt_ticks();

	for (unsigned i = 0; i < s->domains; i++)
		end(s, s->domain[i], now);
}
