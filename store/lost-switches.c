/* SPDX-License-Identifier: MIT */
/* The times in which context switches are missing. */
#include "store/lost-switches.h"

#include <stdlib.h>

#include "core/search.h"

static int compare(const void *a, const void *b)
{
	const struct dt_lost_time *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void put_in_order(struct dt_lost_switches *l)
{
	size_t n = 0;
	uint64_t before = 0;

	qsort(l->time, l->n, sizeof(*l->time), compare);
	for (size_t i = 0; i < l->n; i++) {
		struct dt_lost_time *t = &l->time[i];

		if (!n || t->begin > l->time[n - 1].end)
			l->time[n++] = *t;
		else if (t->end > l->time[n - 1].end)
			l->time[n - 1].end = t->end;
	}
	l->n = n;
	for (size_t i = 0; i < n; i++) {
		l->time[i].before = before;
		before += l->time[i].end - l->time[i].begin;
	}
	l->in_order = true;
}

/* Returns how many ticks before one lie in such times. */
static uint64_t until(const struct dt_lost_switches *l, uint64_t ticks)
{
	size_t n = dt_count_before(l->n, k, l->time[k].begin < ticks);
	const struct dt_lost_time *t = n ? &l->time[n - 1] : NULL;

	return t ? t->before + (ticks < t->end ? ticks : t->end) - t->begin : 0;
}

uint64_t dt_lost_switches_between(struct dt_lost_switches *l, uint64_t begin, uint64_t end)
{
	uint64_t rest = l->rest && l->rest < end ? l->rest > begin ? l->rest : begin : end;

	if (end <= begin)
		return 0;
	if (!l->in_order)
		put_in_order(l);
	return until(l, rest) - until(l, begin) + (end - rest);
}

int dt_lost_switches_add(struct dt_lost_switches *l, uint64_t begin, uint64_t end)
{
	if (!end) {
		l->rest = l->rest && l->rest < begin ? l->rest : begin;
		return 0;
	}
	/* while a file grows, the end of the last one becomes known, and all come again */
	if (l->rest == begin)
		l->rest = 0;
	if (end <= begin || (l->in_order && dt_lost_switches_between(l, begin, end) == end - begin))
		return 0;
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		struct dt_lost_time *more = realloc(l->time, room * sizeof(*more));

		if (!more)
			return -1;
		l->time = more;
		l->room = room;
	}
	l->time[l->n++] = (struct dt_lost_time){.begin = begin, .end = end};
	l->in_order = false;
	return 0;
}

static int take(void *ctx, const struct dt_lost *lost)
{
	return lost->switches ? dt_lost_switches_add(ctx, lost->begin, lost->end) : 0;
}

int dt_lost_switches_end(struct dt_lost_switches *l, const struct dt_reader *r)
{
	const char *until = dt_reader_meta(r, "switches.until");

	return until ? dt_lost_switches_add(l, strtoull(until, NULL, 10), UINT64_MAX) : 0;
}

int dt_lost_switches_load(struct dt_lost_switches *l, struct dt_reader *r)
{
	return dt_lost_switches_end(l, r) ? -1 : dt_reader_losses(r, take, l);
}

void dt_lost_switches_free(struct dt_lost_switches *l)
{
	free(l->time);
	*l = (struct dt_lost_switches){0};
}
