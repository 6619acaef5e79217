/* SPDX-License-Identifier: MIT */
/* The sieve: what it knows of functions and threads, and what goes into the file. */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#define HELD_MOST   (1u << 20)	/* records of all rings that are held, at most */
#define PATIENCE_NS 2000000000u /* for which a call is held, at most, whose end decides */
#define NOTHING	    "-*"	/* words that mean no call */
#define BATCH	    512u	/* records that are put into the file at a time */

/* ---- verdicts ---- */

uint32_t dt_verdict_new(struct dt_sieve *v)
{
	uint32_t i;

	if (v->free) {
		i = v->unused[--v->free];
	} else {
		if (v->verdicts >= v->verdict_room) {
			uint32_t room = v->verdict_room ? 2 * v->verdict_room : 1024;
			struct verdict *more = realloc(v->verdict, room * sizeof(*more));
			uint32_t *unused = more ? realloc(v->unused, room * sizeof(*unused)) : NULL;

			if (more)
				v->verdict = more;
			if (unused)
				v->unused = unused;
			if (!more || !unused) {
				v->no_memory = true;
				return VERDICT_KEEP;
			}
			v->verdict_room = room;
		}
		i = v->verdicts++;
	}
	v->verdict[i] = (struct verdict){.refs = 1, .is = UNDECIDED};
	return i;
}

void dt_verdict_drop_slot(struct dt_sieve *v, uint32_t verdict)
{
	if (--v->verdict[verdict].refs)
		return;
	if (v->verdict[verdict].left)
		dt_sieve_request_decided(v, verdict);
	v->unused[v->free++] = verdict;
}

/* ---- making one ---- */

int dt_sieve_refuse(const char *word, const char *also, struct dt_error *e)
{
	return !word ? 0
		     : dt_fail(e,
			       "%s: only readers of a trace choose by that; while recording, "
			       "functions, callers, depth, arguments, results%s and times can be "
			       "chosen by",
			       word, also);
}

int dt_sieve_check(const char *words, struct dt_error *e)
{
	struct dt_sieve nothing = {0};
	struct dt_meanings m = dt_sieve_meanings(&nothing, 1);
	struct dt_filter *f;
	int rc;

	m.requests = true;
	f = dt_filter_new(words, &m, e);
	rc = f ? dt_sieve_refuse(dt_filter_beyond_recording(f), ", threads, processes, cores", e)
	       : -1;

	dt_filter_free(f);
	return rc;
}

static struct dt_sums *sums_of(const struct dt_sieve_words *w, const struct dt_meanings *m,
			       struct dt_error *e)
{
	const char *text[DT_SUMS_MOST];

	for (size_t i = 0; i < w->n; i++)
		text[i] = w->at[i].text;
	return dt_sums_new(text, w->n, m, e);
}

int dt_sieve_check_sums(const struct dt_options *o, struct dt_error *e)
{
	struct dt_sieve nothing = {0};
	struct dt_meanings m = dt_sieve_meanings(&nothing, 1);
	struct dt_sieve_words w;
	struct dt_sums *s = NULL;
	int rc = -1;

	if (dt_sieve_words(&w, o, e))
		return -1;
	s = sums_of(&w, &m, e);
	if (s)
		rc = dt_sieve_refuse(dt_sums_beyond_calls(s), "", e);
	for (size_t i = 0; rc == 0 && o->budget && i < w.n; i++)
		rc = dt_sieve_refuse_missing(dt_sums_filter(s, i), e);
	dt_sums_free(s);
	dt_sieve_words_free(&w);
	return rc;
}

struct dt_filter *dt_sieve_filter(const struct dt_sieve *v, const char *words, struct dt_error *e)
{
	struct dt_meanings m = dt_sieve_meanings(v, 1 / v->session->ticks_per_ns);

	m.requests = true;
	return dt_filter_new(words, &m, e);
}

const char *dt_sieve_said(const struct dt_sieve *v)
{
	return v->said && *v->said ? v->said : "all calls";
}

/* Returns the words of the filter, whether it was asked for or not. */
static const char *filter_of(const struct dt_options *o)
{
	return o->filter ? o->filter : o->sums ? NOTHING : "";
}

