/* SPDX-License-Identifier: MIT */
/* Where two runs diverge. */
#include "analyse/diverge.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/compared.h"

#define CHECKS 4096 /* most fingerprints of a thread; a power of two */

/* One pass over one of the traces. */
struct pass {
	struct dt_diverge *d;
	const struct dt_diverge_options *o;
	const struct dt_compared *compared;
	struct dt_reader *r;
	struct dt_pair *pair;
	unsigned side;
	/* what is done with each step: a call, or its end */
	void (*take)(struct pass *p, struct dt_diverge_thread *t, const struct dt_call *c, bool end,
		     uint64_t print);
	struct dt_diverge_thread *last; /* thread that was looked up last */
	bool known;  /* all threads are known: in a file that grows, later ones come too late */
	bool failed; /* out of memory */
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* ---- threads ---- */

/* Returns a thread, which is added if it is new; pid is from a record of it. NULL: out of memory,
 * or it came too late. */
static struct dt_diverge_thread *thread_of(struct pass *p, uint32_t tid, uint32_t pid)
{
	struct dt_diverge *d = p->d;
	struct dt_diverge_thread *t = d->thread[p->side];

	if (p->last && p->last->tid == tid)
		return p->last;
	for (size_t i = 0; i < d->threads[p->side]; i++)
		if (t[i].tid == tid)
			return p->last = &t[i];
	if (p->known)
		return NULL;
	/* a new thread; the array is full when n is a power of two */
	if (!(d->threads[p->side] & (d->threads[p->side] - 1))) {
		size_t n = d->threads[p->side] ? 2 * d->threads[p->side] : 1;

		t = realloc(t, n * sizeof(*t));
		if (!t) {
			p->failed = true;
			return NULL;
		}
		d->thread[p->side] = t;
	}
	t += d->threads[p->side]++;
	*t = (struct dt_diverge_thread){.tid = tid, .pid = pid};
	return p->last = t;
}

/*
 * Returns how many processes with the same program were made before; the root is the first process.
 */
static size_t process_order(const struct dt_reader *r, const struct dt_process_info *of,
			    const struct dt_process_info *root)
{
	size_t n, before = 0;
	const struct dt_process_info *p = dt_reader_processes(r, &n);

	/* ids count upwards and wrap round to the lowest: as unsigned differences to the root's
	 * they are in order */
	for (size_t i = 0; i < n; i++)
		before += !strcmp(p[i].exe, of->exe) && p[i].pid - root->pid < of->pid - root->pid;
	return before;
}

static void name_thread(const struct dt_reader *r, struct dt_diverge_thread *t)
{
	const struct dt_thread_info *info = dt_reader_thread(r, t->tid);
	const struct dt_process_info *root = dt_match_root(r), *p;
	const char *program;

	if (info && info->pid)
		t->pid = info->pid;
	p = dt_reader_process(r, t->pid);
	program = p ? dt_match_base(p->exe) : "";
	t->order = t->tid - t->pid;
	t->first = t->tid == t->pid;
	dt_format(t->process, sizeof(t->process), "%s#%lu",
		  p && root && !strcmp(p->exe, root->exe) ? "" : program,
		  (unsigned long)(p && root ? process_order(r, p, root) : 0));
	/* threads without a name of their own have the program's, which may differ between the
	 * traces */
	if (info && info->name[0] && !t->first)
		dt_format(t->name, sizeof(t->name), "%s",
			  strncmp(info->name, program, 15) != 0 ? info->name : "(program)");
}

/* Forgets the names of a process's threads in both traces, because not all are known. */
static void forget_names(struct dt_diverge *d, const char *of)
{
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < d->threads[side]; i++)
			if (!strcmp(d->thread[side][i].process, of))
				d->thread[side][i].name[0] = '\0';
}

static void name_threads(struct dt_diverge *d, struct dt_reader *const r[2])
{
	const char *done = ""; /* threads of one process mostly come together */

	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < d->threads[side]; i++)
			name_thread(r[side], &d->thread[side][i]);
	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < d->threads[side]; i++) {
			const struct dt_diverge_thread *t = &d->thread[side][i];

			if (t->first || t->name[0] || !strcmp(t->process, done))
				continue;
			forget_names(d, t->process);
			done = t->process;
		}
	}
}

/* Orders threads by what is the same in both traces. */
static int compare_keys(const struct dt_diverge_thread *x, const struct dt_diverge_thread *y)
{
	int order = strcmp(x->process, y->process);

	if (!order && x->first != y->first)
		return x->first ? -1 : 1;
	return order ? order : strcmp(x->name, y->name);
}

static int by_key(const void *a, const void *b)
{
	const struct dt_diverge_thread *x = a, *y = b;
	int keys = compare_keys(x, y);

	return keys ? keys : x->order < y->order ? -1 : x->order > y->order;
}

