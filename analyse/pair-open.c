/* SPDX-License-Identifier: MIT */
/* The calls that are open at a moment. */
#include "analyse/pair-work.h"

struct looking {
	uint64_t now;
	void (*fn)(void *ctx, const struct dt_call *c, unsigned core, uint64_t took,
		   uint64_t children, uint64_t inner);
	void *ctx;
	unsigned core;
};

/* Returns for how long a call has been open. */
static uint64_t took_so_far(const struct looking *k, const struct dt_thread_stack *t,
			    const struct dt_stack_frame *f)
{
	uint64_t since = f->call.begin > t->last_ticks ? f->call.begin : t->last_ticks;
	uint64_t held = t->held - f->held;
	uint64_t all = k->now > f->call.begin ? k->now - f->call.begin : 0;

	if (t->holds_n && k->now > since)
		held += dt_pair_held_between(t, since, k->now);
	return all > held ? all - held : 0;
}

/* Adds to the time in calls that a call has made what the open one of another segment has taken, as
 * will be done when that one ends; or takes it back. */
static void charge_below(const struct looking *k, const struct dt_thread_stack *t, bool back)
{
	for (uint32_t i = 0; i < t->segments; i++) {
		const struct dt_segment *s = t->segment[i];
		int64_t below = s->n ? dt_pair_below(s) : -1;
		uint64_t took = below >= 0 ? took_so_far(k, t, &s->frame[0]) : 0;

		if (below >= 0)
			s->below->frame[below].call.children += back ? -took : took;
	}
}

static void look(const struct looking *k, struct dt_thread_stack *t)
{
	charge_below(k, t, false);
	for (uint32_t i = 0; i < t->segments; i++) {
		const struct dt_segment *s = t->segment[i];
		uint64_t inside = 0; /* in the call that this one has made and that is open */

		for (uint32_t n = s->n; n-- > 0;) {
			const struct dt_stack_frame *f = &s->frame[n];
			uint64_t took = took_so_far(k, t, f);

			if (dt_pair_is_folded(f)) {
				inside += f->call.children;
				continue;
			}
			k->fn(k->ctx, &f->call, k->core, took, f->call.children + inside, f->inner);
			inside = took;
		}
	}
	charge_below(k, t, true);
}

void dt_pair_each_open(struct dt_pair *p, uint64_t now,
		       void (*fn)(void *ctx, const struct dt_call *c, unsigned core, uint64_t took,
				  uint64_t children, uint64_t inner),
		       void *ctx)
{
	struct looking k = {now, fn, ctx, 0};

	for (size_t i = 0; i < p->size; i++)
		if (p->thread[i])
			look(&k, p->thread[i]);
	for (; k.core < p->cores; k.core++)
		if (p->nobody[k.core])
			look(&k, p->nobody[k.core]);
}
