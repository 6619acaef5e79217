/* SPDX-License-Identifier: MIT */
/*
 * Functions into whose middle others jump or call, as assembler does that has several beginnings
 * for one piece of code. Their exits are recorded then without an entry, if what leads there is not
 * recorded itself.
 */
#include "hook/entered.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

/* Looks whether a jump from another function leads into the middle of f. */
static bool is_jumped_into(const struct dt_code *c, const struct dt_code_function *f)
{
	size_t low = 0, high = c->crosses;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->cross[middle].to <= f->start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->crosses && c->cross[low].to < f->end; low++) {
		size_t from = dt_code_function_at(c, c->cross[low].from);

		if (from == c->functions || c->function[from].whole != f->whole)
			return true;
	}
	return false;
}

/* Looks whether one of the bytes [from, to) is called: eight at a time. */
static bool any_called(const uint8_t *mark, uint64_t from, uint64_t to)
{
	for (uint64_t eight; from + sizeof(eight) <= to; from += sizeof(eight)) {
		memcpy(&eight, mark + from, sizeof(eight));
		if (eight & DT_CODE_CALLED * 0x0101010101010101u)
			return true;
	}
	for (; from < to; from++)
		if (mark[from] & DT_CODE_CALLED)
			return true;
	return false;
}

/* Looks whether something calls the middle of f. If addresses there are taken, too, it is not
 * known: they may be a switch's, but for processors of which it is known where a function has one.
 */
static bool is_called_inside(const struct dt_code *c, const struct dt_code_function *f)
{
	const struct dt_code_region *r = dt_code_region_of(c, f->start);

	if (!r || (f->taken && (!DT_TAKEN_ENTERS || f->stays)))
		return false;
	return any_called(r->mark, f->start + 1 - r->low,
			  (f->end < r->high ? f->end : r->high) - r->low);
}

bool *dt_entered(const struct dt_code *c)
{
	bool *entered = calloc(c->functions + 1, sizeof(*entered));

	for (size_t i = 0; entered && i < c->functions; i++) {
		const struct dt_code_function *x = &c->function[i];

		if (!x->part)
			entered[x->whole] |= is_jumped_into(c, x) || is_called_inside(c, x);
	}
	return entered;
}

uint64_t dt_runs_into(const struct dt_code *c, size_t i)
{
	const struct dt_code_function *x = &c->function[i];

	return x->falls && !x->anywhere && !x->exits && !x->part && x->end == x[1].start &&
			       !x[1].part
		       ? x[1].start
		       : 0;
}
