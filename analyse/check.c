/* SPDX-License-Identifier: MIT */
/* Checking the calls of a trace, in one pass over its records. */
#include "analyse/check.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/check-work.h"

/* ---- calls ---- */

static const char *name_of(const struct checking *k, uint32_t function)
{
	return dt_reader_function_name(k->r, function);
}

static struct dt_pair *pair_of(const struct checking *k)
{
	return k->parts ? k->parts->pair : k->pair;
}

static bool on_parent(void *ctx, const struct dt_call *c)
{
	((struct checking *)ctx)->parent_begin = c->begin;
	return false;
}

static bool is_paused(const struct checking *k, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < k->pauses; i++)
		if (k->pause[i].begin <= end && (k->pause[i].end >= begin || !k->pause[i].end))
			return true;
	return false;
}

/*
 * Returns whether another function jumped into the middle of this one, which returns in its place.
 */
static bool is_jumped_into(const struct checking *k, const struct dt_call *c)
{
	return k->current && k->current->tid == c->tid && k->current->jumped == c->sp;
}

/* Returns whether others enter the function in its middle: what does so need not be recorded. */
static bool is_entered(const struct checking *k, const struct dt_call *c)
{
	return c->exit && dt_reader_site(k->r, c->exit)->entered;
}

/*
 * Returns the tick since which there can have been a call at sp: what ended there or above had to
 * be gone before. A call that is taken to have ended because of the record at `now' tells nothing
 * about an earlier time.
 */
static uint64_t free_since(const struct seen *t, uint64_t sp, uint64_t now)
{
	for (unsigned i = t ? t->n : 0; i-- > 0;)
		if (t->ended[i].sp >= sp && t->ended[i].at != now)
			return t->ended[i].at;
	return 0;
}

static void note_end(struct seen *t, const struct dt_call *c)
{
	while (t->n && t->ended[t->n - 1].sp <= c->sp)
		t->n--;
	if (t->n == DT_CHECK_ENDED)
		t->n--;
	t->ended[t->n].sp = c->sp;
	t->ended[t->n++].at = c->end;
	t->jumped = c->flags & DT_CALL_TAIL ? c->sp : 0;
}

/* setjmp() and its relatives return once more for each longjmp(), in some libcs by an instruction
 * of their own. */
static bool returns_twice(const struct checking *k, const struct dt_call *c)
{
	const char *name = name_of(k, c->function);
	size_t n = strlen(name);

	return n >= 6 && !strcmp(name + n - 6, "setjmp");
}

/*
 * Looks for a reason why a call has no entry, and adds a fault if there is none. It may have been
 * made before the thread's first record, or while nothing was recorded, or before its function was
 * recorded; or another function jumped into it; or the thread was meanwhile on a core that has
 * lost what it did there. A call within another one that the trace has from its beginning, and
 * whose function was recorded by then, has none of these reasons. But if a file was cut off, one
 * core may have been read further than the one with the entry.
 */
static void check_orphan(struct checking *k, const struct dt_call *c)
{
	const struct tally *t = &k->tally[c->function];
	uint64_t since = free_since(k->current, c->sp, c->end);

	if (c->flags & DT_CALL_LOSS || !c->parent || c->sp >> 63 || returns_twice(k, c))
		return;
	k->strange |= k->in_parts;
	if (k->in_parts)
		return;
	k->parent_begin = UINT64_MAX;
	dt_pair_callers(pair_of(k), on_parent, k);
	if (k->parent_begin == UINT64_MAX)
		return;
	since = since > k->parent_begin ? since : k->parent_begin;
	if (!t->first || t->first > since || is_jumped_into(k, c) || is_entered(k, c) ||
	    is_paused(k, since, c->end) ||
	    dt_pair_was_off(pair_of(k), c->function, since, c->end) ||
	    dt_pair_was_lost(pair_of(k), since, c->end))
		return;
	if (c->end > k->c->whole) {
		k->c->calls.early++;
		return;
	}
	dt_faults_add(&k->c->faults, DT_FAULT_PAIR, "%.100s in thread %u, at tick %lu",
		      name_of(k, c->function), c->tid, (unsigned long)c->end);
}