/* ---- steps ---- */

static uint64_t print_values(uint64_t h, const struct dt_compared_value *v, unsigned n,
			     const uint64_t *value)
{
	for (unsigned i = 0; i < n; i++)
		h = mix(h, value[v[i].index] & v[i].mask);
	return h;
}

static uint32_t function_of(const struct pass *p, uint32_t row)
{
	return row < p->d->match.rows[p->side] ? p->d->match.of[p->side][row] : 0;
}

/* Is the call one of those that are compared? */
static bool is_shown(const struct pass *p, const struct dt_call *c)
{
	const struct dt_chosen_calls *chosen = p->o->chosen[p->side];

	const bool *shown = p->o->shown[p->side];

	return (!shown || c->function >= p->d->match.rows[p->side] || shown[c->function]) &&
	       (!chosen || dt_chosen_has(chosen, c->id));
}

static uint32_t process_of(const struct pass *p, const struct dt_call *c)
{
	const struct dt_site *s = dt_reader_site(p->r, c->entry);

	return s ? s->pid : 0;
}

/* The note of a call is the number of shown calls that it is in, itself included. */
static void on_begin(void *ctx, const struct dt_call *c)
{
	struct pass *p = ctx;
	const uint32_t *caller = dt_pair_caller_note(p->pair);
	uint32_t depth = caller ? *caller : 0, f = function_of(p, c->function);
	struct dt_diverge_thread *t;
	uint64_t h;

	*c->note = depth + is_shown(p, c);
	if (!is_shown(p, c) || c->tid == DT_NO_TID || p->failed)
		return;
	t = thread_of(p, c->tid, process_of(p, c));
	if (!t)
		return;
	if (c->begin > p->d->cut[p->side])
		return;
	h = mix(mix(1, f), depth);
	if (p->o->arguments && c->argument)
		h = print_values(h, p->compared[f].argument, p->compared[f].arguments, c->argument);
	p->take(p, t, c, false, h);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct pass *p = ctx;
	struct dt_diverge_thread *t;
	uint32_t f = function_of(p, c->function);
	uint64_t h;

	if (!p->o->results || !c->note || !is_shown(p, c) || c->tid == DT_NO_TID ||
	    c->flags & DT_CALL_OPEN || p->failed)
		return;
	t = thread_of(p, c->tid, process_of(p, c));
	if (!t)
		return;
	if (c->end > p->d->cut[p->side])
		return;
	h = mix(mix(mix(2, f), *c->note), c->flags & DT_CALL_UNWOUND);
	if (c->result)
		h = print_values(h, p->compared[f].result, p->compared[f].results, c->result);
	p->take(p, t, c, true, h);
}

static int run(struct pass *p, struct dt_error *e)
{
	const struct dt_pair_events events = {.begin = on_begin, .end = on_end, .ctx = p};
	struct dt_reader_range range = p->o->range[p->side];
	struct dt_span s;
	int rc;

	range.order = DT_BY_THREAD;
	range.values = true;
	p->last = NULL;
	p->pair = dt_pair_new(p->r, &events, true);
	if (!p->pair)
		return dt_fail(e, "out of memory");
	rc = dt_reader_start(p->r, &range, e);
	while (!rc && (rc = dt_reader_next(p->r, &s, e)) > 0)
		rc = dt_pair_span(p->pair, &s) || p->failed ? dt_fail(e, "out of memory") : 0;
	if (!rc)
		dt_pair_finish(p->pair);
	dt_pair_free(p->pair);
	return rc;
}

/* ---- first: fingerprints ---- */

/* Takes a fingerprint after each 2^shift steps; when there are too many, every other one is
 * dropped. */
static void take_print(struct pass *p, struct dt_diverge_thread *t, const struct dt_call *c,
		       bool end, uint64_t print)
{
	(void)c;
	t->hash = mix(t->hash, print);
	t->steps++;
	t->calls += !end;
	if (t->steps & ((1ull << t->shift) - 1))
		return;
	if (t->checks == CHECKS) {
		for (size_t i = 0; i < CHECKS / 2; i++)
			t->check[i] = t->check[2 * i + 1];
		t->checks = CHECKS / 2;
		t->shift++;
		if (t->steps & ((1ull << t->shift) - 1))
			return;
	}
	/* the array is full when n is a power of two */
	if (!(t->checks & (t->checks - 1))) {
		size_t n = t->checks ? 2 * t->checks : 1;
		uint64_t *check = realloc(t->check, n * sizeof(*check));

		if (!check) {
			p->failed = true;
			return;
		}
		t->check = check;
	}
	t->check[t->checks++] = t->hash;
}

