/* SPDX-License-Identifier: MIT */
/* devtrace report --waits: which functions waited, what for, and how long. */
#include "cmd/report-waits.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/pair.h"
#include "analyse/reason.h"
#include "cmd/object.h"
#include "cmd/table.h"

#define NAMES 32 /* columns that longer names of functions have at a terminal, at least */

/* The waits of a function for one thing that were ended by one kind of waker. */
struct waits {
	uint32_t function;	   /* 0: outside of all recorded calls */
	const char *what;	   /* the words that are shown: see dt_wait_reason() */
	const char *by;		   /* who ended them, dt_waker_put(); "": that is not known */
	uint64_t times, sum, most; /* ticks */
	uint64_t queued;	   /* ticks from being woken to running; all of them */
};

struct reading {
	const struct dt_reader *r;
	void *tree; /* of `of', by function and what for: tsearch(3) */
	struct waits **of;
	size_t n, room;
	bool wakers; /* the trace tells of them */
	bool no_memory;
};

static void on_end(void *ctx, const struct dt_call *c)
{
	(void)ctx, (void)c;
}

static int same(const void *a, const void *b)
{
	const struct waits *x = a, *y = b;

	int differ;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	differ = strcmp(x->what, y->what);
	return differ ? differ : strcmp(x->by, y->by);
}

/* Returns the waits of which there are as many as this one is like; NULL: no memory. */
static struct waits *waits_of(struct reading *k, const struct waits *like)
{
	struct waits **found = tfind(like, &k->tree, same), *w, **more;

	if (found)
		return *found;
	if (k->n == k->room) {
		k->room = k->room ? 2 * k->room : 256;
		more = realloc(k->of, k->room * sizeof(struct waits *));
		if (!more)
			return NULL;
		k->of = more;
	}
	w = malloc(sizeof(*w) + strlen(like->what) + strlen(like->by) + 2);
	if (!w)
		return NULL;
	*w = *like;
	w->what = strcpy((char *)(w + 1), like->what);
	w->by = strcpy((char *)(w + 1) + strlen(like->what) + 1, like->by);
	k->of[k->n++] = w;
	return tsearch(w, &k->tree, same) ? w : NULL;
}

static void on_wait(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		    bool preempted, const char *what, const struct dt_wait_ended *ended)
{
	struct reading *k = ctx;
	char by[DT_WAKER_TEXT] = "";
	struct waits like = {.function = c ? c->function : 0, .by = by}, *w;

	(void)tid;
	if (ended->waker)
		*dt_waker_put(by, k->r, ended->waker, false) = '\0';
	like.what = dt_wait_reason(k->r, like.function, preempted, what);
	w = waits_of(k, &like);
	if (!w) {
		k->no_memory = true;
		return;
	}
	w->times++;
	w->sum += end - begin;
	/* one that could have gone on has waited for nothing else */
	w->queued += preempted ? end - begin : ended->queued;
	w->most = end - begin > w->most ? end - begin : w->most;
}

static int compare(const void *a, const void *b)
{
	const struct waits *x = *(struct waits *const *)a, *y = *(struct waits *const *)b;

	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return same(x, y);
}

/* Puts what is to be shown first, sorted. Returns how many there are. */
static size_t sort(struct reading *k, const bool *shown)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		if (shown[k->of[i]->function]) {
			struct waits *w = k->of[i];

			k->of[i] = k->of[n];
			k->of[n++] = w;
		}
	if (n)
		qsort(k->of, n, sizeof(struct waits *), compare);
	return n;
}

static const char *name_of(const struct dt_reader *r, const struct waits *w)
{
	return w->function ? dt_reader_function_name(r, w->function) : "(in no recorded call)";
}

/* Returns how wide a column of words is: longer ones stand out. */
static int wide_enough(int wide, const char *text)
{
	int length = (int)strlen(text);

	return length > wide && length <= 60 ? length : wide;
}

static const char *by_of(const struct waits *w)
{
	return *w->by ? w->by : "-";
}

/* Columns that can be left out, the first of them first, and how wide each is. */
enum { QUEUED, MOST, AVERAGE, TIMES, BY, COLUMNS };

/* Chooses columns so that names of functions have room in a terminal so many columns wide (0: it is
 * no terminal). by, wide: of the columns of words. */
static void choose(bool *has, unsigned columns, bool wakers, size_t by, size_t wide, size_t names)
{
	const size_t width[COLUMNS] = {12, 12, 12, 11, by + 2};
	size_t all = 11 + wide + 2 + 2 + (names < NAMES ? names : NAMES);

	for (unsigned i = 0; i < COLUMNS; i++) {
		has[i] = wakers || (i != QUEUED && i != BY);
		all += has[i] ? width[i] : 0;
	}
	for (unsigned i = 0; i < COLUMNS && columns && all > columns; i++) {
		all -= has[i] ? width[i] : 0;
		has[i] = false;
	}
	/* the last one to go may be wide enough for others */
	for (unsigned i = BY; i-- > 0;)
		if (!has[i] && (wakers || i != QUEUED) && all + width[i] <= columns) {
			has[i] = true;
			all += width[i];
		}
}