/* Notes in the file what is not in it. */
static void note_filter(struct dt_store *store, const struct dt_options *o)
{
	if (*filter_of(o))
		dt_store_meta(store, "filter", filter_of(o), NULL);
	if (!o->filter && o->sums)
		dt_store_meta(store, "sums_only", "1", NULL);
}

struct dt_sieve *dt_sieve_new(struct dt_session *s, struct dt_error *e)
{
	const struct dt_options *o = &s->options;
	struct dt_sieve *v = calloc(1, sizeof(*v));
	struct dt_meanings m;

	if (!v) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	v->session = s;
	v->verdicts = VERDICT_FIRST;
	v->one_rule = !o->filter;
	m = v->meanings = dt_sieve_meanings(v, 1 / s->ticks_per_ns);
	if (dt_sieve_words(&v->words, o, e))
		goto fail;
	v->filter = dt_sieve_filter(v, filter_of(o), e);
	if (!v->filter)
		goto fail;
	if (v->words.n && !(v->sums = sums_of(&v->words, &m, e)))
		goto fail;
	dt_sieve_sums_texts(v);
	v->said = strdup(filter_of(o));
	v->chosen = strdup(filter_of(o));
	if (!s->has_log)
		note_filter(s->store, o);
	v->looks_at_end = dt_filter_looks_at_end(v->filter);
	v->anywhere = dt_filter_anywhere(v->filter);
	v->requests = dt_filter_has_requests(v->filter);
	v->least = (uint64_t)dt_filter_least(v->filter);
	v->patience = (uint64_t)(PATIENCE_NS * s->ticks_per_ns);
	dt_sieve_early_begin(v);
	return v;
fail:
	dt_sieve_words_free(&v->words);
	dt_filter_free(v->filter);
	free(v);
	return NULL;
}

void dt_sieve_free(struct dt_sieve *v)
{
	if (!v)
		return;
	dt_sieve_free_threads(v);
	dt_sieve_sums_free(v);
	for (unsigned i = 0; i < v->lanes; i++) {
		free(v->lane[i].record);
		free(v->lane[i].verdict);
		free(v->lane[i].gap);
	}
	for (uint32_t i = 0; i < v->functions; i++) {
		free((char *)v->function[i].name);
		free((char *)v->function[i].file);
		free((char *)v->function[i].signature);
		free((char *)v->function[i].others);
	}
	for (size_t i = 0; i < v->programs; i++)
		free(v->program[i].exe);
	free(v->program);
	free(v->leaver);
	free(v->function);
	free(v->changes_stack);
	for (uint32_t i = VERDICT_FIRST; i < v->verdicts; i++)
		dt_sieve_request_decided(v, i);
	free(v->left);
	free(v->early_plan);
	free(v->lane);
	free(v->verdict);
	free(v->unused);
	dt_filter_free(v->filter);
	free(v->said);
	free(v->chosen);
	free(v);
}

/* ---- choosing ---- */

static uint64_t head_of(const struct lane *l)
{
	return l->unseen == l->end ? UINT64_MAX : lane_record(l, l->unseen)->ticks;
}

/* Asks the store where a record comes from, and remembers it. */
static __attribute__((noinline)) struct place_entry *
ask_place(struct dt_sieve *v, const struct dt_record *r, struct place_entry *p, struct dt_error *e)
{
	struct dt_store_place at = {0};
	struct dt_record copy = *r;

	if (!dt_sieve_find_stack(v, r, &at) && dt_store_place(v->session->store, r, &at, e))
		return NULL;
	if (v->session->has_log)
		v->log->translate(v->session, &copy, 1);
	*p = (struct place_entry){.pc = r->pc,
				  .tid = r->tid,
				  .kind = r->kind,
				  .plain = dt_sieve_plain_is(v, r, &at),
				  .at = at,
				  .shown = copy.pc};
	dt_sieve_early_tell(v, r, &at);
	return p;
}

/* Finds out where a record comes from, and the pc that a log has for it. What is returned stays
 * until the next one is asked about. NULL: error */
static const struct place_entry *find_place(struct dt_sieve *v, const struct dt_record *r,
					    struct dt_error *e)
{
	struct place_entry *p = dt_sieve_place_slot(v, r);

	return dt_sieve_is_place(p, r) ? p : ask_place(v, r, p, e);
}

