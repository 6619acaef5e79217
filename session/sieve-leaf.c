/* SPDX-License-Identifier: MIT */
/*
 * Calls in which nothing else is recorded: the exit follows the entry in the same ring. Most calls
 * are such, and both records can be chosen among at once, without a frame and a verdict of their
 * own. What comes of it is what dt_sieve_judge() would say of one record and then of the other.
 *
 * What has been found out about one of them is remembered with the place of its entry: which exit
 * it has, and whether the words about functions, callers and depth want calls that are made there.
 * The next calls are judged by that and by their own values and times only, many in one go.
 */
#include "session/sieve-work.h"

/* Looks whether the records of a thread are to be judged one by one. */
static bool needs_care(const struct dt_sieve *v, const struct sieve_thread *t, uint32_t function)
{
	return (v->sums && !dt_sieve_sums_simple(v)) || v->filter_texts || v->requests ||
	       t->whole || t->alone.call || t->alone.verdict >= VERDICT_FIRST ||
	       v->frames >= FRAMES ||
	       (function < v->functions && !v->one_rule && v->changes_stack[function]);
}

/* Makes the beginning of a call, c, all of it. held: ticks of it in which devtrace had the thread
 * wait */
static void end_call(struct dt_call *c, const struct dt_record *exit, uint64_t held)
{
	c->end = exit->ticks;
	c->held = held;
	c->result = exit->value;
	c->flags = 0;
}

/* Returns whether the call is wanted; c and held as of end_call(). */
static bool is_wanted(struct dt_sieve *v, struct dt_call *c, uint16_t core, uint32_t around,
		      const struct dt_record *exit, uint64_t held)
{
	if (!v->anywhere && !dt_filter_place(v->filter, core, c->tid))
		return false;
	if (!dt_filter_begin(v->filter, c, around))
		return false;
	if (!v->looks_at_end)
		return true;
	end_call(c, exit, held);
	return dt_filter_end(v->filter, c);
}

bool dt_sieve_judge_leaf(struct dt_sieve *v, const struct dt_record *entry,
			 const struct dt_record *exit, unsigned core, uint32_t function,
			 uint32_t *verdict)
{
	struct sieve_thread *t = dt_sieve_thread_of(v, entry, core);
	uint64_t ticks = exit->ticks - entry->ticks, held = 0;
	struct dt_call *c = &v->call;
	struct frame *caller;
	struct stack *s;
	uint32_t *open, note = 0;

	if (!t || needs_care(v, t, function) || !(open = dt_sieve_open_count(t, function)) ||
	    !(s = dt_sieve_place(v, t, entry->sp)))
		return false;
	if (s->n && s->frame[s->n - 1].sp == entry->sp && s->frame[s->n - 1].jumped)
		return false;
	if (!dt_sieve_held_none(t, t->last_ticks, exit->ticks) &&
	    !dt_sieve_held_look(t, t->last_ticks, exit->ticks)) {
		t->captured += dt_sieve_held_behind(t, t->last_ticks, entry->ticks);
		held = dt_sieve_held_behind(t, entry->ticks, exit->ticks);
		t->captured += held;
		held += dt_sieve_held_between(t, entry->ticks, exit->ticks, UINT64_MAX);
	}
	held = held < ticks ? held : ticks;
	ticks -= held;
	t->last_ticks = exit->ticks;
	t->leaving = false;
	dt_sieve_unwind(v, t, s, entry->sp, true, entry->ticks);
	if (!s->n)
		dt_sieve_stack_empty(v, s);
	caller = s->n ? &s->frame[s->n - 1] : NULL;
	dt_sieve_call_at(v, entry, function, s->depth + s->n);
	if (v->sums)
		note = dt_sums_begin(v->sums, c, caller ? caller->note : s->note);
	*verdict = is_wanted(v, c, dt_sieve_core(entry, core), caller ? caller->around : s->around,
			     exit, held)
			   ? VERDICT_KEEP
			   : VERDICT_DROP;
	if (*verdict == VERDICT_DROP)
		dt_sieve_count(v, function, ticks, 0, *open == 0);
	if (dt_sums_counts(note)) {
		end_call(c, exit, held);
		dt_sieve_sums_leaf(v, c, note, s, core);
	}
	if (caller)
		caller->children += ticks;
	s->deeper = 0;
	dt_sieve_remember(v, t, entry->sp, *verdict);
	if (!s->n && t->stacks > 1)
		dt_sieve_remove_stack(v, t, s);
	return true;
}

/* ---- by what is remembered ---- */

void dt_sieve_leaves_begin(struct dt_sieve *v)
{
	v->plain = !v->session->has_log && !v->sums && !v->filter_texts && !v->requests &&
		   !v->one_rule && v->anywhere;
}

void dt_sieve_remember_leaf(struct dt_sieve *v, const struct dt_record *entry,
			    const struct dt_record *exit)
{
	struct place_entry *p = dt_sieve_place_slot(v, entry);

	/* the exit's place may have been put over it */
	if (!v->plain || !dt_sieve_is_place(p, entry))
		return;
	p->exit = exit->pc;
	p->depth = UINT32_MAX; /* no call is made there */
}

/* Calls that are judged in one go: all of one thread, and made in the same call. */
struct leaves {
	struct dt_sieve *sieve;
	struct sieve_thread *thread;
	struct frame *caller; /* NULL: none is known */
	uint64_t low, high;   /* where their stack pointers are, at least and at most */
	uint64_t until, now;
	uint32_t depth, tid;
	uint8_t around;
};

