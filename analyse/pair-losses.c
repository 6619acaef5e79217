/* SPDX-License-Identifier: MIT */
/* Losses: where records of a core are missing. */
#include "analyse/pair-work.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"

/* Returns how many losses of a core begin before a time. */
static size_t losses_before(const struct core_loss *l, uint64_t time)
{
	return dt_count_before(l ? l->n : 0, k, l->i[k].begin < time);
}

/*
 * Adds a loss. All losses are known from the start, because a thread may go on elsewhere before its
 * core does. Those of a core may overlap, since each of its sources (its ring, the kernel) has its
 * own; they are not put together.
 */
int dt_losses_add(struct dt_pair *p, unsigned core, uint64_t begin, uint64_t end)
{
	struct core_loss *l = p->loss[core];
	size_t at;

	if (!l && !(l = p->loss[core] = calloc(1, sizeof(*l))))
		return -1;
	dt_pair_has_core(p, core);
	end = end ? end : UINT64_MAX;
	p->any_loss = true;
	at = losses_before(l, begin);
	if (at < l->n &&
	    l->i[at].begin == begin) { /* it is noted again: its end may be known by now */
		if (end == UINT64_MAX || l->i[at].end == end)
			return 0;
		if (l->i[at].end == UINT64_MAX || l->i[at].end < end)
			l->i[at].end = end;
	} else {
		if (l->n == l->size) {
			size_t size = l->size ? 2 * l->size : 16;
			struct interval *i = realloc(l->i, size * sizeof(*i));

			if (!i)
				return -1;
			l->i = i;
			l->size = size;
		}
		memmove(l->i + at + 1, l->i + at, (l->n - at) * sizeof(*l->i));
		l->n++;
		l->i[at] = (struct interval){.begin = begin, .end = end};
	}
	for (; at < l->n; at++) {
		uint64_t before = at ? l->i[at - 1].reach : 0;

		l->i[at].reach = l->i[at].end > before ? l->i[at].end : before;
	}
	return 0;
}

/* Returns whether records of a core are missing somewhere in [begin, end]. */
bool dt_losses_between(const struct dt_pair *p, uint16_t core, uint64_t begin, uint64_t end)
{
	const struct core_loss *l = p->loss[core];
	size_t n = losses_before(l, end);

	return n && l->i[n - 1].reach > begin;
}

bool dt_pair_was_lost(const struct dt_pair *p, uint64_t from, uint64_t to)
{
	for (uint32_t core = 0; p->any_loss && core < p->cores; core++)
		if (dt_losses_between(p, (uint16_t)core, from, to))
			return true;
	return false;
}

/*
 * Returns whether records may be missing of a thread that has made one at `since' and the next, at
 * now, on the same core. What a ring has lost lies between two of its records; for a shared ring,
 * whose times are in no strict order, about there. A loss that spans several records comes from the
 * kernel, which goes on losing while the ring does not: that matters for calls in the kernel, and
 * where it began.
 */
bool dt_losses_since(const struct dt_pair *p, uint16_t core, uint64_t since, uint64_t now,
		     bool kernel)
{
	const struct core_loss *l = p->loss[core];
	size_t n;

	if (kernel || core >= DT_SHARED_CORES)
		return dt_losses_between(p, core, since, now);
	n = losses_before(l, now);
	return n && l->i[n - 1].begin >= since;
}

/*
 * Returns the time after which something may be lost on a core again, or still; UINT64_MAX: never.
 */
uint64_t dt_losses_next(const struct dt_pair *p, uint16_t core, uint64_t time)
{
	const struct core_loss *l = p->loss[core];
	size_t n = losses_before(l, time);

	if (n && l->i[n - 1].reach > time)
		return time;
	return l && n < l->n ? l->i[n].begin : UINT64_MAX;
}
