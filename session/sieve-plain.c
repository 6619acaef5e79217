/* SPDX-License-Identifier: MIT */
/*
 * Plain calls: most of a thread's records are entries and exits of calls that are made from one
 * another and return, as stacks have it. They are judged here, many in one go, and quickly. What
 * the words about functions, callers and depth have said of calls that are made at a place is
 * remembered with the place of their entry; the next ones are judged by that and by their values
 * and times only. What comes of it is what dt_sieve_judge() would say of each record. Whatever is
 * not plain is left to that.
 */
#include "session/sieve-work.h"

/* The records of a thread that are judged in one go. */
struct plain {
	struct dt_sieve *sieve;
	struct sieve_thread *thread;
	struct stack *stack;
	struct lane *lane;
	uint64_t until, now;
	uint32_t tid;
	bool by_depth;	/* the filter asks for that */
	uint32_t depth; /* of the call that begins; 0: nobody asks */
	uint8_t around; /* the bits of the one that it is made in: DT_AROUND_* */
};

void dt_sieve_plain_begin(struct dt_sieve *v)
{
	v->plain = !v->session->has_log && !v->sums && !v->filter_texts && !v->requests &&
		   !v->one_rule && v->anywhere;
}

bool dt_sieve_plain_is(const struct dt_sieve *v, const struct dt_record *r,
		       const struct dt_store_place *at)
{
	if (!at->function || at->function >= v->functions || v->changes_stack[at->function])
		return false;
	return r->kind == DT_ENTRY ? at->place == DT_SITE_ENTRY || at->place == DT_SITE_ENTRY_JUMPS
				   : r->kind == DT_EXIT && at->place == DT_SITE_RETURN;
}

/* Finds in which call one is made that begins at sp. False: others end with that, or it is on
 * another stack. */
static inline bool find_caller(struct plain *k, uint64_t sp)
{
	struct stack *s = k->stack;
	const struct frame *f;

	if (!s->n) {
		dt_sieve_stack_empty(k->sieve, s);
		k->depth = k->by_depth ? s->depth : 0;
		k->around = s->around;
		return s->kernel == dt_sieve_is_kernel(sp);
	}
	f = &s->frame[s->n - 1];
	k->depth = k->by_depth ? s->depth + s->n : 0;
	k->around = f->around;
	return sp < f->sp && f->sp - sp <= SIEVE_NEAR;
}

/* Prepares to judge a thread's records. False: its calls are not plain. */
static bool begin(struct plain *k, const struct dt_record *r)
{
	struct dt_sieve *v = k->sieve;
	struct sieve_thread *t = k->thread = dt_sieve_thread_of(v, r, k->lane->core);

	if (!t || t->whole || t->alone.call || t->alone.verdict >= VERDICT_FIRST || t->copy ||
	    t->leaving || !t->now || t->stacks != 1 || t->now->deeper)
		return false;
	k->stack = t->now;
	return true;
}

/* Gives the lane's next record its verdict, with a reference. One that is not wanted is left out at
 * once if none waits before it. */
static inline void put(struct lane *l, uint32_t verdict)
{
	if (verdict == VERDICT_DROP && l->begin == l->unseen)
		l->begin++;
	else
		l->verdict[l->unseen & (l->size - 1)] = verdict;
	l->unseen++;
}

/* Returns whether a call that begins is wanted; p: the place of its entry. */
static inline bool is_wanted(const struct plain *k, struct place_entry *p,
			     const struct dt_record *entry)
{
	struct dt_filter *f = k->sieve->filter;

	if (!p->judged || p->depth != k->depth || p->around != k->around) {
		p->wanted = dt_filter_here(f, p->at.function, k->around, k->depth);
		p->inner = (uint8_t)dt_filter_around(f, k->around, p->at.function);
		p->depth = k->depth;
		p->around = k->around;
		p->judged = true;
	}
	return p->wanted && dt_filter_arguments(f, p->at.function, entry->value);
}

/* Returns whether two records are those of a call in which no other is recorded, and both can be
 * judged now; p: the place of the first one, an entry. */
static inline bool is_leaf(const struct plain *k, struct place_entry *p, const struct dt_record *r)
{
	const struct dt_record *exit = &r[1];
	const struct place_entry *q;

	if (exit->kind != DT_EXIT || exit->tid != k->tid || exit->sp != r->sp ||
	    exit->ticks > k->until || exit->ticks < r->ticks ||
	    !dt_sieve_held_none(k->thread, k->thread->last_ticks, exit->ticks))
		return false;
	if (p->exit == exit->pc)
		return p->exit;
	q = dt_sieve_place_slot(k->sieve, exit);
	if (!dt_sieve_is_place(q, exit) || !q->plain || q->at.function != p->at.function)
		return false;
	p->exit = exit->pc;
	return true;
}

/* Judges such a call. */
static inline void judge_leaf(const struct plain *k, struct place_entry *p,
			      const struct dt_record *r)
{
	struct dt_sieve *v = k->sieve;
	struct stack *s = k->stack;
	const uint32_t function = p->at.function;
	const uint64_t ticks = r[1].ticks - r[0].ticks;
	uint32_t verdict = VERDICT_DROP;

	if (is_wanted(k, p, r) &&
	    (!v->looks_at_end || dt_filter_result(v->filter, function, r[1].value, ticks)))
		verdict = VERDICT_KEEP;
	else
		dt_sieve_count(v, function, ticks, 0, !k->thread->open[function]);
	if (s->n)
		s->frame[s->n - 1].children += ticks;
	dt_sieve_remember(v, k->thread, r->sp, verdict);
	put(k->lane, verdict);
	put(k->lane, verdict);
}

