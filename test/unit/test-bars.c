/* SPDX-License-Identifier: MIT */
/* Bars come out of their blocks, in any window: against a list of all of them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/bars.h"

#define BARS  5000u /* some ten blocks */
#define LANES 3u

static struct dt_bar bar[LANES][BARS];
static uint64_t seed;

static uint64_t below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* Of a lane, in the order of ends but for some, as many as come late. */
static void make(struct dt_bars *b, unsigned lane, unsigned late)
{
	struct dt_error e = {""};
	uint64_t end = 1000000;

	for (unsigned i = 0; i < BARS; i++) {
		uint64_t took = below(40);

		end += below(4) * 10;
		bar[lane][i] =
			(struct dt_bar){.begin = end - took,
					.end = late && below(late) == 0 ? end - below(3000) : end,
					.count = 1 + below(3),
					.busy = took,
					.what = (uint32_t)below(100),
					.flags = (uint32_t)below(4096),
					.depth = (uint32_t)below(9),
					.most = took / 2,
					.low = below(2) ? below(50) - 25 : seed,
					.high = below(2) ? below(90) - 45 : seed * 3};
		if (bar[lane][i].begin > bar[lane][i].end)
			bar[lane][i].begin = bar[lane][i].end;
		assert_int_equal(dt_bars_put(b, (struct dt_lane){lane, 0, true}, &bar[lane][i], &e),
				 0);
	}
}

struct found {
	unsigned lane, n, most;
	uint64_t from, to, sum;
};

static uint64_t mixed(const struct dt_bar *x)
{
	return ((x->begin * 31 + x->end) * 31 + x->what) * 31 + x->flags + x->count * 7 + x->depth +
	       x->busy * 11 + x->most * 5 + x->low * 13 + x->high * 17;
}

static bool on_bar(void *ctx, const struct dt_bar *x)
{
	struct found *f = ctx;

	assert_true(x->end >= f->from && x->end <= f->to);
	f->n++;
	f->sum += mixed(x);
	return f->n != f->most;
}

static void look(struct dt_bars *b, unsigned lane, uint64_t from, uint64_t to)
{
	struct found f = {.lane = lane, .from = from, .to = to};
	struct dt_error e = {""};
	uint64_t sum = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < BARS; i++)
		if (bar[lane][i].end >= from && bar[lane][i].end <= to) {
			n++;
			sum += mixed(&bar[lane][i]);
		}
	assert_int_equal(dt_bars_each(b, (struct dt_lane){lane, 0, true}, from, to, on_bar, &f, &e),
			 0);
	if (f.n != n || f.sum != sum)
		fail_msg("lane %u from %lu to %lu: %u bars, not %u", lane, from, to, f.n, n);
	if (n > 1) {
		f = (struct found){.lane = lane, .from = from, .to = to, .most = n - 1};
		assert_int_equal(
			dt_bars_each(b, (struct dt_lane){lane, 0, true}, from, to, on_bar, &f, &e),
			0);
		assert_int_equal(f.n, n - 1);
	}
}

static void look_at_all(struct dt_bars *b)
{
	for (unsigned lane = 0; lane < LANES; lane++) {
		/* windows that begin or end with each of the bars, the last of a block among them
		 */
		for (unsigned i = 0; i < BARS; i++) {
			uint64_t end = bar[lane][i].end;

			if (i % 512 > 2 && i % 512 < 509 && i % 37)
				continue;
			look(b, lane, end, end);
			look(b, lane, end, UINT64_MAX);
			look(b, lane, 0, end);
			look(b, lane, end + 1, end + 100);
			look(b, lane, end - 100, end - 1);
		}
		for (unsigned i = 0; i < 200; i++) {
			uint64_t from = bar[lane][0].end +
					below(bar[lane][BARS - 1].end - bar[lane][0].end);

			look(b, lane, from, from + below(2000));
		}
		look(b, lane, 0, UINT64_MAX);
	}
}

static void test_windows(void **state)
{
	struct dt_error e = {""};
	struct dt_bars *b = dt_bars_new(&e);

	seed = 88172645463325252u;
	assert_non_null(b);
	make(b, 0, 0);
	make(b, 1, 5);
	make(b, 2, 700);
	look_at_all(b);
	dt_bars_free(b);
}

static bool never(void *ctx, const struct dt_bar *x)
{
	fail();
	return true;
}

/* Pieces of any size, none among them, which may have no address. */
static void test_pieces(void **state)
{
	static uint8_t piece[300];
	struct dt_error e = {""};
	struct dt_bytes got = {0};
	struct dt_bars *b = dt_bars_new(&e);
	int64_t id[300];

	(void)state;
	assert_non_null(b);
	for (unsigned i = 0; i < 300; i++)
		piece[i] = (uint8_t)(i * 7);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(dt_bars_keep(b, i ? piece : NULL, i, &id[i], &e), 0);
	for (unsigned i = 0; i < 300; i++) {
		got.n = 0;
		assert_int_equal(dt_bars_load(b, id[i], &got, &e), 0);
		assert_int_equal(got.n, i);
		if (i)
			assert_memory_equal(got.p, piece, i);
	}
	free(got.p);
	dt_bars_free(b);
}

static void test_no_such_lane(void **state)
{
	struct dt_error e = {""};
	struct dt_bars *b = dt_bars_new(&e);

	make(b, 0, 0);
	assert_int_equal(
		dt_bars_each(b, (struct dt_lane){0, 0, false}, 0, UINT64_MAX, never, NULL, &e), 0);
	assert_int_equal(
		dt_bars_each(b, (struct dt_lane){0, 1, true}, 0, UINT64_MAX, never, NULL, &e), 0);
	assert_int_equal(
		dt_bars_each(b, (struct dt_lane){1, 0, true}, 0, UINT64_MAX, never, NULL, &e), 0);
	dt_bars_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_no_such_lane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
