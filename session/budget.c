/* SPDX-License-Identifier: MIT */
#include "session/budget.h"

#include <stdlib.h>

#define LEAST_NS 2000000u /* of processor time: with less, a look tells nothing */
#define FILL	 0.9	  /* of the budget is filled when functions go off */
#define ROOM	 0.8	  /* and up to so much of it when one comes back */
#define SAVED_NS 2e9	  /* what was left over of so long is kept for trials */
#define SETTLED	 10u	  /* a function that was on for so many waits begins with a short one */
#define MOST	 3.0	  /* times what it is thought to cost, a record may have cost... */
#define LEAST	 0.3	  /* ...and at least so many */
#define SIGHTS	 10u	  /* calls of what stayed on: with fewer, they tell nothing of what was */

/* The program's own part of the processor time: without what the hooks took of it. */
static double own_time(const struct dt_budget *b, uint64_t cpu_ns, double records)
{
	double own = (double)cpu_ns - records * b->hook_ns;

	/* what a record takes is not the same everywhere: something is always the program's */
	return own > (double)cpu_ns / 10 ? own : (double)cpu_ns / 10;
}

/*
 * What records really cost is not known where the hooks took most of the processor time, and so
 * neither is what the program itself took then. But what stayed on is called as often for each ns
 * of its own after the dearest functions went off as before; if the program goes on as it did. Puts
 * the rates right that functions had when they went off at the last look. own: since then.
 */
static void put_right(struct dt_budget *b, double own)
{
	double least = b->cut_ns - MOST * b->cut_hooks, most = b->cut_ns - LEAST * b->cut_hooks;
	double before = 0, after = 0, was = b->cut_own;
	bool known = b->cut_hooks < b->cut_ns / 2;

	for (size_t i = 0; i < b->n; i++) {
		const struct dt_budget_function *f = &b->function[i];

		if (!f->off && f->before) {
			before += (double)f->before;
			after += (double)f->calls;
		}
	}
	if (least < b->cut_ns / 1000)
		least = b->cut_ns / 1000;
	/* beyond these the program has begun to do something else */
	if (before >= SIGHTS && after >= SIGHTS && own * before / after >= least &&
	    own * before / after <= most) {
		was = own * before / after;
		known = true;
	}
	for (size_t i = 0; i < b->n; i++) {
		struct dt_budget_function *f = &b->function[i];

		if (f->fresh)
			f->rate *= b->cut_own / was;
		/* nothing tells how it was: then what was known before is worth more */
		if (f->fresh && !known && f->rate < f->old)
			f->rate = f->old;
		f->fresh = false;
		f->before = 0;
	}
	b->cut_ns = 0;
}

/* Notes what put_right() needs at the next look. */
static void note_cut(struct dt_budget *b, double own, double cpu, double records)
{
	bool any = false;

	for (size_t i = 0; i < b->n; i++) {
		struct dt_budget_function *f = &b->function[i];

		f->fresh = f->off && f->changed;
		f->before = f->off || f->changed ? 0 : f->calls;
		any |= f->fresh;
	}
	b->cut_ns = any ? cpu : 0;
	b->cut_own = own;
	b->cut_hooks = records * b->hook_ns;
}

/* Takes the counts, and returns what the records have cost in ns. */
static double measure(struct dt_budget *b, double own)
{
	bool any_kept = false;
	double each = b->hook_ns + b->taking_ns, spent = (double)b->fixed * each;

	for (size_t i = 0; i < b->n; i++) {
		struct dt_budget_function *f = &b->function[i];

		f->changed = false;
		if (f->kept)
			b->kept_spent += (double)f->records * each;
		any_kept |= f->kept;
		if (f->off) {
			f->off_time += (uint64_t)own;
			continue;
		}
		f->old = f->rate;
		f->rate = (double)f->calls / own;
		f->cost = (double)f->records * each / own;
		spent += (double)f->records * each;
	}
	b->kept_own += any_kept ? own : 0;
	return spent;
}

static void save(struct dt_budget *b, double ns)
{
	double most = b->share * SAVED_NS;

	b->left += ns;
	if (b->left > most)
		b->left = most;
	if (b->left < -most / 2) /* what has been, such as the beginning, is not atoned for long */
		b->left = -most / 2;
}

static void put_off(struct dt_budget_function *f, uint64_t now)
{
	bool settled = !f->wait || now - f->since > SETTLED * f->wait;

	f->wait = settled ? DT_BUDGET_BACK : 2 * f->wait;
	if (f->wait > DT_BUDGET_LONG)
		f->wait = DT_BUDGET_LONG;
	f->off = f->changed = true;
	f->since = now;
	f->off_time = 0;
}