/* Returns whether records were lost right before a position that has not been chosen at. */
static bool is_gap(const struct lane *l, uint64_t at)
{
	for (size_t i = l->gaps; i-- > 0 && l->gap[i].at >= at;)
		if (l->gap[i].at == at)
			return true;
	return false;
}

/*
 * Chooses at once among the next record of a lane, an entry at `at', and the one behind it, if that
 * is its exit and is not later than `until'. Returns 1 if it has, 0 if not, -1 and an error.
 */
static int choose_leaf(struct dt_sieve *v, struct lane *l, struct dt_store_place at, uint64_t until,
		       struct dt_error *e)
{
	const struct dt_record *r = lane_record(l, l->unseen), *next;
	const struct place_entry *end;
	uint32_t verdict;

	if (l->unseen + 1 == l->end || v->session->has_log)
		return 0;
	next = lane_record(l, l->unseen + 1);
	if (next->kind != DT_EXIT || next->tid != r->tid || next->sp != r->sp ||
	    next->ticks > until || next->ticks < r->ticks || !at.function ||
	    at.place == DT_SITE_ENTRY_ALONE || (l->gaps && is_gap(l, l->unseen + 1)))
		return 0;
	end = find_place(v, next, e);
	if (!end)
		return -1;
	if (end->at.function != at.function || end->at.place == DT_SITE_TAIL ||
	    !dt_sieve_judge_leaf(v, r, next, l->core, at.function, &verdict))
		return 0;
	if (next->ticks > v->now)
		v->now = next->ticks;
	l->verdict[l->unseen++ & (l->size - 1)] = verdict;
	l->verdict[l->unseen++ & (l->size - 1)] = verdict;
	return 1;
}

static bool needs_place(const struct dt_sieve *v, const struct dt_record *r)
{
	if (v->session->has_log)
		return !dt_kind_is_about(r->kind);
	return r->kind == DT_ENTRY || r->kind == DT_EXIT || r->kind == DT_MORE;
}

/* Chooses among the next records of a lane, up to a time. */
static int choose(struct dt_sieve *v, struct lane *l, uint64_t until, struct dt_error *e)
{
	const struct place_entry *p;
	int leaf = 0;

	while (l->unseen < l->end) {
		const struct dt_record *r = lane_record(l, l->unseen);
		struct dt_store_place at = {0};
		uint64_t shown = r->pc;

		if (r->ticks > until)
			break;
		if (v->plain && dt_sieve_plain_judge(v, l, until))
			continue;
		if (l->gaps && is_gap(l, l->unseen))
			dt_sieve_lossy(v);
		if (needs_place(v, r)) {
			p = find_place(v, r, e);
			if (!p)
				return -1;
			at = p->at;
			shown = p->shown;
		}
		if (r->ticks > v->now)
			v->now = r->ticks;
		/* the records are our copies: the hook was so far below its function (capture.h) */
		if (r->kind == DT_MORE && v->session->unwinder && dt_sieve_is_stack(at.place))
			((struct dt_record *)(uintptr_t)r)->sp += DT_STACK_BLOCK;
		if (r->kind == DT_ENTRY && (leaf = choose_leaf(v, l, at, until, e)) != 0) {
			if (leaf < 0)
				return -1;
			continue;
		}
		l->verdict[l->unseen & (l->size - 1)] = dt_sieve_judge(v, r, l->core, &at);
		if (v->session->has_log) /* nothing is lent then */
			l->record[l->unseen & (l->size - 1)].pc = shown;
		l->unseen++;
	}
	return 0;
}

/* Chooses among all records up to a time, in the order of time. */
static int choose_all(struct dt_sieve *v, uint64_t until, struct dt_error *e)
{
	for (;;) {
		struct lane *first = NULL;
		uint64_t head = UINT64_MAX, next = until;

		for (unsigned i = 0; i < v->lanes; i++) {
			uint64_t ticks = head_of(&v->lane[i]);

			if (ticks < head) {
				next = head < next ? head : next;
				head = ticks;
				first = &v->lane[i];
			} else if (ticks < next) {
				next = ticks;
			}
		}
		if (!first || head > until)
			return 0;
		if (choose(v, first, next, e))
			return -1;
	}
}