static void check_times(struct checking *k, const struct dt_call *c)
{
	uint64_t took = dt_call_ticks(c);

	if (c->flags & DT_CALL_BACKWARD || c->end < c->begin || c->end > k->end ||
	    c->begin < k->c->chunks.begin)
		dt_faults_add(
			&k->c->faults, DT_FAULT_DURATION,
			"%.100s in thread %u, from tick %lu to %lu; the trace is from %lu to %lu",
			name_of(k, c->function), c->tid, (unsigned long)c->begin,
			(unsigned long)c->end, (unsigned long)k->c->chunks.begin,
			(unsigned long)k->end);
	else if (c->children > took && !(c->flags & DT_CALL_UNTIMED) && c->children != UINT64_MAX)
		dt_faults_add(
			&k->c->faults, DT_FAULT_DURATION,
			"%.100s in thread %u, at tick %lu: %lu ticks, and %lu in what it called",
			name_of(k, c->function), c->tid, (unsigned long)c->begin,
			(unsigned long)took, (unsigned long)c->children);
}

static void count(struct dt_check_calls *n, const struct dt_call *c)
{
	n->calls++;
	n->lossy += !!(c->flags & DT_CALL_LOSS);
	if (!c->id)
		n->before++;
	else if (c->flags & DT_CALL_OPEN)
		n->open++;
	else if (c->flags & DT_CALL_TAIL)
		n->tail++;
	else if (c->exit)
		n->returned++;
	else
		n->unwound++;
	if (!(c->flags & DT_CALL_UNTIMED)) {
		n->timed++;
		n->ticks += dt_call_ticks(c);
	}
}

void dt_checking_end(void *ctx, const struct dt_call *c)
{
	struct checking *k = ctx;
	struct tally *t = &k->tally[c->function];

	t->begun += c->id != 0;
	/* the exit of a function that was jumped to also ends the calls that jumped */
	t->left += c->exit && !(c->flags & DT_CALL_TAIL);
	if (c->exit && (c->flags & (DT_CALL_TAIL | DT_CALL_LEFT)) == DT_CALL_TAIL)
		k->tally[k->same.first[dt_reader_site(k->r, c->exit)->function]].ended++;
	count(&k->c->calls, c);
	if (__builtin_expect(!c->id, 0))
		check_orphan(k, c);
	check_times(k, c);
	if (k->current && !k->in_parts)
		note_end(k->current, c);
	dt_stats_call(&k->c->stats, c);
}

void dt_checking_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	(void)s;
	(void)i;
	(void)depth;
	((struct checking *)ctx)->others++;
}

/* ---- records ---- */

static struct seen *slot_of(struct seen *table, size_t slots, uint32_t tid)
{
	size_t i = (tid * 0x9e3779b97f4a7c15u) >> 32;

	while (table[i & (slots - 1)].used && table[i & (slots - 1)].tid != tid)
		i++;
	return &table[i & (slots - 1)];
}

struct seen *dt_checking_thread(struct checking *k, uint32_t tid)
{
	struct seen *s;

	if (k->current && k->current->tid == tid)
		return k->current;
	if (2 * k->threads >= k->slots) {
		size_t slots = k->slots ? 2 * k->slots : 256;
		struct seen *table = calloc(slots, sizeof(*table));

		if (!table)
			return NULL;
		for (size_t i = 0; i < k->slots; i++)
			if (k->thread[i].used)
				*slot_of(table, slots, k->thread[i].tid) = k->thread[i];
		free(k->thread);
		k->thread = table;
		k->slots = slots;
	}
	s = slot_of(k->thread, k->slots, tid);
	k->threads += !s->used;
	s->used = true;
	s->tid = tid;
	return k->current = s;
}

