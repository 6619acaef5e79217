/* SPDX-License-Identifier: MIT */
/* Times in which a function was not recorded, because of the budget: its calls then have no
 * records, and of those at the edges one end may be missing. */
#include "analyse/pair-work.h"

#include <stdlib.h>

#include "core/search.h"

static int by_function(const void *a, const void *b)
{
	const struct dt_off *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

void dt_pair_find_offs(struct dt_pair *p)
{
	size_t n, version;
	const struct dt_off *off = dt_reader_offs(p->reader, &n, &version);

	if (version == p->offs_known)
		return;
	free(p->off);
	p->off = calloc(n + 1, sizeof(*p->off));
	p->offs = 0;
	p->offs_known = version;
	p->no_memory = p->no_memory || !p->off;
	for (size_t i = 0; p->off && i < n; i++) {
		if (!off[i].function || off[i].function >= p->same.n)
			continue;
		p->off[p->offs] = off[i];
		p->off[p->offs++].function = p->same.first[off[i].function];
	}
	if (p->offs)
		qsort(p->off, p->offs, sizeof(*p->off), by_function);
	/* those of a function's parts may overlap: each ends with the latest so far, so that
	 * dt_pair_was_off() need look at one only, however many a file has */
	for (size_t i = 1; i < p->offs; i++)
		if (p->off[i].function == p->off[i - 1].function &&
		    p->off[i].end < p->off[i - 1].end)
			p->off[i].end = p->off[i - 1].end;
}

bool dt_pair_was_off(const struct dt_pair *p, uint32_t function, uint64_t from, uint64_t to)
{
	size_t i =
		dt_count_before(p->offs, k,
				p->off[k].function < function ||
					(p->off[k].function == function && p->off[k].begin <= to));

	/* the last that begins by then */
	return i && p->off[i - 1].function == function && p->off[i - 1].end >= from;
}
