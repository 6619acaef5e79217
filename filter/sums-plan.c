/* SPDX-License-Identifier: MIT */
#include "filter/sums-plan.h"

#include <math.h>

#include "core/failure.h"
#include "filter/filter.h"
#include "filter/sums-work.h"

static bool has_sign(char letter)
{
	return letter == 'i' || letter == 'c' || letter == 'e';
}

static const char *signature_of(const struct dt_sums *s, uint32_t function)
{
	const struct dt_function_info *info = s->meanings.function(s->meanings.ctx, function);

	return info ? info->signature : "";
}

/* Finds an argument, or the result. False: only records have it. */
static bool find_value(const struct dt_sums *s, const struct dt_sums_term *t, uint32_t function,
		       bool texts, struct dt_sums_source *to)
{
	const struct dt_call_operand o = {.what = t->what == DT_SUMS_RESULT ? DT_OPERAND_RESULT
						  : t->index == UINT32_MAX  ? DT_OPERAND_NAMED
									    : DT_OPERAND_ARGUMENT,
					  .index = t->index,
					  .name = t->name};
	struct dt_call_operand_place w;

	dt_operand_find(&w, signature_of(s, function), &o);
	if (w.place == 0xff || !w.size) {
		to->from = DT_SUMS_FROM_NOTHING;
		return !texts || o.what != DT_OPERAND_NAMED;
	}
	to->from = o.what == DT_OPERAND_RESULT ? DT_SUMS_FROM_RESULT : DT_SUMS_FROM_ARGUMENT;
	to->at = w.place;
	to->size = w.size;
	to->has_sign = has_sign(w.letter);
	/* of a name there may be a text, which is the key then */
	return w.second == 0xff && w.letter != 'f' && w.size <= 8 && w.place < 4 &&
	       (o.what != DT_OPERAND_RESULT || !w.place) && (!texts || o.what != DT_OPERAND_NAMED);
}

/* Finds the error that calls of a function fail with. */
static bool find_error(const struct dt_sums *s, uint32_t function, struct dt_sums_source *to)
{
	struct dt_signature_value v;
	uint8_t place;

	to->from = DT_SUMS_FROM_NOTHING;
	if (!dt_signature_result(signature_of(s, function), &v) || !v.failure.when)
		return true;
	to->from = DT_SUMS_FROM_ERROR;
	to->size = v.type.size;
	to->has_sign = true;
	/* of 8 bytes the result is taken for a number with a sign, whatever it is */
	return v.failure.when == DT_FAILURE_KERNEL && dt_signature_single(&v, &place) && !place &&
	       !v.failure.others && !v.failure.needs_error && v.type.letter != 'f' && v.type.size &&
	       (v.type.size == 8 || (has_sign(v.type.letter) && v.type.size < 8));
}

static bool find(const struct dt_sums *s, const struct dt_sums_term *t, uint32_t function,
		 bool texts, struct dt_sums_source *to)
{
	*to = (struct dt_sums_source){0};
	switch (t->what) {
	case DT_SUMS_TIME:
		to->from = DT_SUMS_FROM_TIME;
		return true;
	case DT_SUMS_SELF:
		to->from = DT_SUMS_FROM_SELF;
		return true;
	case DT_SUMS_FUNCTION:
		to->from = DT_SUMS_FROM_FUNCTION;
		return true;
	case DT_SUMS_THREAD:
		to->from = DT_SUMS_FROM_THREAD;
		return true;
	case DT_SUMS_PROCESS:
		to->from = DT_SUMS_FROM_PROCESS;
		return true;
	case DT_SUMS_ERROR:
		return find_error(s, function, to);
	case DT_SUMS_RESULT:
	case DT_SUMS_ARGUMENT:
		return find_value(s, t, function, texts, to);
	default: /* callers, the depth, the core */
		return false;
	}
}

const char *dt_sums_plan(struct dt_sums *s, size_t i, uint32_t function, bool texts,
			 struct dt_sums_plan *p)
{
	struct dt_sums_one *u = &s->sum[i];
	const struct dt_sums_words *w = &u->words;

	*p = (struct dt_sums_plan){
		.keys = w->keys, .hist = w->hist, .counts = w->value.what == DT_SUMS_COUNT};
	if (u->filter) {
		dt_filter_conditions(u->filter, function, &p->conditions);
		if (p->conditions.never)
			return NULL;
		if (!p->conditions.exact)
			return w->filter;
	} else {
		p->conditions = (struct dt_conditions){.exact = true, .below = INFINITY};
	}
	if (!p->counts && !find(s, &w->value, function, texts, &p->value))
		return w->value.name;
	for (unsigned k = 0; k < w->keys; k++)
		if (!find(s, &w->key[k], function, texts, &p->key[k]))
			return w->key[k].name;
	return NULL;
}