/* Notes the time of a site's first record. */
static void first_of(struct checking *k, uint32_t site, uint64_t ticks)
{
	const struct dt_site *s = dt_reader_site(k->r, site);
	struct tally *t = &k->tally[k->same.first[s->function]];

	if (!t->first || ticks < t->first)
		t->first = ticks ? ticks : 1;
}

int dt_checking_span(void *ctx, const struct dt_span *s)
{
	struct checking *k = ctx;
	struct seen *t = dt_checking_thread(k, s->tid);
	uint64_t last, *of_site = k->of_site;
	bool back = false;

	if (!t)
		return -1;
	last = t->last;
	for (uint32_t i = 0; i < s->n; i++) {
		back |= s->ticks[i] < last;
		last = s->ticks[i];
		if (__builtin_expect(!of_site[s->site[i]]++, 0))
			first_of(k, s->site[i], last);
	}
	/* what has no thread, and what interrupts it in the kernel, is only in the order of its
	 * core */
	if (__builtin_expect(back && s->tid != DT_NO_TID && s->tid && !(s->sp[0] >> 63), 0)) {
		last = t->last;
		for (uint32_t i = 0; i < s->n; i++) {
			if (s->ticks[i] < last)
				dt_faults_add(&k->c->faults, DT_FAULT_BACK,
					      "thread %u, on core %u, at tick %lu: %lu earlier",
					      s->tid, s->core, (unsigned long)s->ticks[i],
					      (unsigned long)(last - s->ticks[i]));
			last = s->ticks[i];
		}
	}
	if (s->n)
		t->last = last;
	return 0;
}

/* ---- comparing what was read with what is stored ---- */

static void compare_records(struct checking *k)
{
	const struct dt_check_chunks *c = &k->c->chunks;
	uint64_t records = 0;

	for (uint32_t i = 0; i < k->functions; i++)
		k->tally[i].exits_only = true;
	for (uint32_t i = 1; i <= k->sites; i++) {
		const struct dt_site *s = dt_reader_site(k->r, i);
		struct tally *t = &k->tally[k->same.first[s->function]];

		records += k->of_site[i];
		if (k->of_site[i] != c->of_site[i])
			dt_faults_add(&k->c->faults, DT_FAULT_READ,
				      "of site %u (%.100s) %lu records are stored and %lu read", i,
				      name_of(k, s->function), (unsigned long)c->of_site[i],
				      (unsigned long)k->of_site[i]);
		if (s->kind == DT_ENTRY) {
			t->exits_only = false;
			t->entries += c->of_site[i];
			k->c->calls.entries += c->of_site[i];
		} else if (s->kind == DT_EXIT) {
			t->exits += s->place == DT_SITE_TAIL ? 0 : c->of_site[i];
			k->c->calls.exits += c->of_site[i];
		} else {
			k->c->calls.other += c->of_site[i];
		}
	}
	if (k->others != k->c->calls.other)
		dt_faults_add(&k->c->faults, DT_FAULT_COUNT,
			      "%lu records are neither entries nor exits, %lu were taken for such",
			      (unsigned long)k->c->calls.other, (unsigned long)k->others);
}

static void compare_calls(struct checking *k)
{
	for (uint32_t i = 0; i < k->functions; i++) {
		const struct tally *t = &k->tally[i];

		/* one exit may end several such calls */
		bool exits = t->exits_only ? t->exits <= t->left + t->ended : t->exits == t->left;

		if (t->entries != t->begun || !exits)
			dt_faults_add(&k->c->faults, DT_FAULT_COUNT,
				      "%.100s: %lu entries and %lu exits, in %lu calls and %lu",
				      name_of(k, i), (unsigned long)t->entries,
				      (unsigned long)t->exits, (unsigned long)t->begun,
				      (unsigned long)t->left);
	}
}

struct waits {
	uint64_t n, ticks;
};

static int on_hold(void *ctx, const struct dt_held_row *h)
{
	struct waits *w = ctx;

	w->n++;
	w->ticks += h->end > h->begin ? h->end - h->begin : 0;
	return 0;
}

