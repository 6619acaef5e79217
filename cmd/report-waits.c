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

static void print_table(const struct reading *k, struct waits *const *w, size_t n)
{
	const struct dt_reader *r = k->r;
	int wide = 21, by = 8;

	for (size_t i = 0; i < n; i++) {
		wide = wide_enough(wide, w[i]->what);
		by = wide_enough(by, by_of(w[i]));
	}
	printf("%11s %10s %11s %11s", "wait", "times", "avg", "max");
	if (k->wakers)
		printf(" %11s  %-*s", "runq avg", by, "woken by");
	printf("  %-*s  %s\n", wide, "for", "function");
	for (size_t i = 0; i < n; i++) {
		dt_table_time(r, w[i]->sum);
		printf(" %10llu", (unsigned long long)w[i]->times);
		dt_table_time(r, w[i]->sum / w[i]->times);
		dt_table_time(r, w[i]->most);
		if (k->wakers) {
			dt_table_time(r, w[i]->queued / w[i]->times);
			printf("  %-*s", by, dt_cmd_plain(by_of(w[i])));
		}
		printf("  %-*s  %s\n", wide, dt_cmd_plain(w[i]->what), name_of(r, w[i]));
	}
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
		    struct dt_selection *select, uint64_t rows, bool json)
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
		n = rows && rows < n ? rows : n;
		k.wakers = dt_wakers_any(r);
		(json ? print_json : print_table)(&k, k.of, n);
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