/* Finds where the next leaf calls of a thread are made. False: that takes a closer look. */
static bool find_caller(struct dt_sieve *v, struct leaves *k)
{
	const struct sieve_thread *t = k->thread;
	struct stack *s = t->now;

	if (t->whole || t->alone.call || t->alone.verdict >= VERDICT_FIRST || !s ||
	    t->stacks != 1 || v->frames >= FRAMES)
		return false;
	k->depth = s->depth + s->n;
	if (!s->n) {
		dt_sieve_stack_empty(v, s);
		k->depth = s->depth;
		k->low = s->kernel ? 1ull << 63 : 0;
		k->high = s->kernel ? UINT64_MAX : (1ull << 63) - 1;
		k->around = s->around;
		return true;
	}
	k->caller = &s->frame[s->n - 1];
	k->around = k->caller->around;
	/* what begins above ends it; far below there is another stack */
	k->high = k->caller->sp - 1;
	k->low = k->caller->sp > SIEVE_NEAR ? k->caller->sp - SIEVE_NEAR : 0;
	return k->caller->sp;
}

/* Returns whether an exit is one of the function whose entry is at a place. */
static inline bool is_exit(struct dt_sieve *v, struct place_entry *p, const struct dt_record *exit)
{
	const struct place_entry *q;

	if (p->exit == exit->pc)
		return true;
	q = dt_sieve_place_slot(v, exit);
	if (!dt_sieve_is_place(q, exit) || q->at.function != p->at.function ||
	    q->at.place == DT_SITE_TAIL)
		return false;
	p->exit = exit->pc;
	return true;
}

/* Returns whether two records are those of a leaf call that can be judged in one go with others; p:
 * the place of its entry. */
static inline bool is_alike(const struct leaves *k, struct place_entry *p,
			    const struct dt_record *r)
{
	const struct sieve_thread *t = k->thread;

	return r[0].kind == DT_ENTRY && r[1].kind == DT_EXIT && r[0].tid == k->tid &&
	       r[1].tid == k->tid && r[0].sp == r[1].sp && r[0].sp >= k->low &&
	       r[0].sp <= k->high && r[1].ticks <= k->until && r[1].ticks >= r[0].ticks &&
	       p->pc == r[0].pc && p->tid == k->tid && p->exit && p->at.function < t->opens &&
	       is_exit(k->sieve, p, &r[1]) && dt_sieve_held_none(t, t->last_ticks, r[1].ticks);
}

/* Returns whether the call of two records is wanted. */
static inline bool is_leaf_wanted(const struct leaves *k, struct place_entry *p,
				  const struct dt_record *r, uint64_t ticks)
{
	struct dt_filter *f = k->sieve->filter;

	if (p->depth != k->depth || p->around != k->around) {
		p->wanted = dt_filter_here(f, p->at.function, k->around, k->depth);
		p->depth = k->depth;
		p->around = k->around;
	}
	return p->wanted && dt_filter_arguments(f, p->at.function, r[0].value) &&
	       (!k->sieve->looks_at_end || dt_filter_result(f, p->at.function, r[1].value, ticks));
}

/* Judges calls, of which the records are side by side, n at most. Returns how many records it has
 * judged. */
static size_t judge_alike(struct leaves *k, struct lane *l, const struct dt_record *r, size_t n)
{
	struct dt_sieve *v = k->sieve;
	struct sieve_thread *t = k->thread;
	struct place_entry *p = dt_sieve_place_slot(v, r);
	bool drops = l->begin == l->unseen; /* what is not wanted can be left out at once */
	size_t i;

	for (i = 0; i + 1 < n; i += 2, r += 2) {
		uint64_t ticks = r[1].ticks - r[0].ticks;
		uint32_t verdict;

		if (p->pc != r->pc)
			p = dt_sieve_place_slot(v, r);
		if (!is_alike(k, p, r))
			break;
		verdict = is_leaf_wanted(k, p, r, ticks) ? VERDICT_KEEP : VERDICT_DROP;
		if (verdict == VERDICT_DROP)
			dt_sieve_count(v, p->at.function, ticks, 0, !t->open[p->at.function]);
		if (k->caller)
			k->caller->children += ticks;
		if (r[1].ticks > k->now)
			k->now = r[1].ticks;
		t->last_ticks = r[1].ticks;
		dt_sieve_remember(v, t, r->sp, verdict);
		drops = drops && verdict == VERDICT_DROP;
		if (drops) {
			l->begin += 2;
			continue;
		}
		l->verdict[(l->unseen + i) & (l->size - 1)] = verdict;
		l->verdict[(l->unseen + i + 1) & (l->size - 1)] = verdict;
	}
	return i;
}

/* Returns how many of a lane's next records are side by side from the first on. */
static size_t side_by_side(const struct lane *l)
{
	uint64_t first = l->end - l->lent_n, n = first - l->unseen;
	uint64_t wrap = l->size - (l->unseen & (l->size - 1));

	if (l->unseen >= first)
		return l->end - l->unseen;
	return n < wrap ? n : wrap;
}

bool dt_sieve_judge_leaves(struct dt_sieve *v, struct lane *l, uint64_t until)
{
	const struct dt_record *r = lane_record(l, l->unseen);
	struct leaves k = {.sieve = v, .until = until, .now = v->now, .tid = r->tid};
	const uint64_t begin = l->begin;
	size_t n = side_by_side(l);

	if (n < 2 || r[1].kind != DT_EXIT || r[1].sp != r[0].sp || l->gaps)
		return false;
	k.thread = dt_sieve_thread_of(v, r, l->core);
	if (!k.thread || !find_caller(v, &k))
		return false;
	n = judge_alike(&k, l, r, n);
	if (!n)
		return false;
	k.thread->leaving = false;
	k.thread->now->deeper = 0;
	v->now = k.now;
	l->unseen += n;
	/* what has been left out at once */
	l->left += l->begin - begin;
	v->counts.records += l->begin - begin;
	return true;
}