/* A call begins in which others may be. False: its room is to be made, or to be freed. */
static inline bool enter(struct plain *k, struct place_entry *p, const struct dt_record *r)
{
	struct dt_sieve *v = k->sieve;
	struct sieve_thread *t = k->thread;
	struct stack *s = k->stack;
	struct frame *f;
	bool wanted;

	if (s->n == s->room || (!s->n && s->room > SIEVE_DEEP))
		return false;
	wanted = is_wanted(k, p, r); /* this finds p->inner, too */
	f = &s->frame[s->n];
	*f = (struct frame){.sp = r->sp,
			    .begin = r->ticks,
			    .held = t->holds ? t->calm_before : 0,
			    .captured = t->captured,
			    .function = p->at.function,
			    .crossing = p->at.crossing,
			    .wanted = wanted,
			    .around = p->inner};
	f->verdict = !wanted ? VERDICT_DROP : v->looks_at_end ? dt_verdict_new(v) : VERDICT_KEEP;
	t->open[f->function]++;
	s->n++;
	v->frames++;
	put(k->lane, dt_sieve_remember(v, t, r->sp, f->verdict));
	return true;
}

/* Tells whether an exit is that of the innermost call, which nothing else ends with. */
static inline bool is_innermost(const struct plain *k, const struct dt_record *exit)
{
	const struct place_entry *p = dt_sieve_place_slot(k->sieve, exit);
	const struct stack *s = k->stack;
	const struct frame *f;

	if (!s->n || !dt_sieve_is_place(p, exit) || !p->plain)
		return false;
	f = &s->frame[s->n - 1];
	return f->sp == exit->sp && f->function == p->at.function && exit->ticks >= f->begin &&
	       !f->call && !f->within && !f->request &&
	       !(s->n > 1 && f[-1].jumped && f[-1].sp == f->sp);
}

/* The innermost call ends. */
static inline void leave(struct plain *k, const struct dt_record *r)
{
	struct dt_sieve *v = k->sieve;
	struct stack *s = k->stack;
	struct frame *f = &s->frame[s->n - 1];
	uint64_t ticks = r->ticks - f->begin - dt_sieve_held_in(k->thread, f, r->ticks);
	uint32_t *open = &k->thread->open[f->function], verdict = dt_verdict_hold(v, f->verdict);

	if (dt_verdict_is(v, verdict) == UNDECIDED)
		dt_sieve_decide(v, verdict,
				f->wanted &&
					dt_filter_result(v->filter, f->function, r->value, ticks));
	*open -= *open != 0;
	if (dt_verdict_is(v, verdict) == VERDICT_DROP)
		dt_sieve_count(v, f->function, ticks, f->children, !*open);
	dt_verdict_drop(v, f->verdict);
	s->n--;
	v->frames--;
	if (s->n)
		s->frame[s->n - 1].children += ticks;
	put(k->lane, verdict);
}

/* Judges the next records, which are side by side, n at most. */
static void judge(struct plain *k, const struct dt_record *r, size_t n)
{
	struct sieve_thread *t = k->thread;
	struct place_entry *p = dt_sieve_place_slot(k->sieve, r);

	for (const struct dt_record *end = r + n; r < end && k->sieve->frames < FRAMES; r++) {
		if (r->tid != k->tid || r->ticks > k->until ||
		    !dt_sieve_held_none(t, t->last_ticks, r->ticks))
			return;
		if (r->kind == DT_ENTRY) {
			if (p->pc != r->pc)
				p = dt_sieve_place_slot(k->sieve, r);
			if (!dt_sieve_is_place(p, r) || !p->plain || p->at.function >= t->opens ||
			    !find_caller(k, r->sp))
				return;
			if (r + 1 < end && is_leaf(k, p, r)) {
				judge_leaf(k, p, r);
				r++;
			} else if (!enter(k, p, r)) {
				return;
			}
		} else if (r->kind == DT_EXIT && is_innermost(k, r)) {
			leave(k, r);
		} else {
			return;
		}
		t->last_ticks = r->ticks;
		k->now = r->ticks > k->now ? r->ticks : k->now;
	}
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

bool dt_sieve_plain_judge(struct dt_sieve *v, struct lane *l, uint64_t until)
{
	const struct dt_record *r = lane_record(l, l->unseen);
	struct plain k = {.sieve = v,
			  .lane = l,
			  .until = until,
			  .now = v->now,
			  .tid = r->tid,
			  .by_depth = dt_filter_looks_at_depth(v->filter)};
	const uint64_t left = l->begin, seen = l->unseen;

	if ((r->kind != DT_ENTRY && r->kind != DT_EXIT) || l->gaps || !begin(&k, r))
		return false;
	judge(&k, r, side_by_side(l));
	v->now = k.now;
	/* what has been left out at once */
	l->left += l->begin - left;
	v->counts.records += l->begin - left;
	return l->unseen != seen;
}
