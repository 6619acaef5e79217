/* SPDX-License-Identifier: MIT */
/*
 * Calls of a whole trace that are looked for, forwards and backwards, in pages of any size: against
 * a list of all calls as they were made up. And of one function's calls the median, and how many
 * took less. The trace has several regions, calls longer than these, calls that begin at one tick,
 * and some that are open at its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/hits.h"
#include "analyse/siblings.h"
#include "core/record.h"
#include "store/store.h"
#include "test/unit/test-trace-scratch.h"

#define CALLS	  110000u
#define THREADS	  4u
#define FUNCTIONS 5u
#define DEPTH	  12u
#define OPEN	  10u
#define PAGE	  0x1000u
#define BASE	  0x400000u

static struct dt_store *store;
static uint64_t seed, now, last[THREADS];

static struct made {
	uint64_t begin, end; /* end 0: open */
	uint32_t tid, function, depth;
} made[CALLS];
static uint32_t rows[FUNCTIONS]; /* of the functions, in the trace */

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	static const char *const name[] = {"often", "seldom", "long", "short", "once"};
	uint64_t page = (r->pc - BASE) / PAGE;
	struct dt_function_row f = {.address = BASE + page * PAGE,
				    .size = 0x100,
				    .name = name[page],
				    .file = "",
				    .signature = ""};

	(void)ctx;
	rows[page] = row->function = dt_store_function(store, &f, NULL);
	row->kind = r->kind == DT_ENTRY ? DT_SITE_ENTRY : DT_SITE_RETURN;
}

static uint64_t put(uint32_t thread, uint8_t kind, uint32_t function, uint32_t depth)
{
	struct dt_error e;
	struct dt_record r = {.pc = BASE + function * PAGE + (kind == DT_EXIT ? 6 : 5),
			      .tid = 11 + thread,
			      .kind = kind,
			      .flags = 4,
			      .sp = 0x7ff000000000u + thread * 0x10000000u - 64 * depth};

	now += any(3) ? any(200) : 0; /* threads often have records of one tick */
	if (now <= last[thread])
		now = last[thread] + 1;
	r.ticks = last[thread] = now;
	if (dt_store_put(store, thread, &r, 1, 0, &e))
		fail_msg("%s", e.text);
	return now;
}

static uint32_t a_function(uint32_t n)
{
	if (n == CALLS / 3)
		return 4;
	if (n >= CALLS - OPEN)
		return n % (FUNCTIONS - 1);
	return any(400) == 0 ? 1 : any(50) == 0 ? 2 : any(3) ? 0 : 3;
}

static void make_trace(void)
{
	uint32_t open[THREADS][DEPTH], depth[THREADS] = {0}, n = 0;
	struct dt_error e;

	store = dt_store_create(trace_path, describe, NULL, &e);
	assert_non_null(store);
	now = 1000;
	while (n < CALLS) {
		uint32_t t = any(THREADS), d = depth[t];

		/* the last calls, of all functions, are open at the end */
		if (d < DEPTH && (n >= CALLS - OPEN || any(2))) {
			struct made *m = &made[n];

			*m = (struct made){.tid = 11 + t, .function = a_function(n), .depth = d};
			m->begin = put(t, DT_ENTRY, m->function, d);
			open[t][depth[t]++] = n++;
			/* the outermost seldom end: some are longer than a region */
		} else if (d > 1 || (d == 1 && any(2000) == 0)) {
			struct made *m = &made[open[t][--depth[t]]];

			m->end = put(t, DT_EXIT, m->function, d - 1);
		}
	}
	assert_int_equal(dt_store_close(store, &e), 0);
}

static struct dt_pyramid *built(struct dt_reader *r)
{
	struct dt_error e;
	struct dt_pyramid *p = dt_pyramid_open(r, trace_path, &e);
	int rc;

	assert_non_null(p);
	while ((rc = dt_pyramid_build(p, 100000, &e)) > 0)
		continue;
	if (rc < 0)
		fail_msg("%s", e.text);
	assert_true(p->regions > 3);
	return p;
}

static bool is_hit(const struct made *m, unsigned functions)
{
	return functions >> m->function & 1;
}

/* Returns where in made[] a hit is, or fails. */
static const struct made *of_hit(const struct dt_pyramid *p, const struct dt_hit *h)
{
	uint32_t tid = p->track[h->track].id, low = 0, high = CALLS;

	while (high - low > 1)
		*(made[low + (high - low) / 2].begin <= h->bar.begin ? &low : &high) =
			low + (high - low) / 2;
	for (; made[low].begin == h->bar.begin; low--)
		if (made[low].tid == tid) {
			assert_int_equal(rows[made[low].function], h->bar.what);
			assert_int_equal(made[low].depth, h->bar.depth);
			assert_true(!made[low].end || made[low].end == h->bar.end);
			return &made[low];
		}
	fail_msg("a call of thread %u that begins at %lu was not made", tid,
		 (unsigned long)h->bar.begin);
	return NULL;
}

