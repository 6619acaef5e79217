/* SPDX-License-Identifier: MIT */
#include "session/mix.h"

#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "session/kernel-ranges.h"

/* The records of one source that are to be mixed now. */
struct head {
	const struct dt_record *record;	 /* of the ring or the kernel's device */
	const struct dt_switch *changes; /* of the context switches */
	size_t n, at;
	uint64_t lost;	/* only of the kernel's device: so many records are missing... */
	size_t lost_at; /* ...before the record with this index */
	uint64_t ticks; /* of the next record, on the first core's clock */
};

int dt_mix_init(struct dt_mix *m, unsigned cores, unsigned domains, struct dt_error *e)
{
	*m = (struct dt_mix){.cores = cores};
	m->core = calloc((size_t)(cores + 1) * domains, sizeof(*m->core));
	return m->core ? 0 : dt_fail(e, "out of memory");
}

void dt_mix_free(struct dt_mix *m)
{
	free(m->core);
	free(m->timed);
	free(m->mixed);
	free(m->gap);
	free(m->change);
}

static struct dt_record *room(struct dt_record **p, size_t *room, size_t n)
{
	struct dt_record *more;

	if (n <= *room)
		return *p;
	more = realloc(*p, 2 * n * sizeof(*more));
	if (!more)
		return NULL;
	*p = more;
	*room = 2 * n;
	return more;
}

/* Returns by how many ticks the clock of ring i's core is ahead of the first core's. */
static int64_t ahead_of(const struct dt_mix *m, const struct dt_session *s, unsigned i)
{
	unsigned core = i % (m->cores + 1);

	return s->offset && core < m->cores ? dt_offset_correction(&s->offset[core]) : 0;
}

/* Returns the records with the times that the first core would have given them; NULL: out of
 * memory. */
static const struct dt_record *corrected(struct dt_mix *m, const struct dt_record *r, size_t n,
					 int64_t ahead)
{
	struct dt_record *to;

	if (!ahead || !n)
		return r;
	to = room(&m->timed, &m->timed_room, n);
	if (!to)
		return NULL;
	memcpy(to, r, n * sizeof(*r));
	for (size_t i = 0; i < n; i++)
		to[i].ticks -= (uint64_t)ahead;
	return to;
}

/* Adds a gap before the next record of the mix. */
static int add_gap(struct dt_mix *m, uint64_t lost, uint64_t begin, enum dt_mix_source source)
{
	bool failed = false;

	m->gap = dt_array_grown(m->gap, m->gaps, &m->gap_room, 8, sizeof(*m->gap), &failed);
	if (failed)
		return -1;
	m->gap[m->gaps++] = (struct dt_mix_gap){
		m->n, lost, begin, source,
		source == DT_MIX_SWITCHES || (source == DT_MIX_KERNEL && m->kernel_switches)};
	return 0;
}

/* Remembers that the next record of the mix is a context switch. */
static int add_change(struct dt_mix *m)
{
	bool failed = false;

	m->change = dt_array_grown(m->change, m->changes, &m->change_room, 64, sizeof(*m->change),
				   &failed);
	if (failed)
		return -1;
	m->change[m->changes++] = m->n;
	return 0;
}

/* Finds out the time of the next record of a source. */
static void look(struct head *h, enum dt_mix_source source, int64_t ahead)
{
	if (h->at == h->n)
		h->ticks = UINT64_MAX;
	else if (source == DT_MIX_SWITCHES)
		h->ticks = h->changes[h->at].record.ticks;
	else
		h->ticks = h->record[h->at].ticks - (source == DT_MIX_KERNEL ? (uint64_t)ahead : 0);
}

/* Appends the next record of a source to the mix. */
static int put(struct dt_mix *m, struct dt_session *s, struct dt_mix_core *c, struct head *h,
	       enum dt_mix_source source)
{
	struct dt_record *out = &m->mixed[m->n];

	if (source == DT_MIX_SWITCHES) {
		*out = h->changes[h->at].record;
		c->source[source].lost += h->changes[h->at].lost;
	} else {
		*out = h->record[h->at];
	}
	out->ticks = h->ticks;
	if (source == DT_MIX_KERNEL) {
		if (h->at == h->lost_at) {
			c->source[source].lost += h->lost;
			h->lost = 0;
		}
		out->pc = dt_kernel_point_pc(s->kernel, &h->record[h->at]);
		out->core = 0; /* in the kernel's ring it says which record of a point's it is */
	}
	/* A switch has its time from another clock. One that is reported only now came after the
	 * records that have been taken, since the kernel reports it before the core goes on. */
	if (source == DT_MIX_SWITCHES && out->ticks < c->last)
		out->ticks = c->last;
	if (c->source[source].lost &&
	    add_gap(m, c->source[source].lost, c->source[source].last, source))
		return -1;
	if (out->kind == DT_SWITCH && add_change(m))
		return -1;
	c->source[source].lost = 0;
	c->source[source].last = out->ticks;
	if (out->ticks > c->last)
		c->last = out->ticks;
	h->at++;
	m->n++;
	return 0;
}

/*
 * Appends the ring's records that come before the next one of the other sources: there are some
 * hundred for each of theirs, so these are moved together. The first of them, before which some may
 * be missing, has been put.
 */
