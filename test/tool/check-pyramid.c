/* SPDX-License-Identifier: MIT */
/*
 * Compares what the pyramid says of a trace with what all of its bars say, one by one: random
 * windows of every size, statistics of random ranges; then again from the file that it was put
 * into. Or, with -b, prints how long it took to make, and windows of 1,920 pixels to draw.
 *
 * With -g the trace is copied, some chunks at a time, as if it were being recorded, and what
 * follows it is compared each time.
 *
 * usage: check-pyramid [-b] [-k] [-g COPY] [-s SEED] [-f FILTER] FILE WINDOWS      -k: keep it in
 * the file
 */
#include <getopt.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyse/meanings.h"
#include "analyse/window.h"

static struct dt_error error;
static const struct dt_pyramid *pyramid;
static const char *filter_text;

struct tracked {
	uint32_t track;
	struct dt_bar bar;
};

static struct tracked *all;
static size_t n, room;
static struct dt_call *calls;
static size_t ncalls, calls_room;

static void die(const char *what)
{
	fprintf(stderr, "check-pyramid: %s: %s\n", what, error.text);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void on_bar(void *ctx, enum dt_track_kind kind, uint32_t id, const struct dt_bar *x)
{
	const struct dt_track *t = dt_pyramid_track(pyramid, kind, id);

	if (!t) {
		fprintf(stderr, "check-pyramid: no track of kind %u, id %u\n", kind, id);
		exit(1);
	}
	if (n == room)
		all = realloc(all, (room = room ? 2 * room : 65536) * sizeof(*all));
	all[n++] = (struct tracked){(uint32_t)(t - pyramid->track), *x};
}

static void on_call(void *ctx, const struct dt_call *c)
{
	if (ncalls == calls_room)
		calls = realloc(calls, (calls_room = calls_room ? 2 * calls_room : 65536) *
					       sizeof(*calls));
	calls[ncalls++] = *c;
}

static void read_all(const char *path)
{
	struct dt_reader *r = dt_reader_open(path, &error);
	struct dt_feed_to to = {.bar = on_bar, .call = on_call};
	struct dt_filter *filter = NULL;
	struct dt_feed *f;
	struct dt_span s;
	bool values;
	int rc;

	if (!r)
		die("opening");
	if (filter_text && !(filter = dt_meanings_filter(filter_text, r, &error)))
		die("the filter");
	values = filter || dt_feed_needs_values(r);
	f = dt_feed_new(r, &to, values, filter);
	if (dt_reader_start(r, &(struct dt_reader_range){.order = DT_BY_TIME, .values = values},
			    &error))
		die("reading");
	while ((rc = dt_reader_next(r, &s, &error)) > 0)
		dt_feed_span(f, &s);
	if (rc < 0)
		die("reading");
	dt_feed_finish(f);
	dt_feed_free(f);
	dt_filter_free(filter);
	dt_reader_close(r);
}

/* ---- one window, from everything ---- */

static int by_cell(const void *a, const void *b)
{
	const struct dt_bar *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static size_t brute(uint32_t track, const struct dt_window *w, struct dt_bar *out)
{
	/* cells by depth: the last one of each depth, as ends come in order */
	static size_t *last;
	static uint64_t *index;
	static size_t depths;
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct dt_bar *x = &all[i].bar;

		if (all[i].track != track || (w->depths && x->depth >= w->depths))
			continue;
		if (x->depth >= depths) {
			last = realloc(last, (x->depth + 64) * sizeof(*last));
			index = realloc(index, (x->depth + 64) * sizeof(*index));
			depths = x->depth + 64;
		}
	}
	for (size_t d = 0; d < depths; d++)
		last[d] = SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		const struct dt_bar *x = &all[i].bar;
		uint64_t cell = x->end >> w->shift;

		if (all[i].track != track || (w->depths && x->depth >= w->depths))
			continue;
		if (x->end - x->begin >= 1ull << w->shift) {
			out[count++] = *x;
		} else if (last[x->depth] != SIZE_MAX && index[x->depth] == cell) {
			dt_bar_join(&out[last[x->depth]], x);
		} else {
			last[x->depth] = count;
			index[x->depth] = cell;
			out[count++] = *x;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (out[i].end >= w->from && out[i].begin <= w->to)
			out[kept++] = out[i];
	qsort(out, kept, sizeof(*out), by_cell);
	return kept;
}

static bool same(const struct dt_bar *x, const struct dt_bar *y)
{
	return x->begin == y->begin && x->end == y->end && x->count == y->count &&
	       x->busy == y->busy && x->low == y->low && x->high == y->high &&
	       x->depth == y->depth && x->flags == y->flags && (x->count > 1 || x->what == y->what);
}

static void show(const char *who, const struct dt_bar *x)
{
	fprintf(stderr, "%s depth %u %lu to %lu, %lu of them, busy %lu, %u, flags %x, %lu %lu\n",
		who, x->depth, x->begin, x->end, x->count, x->busy, x->what, x->flags, x->low,
		x->high);
}

/* The function that took most is one that was there, and took as much as is said, or more. */
static void check_most(uint32_t track, const struct dt_window *w, const struct dt_bar *x)
{
	uint64_t busy = 0, count = 0;

	for (size_t i = 0; i < n; i++) {
		const struct dt_bar *y = &all[i].bar;

		if (all[i].track == track && y->depth == x->depth && y->what == x->what &&
		    y->end - y->begin < 1ull << w->shift &&
		    y->end >> w->shift == x->end >> w->shift) {
			busy += y->busy;
			count++;
		}
	}
	if (count && busy >= x->most)
		return;
	show("check-pyramid: not the one that took most:", x);
	fprintf(stderr, "it says %lu, there are %lu in %lu\n", x->most, busy, count);
	exit(1);
}

static void compare(struct dt_windows *windows, uint32_t track, const struct dt_window *w,
		    struct dt_bar_list *list, struct dt_bar *out)
{
	size_t count;

	if (dt_window_bars(windows, track, w, list, &error) < 0)
		die("window");
	count = brute(track, w, out);
	for (size_t i = 0; i < count || i < list->n; i++) {
		if (i < count && i < list->n && same(&out[i], &list->bar[i])) {
			if (out[i].count > 1 && i % 50 == 0)
				check_most(track, w, &list->bar[i]);
			continue;
		}
		fprintf(stderr,
			"check-pyramid: window %lu to %lu, shift %u, track %u (kind %u, id %u): "
			"%zu bars, "
			"not %zu; bar %zu is\n",
			w->from, w->to, w->shift, track, pyramid->track[track].kind,
			pyramid->track[track].id, list->n, count, i);
		for (size_t k = i ? i - 1 : 0; k < list->n && k < i + 3; k++)
			show("    ", &list->bar[k]);
		for (size_t k = i ? i - 1 : 0; k < count && k < i + 3; k++)
			show("not ", &out[k]);
		exit(1);
	}
}

static void compare_stats(struct dt_windows *windows, uint64_t from, uint64_t to)
{
	struct dt_stats got = {0}, want = {0};

	if (dt_window_stats(windows, from, to, &got, &error) < 0)
		die("statistics");
	for (size_t i = 0; i < ncalls; i++)
		if (calls[i].end >= from && calls[i].end <= to)
			dt_stats_call(&want, &calls[i]);
	for (uint32_t i = 0; i < want.functions || i < got.functions; i++) {
		static const struct dt_function_stats none = {.min = UINT64_MAX};
		const struct dt_function_stats *x = i < got.functions ? &got.function[i] : &none;
		const struct dt_function_stats *y = i < want.functions ? &want.function[i] : &none;

		if (x->calls != y->calls || x->timed != y->timed || x->total != y->total ||
		    x->self != y->self || x->sum != y->sum || x->min != y->min ||
		    x->max != y->max || x->unwound != y->unwound || x->open != y->open ||
		    x->loss != y->loss || dt_stats_quantile(x, 0.5) != dt_stats_quantile(y, 0.5) ||
		    dt_stats_quantile(x, 0.99) != dt_stats_quantile(y, 0.99)) {
			fprintf(stderr,
				"check-pyramid: %lu to %lu: function %u: %lu calls, total %lu, "
				"self %lu, not "
				"%lu, %lu, %lu\n",
				from, to, i, x->calls, x->total, x->self, y->calls, y->total,
				y->self);
			exit(1);
		}
	}
	dt_stats_free(&got);
	dt_stats_free(&want);
}

struct found {
	struct tracked *bar;
	size_t n, room;
};

static bool on_found(void *ctx, uint32_t track, const struct dt_bar *x)
{
	struct found *f = ctx;

	if (f->n == f->room)
		f->bar =
			realloc(f->bar, (f->room = f->room ? 2 * f->room : 1024) * sizeof(*f->bar));
	f->bar[f->n++] = (struct tracked){track, *x};
	return true;
}

static int by_all(const void *a, const void *b)
{
	const struct tracked *x = a, *y = b;
	int order = by_cell(&x->bar, &y->bar);

	return x->track != y->track	    ? (x->track < y->track ? -1 : 1)
	       : order			    ? order
	       : x->bar.what != y->bar.what ? (x->bar.what < y->bar.what ? -1 : 1)
					    : (x->bar.low > y->bar.low) - (x->bar.low < y->bar.low);
}

/* One by one, a narrow range; and the sums of tracks. */
static void compare_each(struct dt_windows *windows, uint64_t from, uint64_t to, bool begins)
{
	struct found got = {0}, want = {0};

	if (dt_window_each(windows, from, to, begins, on_found, &got, &error) < 0)
		die("bars one by one");
	for (size_t i = 0; i < n; i++) {
		uint64_t at = begins ? all[i].bar.begin : all[i].bar.end;

		if (at >= from && at <= to)
			on_found(&want, all[i].track, &all[i].bar);
	}
	if (got.n)
		qsort(got.bar, got.n, sizeof(*got.bar), by_all);
	if (want.n)
		qsort(want.bar, want.n, sizeof(*want.bar), by_all);
	for (size_t i = 0; i < got.n || i < want.n; i++)
		if (i >= got.n || i >= want.n || got.bar[i].track != want.bar[i].track ||
		    !same(&got.bar[i].bar, &want.bar[i].bar)) {
			fprintf(stderr, "check-pyramid: %zu bars %s in %lu to %lu, not %zu\n",
				got.n, begins ? "begin" : "end", from, to, want.n);
			exit(1);
		}
	free(got.bar);
	free(want.bar);
}

static void compare_sums(struct dt_windows *windows, uint64_t from, uint64_t to)
{
	struct dt_track_sum *got = malloc(pyramid->tracks * sizeof(*got));
	struct dt_track_sum *want = calloc(pyramid->tracks, sizeof(*want));

	if (dt_window_sums(windows, from, to, got, &error) < 0)
		die("sums");
	for (size_t i = 0; i < n; i++) {
		const struct dt_bar *x = &all[i].bar;
		struct dt_track_sum *s = &want[all[i].track];

		if (x->end < from || x->end > to)
			continue;
		s->low = !s->count || x->low < s->low ? x->low : s->low;
		s->high = x->high > s->high ? x->high : s->high;
		s->count++;
		s->busy += x->depth ? 0 : x->busy;
	}
	for (uint32_t t = 0; t < pyramid->tracks; t++)
		if (got[t].count != want[t].count || got[t].busy != want[t].busy ||
		    got[t].low != want[t].low || got[t].high != want[t].high) {
			fprintf(stderr,
				"check-pyramid: %lu to %lu: track %u has %lu, %lu, not %lu, %lu\n",
				from, to, t, got[t].count, got[t].busy, want[t].count,
				want[t].busy);
			exit(1);
		}
	free(got);
	free(want);
}

static uint64_t random64(void)
{
	return (uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random();
}

/* As wide as any power of two that the trace has. */
static struct dt_window random_window(void)
{
	uint64_t length = pyramid->end - pyramid->begin + 1, wide, at;
	unsigned bits = 1;

	while (length >> bits)
		bits++;
	wide = random64() >> (64 - (unsigned)(random() % (bits - 3)) - 3);
	if (wide >= length)
		wide = length - 1;
	at = pyramid->begin + random64() % (length - wide);
	/* where something is, as often as anywhere */
	if (n && random() % 2) {
		at = all[random64() % n].bar.begin - random64() % (wide + 1);
		at = at < pyramid->begin ? pyramid->begin : at;
	}
	/* one that is wider than the trace: up to 4,096 times */
	if (random() % 8 == 0) {
		wide = length * (1 + random64() % (random() % 2 ? 16 : 4096));
		at = pyramid->begin -
		     random64() % (pyramid->begin + 1 < wide ? pyramid->begin + 1 : wide);
	}
	return (struct dt_window){.from = at,
				  .to = at + wide,
				  .shift = dt_window_shift(at, at + wide, 1 << (3 + random() % 9)),
				  .depths = random() % 4 ? 0 : 1 + (uint32_t)random() % 8};
}

static void check_windows(struct dt_windows *windows, const struct dt_pyramid *p, long count)
{
	struct dt_bar *out = malloc((n + 1) * sizeof(*out));
	struct dt_bar_list list = {0};

	for (long i = 0; i < count; i++) {
		struct dt_window w = random_window();

		compare(windows, (uint32_t)random() % p->tracks, &w, &list, out);
		if (i % 8 == 0)
			compare_stats(windows, w.from, w.to);
		if (i % 8 == 1)
			compare_sums(windows, w.from, w.to);
		if (i % 8 == 2)
			compare_each(windows, w.from, w.to, random() % 2);
	}
	compare_stats(windows, p->begin, p->end);
	compare_sums(windows, p->begin, p->end);
	free(list.bar);
	free(out);
}

static void check(struct dt_pyramid *p, const char *path, long count)
{
	struct dt_windows *windows = dt_windows_new(p, path, &error);

	if (!windows)
		die("windows");
	check_windows(windows, p, count);
	dt_windows_free(windows);
}

/* ---- a trace that grows ---- */

static sqlite3 *db;

static void sql(const char *text)
{
	char *why;

	if (sqlite3_exec(db, text, NULL, NULL, &why)) {
		fprintf(stderr, "check-pyramid: %s: %s\n", text, why);
		exit(1);
	}
}

static int64_t number(const char *text)
{
	sqlite3_stmt *q;
	int64_t v;

	if (sqlite3_prepare_v2(db, text, -1, &q, NULL) || sqlite3_step(q) != SQLITE_ROW) {
		fprintf(stderr, "check-pyramid: %s: %s\n", text, sqlite3_errmsg(db));
		exit(1);
	}
	v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return v;
}

/* Everything but the chunks. */
static void copy_tables(const char *from, const char *to)
{
	char text[1024];

	snprintf(text, sizeof(text), "cp %s %s", from, to);
	if (system(text) || sqlite3_open(to, &db)) {
		fprintf(stderr, "check-pyramid: %s can not be made\n", to);
		exit(1);
	}
	snprintf(text, sizeof(text),
		 "ATTACH '%s' AS whole; DELETE FROM chunk; DROP TABLE IF EXISTS pyramid", from);
	sql(text);
}

static void follow(const char *from, const char *path, long count)
{
	struct dt_reader *r;
	struct dt_windows *windows;
	struct dt_pyramid *p;
	uint64_t guard;
	int64_t chunks, done = 0;
	int rc;

	copy_tables(from, path);
	chunks = number("SELECT count(*) FROM whole.chunk");
	/* how late the latest comes */
	guard = (uint64_t)number(
		"SELECT max(so_far - min_ticks) FROM (SELECT min_ticks, max(max_ticks) OVER "
		"(ORDER BY id) AS so_far FROM whole.chunk)");
	r = dt_reader_open(path, &error);
	p = r ? filter_text ? dt_pyramid_filtered(r, filter_text, &error)
			    : dt_pyramid_open(r, path, &error)
	      : NULL;
	if (!p)
		die("opening");
	p->live = true;
	pyramid = p;
	windows = dt_windows_new(p, path, &error);
	if (!windows)
		die("windows");
	for (int step = 0; done < chunks; step++) {
		char text[256];

		done += 1 + random() % (chunks / 6 + 1);
		snprintf(text, sizeof(text),
			 "INSERT OR IGNORE INTO chunk SELECT * FROM whole.chunk ORDER BY id LIMIT "
			 "%ld",
			 (long)done);
		sql(text);
		while ((rc = dt_pyramid_follow(p, guard, false, &error)) == 2)
			;
		if (rc < 0 || dt_windows_tail(windows, &error) < 0)
			die("following");
		n = ncalls = 0;
		read_all(path);
		/* what is open has no statistics yet */
		for (size_t i = 0; i < ncalls;)
			if (calls[i].flags & DT_CALL_OPEN)
				calls[i] = calls[--ncalls];
			else
				i++;
		check_windows(windows, p, count / 8 + 1);
	}
	while ((rc = dt_pyramid_follow(p, guard, true, &error)) == 2)
		;
	if (rc || !p->complete)
		die("the end");
	n = ncalls = 0;
	read_all(path);
	check_windows(windows, p, count);
	printf("regions %zu\n", p->regions);
	dt_windows_free(windows);
	dt_pyramid_close(p);
	dt_reader_close(r);
	sqlite3_close(db);
}

/* ---- speed ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(struct dt_pyramid *p, const char *path, long count)
{
	struct dt_windows *windows = dt_windows_new(p, path, &error);
	double *time = malloc((size_t)count * sizeof(*time));
	struct dt_bar_list list = {0};
	size_t bars = 0, most = 0;
	struct rusage r;

	if (!windows)
		die("windows");
	for (long i = 0; i < count; i++) {
		struct dt_window w = random_window();
		size_t sum = 0;

		w.shift = dt_window_shift(w.from, w.to, 1920);
		w.depths = 0;
		time[i] = now();
		for (uint32_t t = 0; t < p->tracks && t < 18; t++) {
			if (dt_window_bars(windows, t, &w, &list, &error) < 0)
				die("window");
			sum += list.n;
		}
		time[i] = now() - time[i];
		bars += sum;
		most = sum > most ? sum : most;
	}
	qsort(time, (size_t)count, sizeof(*time), by_value);
	getrusage(RUSAGE_SELF, &r);
	printf("window_ms %.2f median, %.2f of 99 %%, %.2f worst of %ld\n", 1e3 * time[count / 2],
	       1e3 * time[count * 99 / 100], 1e3 * time[count - 1], count);
	printf("bars %zu mean, %zu most\nmemory_mb %ld\n", bars / (size_t)count, most,
	       r.ru_maxrss / 1024);
	dt_windows_free(windows);
	free(list.bar);
	free(time);
}

/* ---- */

static struct dt_pyramid *open_pyramid(const char *path, struct dt_reader **r)
{
	struct dt_pyramid *p;

	*r = dt_reader_open(path, &error);
	if (!*r)
		die("opening");
	p = filter_text ? dt_pyramid_filtered(*r, filter_text, &error)
			: dt_pyramid_open(*r, path, &error);
	if (!p)
		die("opening");
	return p;
}

int main(int argc, char **argv)
{
	bool speed = false, keep = false;
	const char *grow = NULL;
	struct dt_reader *r, *again;
	struct dt_pyramid *p, *q;
	uint64_t step;
	double begun;
	int o, rc;

	srandom(1);
	while ((o = getopt(argc, argv, "bks:f:g:")) != -1) {
		if (o == 's')
			srandom((unsigned)atoi(optarg));
		if (o == 'f')
			filter_text = optarg;
		if (o == 'g')
			grow = optarg;
		speed = speed || o == 'b';
		keep = keep || o == 'k';
		if (o == '?')
			return 2;
	}
	if (optind != argc - 2 || (filter_text && keep))
		return 2;
	if (grow) {
		follow(argv[optind], grow, atol(argv[optind + 1]));
		free(all);
		free(calls);
		puts("ok");
		return 0;
	}
	p = open_pyramid(argv[optind], &r);
	pyramid = p;
	begun = now();
	step = speed ? 1000000 : 1 + (uint64_t)random() % 50000;
	while ((rc = dt_pyramid_build(p, step, &error)) > 0)
		;
	if (rc < 0)
		die("building");
	printf("build_s %.2f\nrecords %lu\nregions %zu\ntracks %u\n", now() - begun, p->records,
	       p->regions, p->tracks);
	if (speed) {
		if (keep) {
			begun = now();
			if (dt_pyramid_save(p, argv[optind], &error) < 0)
				die("saving");
			printf("save_s %.2f\n", now() - begun);
			dt_pyramid_close(p);
			dt_reader_close(r);
			begun = now();
			p = open_pyramid(argv[optind], &r);
			pyramid = p;
			if (!p->complete)
				die("it was not found again");
			printf("open_s %.3f\n", now() - begun);
		}
		measure(p, argv[optind], atol(argv[optind + 1]));
	} else {
		read_all(argv[optind]);
		printf("bars %zu\n", n);
		check(p, argv[optind], atol(argv[optind + 1]));
		if (keep) {
			if (dt_pyramid_save(p, argv[optind], &error) < 0)
				die("saving");
			q = open_pyramid(argv[optind], &again);
			if (!q->complete)
				die("it was not found again");
			pyramid = q;
			check(q, argv[optind], atol(argv[optind + 1]));
			dt_pyramid_close(q);
			dt_reader_close(again);
		}
	}
	dt_pyramid_close(p);
	dt_reader_close(r);
	free(all);
	free(calls);
	puts("ok");
	return 0;
}