static void print_heads(const bool *has, int by, int wide)
{
	printf("%11s", "wait");
	if (has[TIMES])
		printf(" %10s", "times");
	if (has[AVERAGE])
		printf(" %11s", "avg");
	if (has[MOST])
		printf(" %11s", "max");
	if (has[QUEUED])
		printf(" %11s", "runq avg");
	if (has[BY])
		printf("  %-*s", by, "woken by");
	printf("  %-*s  %s\n", wide, "for", "function");
}

static void print_row(const struct dt_reader *r, const struct waits *w, const bool *has, int by,
		      int wide)
{
	dt_table_time(r, w->sum);
	if (has[TIMES])
		printf(" %10llu", (unsigned long long)w->times);
	if (has[AVERAGE])
		dt_table_time(r, w->sum / w->times);
	if (has[MOST])
		dt_table_time(r, w->most);
	if (has[QUEUED])
		dt_table_time(r, w->queued / w->times);
	if (has[BY])
		printf("  %-*s", by, dt_cmd_plain(by_of(w)));
	printf("  %-*s  %s\n", wide, dt_cmd_plain(w->what), name_of(r, w));
}

/* Makes one of the waits of a function for one thing, whoever ended them. Returns how many are
 * left; the others are behind them. */
static size_t join(struct waits **w, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct waits *x = w[i];
		size_t at = 0;

		while (at < kept &&
		       (w[at]->function != x->function || strcmp(w[at]->what, x->what) != 0))
			at++;
		if (at < kept) {
			w[at]->times += x->times;
			w[at]->sum += x->sum;
			w[at]->queued += x->queued;
			w[at]->most = x->most > w[at]->most ? x->most : w[at]->most;
			continue;
		}
		w[i] = w[kept];
		w[kept++] = x;
	}
	if (kept)
		qsort(w, kept, sizeof(struct waits *), compare);
	return kept;
}

/* rows: print the first so many; 0: all. */
static void print_table(const struct reading *k, struct waits **w, size_t n, uint64_t rows,
			unsigned columns)
{
	int wide = columns ? 3 : 21, by = 8;
	bool has[COLUMNS];
	size_t names = 0;

	for (size_t i = 0; i < n; i++) {
		size_t name = strlen(name_of(k->r, w[i]));

		names = name > names ? name : names;
		wide = wide_enough(wide, w[i]->what);
		by = wide_enough(by, by_of(w[i]));
	}
	choose(has, columns, k->wakers, (size_t)by, (size_t)wide, names);
	if (k->wakers && !has[BY])
		n = join(w, n);
	n = rows && rows < n ? rows : n;
	print_heads(has, by, wide);
	for (size_t i = 0; i < n; i++)
		print_row(k->r, w[i], has, by, wide);
	if (!n)
		puts("nothing waited");
	else if (!k->wakers)
		puts("who woke them is not recorded: record --wakers, as root, does");
}

static void print_json(const struct reading *k, struct waits *const *w, size_t n)
{
	const struct dt_reader *r = k->r;
	double ns = dt_reader_ns_per_tick(r);

	for (size_t i = 0; i < n; i++) {
		dt_object_begin("wait");
		dt_object_text("function", w[i]->function ? name_of(r, w[i]) : NULL);
		dt_object_text("for", w[i]->what);
		dt_object_ns("wait", (double)w[i]->sum * ns);
		dt_object_number("times", w[i]->times);
		dt_object_ns("avg", (double)w[i]->sum * ns / (double)w[i]->times);
		dt_object_ns("max", (double)w[i]->most * ns);
		if (k->wakers) {
			dt_object_text("woken_by", *w[i]->by ? w[i]->by : NULL);
			dt_object_ns("run_latency", (double)w[i]->queued * ns);
		}
		dt_object_end();
	}
}

int dt_report_waits(struct dt_reader *r, dt_report_read_fn *read, void *ctx,
		    struct dt_selection *select, uint64_t rows, bool json, unsigned columns)
{
	struct reading k = {.r = r};
	struct dt_pair_events events = {.end = on_end, .wait = on_wait, .ctx = &k};
	struct dt_error e = {"out of memory"};
	bool *shown = NULL;
	int status = 1;
	size_t n;

	if (read(ctx, &events, &e) || k.no_memory || !(shown = dt_cmd_shown(r, select))) {
		dt_cmd_fail("%s", e.text);
	} else if (dt_cmd_switches(r)) {
		n = sort(&k, shown);
		k.wakers = dt_wakers_any(r);
		if (json)
			print_json(&k, k.of, rows && rows < n ? rows : n);
		else
			print_table(&k, k.of, n, rows, columns);
		status = fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table")
							  : 0;
	}
	free(shown);
	for (size_t i = 0; i < k.n; i++) {
		tdelete(k.of[i], &k.tree, same);
		free(k.of[i]);
	}
	free(k.of);
	return status;
}