static int by_cost(const void *a, const void *b)
{
	const struct dt_budget_function *x = *(struct dt_budget_function *const *)a,
					*y = *(struct dt_budget_function *const *)b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Returns the functions that are off, or on, by what they cost, the dearest first; the caller frees
 * the list. NULL: no memory. */
static struct dt_budget_function **sorted(const struct dt_budget *b, bool off, size_t *n)
{
	struct dt_budget_function **list = calloc(b->n + 1, sizeof(*list));

	*n = 0;
	for (size_t i = 0; list && i < b->n; i++)
		if (b->function[i].off == off && !b->function[i].kept)
			list[(*n)++] = &b->function[i];
	if (*n)
		qsort(list, *n, sizeof(*list), by_cost);
	return list;
}

/* Switches the dearest functions off until the rest fits. */
static void cut(struct dt_budget *b, uint64_t now, double own)
{
	double spent = b->spent;
	size_t n;
	struct dt_budget_function **list = sorted(b, false, &n);

	for (size_t i = 0; list && i < n && spent > FILL * b->allowed && list[i]->cost > 0; i++) {
		spent -= list[i]->cost * own;
		put_off(list[i], now);
	}
	free(list);
}

/* Switches on what must not be off any more. */
static void keep(struct dt_budget *b, uint64_t now)
{
	for (size_t i = 0; i < b->n; i++) {
		struct dt_budget_function *f = &b->function[i];

		if (!f->kept || !f->off)
			continue;
		f->off = false;
		f->changed = true;
		f->since = now;
	}
}

/* Switches functions on, the cheapest first: what fits, and one that is to be tried. */
static void bring_back(struct dt_budget *b, uint64_t now, double own, uint64_t cpu_ns,
		       uint64_t passed)
{
	double spent = b->spent / own, saved = b->share * SAVED_NS, trial;
	size_t n;
	struct dt_budget_function **list = sorted(b, true, &n), *tried = NULL;

	for (size_t i = list ? n : 0; i-- > 0;) {
		struct dt_budget_function *f = list[i];

		if (now - f->since < f->wait)
			continue;
		if (spent + f->cost <= ROOM * b->share) {
			spent += f->cost;
			f->off = false;
		} else if (!tried || f->wait < tried->wait) {
			tried = f; /* whose trials have failed least often */
			continue;
		} else {
			continue;
		}
		f->changed = true;
		f->since = now;
	}
	free(list);
	/* of the processor time that the program takes while it is tried */
	trial = passed ? (double)cpu_ns * (double)DT_BUDGET_TRIAL / (double)passed : 0;
	if (!tried || (b->left < tried->cost * trial && b->left < 0.99 * saved))
		return;
	tried->off = false;
	tried->changed = b->trying = true;
	tried->since = now;
}

uint64_t dt_budget_look(struct dt_budget *b, uint64_t now, uint64_t cpu_ns, bool *looked)
{
	uint64_t passed = b->trying ? DT_BUDGET_TRIAL : DT_BUDGET_TURN;
	double records = (double)b->fixed, own;

	for (size_t i = 0; i < b->n; i++)
		records += b->function[i].off ? 0 : (double)b->function[i].records;
	*looked = cpu_ns >= LEAST_NS;
	if (!*looked) {
		for (size_t i = 0; i < b->n; i++)
			b->function[i].changed = false;
		keep(b, now);
		return passed;
	}
	own = own_time(b, cpu_ns, records);
	if (b->cut_ns > 0)
		put_right(b, own);
	b->allowed = b->share * own;
	b->spent = measure(b, own);
	/* what came between is paid for, but nobody is to go off for it: it is over */
	save(b, b->allowed - b->spent - (double)b->between * (b->hook_ns + b->taking_ns));
	keep(b, now);
	/* a trial has told what it was for; otherwise what was left over may be used */
	if (b->spent > b->allowed && (b->left < 0 || b->trying))
		cut(b, now, own);
	note_cut(b, own, (double)cpu_ns, records);
	b->trying = false;
	if (b->spent <= b->allowed)
		bring_back(b, now, own, cpu_ns, passed);
	for (size_t i = 0; i < b->n; i++)
		b->function[i].calls = b->function[i].records = 0;
	b->fixed = b->between = 0;
	return b->trying ? DT_BUDGET_TRIAL : DT_BUDGET_TURN;
}

uint64_t dt_budget_missed(double before, double after, uint64_t own_ns)
{
	double rate = after < 0 ? before : (before + after) / 2;

	return (uint64_t)(rate * (double)own_ns + 0.5);
}