/* ---- then: which part, and all steps of it ---- */

/* Sets the part in which two threads diverge. False: they do not diverge. */
static bool find_part(struct dt_diverge_thread *const in[2])
{
	unsigned shift = in[0]->shift > in[1]->shift ? in[0]->shift : in[1]->shift;
	uint64_t low = 0;

	if (in[0]->steps == in[1]->steps && in[0]->hash == in[1]->hash)
		return false;
	for (size_t i = 0;; i++) {
		const struct dt_diverge_thread *a = in[0], *b = in[1];
		size_t j = ((i + 1) << (shift - a->shift)) - 1,
		       k = ((i + 1) << (shift - b->shift)) - 1;

		if (j >= a->checks || k >= b->checks || a->check[j] != b->check[k])
			break;
		low = (uint64_t)(i + 1) << shift;
	}
	for (unsigned side = 0; side < 2; side++) {
		in[side]->low = low;
		in[side]->high = low + (1ull << shift);
		if (in[side]->high > in[side]->steps)
			in[side]->high = in[side]->steps;
		in[side]->steps = in[side]->calls = 0; /* they are counted again in the next pass */
	}
	return true;
}

static void take_step(struct pass *p, struct dt_diverge_thread *t, const struct dt_call *c,
		      bool end, uint64_t print)
{
	uint64_t i = t->steps++;

	(void)c;
	t->calls += !end;
	if (i < t->low || i >= t->high)
		return;
	if (!t->step)
		t->step = calloc(t->high - t->low, sizeof(*t->step));
	if (t->step)
		t->step[i - t->low] = print;
	else
		p->failed = true;
}

/* ---- and then: what the two calls are ---- */

static void copy_call(struct dt_diverge_call *to, const struct dt_call *c, bool end)
{
	*to = (struct dt_diverge_call){
		.function = c->function, .ticks = end ? c->end : c->begin, .end = end};
	to->has_argument = c->argument != NULL;
	if (c->argument)
		memcpy(to->argument, c->argument, sizeof(to->argument));
	to->has_result = end && c->result;
	if (to->has_result)
		memcpy(to->result, c->result, sizeof(to->result));
}

struct calling {
	struct pass *p;
	struct dt_diverge_point *point;
};

static bool take_caller(void *ctx, const struct dt_call *c)
{
	struct calling *k = ctx;
	struct dt_diverge_point *to = k->point;

	if (!is_shown(k->p, c))
		return true;
	if (to->callers == to->room) {
		size_t room = to->room ? 2 * to->room : 16;
		struct dt_diverge_call *call = realloc(to->caller, room * sizeof(*call));

		if (!call) {
			k->p->failed = true;
			return false;
		}
		to->caller = call;
		to->room = room;
	}
	copy_call(&to->caller[to->callers++], c, false);
	return true;
}

static void take_point(struct pass *p, struct dt_diverge_thread *t, const struct dt_call *c,
		       bool end, uint64_t print)
{
	uint64_t i = t->steps++;
	struct calling k = {p, &t->point};

	(void)print;
	if (t->high == UINT64_MAX || i > t->high)
		return;
	if (i < t->high) {
		t->same_calls += !end;
		t->point.has_last |= !end;
		if (!end)
			copy_call(&t->point.last, c, false);
		return;
	}
	t->point.none = false;
	copy_call(&t->point.call, c, end);
	dt_pair_callers(p->pair, take_caller, &k);
	for (size_t a = 0, b = t->point.callers; a + 1 < b; a++) {
		struct dt_diverge_call swap = t->point.caller[a];

		t->point.caller[a] = t->point.caller[--b];
		t->point.caller[b] = swap;
	}
}

/* ---- all of it ---- */

/* Finds the first step of a pair that is not the same, or where one of them ends. */
static void find_step(const struct dt_diverge *d, struct dt_diverge_pair *x)
{
	const struct dt_diverge_thread *a = x->in[0], *b = x->in[1];
	uint64_t i = a->low;

	while (i < a->high && i < b->high && a->step[i - a->low] == b->step[i - b->low])
		i++;
	x->at = i;
	/* if a trace was cut, it is no difference that the thread ends there */
	x->diverges = (i < a->high && i < b->high) || (i < b->high && d->cut[0] == UINT64_MAX) ||
		      (i < a->high && d->cut[1] == UINT64_MAX);
}