/* Takes all pages from `at' on; returns how many calls came, each of which has to be a wanted one,
 * in order, and none of which may have been on another page. */
static uint64_t turn(struct dt_hits *h, struct dt_windows *w, const struct dt_pyramid *p,
		     unsigned functions, uint64_t at, bool back, size_t page, double seconds)
{
	struct dt_hit_list list = {0};
	uint64_t n = 0, before = back ? UINT64_MAX : 0;
	unsigned empty = 0;
	struct dt_error e;
	int more = 1;

	while (more > 0) {
		uint64_t from = at;

		more = dt_hits_find(h, w, &at, back, page, seconds, &list, &e);
		if (more < 0)
			fail_msg("%s", e.text);
		if (seconds > 1 && more)
			assert_true(list.n >= page);
		empty = list.n ? 0 : empty + 1;
		assert_true(empty <= p->regions + 1);
		for (size_t i = 0; i < list.n; i++) {
			uint64_t begin = list.hit[i].bar.begin;

			assert_true(is_hit(of_hit(p, &list.hit[i]), functions));
			assert_true(back ? begin <= from : begin >= from);
			assert_true(i ? (back ? begin <= before : begin >= before)
				      : (back ? begin < before : begin > before || !before));
			before = begin;
		}
		n += list.n;
		if (more > 0)
			assert_true(back ? at < before && at < from : at > before && at > from);
	}
	free(list.hit);
	return n;
}

static uint64_t expected(unsigned functions, uint64_t at, bool back)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		n += is_hit(&made[i], functions) &&
		     (back ? made[i].begin <= at : made[i].begin >= at);
	return n;
}

static void look(struct dt_windows *w, const struct dt_pyramid *p, unsigned functions)
{
	bool wanted[FUNCTIONS + 1] = {0};
	struct dt_hits h = {.wanted = wanted, .functions = FUNCTIONS + 1};
	const uint32_t some = any(CALLS);
	/* the ends of the trace, begins of calls and of regions, and beside these */
	const uint64_t at[] = {0,
			       p->begin,
			       made[some].begin,
			       made[some].begin + 1,
			       p->region[1].begin,
			       p->region[1].begin - 1,
			       p->region[2].end,
			       made[CALLS - 1].begin,
			       p->end,
			       p->end + 1};
	struct dt_error e;

	for (unsigned i = 0; i < FUNCTIONS; i++)
		wanted[rows[i]] = functions >> i & 1;
	assert_int_equal(dt_hits_count(&h, w, &e), 0);
	assert_int_equal(h.all, expected(functions, 0, false));
	for (size_t i = any(2); i < sizeof(at) / sizeof(*at); i += 2 + any(2))
		for (unsigned back = 0; back < 2; back++) {
			/* a page of a third of all; little time: whatever one region has */
			size_t page = 1 + expected(functions, at[i], back) / 3;

			assert_int_equal(turn(&h, w, p, functions, at[i], back, page, 1000),
					 expected(functions, at[i], back));
			if (i % 4 == 0)
				assert_int_equal(turn(&h, w, p, functions, at[i], back, page, 0),
						 expected(functions, at[i], back));
		}
	/* at the end there are many that have not ended, which are known from two sides */
	for (size_t page = 1; page < 400 && page < h.all; page += 1 + page / 2) {
		struct dt_hit_list list = {0};
		uint64_t from = p->end;

		assert_int_equal(dt_hits_find(&h, w, &from, true, page, 1000, &list, &e), 1);
		assert_true(list.n >= page);
		for (size_t i = 0; i < list.n; i++)
			assert_true(is_hit(of_hit(p, &list.hit[i]), functions));
		free(list.hit);
	}
	/* each call on a page of its own, where there are few */
	if (h.all < 1000) {
		assert_int_equal(turn(&h, w, p, functions, 0, false, 1, 1000), h.all);
		assert_int_equal(turn(&h, w, p, functions, UINT64_MAX, true, 1, 1000), h.all);
	}
	dt_hits_free(&h);
}

