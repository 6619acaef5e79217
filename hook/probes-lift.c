/* SPDX-License-Identifier: MIT */
/*
 * Lifting the jumps to what is off. A site that is off still costs a jump to its trampoline, the
 * instructions that were moved there, and the jump back: in Redis, with its short functions, that
 * was two thirds of its own processor time (doc/dev/benchmarks.md). So where a budget has functions
 * off, the bytes before planting are put back at windows in which nothing is on; the trampolines
 * stay, and so do threads in them. When something there goes on again, the jump is written once
 * more. Both stop the process for a moment.
 */
#include <stdlib.h>

#include "core/search.h"
#include "hook/probes-work.h"

/* Windows by where their trampolines begin. */
static int by_place(const void *a, const void *b)
{
	const struct window *x = *(struct window *const *)a, *y = *(struct window *const *)b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Looks whether the hook with this pc is on, as far as it is still called. */
static bool is_on(const struct dt_target *t, const struct dt_module *m, const struct pc_entry *x)
{
	if (dt_target_is_silent(t))
		return false;
	if (x->site == NONE)
		return m->file->points.point[x->point]->wanted &&
		       m->probes->point[x->point].toggle == x->toggle;
	return m->file->chosen && m->file->chosen[x->site] &&
	       m->probes->toggle[x->site] == x->toggle;
}

/*
 * Notes for each window of the plan, by its index there, whether it is to be lifted: it has hooks,
 * and all of them are off. NULL: no memory.
 */
static bool *find_idle(const struct dt_target *t, const struct dt_module *m)
{
	const struct dt_probes *p = m->probes;
	struct window **place = calloc(p->windows + 1, sizeof(struct window *));
	bool *idle = calloc(p->plan.windows + 1, sizeof(*idle));
	bool *busy = calloc(p->plan.windows + 1, sizeof(*busy));

	if (!place || !idle || !busy) {
		free(idle);
		idle = NULL;
		goto out;
	}
	for (size_t i = 0; i < p->windows; i++)
		place[i] = &p->window[i];
	if (p->windows)
		qsort(place, p->windows, sizeof(struct window *), by_place);
	for (size_t i = 0; i < p->pcs; i++) {
		size_t n = dt_count_before(p->windows, k, place[k]->at <= p->pc[i].toggle);
		const struct window *w = n ? place[n - 1] : NULL;

		if (!w || p->pc[i].toggle >= w->end || w->index >= p->plan.windows)
			continue;
		idle[w->index] = true;
		busy[w->index] = busy[w->index] || is_on(t, m, &p->pc[i]);
	}
	for (size_t i = 0; i < p->plan.windows; i++)
		idle[i] = idle[i] && !busy[i];
out:
	free(place);
	free(busy);
	return idle;
}

/* What is to be changed: the patches of both kinds, and the windows whose jumps come back. */
struct lifting {
	struct patch *undo, *put;
	struct window *window;
	size_t undos, puts, windows;
};

static void lifting_free(struct lifting *l)
{
	free(l->undo);
	free(l->put);
	free(l->window);
}

/* Finds out what is to be changed. down: all that is lifted comes back; else also what is idle is
 * lifted. Returns 0, or -1 without memory. */
static int lifting_find(struct lifting *l, const struct dt_target *t, const struct dt_module *m,
			bool down)
{
	const struct dt_probes *p = m->probes;
	bool *idle = down ? calloc(p->plan.windows + 1, sizeof(*idle)) : find_idle(t, m);
	bool *back = calloc(p->plan.windows + 1, sizeof(*back));
	int rc = -1;

	*l = (struct lifting){.undo = calloc(p->patches + 1, sizeof(*l->undo)),
			      .put = calloc(p->patches + 1, sizeof(*l->put)),
			      .window = calloc(p->windows + 1, sizeof(*l->window))};
	if (!idle || !back || !l->undo || !l->put || !l->window)
		goto out;
	for (size_t i = 0; i < p->patches; i++) {
		const struct patch *x = &p->patch[i];
		bool up = x->window < p->plan.windows && idle[x->window];

		if (up && !x->lifted && t->lifts)
			l->undo[l->undos++] = *x;
		if (!up && x->lifted) {
			l->put[l->puts++] = *x;
			if (x->window < p->plan.windows)
				back[x->window] = true;
		}
	}
	for (size_t i = 0; i < p->windows && l->puts; i++)
		if (p->window[i].index < p->plan.windows && back[p->window[i].index])
			l->window[l->windows++] = p->window[i];
	qsort(l->undo, l->undos, sizeof(*l->undo), dt_probe_by_patch);
	qsort(l->put, l->puts, sizeof(*l->put), dt_probe_by_patch);
	qsort(l->window, l->windows, sizeof(*l->window), dt_probe_by_start);
	rc = 0;
out:
	free(idle);
	free(back);
	return rc;
}

/* Marks the patches that have been changed. */
static void lifting_note(const struct lifting *l, struct dt_probes *p)
{
	for (size_t i = 0; i < p->patches; i++) {
		struct patch *x = &p->patch[i];

		if (bsearch(x, l->undo, l->undos, sizeof(*x), dt_probe_by_patch))
			x->lifted = true;
		else if (bsearch(x, l->put, l->puts, sizeof(*x), dt_probe_by_patch))
			x->lifted = false;
	}
	p->lifted += l->undos;
	p->lifted -= l->puts;
	p->lifts++;
}

static int change(struct dt_target *t, struct dt_module *m, bool down, struct dt_error *e)
{
	struct lifting l;
	int rc;

	if (lifting_find(&l, t, m, down) < 0) {
		lifting_free(&l);
		return dt_fail(e, "out of memory");
	}
	rc = l.undos || l.puts
		     ? dt_probe_change(t, m,
				       &(struct dt_probe_change){l.undo, l.undos, l.put, l.puts,
								 l.window, l.windows},
				       e)
		     : 0;
	if (rc == 0 && (l.undos || l.puts))
		lifting_note(&l, m->probes);
	lifting_free(&l);
	return rc;
}

int dt_probe_set_down(struct dt_target *t, struct dt_module *m, struct dt_error *e)
{
	return m->probes->lifted ? change(t, m, true, e) : 0;
}

int dt_probe_lift(struct dt_target *t, struct dt_module *m, struct dt_error *e)
{
	return t->lifts || m->probes->lifted ? change(t, m, false, e) : 0;
}
