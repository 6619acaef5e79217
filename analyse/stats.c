/* SPDX-License-Identifier: MIT */
/* Times per function. */
#include <stdlib.h>
#include "analyse/stats.h"

#define STATED (DT_CALL_UNWOUND | DT_CALL_TAIL | DT_CALL_OPEN | DT_CALL_NO_ENTRY | DT_CALL_LOSS)

/* 0 to 15 have a bucket each; then 16 for every power of two. */
static unsigned bucket_of(uint64_t v)
{
	unsigned shift;

	if (v < 16)
		return (unsigned)v;
	shift = 59 - (unsigned)__builtin_clzll(v);
	return 16 * (shift + 1) + (unsigned)(v >> shift & 15);
}

/* The middle of a bucket. */
static uint64_t bucket_value(unsigned b)
{
	unsigned shift;

	if (b < 32)
		return b;
	shift = b / 16 - 1;
	return ((uint64_t)(16 + b % 16) << shift) + ((uint64_t)1 << shift >> 1);
}

static struct dt_function_stats *stats_of(struct dt_stats *s, uint32_t function)
{
	if (function >= s->functions) {
		uint32_t n = function + 256;
		struct dt_function_stats *p = realloc(s->function, n * sizeof(*p));

		if (!p) {
			s->no_memory = true;
			return NULL;
		}
		for (uint32_t i = s->functions; i < n; i++)
			p[i] = (struct dt_function_stats){.function = i, .min = UINT64_MAX};
		s->function = p;
		s->functions = n;
	}
	return &s->function[function];
}

void dt_stats_call(void *ctx, const struct dt_call *c)
{
	struct dt_function_stats *f = stats_of(ctx, c->function);
	uint64_t d = c->end - c->begin;

	if (!f)
		return;
	f->calls++;
	if (__builtin_expect(c->flags & STATED, 0)) {
		f->unwound += !!(c->flags & DT_CALL_UNWOUND);
		f->tail += !!(c->flags & DT_CALL_TAIL);
		f->open += !!(c->flags & DT_CALL_OPEN);
		f->no_entry += !!(c->flags & DT_CALL_NO_ENTRY);
		f->loss += !!(c->flags & DT_CALL_LOSS);
		if (c->flags & DT_CALL_UNTIMED)
			return;
	}
	if (!f->bucket && !(f->bucket = calloc(DT_BUCKETS, sizeof(*f->bucket)))) {
		((struct dt_stats *)ctx)->no_memory = true;
		return;
	}
	f->timed++;
	f->sum += d;
	if (!(c->flags & DT_CALL_RECURSIVE))
		f->total += d;
	f->self += d > c->children ? d - c->children : 0;
	if (d < f->min)
		f->min = d;
	if (d > f->max)
		f->max = d;
	f->bucket[bucket_of(d)]++;
}

uint64_t dt_stats_quantile(const struct dt_function_stats *f, double share)
{
	uint64_t want = (uint64_t)(share * (double)f->timed + 0.999999), seen = 0, v;

	if (!f->timed)
		return 0;
	if (want < 1)
		want = 1;
	for (unsigned b = 0; b < DT_BUCKETS; b++) {
		seen += f->bucket[b];
		if (seen >= want) {
			v = bucket_value(b);
			return v < f->min ? f->min : v > f->max ? f->max : v;
		}
	}
	return f->max;
}

void dt_stats_free(struct dt_stats *s)
{
	for (uint32_t i = 0; i < s->functions; i++)
		free(s->function[i].bucket);
	free(s->function);
}