static void put_run(struct dt_mix *m, struct dt_mix_core *c, struct head *head)
{
	struct head *h = &head[DT_MIX_RING];
	uint64_t until = head[DT_MIX_SWITCHES].ticks;
	size_t to = h->at;

	if (head[DT_MIX_KERNEL].ticks < until)
		until = head[DT_MIX_KERNEL].ticks;
	for (; to < h->n && h->record[to].ticks <= until; to++)
		if (h->record[to].ticks > c->last)
			c->last = h->record[to].ticks;
	if (to == h->at)
		return;
	memcpy(m->mixed + m->n, h->record + h->at, (to - h->at) * sizeof(*m->mixed));
	c->source[DT_MIX_RING].last = h->record[to - 1].ticks;
	m->n += to - h->at;
	h->at = to;
}

static int mix(struct dt_mix *m, struct dt_session *s, struct dt_mix_core *c, struct head *head,
	       int64_t ahead)
{
	for (unsigned i = 0; i < DT_MIX_SOURCES; i++)
		look(&head[i], i, ahead);
	for (;;) {
		unsigned first = 0;

		for (unsigned i = 1; i < DT_MIX_SOURCES; i++)
			if (head[i].ticks < head[first].ticks)
				first = i;
		if (head[first].at == head[first].n)
			return 0;
		if (put(m, s, c, &head[first], first))
			return -1;
		if (first == DT_MIX_RING)
			put_run(m, c, head);
		look(&head[first], first, ahead);
	}
}

/* Makes the mix when only the ring has records; these stay where they are. */
static int alone(struct dt_mix *m, struct dt_mix_core *c, const struct dt_record *r, size_t n)
{
	m->record = r;
	if (n && c->source[DT_MIX_RING].lost) {
		if (add_gap(m, c->source[DT_MIX_RING].lost, c->source[DT_MIX_RING].last,
			    DT_MIX_RING))
			return -1;
		c->source[DT_MIX_RING].lost = 0;
	}
	m->n = n;
	if (n)
		c->last = c->source[DT_MIX_RING].last = r[n - 1].ticks;
	return 0;
}

/* Adds gaps at the end, when nothing more comes, for losses that have no record after them. */
static int tell_rest(struct dt_mix *m, struct dt_mix_core *c)
{
	for (unsigned i = 0; i < DT_MIX_SOURCES; i++) {
		if (c->source[i].lost && add_gap(m, c->source[i].lost, c->source[i].last, i))
			return -1;
		c->source[i].lost = 0;
	}
	return 0;
}

int dt_mix_take(struct dt_mix *m, struct dt_session *s, unsigned i, const struct dt_record *r,
		size_t n, uint64_t lost, uint64_t now, bool end, struct dt_error *e)
{
	struct dt_mix_core *c = &m->core[i];
	struct head head[DT_MIX_SOURCES] = {{.n = n}};
	int64_t ahead = ahead_of(m, s, i), kernel_ahead;
	uint64_t until, missing = 0;

	m->n = m->gaps = m->changes = 0;
	m->lost = lost;
	c->source[DT_MIX_RING].lost += lost;
	m->kernel_switches = s->options.wakers;
	kernel_ahead = s->kernel && dt_kernel_core_clocks(s->kernel) ? ahead : 0;
	head[DT_MIX_RING].record = r = corrected(m, r, n, ahead);
	if (n && !r)
		goto no_memory;
	/*
	 * A switch before the last record taken has been reported by now, since it happened on the
	 * same core. Later switches wait until the ring is empty: the take may have ended at its
	 * maximum, or at a loss, with earlier records still in the ring.
	 */
	until = n ? r[n - 1].ticks : lost ? 0 : end ? ~0ull : now;
	if (n && s->switches && !m->begun) {
		dt_switches_begin(s->switches, r[0].ticks);
		m->begun = true;
	}
	if (i < m->cores && s->switches) {
		head[DT_MIX_SWITCHES].changes =
			dt_switches_take(s->switches, i, until, &head[DT_MIX_SWITCHES].n, &missing);
		c->source[DT_MIX_SWITCHES].lost += missing;
		m->lost += missing;
		for (size_t k = 0; k < head[DT_MIX_SWITCHES].n; k++)
			m->lost += head[DT_MIX_SWITCHES].changes[k].lost;
	}
	if (i < m->cores && s->kernel) {
		struct head *h = &head[DT_MIX_KERNEL];

		h->record = dt_kernel_take(s->kernel, i,
					   until == ~0ull ? until : until + (uint64_t)kernel_ahead,
					   &h->n, &h->lost, &h->lost_at);
		m->lost += h->lost;
		m->kernel_n += h->n;
		m->kernel_lost += h->lost;
	}
	if (!head[DT_MIX_SWITCHES].n && !head[DT_MIX_KERNEL].n) {
		if (alone(m, c, r, n))
			goto no_memory;
	} else {
		m->record = room(&m->mixed, &m->mixed_room,
				 n + head[DT_MIX_SWITCHES].n + head[DT_MIX_KERNEL].n);
		if (!m->record || mix(m, s, c, head, kernel_ahead))
			goto no_memory;
	}
	c->source[DT_MIX_KERNEL].lost += head[DT_MIX_KERNEL].lost; /* after the records that came */
	if (end && !m->n && tell_rest(m, c))
		goto no_memory;
	return 0;
no_memory:
	return dt_fail(e, "out of memory");
}
