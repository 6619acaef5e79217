/* SPDX-License-Identifier: MIT */
/*
 * Time that is devtrace's: in which it has had a thread wait (session/helds.h), or its hook has
 * copied texts. Such time is not a call's, also where a filter or a sum asks how long the call
 * took. The waits of a thread are known before the records that follow them are taken.
 * analyse/pair.c leaves out the same.
 */
#include "session/sieve-work.h"

#include <stdlib.h>

/* Waits of a thread that are remembered: those that the sieve, which is behind, may ask about. */
#define HOLDS 1024u

struct sieve_holds {
	uint64_t found; /* what find() returned last: what is asked next is mostly close by */
	struct sieve_hold at[HOLDS];
};

static struct sieve_hold *hold_at(const struct sieve_thread *t, uint64_t number)
{
	return &t->hold->at[number % HOLDS];
}

/* Puts a wait where it belongs in time: those that are taken together come in any order. */
static void put(struct sieve_thread *t, uint64_t begin, uint64_t end, bool record)
{
	uint64_t i = t->holds, oldest = t->holds > HOLDS - 1 ? t->holds - (HOLDS - 1) : 0;
	struct sieve_hold *h;

	for (; i > oldest && hold_at(t, i - 1)->begin > begin; i--)
		;
	/* what another one has already is counted once */
	if (i > oldest && begin < hold_at(t, i - 1)->end)
		begin = hold_at(t, i - 1)->end;
	if (i < t->holds && end > hold_at(t, i)->begin)
		end = hold_at(t, i)->begin;
	if (begin >= end)
		return;
	for (uint64_t k = t->holds; k > i; k--) {
		*hold_at(t, k) = *hold_at(t, k - 1);
		hold_at(t, k)->before += end - begin;
	}
	h = hold_at(t, i);
	*h = (struct sieve_hold){begin, end, 0, record};
	if (i > oldest)
		h->before = hold_at(t, i - 1)->before + hold_at(t, i - 1)->end -
			    hold_at(t, i - 1)->begin;
	else if (i < t->holds)
		h->before = hold_at(t, i + 1)->before - (end - begin);
	t->holds++;
	t->calm_to = 0;
	t->calm_from = UINT64_MAX;
}

void dt_sieve_held(struct dt_sieve *v, uint32_t tid, uint64_t begin, uint64_t end, bool record)
{
	const struct dt_record r = {.tid = tid};
	struct sieve_thread *t = dt_sieve_thread_of(v, &r, 0);

	if (t && !t->hold)
		t->hold = calloc(1, sizeof(*t->hold));
	if (!t || !t->hold) {
		v->no_memory = true;
		return;
	}
	put(t, begin, end, record);
}

/* The number of the oldest wait that is remembered. */
static uint64_t oldest_of(const struct sieve_thread *t)
{
	return t->holds > HOLDS ? t->holds - HOLDS : 0;
}

/* Tells whether find() returns `number'. */
static bool is_found(const struct sieve_thread *t, uint64_t number, uint64_t ticks)
{
	return number >= oldest_of(t) && number <= t->holds &&
	       (number == oldest_of(t) || hold_at(t, number - 1)->begin < ticks) &&
	       (number == t->holds || hold_at(t, number)->begin >= ticks);
}

/* Returns the number of the first remembered wait that does not begin before a time; t->holds: all
 * do. Waits follow each other in time and do not overlap (put()). */
static uint64_t find(const struct sieve_thread *t, uint64_t ticks)
{
	uint64_t low = oldest_of(t), high = t->holds, found = t->hold->found;

	if (is_found(t, found, ticks))
		return found;
	if (is_found(t, found + 1, ticks))
		return t->hold->found = found + 1;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (hold_at(t, middle)->begin < ticks)
			low = middle + 1;
		else
			high = middle;
	}
	return t->hold->found = low;
}

bool dt_sieve_held_look(struct sieve_thread *t, uint64_t since, uint64_t until)
{
	const struct sieve_hold *h;
	uint64_t i;

	if (!t->holds)
		return true;
	i = find(t, until);
	if (i == oldest_of(t)) /* nothing, or what is forgotten, is before */
		return false;
	h = hold_at(t, i - 1);
	if (h->end > since)
		return false;
	t->calm_from = h->end;
	t->calm_to = i < t->holds ? hold_at(t, i)->begin : UINT64_MAX;
	t->calm_before = h->before + (h->end - h->begin);
	return true;
}

uint64_t dt_sieve_held_between(const struct sieve_thread *t, uint64_t begin, uint64_t end,
			       uint64_t before)
{
	uint64_t held, since;

	if (!t->holds || end <= begin)
		return 0;
	held = dt_sieve_held_before(t, end);
	since = dt_sieve_held_before(t, begin);
	/* older ones are forgotten: the sum of all when it began is left */
	if (t->holds >= HOLDS && hold_at(t, oldest_of(t))->end > begin && held > before)
		since = before;
	held -= since;
	return held < end - begin ? held : end - begin;
}

uint64_t dt_sieve_held_before(const struct sieve_thread *t, uint64_t ticks)
{
	const struct sieve_hold *h;
	uint64_t i;

	if (!t->holds)
		return 0;
	i = find(t, ticks);
	if (i == oldest_of(t))
		return hold_at(t, i)->before; /* older ones are forgotten */
	h = hold_at(t, i - 1);
	return h->before + ((h->end < ticks ? h->end : ticks) - h->begin);
}

void dt_sieve_capture(struct sieve_thread *t, uint64_t ticks)
{
	const uint64_t since = t->last_ticks;

	if (!since || ticks <= since)
		return;
	t->captured += ticks - since;
	if (t->holds)
		t->captured -= dt_sieve_held_between(t, since, ticks, UINT64_MAX);
}

uint64_t dt_sieve_held_behind(const struct sieve_thread *t, uint64_t since, uint64_t ticks)
{
	const uint64_t oldest = oldest_of(t);
	uint64_t i, from = ticks;

	if (!t->holds)
		return 0;
	i = find(t, ticks);
	/* the last one that begins before may last until after that time */
	if (i > oldest && hold_at(t, i - 1)->end > ticks)
		i--;
	/* one record may have waited several times: the program did not run in between */
	for (; i > oldest && hold_at(t, i - 1)->end > since; i--)
		if (hold_at(t, i - 1)->record)
			from = hold_at(t, i - 1)->begin;
	from = from > since ? from : since;
	if (from >= ticks)
		return 0;
	return ticks - from - dt_sieve_held_between(t, from, ticks, UINT64_MAX);
}
