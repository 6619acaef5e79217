/* SPDX-License-Identifier: MIT */
#include "filter/conditions.h"

#include <math.h>

#include "core/failure.h"
#include "filter/filter-work.h"

bool dt_filter_is_plain(const struct dt_filter *f)
{
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == DEPTH)
			return false;
	return !f->looks_around && !f->requests.n;
}

static void add(struct dt_conditions *c, const struct dt_condition *one)
{
	if (c->n < DT_CONDITIONS)
		c->condition[c->n++] = *one;
	else
		c->exact = false;
}

static bool has_sign(char letter)
{
	return letter == 'i' || letter == 'c' || letter == 'e';
}

/* Adds the condition of a word about a value. What is not easily said is left out. */
static void add_value(struct dt_filter *f, uint32_t function, const struct term *t,
		      struct dt_conditions *c)
{
	const struct dt_call_operand_place *w = dt_filter_where(f, function, t);
	struct dt_condition one = {.of_exit = t->what == RESULT, .op = t->op};

	if (!w) {
		c->exact = false;
		return;
	}
	if (w->place == 0xff) { /* a call that has no such value is not wanted */
		c->never = true;
		return;
	}
	if (t->pattern || t->beyond || t->fraction || w->second != 0xff || w->letter == 'f' ||
	    w->place > 3 || !w->size || w->size > 8 || (one.of_exit && w->place)) {
		c->exact = false;
		return;
	}
	one.at = w->place;
	one.size = w->size;
	one.has_sign = has_sign(w->letter);
	one.number = t->above ? t->unsigned_number : (uint64_t)t->number;
	/* numbers that only the other kind can have */
	if (one.has_sign && t->above && (w->size < 8 || t->op == '<' || t->op == '>')) {
		c->exact = false;
		return;
	}
	if (!one.has_sign && !t->above && t->number < 0) {
		c->never |= t->op == '=' || t->op == '<';
		return;
	}
	add(c, &one);
}

/* Has a result a sign, or is it seen as if it had one? So are those of 8 bytes that are negated
 * numbers of errors, addresses among them. */
static bool is_number(const struct dt_signature_value *v)
{
	return has_sign(v->type.letter) ||
	       (v->type.letter != 'f' && v->type.size == 8 && v->failure.when == DT_FAILURE_KERNEL);
}

/* Adds those of a word about failures. */
static void add_failure(struct dt_filter *f, uint32_t function, const struct term *t,
			struct dt_conditions *c)
{
	const struct dt_function_info *info = f->meanings.function(f->meanings.ctx, function);
	bool good = t->what == FAILED && t->op == '!';
	struct dt_condition one = {.of_exit = true, .has_sign = true};
	struct dt_signature_value v;
	uint8_t place;

	if (!info) {
		c->exact = false;
		return;
	}
	if (!dt_signature_result(info->signature, &v) || !v.failure.when) {
		c->never = true; /* nobody knows whether it failed */
		return;
	}
	if (!dt_signature_single(&v, &place) || place || v.failure.others ||
	    v.failure.needs_error || !is_number(&v) || !v.type.size || v.type.size > 8) {
		c->exact = false;
		return;
	}
	one.size = v.type.size;
	if (v.failure.when == DT_FAILURE_KERNEL) {
		one.op = good ? DT_CONDITION_GOOD : DT_CONDITION_FAILED;
		add(c, &one);
		if (t->what == ERROR && t->number > 0) {
			one.op = t->op;
			one.number = -(uint64_t)t->number;
			add(c, &one);
		} else if (t->what == ERROR) {
			c->exact = false;
		}
	} else if (v.failure.when == DT_FAILURE_NEGATIVE) {
		one.op = good ? '>' : '<';
		one.number = good ? UINT64_MAX : 0;
		add(c, &one);
		c->exact &= t->what == FAILED;
	} else {
		c->exact = false;
	}
}

/* Adds what a word says of times. */
static void add_time(const struct term *t, struct dt_conditions *c)
{
	if (t->op == '>' && t->real > (double)c->least)
		c->least = (uint64_t)t->real;
	if (t->op == '>' && t->real > c->above)
		c->above = t->real;
	else if (t->op == '<' && t->real < c->below)
		c->below = t->real;
	/* above nothing are all calls but those that take none */
	c->exact &= t->op == '<' || (t->op == '>' && t->real >= 1);
}

void dt_filter_conditions(struct dt_filter *f, uint32_t function, struct dt_conditions *c)
{
	*c = (struct dt_conditions){.never = !dt_filter_function(f, function),
				    .exact = dt_filter_is_plain(f),
				    .below = INFINITY};
	for (unsigned i = 0; i < f->terms && !c->never; i++) {
		const struct term *t = &f->term[i];

		if (t->what == ARGUMENT || t->what == NAMED || t->what == RESULT)
			add_value(f, function, t, c);
		else if (t->what == FAILED || t->what == ERROR)
			add_failure(f, function, t, c);
		else if (t->what == TIME)
			add_time(t, c);
		else if (t->what == TEXT)
			c->exact = false;
	}
}