/* Puts the losses before a position into the file. */
static int put_gaps(struct dt_sieve *v, struct lane *l, uint64_t before, struct dt_error *e)
{
	size_t n = 0;

	while (n < l->gaps && l->gap[n].at <= before) {
		/* a log has their number only, and from the recorder */
		if (!v->session->has_log &&
		    dt_store_lose(v->session->store, l->core, l->gap[n].lost, l->gap[n].switches,
				  l->gap[n].begin, e))
			return -1;
		n++;
	}
	l->gaps -= n;
	memmove(l->gap, l->gap + n, l->gaps * sizeof(*l->gap));
	return 0;
}

/* Returns how many ticks since a record, an entry, devtrace has had its thread wait. */
static uint64_t held_since(struct dt_sieve *v, const struct dt_record *r, unsigned core)
{
	const struct sieve_thread *t = dt_sieve_thread_of(v, r, core);

	return t && t->holds && v->clock > r->ticks
		       ? dt_sieve_held_between(t, r->ticks, v->clock, UINT64_MAX)
		       : 0;
}

/*
 * Decides, if that is due, about the first record of a lane, which is undecided. It is the entry of
 * its call, since the call's other records are later; an exit decides it.
 */
static void decide(struct dt_sieve *v, const struct lane *l, struct verdict *x, uint64_t most,
		   bool all)
{
	const struct dt_record *r = lane_record(l, l->begin);
	uint64_t age = v->clock - r->ticks;

	/* a wait for devtrace that goes on is not known yet: such a call is not long by itself */
	if (v->least && (int64_t)age > (int64_t)(v->least + v->patience) &&
	    age - held_since(v, r, l->core) > v->least + v->patience) {
		x->is = VERDICT_KEEP;
	} else if (all || l->unseen - l->begin > most ||
		   (!v->least && (int64_t)age > (int64_t)v->patience)) {
		x->is = VERDICT_KEEP;
		v->counts.kept++;
	}
}

/* Puts records that are wanted where the session has its records. */
static int put_wanted(struct dt_sieve *v, const struct lane *l, const struct dt_record *r, size_t n,
		      struct dt_error *e)
{
	if (!n)
		return 0;
	if (!v->session->has_log)
		return dt_store_put(v->session->store, l->core, r, n, 0, e);
	return v->log->put(v->log->ctx, l->core, r, n) ? dt_fail(e, "out of memory") : 0;
}

/* Counts a record that is left out. counts: as one that --filter has left out; else it was taken
 * for a stack. */
static void leave_out(struct dt_sieve *v, struct lane *l, const struct dt_record *r, bool counts)
{
	l->left++;
	v->counts.records += counts;
	if (v->log) {
		v->log->in += r->kind == DT_ENTRY || r->kind == DT_POINT;
		v->log->out += r->kind == DT_EXIT;
	}
}

/* Leaves out the records that come next, as long as they are to be; as leave_out(). */
static void leave_out_run(struct dt_sieve *v, struct lane *l)
{
	uint64_t at;

	for (at = l->begin; at < l->unseen; at++) {
		uint32_t verdict = l->verdict[at & (l->size - 1)];

		if (dt_verdict_is(v, verdict) != VERDICT_DROP)
			break;
		dt_verdict_drop(v, verdict);
	}
	l->left += at - l->begin;
	v->counts.records += at - l->begin;
	l->begin = at;
}

/* Puts what is decided of a lane into the file, up to the first that is not. all: everything. */
static int put(struct dt_sieve *v, struct lane *l, bool all, struct dt_error *e)
{
	uint64_t most = HELD_MOST / (v->lanes ? v->lanes : 1);
	struct dt_record out[BATCH];
	size_t n = 0;

	most = most > HELD_LEAST ? most : HELD_LEAST;
	while (l->begin < l->unseen) {
		uint32_t verdict = l->verdict[l->begin & (l->size - 1)];

		if (dt_verdict_is(v, verdict) == VERDICT_DROP && !l->gaps && !v->log) {
			leave_out_run(v, l);
			continue;
		}
		if (dt_verdict_is(v, verdict) == UNDECIDED)
			decide(v, l, &v->verdict[verdict], most, all);
		if (dt_verdict_is(v, verdict) == UNDECIDED)
			break;
		if (l->gaps && l->gap[0].at <= l->begin) {
			if (put_wanted(v, l, out, n, e) || put_gaps(v, l, l->begin, e))
				return -1;
			n = 0;
		}
		if (dt_verdict_is(v, verdict) == VERDICT_KEEP)
			out[n++] = *lane_record(l, l->begin);
		else
			leave_out(v, l, lane_record(l, l->begin), verdict != VERDICT_TAKEN);
		dt_verdict_drop(v, verdict);
		l->begin++;
		if (n == BATCH) {
			if (put_wanted(v, l, out, n, e))
				return -1;
			n = 0;
		}
	}
	if (put_wanted(v, l, out, n, e))
		return -1;
	return l->begin == l->end ? put_gaps(v, l, l->begin, e) : 0;
}

