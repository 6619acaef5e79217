/* SPDX-License-Identifier: MIT */
/* The numbers of the values that are shown, for programs that read them. */
#include "show/format-work.h"

#include <string.h>

static struct dt_format_number number_of(const struct dt_format_item *i, const uint64_t *value)
{
	struct dt_format_number n = {.kind = DT_NUMBER_NONE};
	uint64_t v;
	unsigned shift;
	float f;

	if (!i || i->type >= WIDE)
		return n;
	v = value[i->place];
	shift = i->size && i->size < 8 ? 64 - 8u * i->size : 0;
	n.kind = DT_NUMBER_UNSIGNED;
	n.u = v << shift >> shift;
	if (i->type == SIGNED || i->type == CHAR) {
		n.kind = DT_NUMBER_SIGNED;
		n.u = (uint64_t)((int64_t)(v << shift) >> shift);
	} else if (i->type == BOOL) {
		n.u = (v & 0xff) != 0;
	} else if (i->type == FLOAT) {
		n.kind = DT_NUMBER_REAL;
		memcpy(&f, &v, sizeof(f));
		n.real = (double)f;
	} else if (i->type == DOUBLE) {
		n.kind = DT_NUMBER_REAL;
		memcpy(&n.real, &v, sizeof(n.real));
	}
	return n;
}

struct dt_format_number dt_format_number(const struct dt_formats *f, const uint64_t *value)
{
	return number_of(f->at, value);
}

struct dt_format_number dt_format_result_number(const struct dt_formats *f, uint32_t function,
						const uint64_t *result)
{
	const struct dt_call_format *c = function < f->functions ? &f->function[function] : NULL;

	if (!c || !c->ready || !c->has_result || !result)
		return (struct dt_format_number){.kind = DT_NUMBER_NONE};
	return number_of(&c->item[c->items - 1], result);
}
