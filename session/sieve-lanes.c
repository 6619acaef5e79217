/* SPDX-License-Identifier: MIT */
/* The sieve's records: the queue of each ring. */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

static struct lane *lane_of(struct dt_sieve *v, unsigned ring)
{
	if (ring >= v->lanes) {
		struct lane *more = realloc(v->lane, (ring + 1) * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + v->lanes, 0, (ring + 1 - v->lanes) * sizeof(*more));
		v->lane = more;
		v->lanes = ring + 1;
	}
	return &v->lane[ring];
}

/* Makes room for n more records. False: out of memory. */
static bool make_room(struct lane *l, size_t n)
{
	uint64_t size = l->size ? l->size : HELD_LEAST;
	struct dt_record *record;
	uint32_t *verdict;

	if (l->end - l->begin + n <= l->size)
		return true;
	while (size < l->end - l->begin + n)
		size *= 2;
	record = malloc(size * sizeof(*record));
	verdict = malloc(size * sizeof(*verdict));
	if (!record || !verdict) {
		free(record);
		free(verdict);
		return false;
	}
	for (uint64_t p = l->begin; p < l->end; p++) { /* nothing is lent here */
		record[p & (size - 1)] = l->record[p & (l->size - 1)];
		verdict[p & (size - 1)] = l->verdict[p & (l->size - 1)];
	}
	free(l->record);
	free(l->verdict);
	l->record = record;
	l->verdict = verdict;
	l->size = size;
	return true;
}

static bool add_gap(struct lane *l, uint64_t at, const struct dt_mix_gap *gap)
{
	if (l->gaps == l->gap_room) {
		size_t room = l->gap_room ? 2 * l->gap_room : 8;
		struct gap *more = realloc(l->gap, room * sizeof(*more));

		if (!more)
			return false;
		l->gap = more;
		l->gap_room = room;
	}
	l->gap[l->gaps++] = (struct gap){at, gap->lost, gap->begin, dt_mix_lost_switches(gap)};
	return true;
}

void dt_sieve_keep_lent(struct lane *l)
{
	uint64_t first = l->end - l->lent_n, from = l->begin > first ? l->begin : first;
	uint64_t n = l->end - from, at, part;

	if (n) {
		at = from & (l->size - 1);
		part = n < l->size - at ? n : l->size - at;
		memcpy(l->record + at, l->lent + (from - first), part * sizeof(*l->lent));
		memcpy(l->record, l->lent + (from - first) + part, (n - part) * sizeof(*l->lent));
	}
	l->lent_n = 0;
}

int dt_sieve_take(struct dt_sieve *v, unsigned ring, unsigned core, const struct dt_mix *m,
		  bool stays, struct dt_error *e)
{
	struct lane *l = lane_of(v, ring);

	if (l)
		dt_sieve_keep_lent(l);
	/* from the queue's start, if it is empty: that is in the processor's cache */
	if (l && l->begin == l->end && !l->gaps && l->size)
		l->begin = l->unseen = l->end = (l->end + l->size - 1) & ~(l->size - 1);
	if (!l || !make_room(l, m->n))
		return dt_fail(e, "out of memory");
	l->core = core;
	for (size_t i = 0; i < m->gaps; i++)
		if (!add_gap(l, l->end + m->gap[i].at, &m->gap[i]))
			return dt_fail(e, "out of memory");
	if (!m->n)
		return 0;
	l->end += m->n;
	l->lent = m->record;
	l->lent_n = m->n;
	if (!stays)
		dt_sieve_keep_lent(l);
	return 0;
}

int dt_sieve_insert(struct dt_sieve *v, unsigned core, const struct dt_record *r,
		    struct dt_error *e)
{
	struct lane *l = lane_of(v, core);
	struct dt_record one = *r;
	uint64_t at;

	if (!l)
		return dt_fail(e, "out of memory");
	dt_sieve_keep_lent(l);
	if (!make_room(l, 1))
		return dt_fail(e, "out of memory");
	l->core = core;
	for (at = l->end; at > l->unseen && lane_record(l, at - 1)->ticks > one.ticks; at--)
		l->record[at & (l->size - 1)] = l->record[(at - 1) & (l->size - 1)];
	/* what has been chosen among is earlier, but for some ticks between clocks */
	if (one.ticks < v->now)
		one.ticks = v->now;
	l->record[at & (l->size - 1)] = one;
	l->end++;
	for (size_t i = 0; i < l->gaps; i++)
		if (l->gap[i].at > at)
			l->gap[i].at++;
	return 0;
}

uint64_t dt_sieve_waiting(const struct dt_sieve *v)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < v->lanes; i++)
		n += v->lane[i].end - v->lane[i].unseen;
	return n;
}

uint64_t dt_sieve_until(const struct dt_sieve *v, uint64_t until)
{
	for (unsigned i = 0; i < v->lanes; i++) {
		const struct lane *l = &v->lane[i];

		if (l->begin < l->end && lane_record(l, l->begin)->ticks <= until)
			until = lane_record(l, l->begin)->ticks - 1;
	}
	return until;
}
