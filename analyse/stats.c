/* SPDX-License-Identifier: MIT */
/* Times per function. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyse/stats.h"
#include "store/varint.h"

#define STATED (DT_CALL_UNWOUND | DT_CALL_TAIL | DT_CALL_OPEN | DT_CALL_UNKNOWN | DT_CALL_WAITED)

/* 0 to 15 have a bucket each, then there are 16 for every power of two. */
unsigned dt_stats_bucket(uint64_t v)
{
	unsigned shift;

	if (v < 16)
		return (unsigned)v;
	shift = 59 - (unsigned)__builtin_clzll(v);
	return 16 * (shift + 1) + (unsigned)(v >> shift & 15);
}

uint64_t dt_stats_lowest(unsigned b)
{
	return b < 32 ? b : (uint64_t)(16 + b % 16) << (b / 16 - 1);
}

/* Returns the middle of a bucket. */
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
	uint64_t d = dt_call_ticks(c);

	if (!f)
		return;
	if (__builtin_expect(c->flags & DT_CALL_NO_ENTRY, 0)) {
		f->no_entry++;
		return;
	}
	f->calls++;
	if (__builtin_expect(c->flags & STATED, 0)) {
		f->unwound += !!(c->flags & DT_CALL_UNWOUND);
		f->tail += !!(c->flags & DT_CALL_TAIL);
		f->open += !!(c->flags & DT_CALL_OPEN);
		f->no_exit += !!(c->flags & DT_CALL_NO_EXIT);
		f->loss += !!(c->flags & DT_CALL_LOSS);
		f->paused += !!(c->flags & DT_CALL_PAUSED);
		f->backward += !!(c->flags & DT_CALL_BACKWARD);
		if (c->flags & DT_CALL_UNTIMED) {
			f->total += c->flags & DT_CALL_RECURSIVE ? 0 : c->inner;
			f->waited += c->flags & DT_CALL_RECURSIVE ? 0 : c->inner_waited;
			return;
		}
		f->waited += c->flags & DT_CALL_RECURSIVE ? 0 : c->waited;
		f->preempted += c->flags & DT_CALL_RECURSIVE ? 0 : c->preempted;
		f->waited_self += c->waited_self;
	}
	if (!f->bucket && !(f->bucket = calloc(DT_BUCKETS, sizeof(*f->bucket)))) {
		((struct dt_stats *)ctx)->no_memory = true;
		return;
	}
	f->timed++;
	f->sum += d;
	f->squares += (unsigned __int128)d * d;
	if (!(c->flags & DT_CALL_RECURSIVE))
		f->total += d;
	f->self += d > c->children ? d - c->children : 0;
	if (d < f->min)
		f->min = d;
	if (d > f->max)
		f->max = d;
	f->bucket[dt_stats_bucket(d)]++;
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

double dt_stats_squares(const struct dt_function_stats *f)
{
	uint64_t mean = f->timed ? f->sum / f->timed : 0, rest = f->timed ? f->sum % f->timed : 0;
	unsigned __int128 around;

	if (!f->timed)
		return 0;
	/* whole numbers, in which nothing is lost: around the mean rounded down, then around it */
	around = f->squares - 2 * (unsigned __int128)mean * f->sum +
		 (unsigned __int128)mean * mean * f->timed;
	return fmax(0, (double)around - (double)rest * (double)rest / (double)f->timed);
}

double dt_stats_deviation(const struct dt_function_stats *f)
{
	return f->timed ? sqrt(dt_stats_squares(f) / (double)f->timed) : 0;
}

uint64_t dt_stats_value(const struct dt_function_stats *f, enum dt_stats_key key)
{
	switch (key) {
	case DT_STATS_TOTAL:
		return f->total;
	case DT_STATS_SELF:
		return f->self;
	case DT_STATS_CALLS:
		return f->calls;
	case DT_STATS_AVG:
		return f->timed ? (f->sum + f->timed / 2) / f->timed : 0;
	case DT_STATS_STDDEV:
		return (uint64_t)(dt_stats_deviation(f) + 0.5);
	case DT_STATS_MIN:
		return f->timed ? f->min : 0;
	case DT_STATS_P50:
		return dt_stats_quantile(f, 0.5);
	case DT_STATS_P90:
		return dt_stats_quantile(f, 0.9);
	case DT_STATS_P95:
		return dt_stats_quantile(f, 0.95);
	case DT_STATS_P99:
		return dt_stats_quantile(f, 0.99);
	case DT_STATS_P999:
		return dt_stats_quantile(f, 0.999);
	case DT_STATS_MAX:
		return f->max;
	case DT_STATS_UNWOUND:
		return f->unwound;
	case DT_STATS_TAIL:
		return f->tail;
	case DT_STATS_CPU:
		return f->total > f->waited ? f->total - f->waited : 0;
	case DT_STATS_WAIT:
		return f->waited;
	case DT_STATS_SELFWAIT:
		return f->waited_self;
	default:
		return 0;
	}
}