static bool make_pairs(struct dt_diverge *d)
{
	size_t i = 0, j = 0;

	d->pair = calloc(d->threads[0] + d->threads[1] + 1, sizeof(*d->pair));
	if (!d->pair)
		return false;
	for (unsigned side = 0; side < 2; side++)
		if (d->threads[side])
			qsort(d->thread[side], d->threads[side], sizeof(**d->thread), by_key);
	while (i < d->threads[0] || j < d->threads[1]) {
		struct dt_diverge_pair *x = &d->pair[d->pairs++];
		int order = i == d->threads[0]	 ? 1
			    : j == d->threads[1] ? -1
						 : compare_keys(&d->thread[0][i], &d->thread[1][j]);

		if (order <= 0)
			x->in[0] = &d->thread[0][i++];
		if (order >= 0)
			x->in[1] = &d->thread[1][j++];
	}
	return true;
}

static int take_loss(void *ctx, const struct dt_lost *lost)
{
	uint64_t *cut = ctx;

	if (lost->others && lost->begin < *cut)
		*cut = lost->begin;
	return 0;
}

/* Prepares the last pass: `high' is the step that is wanted. */
static void want_points(struct dt_diverge *d)
{
	for (size_t i = 0; i < d->pairs; i++) {
		const struct dt_diverge_pair *x = &d->pair[i];

		for (unsigned side = 0; side < 2; side++) {
			struct dt_diverge_thread *t = x->in[side];

			if (!t)
				continue;
			t->high = x->diverges ? x->at : UINT64_MAX;
			t->steps = 0;
			t->point.none = true;
		}
	}
}

static int both(struct pass p[2],
		void (*take)(struct pass *p, struct dt_diverge_thread *t, const struct dt_call *c,
			     bool end, uint64_t print),
		struct dt_error *e)
{
	int rc = 0;

	for (unsigned side = 0; side < 2 && !rc; side++) {
		p[side].take = take;
		rc = run(&p[side], e);
	}
	return rc;
}

static int by_time(const void *a, const void *b)
{
	const struct dt_diverge_pair *x = a, *y = b;
	uint64_t s, t;

	if (x->diverges != y->diverges)
		return x->diverges ? -1 : 1;
	if (!x->diverges)
		return 0;
	s = x->in[0]->point.none ? x->in[0]->point.last.ticks : x->in[0]->point.call.ticks;
	t = y->in[0]->point.none ? y->in[0]->point.last.ticks : y->in[0]->point.call.ticks;
	return s < t ? -1 : s > t;
}

/* Reads the traces twice more, for the threads that differ. */
static int look_closer(struct dt_diverge *d, struct pass p[2], struct dt_error *e)
{
	bool any = false;

	for (size_t i = 0; i < d->pairs; i++)
		any |= d->pair[i].in[0] && d->pair[i].in[1] && find_part(d->pair[i].in);
	if (!any)
		return 0;
	/* threads that do not differ have an empty part */
	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < d->threads[side]; i++)
			d->thread[side][i].steps = d->thread[side][i].calls = 0;
	if (both(p, take_step, e))
		return -1;
	for (size_t i = 0; i < d->pairs; i++)
		if (d->pair[i].in[0] && d->pair[i].in[1])
			find_step(d, &d->pair[i]);
	want_points(d);
	if (both(p, take_point, e))
		return -1;
	qsort(d->pair, d->pairs, sizeof(*d->pair), by_time);
	return 0;
}

int dt_diverge_read(struct dt_diverge *d, struct dt_reader *const r[2],
		    const struct dt_diverge_options *o, struct dt_error *e)
{
	const struct dt_reader *const readers[2] = {r[0], r[1]};
	struct dt_compared *compared;
	struct pass p[2];
	int rc;

	if (dt_match_read(&d->match, readers))
		return dt_fail(e, "out of memory");
	compared = dt_compared_read(&d->match, readers, o->pointers);
	if (!compared)
		return dt_fail(e, "out of memory");
	for (unsigned side = 0; side < 2; side++) {
		/* nor is it a difference that a thread ends at the end of the range */
		d->cut[side] = o->range[side].to ? o->range[side].to : UINT64_MAX;
		dt_reader_losses(r[side], take_loss, &d->cut[side]);
		p[side] = (struct pass){
			.d = d, .o = o, .compared = compared, .r = r[side], .side = side};
	}
	rc = both(p, take_print, e);
	if (!rc)
		name_threads(d, r);
	p[0].known = p[1].known = true;
	if (!rc && !make_pairs(d))
		rc = dt_fail(e, "out of memory");
	if (!rc)
		rc = look_closer(d, p, e);
	free(compared);
	return rc;
}

void dt_diverge_free(struct dt_diverge *d)
{
	for (unsigned side = 0; side < 2; side++) {
		for (size_t i = 0; i < d->threads[side]; i++) {
			struct dt_diverge_thread *t = &d->thread[side][i];

			free(t->check);
			free(t->step);
			free(t->point.caller);
		}
		free(d->thread[side]);
	}
	free(d->pair);
	dt_match_free(&d->match);
}