/* Compares the waits that the report shows with those that are stored. */
static int compare_holds(struct checking *k)
{
	const struct dt_check_chunks *c = &k->c->chunks;
	struct waits w = {0};

	if (dt_reader_helds(k->r, on_hold, &w))
		return -1;
	if (w.n != c->holds || w.ticks != c->held)
		dt_faults_add(&k->c->faults, DT_FAULT_SUM,
			      "hold: %lu waits of %lu ticks are read, and there are %lu of %lu",
			      (unsigned long)w.n, (unsigned long)w.ticks, (unsigned long)c->holds,
			      (unsigned long)c->held);
	return 0;
}

static int add_pause(struct checking *k, uint64_t begin, uint64_t end)
{
	struct dt_times *more;

	if ((k->pauses & (k->pauses - 1)) == 0) {
		more = realloc(k->pause, (k->pauses ? 2 * k->pauses : 1) * sizeof(*more));
		if (!more)
			return -1;
		k->pause = more;
	}
	k->pause[k->pauses++] = (struct dt_times){.begin = begin, .end = end};
	return 0;
}

static int on_pause(void *ctx, const struct dt_pause *p)
{
	struct checking *k = ctx;

	k->c->pauses++;
	return add_pause(k, p->begin, p->end);
}

static int on_change(void *ctx, const struct dt_change *c)
{
	return add_pause(ctx, c->begin, c->end);
}

/* Returns the tick up to which a file that was cut off has the records of all cores. */
static uint64_t whole_until(struct dt_reader *r)
{
	const char *until = dt_reader_meta(r, "whole_until");

	return until ? strtoull(until, NULL, 10) : UINT64_MAX;
}

/* Returns the end of the trace. Calls that an execve ended, without a record after it, may end
 * later than the last record. */
static uint64_t end_of(const struct checking *k)
{
	uint64_t end = k->c->chunks.end;
	size_t n;
	const struct dt_exec_info *x = dt_reader_execs(k->r, &n);

	for (size_t i = 0; i < n; i++)
		end = x[i].ticks > end ? x[i].ticks : end;
	return end;
}

int dt_checking_prepare(struct checking *k, struct dt_error *e)
{
	k->c->cut_off = dt_reader_meta(k->r, "policy") && !dt_reader_meta(k->r, "longest_stop");
	k->c->whole = k->c->cut_off ? whole_until(k->r) : UINT64_MAX;
	k->sites = dt_reader_sites(k->r);
	k->functions = dt_reader_functions(k->r) + 1;
	k->end = end_of(k);
	k->of_site = calloc((size_t)k->sites + 1, sizeof(*k->of_site));
	k->tally = calloc(k->functions, sizeof(*k->tally));
	if (!k->of_site || !k->tally || dt_same_update(&k->same, k->r) ||
	    dt_reader_pauses(k->r, on_pause, k) > 0 || dt_reader_changes(k->r, on_change, k) > 0)
		return dt_fail(e, "out of memory");
	return 0;
}

/* Reads all calls, unless something of the file is wrong: then k->read is not set. */
static int read_calls(struct checking *k, struct dt_error *e)
{
	const struct dt_pair_events events = {
		.end = dt_checking_end, .other = dt_checking_other, .ctx = k};
	const struct dt_reader_range range = {.order = DT_BY_THREAD};
	struct dt_error why = {""};
	struct dt_span s;
	int rc;

	if (dt_checking_prepare(k, e))
		return -1;
	k->pair = dt_pair_new(k->r, &events, false);
	if (!k->pair)
		return dt_fail(e, "out of memory");
	dt_pair_unfold(k->pair);
	rc = dt_reader_start(k->r, &range, &why);
	while (!rc && (rc = dt_reader_next(k->r, &s, &why)) > 0) {
		if (dt_checking_span(k, &s) || dt_pair_span(k->pair, &s))
			return dt_fail(e, "out of memory");
		rc = 0;
	}
	if (rc && !strcmp(why.text, "interrupted"))
		return dt_fail(e, "interrupted");
	if (rc) { /* every chunk could be decoded, so something else is wrong */
		dt_faults_add(&k->c->faults, DT_FAULT_READ, "%s", why.text);
		return 0;
	}
	dt_pair_finish(k->pair);
	k->read = true;
	return k->c->stats.no_memory ? dt_fail(e, "out of memory") : 0;
}