static int by_length(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The distribution of one function's calls, the one in the middle, and how many took less. */
static void median(struct dt_windows *w, struct dt_pyramid *p, uint32_t function)
{
	static uint64_t took[CALLS];
	uint32_t first[FUNCTIONS + 1];
	struct dt_siblings s = {.first = first, .rows = FUNCTIONS + 1, .function = rows[function]};
	uint64_t n = 0, all = 0, sum = 0, less, equal;
	struct dt_call c;
	struct dt_error e;
	bool exact;

	for (uint32_t i = 0; i <= FUNCTIONS; i++)
		first[i] = i;
	for (uint32_t i = 0; i < CALLS; i++) {
		all += made[i].function == function;
		if (made[i].function == function && made[i].end)
			sum += took[n++] = made[i].end - made[i].begin;
	}
	qsort(took, n, sizeof(*took), by_length);
	assert_int_equal(dt_siblings_count(&s, p, &e), 0);
	assert_int_equal(s.timed, n);
	assert_true(s.calls == all || s.calls == n);
	if (!n)
		return;
	assert_int_equal(s.sum, sum);
	assert_int_equal(s.min, took[0]);
	assert_int_equal(s.max, took[n - 1]);
	assert_int_equal(dt_siblings_median(&s, p, w, 1000, &c, &exact, &e), 1);
	assert_true(exact);
	assert_int_equal(c.end - c.begin, took[(n - 1) / 2]);
	for (int i = 0; i < 4; i++) {
		uint64_t ticks = took[i < 2 ? i * (n - 1) : any((uint32_t)n)], below = 0, same = 0;
		unsigned bucket = dt_stats_bucket(ticks);

		for (uint64_t k = 0; k < n; k++) {
			below += took[k] < ticks && dt_stats_bucket(took[k]) == bucket;
			same += took[k] == ticks;
		}
		assert_int_equal(dt_siblings_rank(&s, p, w, ticks, 1000, &less, &equal, &exact, &e),
				 0);
		assert_true(exact);
		assert_int_equal(less, below);
		assert_int_equal(equal, same);
	}
	/* with no time, one of the median's bucket */
	assert_int_equal(dt_siblings_median(&s, p, w, 0, &c, &exact, &e), 1);
	assert_int_equal(dt_stats_bucket(c.end - c.begin), dt_stats_bucket(took[(n - 1) / 2]));
}

/* Of a pyramid that has lost its sums, or has damaged ones, an answer is none, or an error. */
static void damaged(struct dt_windows *w, struct dt_pyramid *p, uint32_t function)
{
	uint32_t first[FUNCTIONS + 1];
	struct dt_siblings s = {.first = first, .rows = FUNCTIONS + 1, .function = rows[function]};
	int64_t *stats = malloc(p->regions * sizeof(*stats));
	struct dt_error e = {""};
	struct dt_call c;
	bool exact;

	for (uint32_t i = 0; i <= FUNCTIONS; i++)
		first[i] = i;
	assert_int_equal(dt_siblings_count(&s, p, &e), 0);
	for (size_t i = 0; i < p->regions; i++) {
		stats[i] = p->region[i].stats;
		p->region[i].stats = 0;
	}
	assert_int_equal(dt_siblings_median(&s, p, w, 1000, &c, &exact, &e), 0);
	/* the first region is read, then there is an error */
	p->region[0].stats = stats[0];
	p->region[1].stats = INT64_MAX / 2;
	assert_int_equal(dt_siblings_median(&s, p, w, 1000, &c, &exact, &e), -1);
	assert_true(*e.text);
	for (size_t i = 0; i < p->regions; i++)
		p->region[i].stats = stats[i];
	free(stats);
}

static bool one_more(void *ctx, const struct dt_call *c)
{
	++*(unsigned *)ctx;
	return true;
}

/* Calls that are open where the building of a pyramid has come to: none before it has begun, and
 * none of what is chosen by a filter, which does not know yet whether it wants them. */
static void not_built(struct dt_reader *r)
{
	static const char *const filters[] = {NULL, "time>1us"};
	struct dt_error e;

	for (unsigned i = 0; i < 2; i++) {
		struct dt_pyramid *p = filters[i] ? dt_pyramid_filtered(r, filters[i], &e)
						  : dt_pyramid_open(r, trace_path, &e);
		unsigned n = 0;

		assert_non_null(p);
		for (unsigned t = 0; t < THREADS; t++)
			dt_pyramid_open_calls(p, 11 + t, one_more, &n);
		assert_int_equal(n, 0);
		assert_int_equal(dt_pyramid_build(p, 1, &e), 1);
		for (unsigned t = 0; t < THREADS; t++)
			dt_pyramid_open_calls(p, 11 + t, one_more, &n);
		assert_true(filters[i] ? n == 0 : n >= THREADS && n <= THREADS * DEPTH);
		dt_pyramid_close(p);
	}
}

static void test_all(void **state)
{
	struct dt_windows *w;
	struct dt_pyramid *p;
	struct dt_reader *r;
	struct dt_error e;

	(void)state;
	seed = 8;
	make_trace();
	r = dt_reader_open(trace_path, &e);
	assert_non_null(r);
	not_built(r);
	p = built(r);
	w = dt_windows_new(p, trace_path, &e);
	assert_non_null(w);
	look(w, p, 1 << 1);
	look(w, p, 1 << 4);
	look(w, p, 1 << 2 | 1 << 1);
	look(w, p, 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		median(w, p, i);
	damaged(w, p, 0);
	dt_windows_free(w);
	dt_pyramid_close(p);
	dt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
