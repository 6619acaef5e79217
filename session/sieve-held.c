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

static struct sieve_hold *hold_at(const struct sieve_thread *t, uint64_t number)
{
	return &t->hold[number % HOLDS];
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
}

void dt_sieve_held(struct dt_sieve *v, uint32_t tid, uint64_t begin, uint64_t end, bool record)
{
	const struct dt_record r = {.tid = tid};
	struct sieve_thread *t = dt_sieve_thread_of(v, &r, 0);

	if (t && !t->hold)
		t->hold = malloc(HOLDS * sizeof(*t->hold));
	if (!t || !t->hold) {
		v->no_memory = true;
		return;
	}
	put(t, begin, end, record);
}

uint64_t dt_sieve_held_between(const struct sieve_thread *t, uint64_t begin, uint64_t end,
			       uint64_t before)
{
	uint64_t held = 0, i;

	for (i = 0; i < HOLDS && i < t->holds; i++) {
		const struct sieve_hold *h = hold_at(t, t->holds - 1 - i);

		if (h->end <= begin)
			break;
		if (h->begin < end)
			held += (h->end < end ? h->end : end) -
				(h->begin > begin ? h->begin : begin);
	}
	/* older ones are forgotten: the sum of all when it began is left */
	if (i == HOLDS && dt_sieve_held_before(t, end) > before)
		held = dt_sieve_held_before(t, end) - before;
	return held < end - begin ? held : end - begin;
}

uint64_t dt_sieve_held_before(const struct sieve_thread *t, uint64_t ticks)
{
	const struct sieve_hold *h = NULL;

	for (uint64_t i = 0; i < HOLDS && i < t->holds; i++) {
		h = hold_at(t, t->holds - 1 - i);
		if (h->begin < ticks)
			return h->before + ((h->end < ticks ? h->end : ticks) - h->begin);
	}
	return h ? h->before : 0; /* older ones are forgotten */
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
	for (uint64_t i = 0; i < HOLDS && i < t->holds; i++) {
		const struct sieve_hold *h = hold_at(t, t->holds - 1 - i);

		if (h->end <= since)
			return 0;
		if (h->end <= ticks)
			return h->record ? ticks - h->end : 0;
	}
	return 0;
}