static int compare(struct checking *k, struct dt_error *e)
{
	compare_records(k);
	compare_calls(k);
	if (compare_holds(k))
		return dt_fail(e, "out of memory");
	k->c->paired = true;
	return 0;
}

static void free_checking(struct checking *k)
{
	dt_pair_free(k->pair);
	dt_same_free(&k->same);
	free(k->of_site);
	free(k->tally);
	free(k->thread);
	free(k->pause);
}

void dt_checking_clear(struct checking *k)
{
	free_checking(k);
	dt_stats_free(&k->c->stats);
	k->c->stats = (struct dt_stats){0};
	k->c->calls = (struct dt_check_calls){0};
	k->c->pauses = 0;
	*k = (struct checking){.r = k->r, .c = k->c, .how = k->how};
}

int dt_checking_chunks(struct checking *k, struct dt_error *e)
{
	return dt_check_file(k->r, &k->c->faults, &k->c->chunks, k->how->watch, k->how->ctx, e);
}

static int check_calls(struct checking *k, struct dt_error *e)
{
	int rc = 0;

	if (!k->read) {
		dt_reader_watch(k->r, k->how->watch, k->how->ctx);
		rc = read_calls(k, e);
		dt_reader_watch(k->r, NULL, NULL);
	}
	return rc || !k->read ? rc : compare(k, e);
}

static void fold_call(void *ctx, const struct dt_call *c)
{
	struct dt_check *k = ctx;

	count(&k->shown, c);
	dt_stats_call(&k->stats, c);
}

/* Sums the calls up as others do, where some are a part of others (dt_pair_unfold()): the records
 * have been compared with all calls. */
static int fold_sums(struct dt_reader *r, struct dt_check *c, struct dt_error *e)
{
	const struct dt_pair_events events = {.end = fold_call, .ctx = c};
	const struct dt_reader_range range = {.order = DT_BY_THREAD};

	c->shown = c->calls;
	if (!dt_pair_may_fold(r))
		return 0;
	c->shown = (struct dt_check_calls){0};
	dt_stats_free(&c->stats);
	c->stats = (struct dt_stats){0};
	if (dt_pair_run(r, &range, &events, e))
		return -1;
	return c->stats.no_memory ? dt_fail(e, "out of memory") : 0;
}

static int check_held(struct checking *k, const char *path, struct dt_error *e)
{
	struct dt_check *c = k->c;

	if (dt_reader_refresh(k->r, e) ||
	    (k->how->threads > 1 ? dt_check_sides(k, e) : dt_checking_chunks(k, e)))
		return -1;
	if (c->chunks.cut)
		return 0; /* what is left would be compared with itself */
	if (dt_check_sums(k->r, c, e) || check_calls(k, e))
		return -1;
	if (!c->paired)
		return 0;
	if (fold_sums(k->r, c, e) || dt_check_pyramid(k->r, path, c, e))
		return -1;
	return k->how->again ? dt_check_pyramid(k->r, NULL, c, e) : 0;
}

int dt_check_trace(struct dt_reader *r, const char *path, const struct dt_check_how *how,
		   struct dt_check *c, struct dt_error *e)
{
	struct checking k = {.r = r, .c = c, .how = how};
	int rc;

	*c = (struct dt_check){.paired = false};
	dt_check_hold(r);
	rc = check_held(&k, path, e);
	dt_check_let_go(r);
	free_checking(&k);
	return rc;
}

void dt_check_free(struct dt_check *c)
{
	dt_check_chunks_free(&c->chunks);
	dt_stats_free(&c->stats);
}