int dt_stats_row_compare(const void *a, const void *b)
{
	const struct dt_stats_row *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* ---- as bytes ---- */

static int save_buckets(const struct dt_function_stats *f, struct dt_bytes *b)
{
	unsigned before = 0;

	for (unsigned i = 0; i < DT_BUCKETS; i++) {
		if (!f->bucket[i])
			continue;
		if (DT_PUT(b, i + 1 - before, f->bucket[i]))
			return -1;
		before = i + 1;
	}
	return DT_PUT(b, 0);
}

int dt_stats_save(const struct dt_stats *s, struct dt_bytes *b)
{
	for (uint32_t i = 0; i < s->functions; i++) {
		const struct dt_function_stats *f = &s->function[i];

		if (!f->calls && !f->no_entry)
			continue;
		if (DT_PUT(b, f->function + 1ull, f->calls, f->timed, f->unwound, f->tail, f->open,
			   f->no_entry, f->no_exit, f->loss, f->paused, f->backward, f->total,
			   f->self, f->sum, f->min, f->max, f->waited, f->waited_self,
			   f->preempted) ||
		    (f->timed && save_buckets(f, b)))
			return -1;
	}
	return DT_PUT(b, 0);
}

void dt_stats_reset(struct dt_stats *s)
{
	for (uint32_t i = 0; i < s->functions; i++) {
		struct dt_function_stats *f = &s->function[i];
		uint32_t *bucket = f->bucket;

		if (!f->calls && !f->no_entry)
			continue;
		if (bucket && f->timed)
			memset(bucket, 0, DT_BUCKETS * sizeof(*bucket));
		*f = (struct dt_function_stats){.function = i, .min = UINT64_MAX, .bucket = bucket};
	}
}

static int add_buckets(struct dt_function_stats *f, struct dt_cursor_bytes *c)
{
	uint64_t step, at = 0;

	if (!f->bucket && !(f->bucket = calloc(DT_BUCKETS, sizeof(*f->bucket))))
		return -1;
	while ((step = dt_get_varint(c)) != 0) {
		if (step > DT_BUCKETS - at)
			return -1;
		at += step;
		f->bucket[at - 1] += (uint32_t)dt_get_varint(c);
	}
	return c->bad ? -1 : 0;
}

int dt_stats_add(struct dt_stats *s, const uint8_t *bytes, size_t n, uint32_t functions)
{
	struct dt_cursor_bytes c = {bytes, bytes + n, false};
	uint64_t function, v[18];

	while ((function = dt_get_varint(&c)) != 0) {
		struct dt_function_stats *f =
			function > functions + 1ull ? NULL : stats_of(s, (uint32_t)function - 1);

		for (unsigned i = 0; i < 18; i++)
			v[i] = dt_get_varint(&c);
		if (c.bad || !f)
			return -1;
		f->calls += v[0];
		f->timed += v[1];
		f->unwound += v[2];
		f->tail += v[3];
		f->open += v[4];
		f->no_entry += v[5];
		f->no_exit += v[6];
		f->loss += v[7];
		f->paused += v[8];
		f->backward += v[9];
		f->total += v[10];
		f->self += v[11];
		f->sum += v[12];
		f->min = v[13] < f->min ? v[13] : f->min;
		f->max = v[14] > f->max ? v[14] : f->max;
		f->waited += v[15];
		f->waited_self += v[16];
		f->preempted += v[17];
		if (v[1] && add_buckets(f, &c) < 0)
			return -1;
	}
	return c.bad ? -1 : 0;
}

/* ---- parts of a trace ---- */

static int merge_buckets(struct dt_function_stats *f, const struct dt_function_stats *from)
{
	if (!f->bucket && !(f->bucket = calloc(DT_BUCKETS, sizeof(*f->bucket))))
		return -1;
	for (unsigned i = dt_stats_bucket(from->min); i <= dt_stats_bucket(from->max); i++)
		f->bucket[i] += from->bucket[i];
	return 0;
}

static int merge_function(struct dt_function_stats *f, const struct dt_function_stats *from)
{
	f->calls += from->calls;
	f->timed += from->timed;
	f->unwound += from->unwound;
	f->tail += from->tail;
	f->open += from->open;
	f->no_exit += from->no_exit;
	f->no_entry += from->no_entry;
	f->loss += from->loss;
	f->paused += from->paused;
	f->backward += from->backward;
	f->total += from->total;
	f->self += from->self;
	f->sum += from->sum;
	f->squares += from->squares;
	f->waited += from->waited;
	f->waited_self += from->waited_self;
	f->preempted += from->preempted;
	f->min = from->min < f->min ? from->min : f->min;
	f->max = from->max > f->max ? from->max : f->max;
	return from->timed ? merge_buckets(f, from) : 0;
}

int dt_stats_merge(struct dt_stats *s, const struct dt_stats *from)
{
	for (uint32_t i = 0; i < from->functions; i++) {
		const struct dt_function_stats *f = &from->function[i];
		struct dt_function_stats *to;

		if (!f->calls && !f->no_entry)
			continue;
		to = stats_of(s, i);
		if (!to || merge_function(to, f))
			return -1;
	}
	return 0;
}

void dt_stats_recursive(void *ctx, uint32_t function, uint64_t ticks)
{
	struct dt_function_stats *f = stats_of(ctx, function);

	if (f)
		f->total -= ticks;
}

void dt_stats_free(struct dt_stats *s)
{
	for (uint32_t i = 0; i < s->functions; i++)
		free(s->function[i].bucket);
	free(s->function);
}