static int put_all(struct dt_sieve *v, bool all, struct dt_error *e)
{
	for (unsigned i = 0; i < v->lanes; i++)
		if (put(v, &v->lane[i], all, e))
			return -1;
	if (v->no_memory || dt_filter_failed(v->filter) || (v->sums && dt_sums_failed(v->sums)))
		return dt_fail(e, "out of memory");
	return 0;
}

int dt_sieve_run(struct dt_sieve *v, uint64_t until, bool end, struct dt_sieve_log *log,
		 struct dt_error *e)
{
	int rc;

	v->log = log;
	dt_sieve_plain_begin(v);
	if (choose_all(v, end ? UINT64_MAX : until, e))
		return -1;
	if (end) {
		dt_sieve_finish(v);
		dt_sieve_early_count(v, true);
	}
	if (v->now > v->clock)
		v->clock = v->now;
	if (until != UINT64_MAX && until > v->clock)
		v->clock = until;
	rc = put_all(v, end, e);
	for (unsigned i = 0; i < v->lanes && !rc; i++)
		dt_sieve_keep_lent(&v->lane[i]);
	/* at the end, all open calls have been counted */
	if (!rc && !end)
		dt_sieve_left(v);
	v->log = NULL;
	return rc;
}

/* Decides about all records that have been chosen among. */
static void decide_all(struct dt_sieve *v)
{
	for (unsigned i = 0; i < v->lanes; i++)
		for (uint64_t p = v->lane[i].begin; p < v->lane[i].unseen; p++) {
			uint32_t verdict = v->lane[i].verdict[p & (v->lane[i].size - 1)];

			if (dt_verdict_is(v, verdict) == UNDECIDED) {
				v->verdict[verdict].is = VERDICT_KEEP;
				v->counts.kept++;
			}
		}
}

int dt_sieve_settle(struct dt_sieve *v, struct dt_error *e)
{
	memset(v->place, 0, sizeof(v->place));
	if (v->session->has_log) { /* the recorder has the log */
		decide_all(v);
		return 0;
	}
	return put_all(v, true, e);
}

/* ---- sums ---- */

int dt_sieve_account(struct dt_sieve *v, enum dt_sieve_when when, struct dt_error *e)
{
	struct dt_store *store = v->session->store;
	char text[32];

	if (when != DT_SIEVE_RUNNING)
		dt_sieve_early_count(v, false);
	else if (v->sums && dt_sieve_sums_due(v))
		dt_sieve_early_sums(v);
	for (uint32_t i = 0; i < v->lefts; i++)
		if (v->left[i].changed) {
			if (dt_store_left_out(store, &v->left[i].row, e))
				return -1;
			v->left[i].changed = false;
		}
	dt_format(text, sizeof(text), "%lu", (unsigned long)v->counts.kept);
	if (v->counts.kept && dt_store_meta(store, "filter_kept", text, e))
		return -1;
	dt_format(text, sizeof(text), "%lu", (unsigned long)v->counts.whole);
	if (v->counts.whole && dt_store_meta(store, "filter_whole", text, e))
		return -1;
	if (v->sums && (when != DT_SIEVE_RUNNING || dt_sieve_sums_due(v)) &&
	    dt_sieve_sums_account(v, e))
		return -1;
	for (unsigned i = 0; i < v->lanes && when == DT_SIEVE_END; i++)
		if (v->lane[i].left &&
		    dt_store_left_records(store, v->lane[i].core, v->lane[i].left, e))
			return -1;
	return 0;
}

uint64_t dt_sieve_newest(const struct dt_sieve *v)
{
	return v->now;
}

struct dt_sieve_counts dt_sieve_counts(const struct dt_sieve *v)
{
	return v->counts;
}
