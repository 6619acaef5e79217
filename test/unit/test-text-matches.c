/* SPDX-License-Identifier: MIT */
/*
 * analyse/text-matches.c: the texts of many calls of several threads, one in the other and
 * interleaved. What is right is what fnmatch() says of the texts that were made up.
 */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/meanings.h"
#include "analyse/pair.h"
#include "analyse/text-matches.h"
#include "core/record.h"
#include "store/store.h"
#include "test/unit/test-trace-scratch.h"

#define CALLS	9000u
#define THREADS 3u
#define PAGE	0x1000u
#define BASE	0x400000u

static struct dt_store *store;

/* f has texts `path' and `name', g has none; h has a number that has names. The pages of code: f,
 * g, h, and the two texts of f. */
static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	static const struct {
		const char *name, *signature;
		uint8_t kind;
	} is[] = {{"f", "path:s@0,name:s@1;v", 0},
		  {"g", "path:p@0;v", 0},
		  {"h", "path:i4@0;v", 0},
		  {"f", "path:s@0;v", DT_SITE_POINT_TEXT},
		  {"f", "name:s@0;v", DT_SITE_POINT_TEXT}};
	uint64_t page = (r->pc - BASE) / PAGE;
	struct dt_function_row f = {.address = BASE + page * PAGE,
				    .size = 0x100,
				    .name = is[page].name,
				    .file = "",
				    .signature = is[page].signature,
				    .variant = page >= 3};

	row->function = dt_store_function(store, &f, NULL);
	row->kind = is[page].kind	  ? is[page].kind
		    : r->kind == DT_ENTRY ? DT_SITE_ENTRY
					  : DT_SITE_RETURN;
	row->values = 15;
}

/* A call as it is made up. */
static struct made {
	uint64_t begin;
	uint32_t tid, page;
	char path[64], name[64]; /* "": none was recorded */
} made[CALLS];

static uint64_t seed, now, last[THREADS]; /* last: of a thread; several may have records at once */

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static void put(uint32_t thread, uint8_t kind, uint32_t page, uint32_t depth, const void *value)
{
	struct dt_error e;
	struct dt_record r = {.ticks = now += any(4) ? any(3) : 0,
			      .pc = BASE + page * PAGE + (kind == DT_EXIT ? 6 : 5),
			      .tid = 11 + thread,
			      .kind = kind,
			      .flags = 4,
			      .sp = 0x7ff000000000u + thread * 0x10000000u - 64 * depth};

	if (now <= last[thread])
		r.ticks = now = last[thread] + 1;
	last[thread] = now;
	if (value)
		memcpy(r.value, value, sizeof(r.value));
	if (dt_store_put(store, thread, &r, 1, 0, &e))
		fail_msg("%s", e.text);
}

/* A text comes in pieces of 32 bytes; the last one has a NUL, if it has room. */
static void put_text(uint32_t thread, uint32_t page, uint32_t depth, const char *text)
{
	char piece[96] = "";

	strcpy(piece, text);
	put(thread, DT_MORE, page, depth, piece);
	if (strlen(text) >= 32)
		put(thread, DT_MORE, page, depth, piece + 32);
}

static void make_trace(void)
{
	uint32_t open[THREADS][8], depth[THREADS] = {0}, n = 0, left = 0;
	struct dt_error e;

	store = dt_store_create(trace_path, describe, NULL, &e);
	assert_non_null(store);
	now = 1000;
	while (n < CALLS || left) {
		uint32_t t = any(THREADS), d = depth[t];
		struct made *m = &made[n];

		if (n < CALLS && d < 8 && any(2)) {
			*m = (struct made){.tid = 11 + t, .page = any(8) ? 0 : 1 + any(2)};
			put(t, DT_ENTRY, m->page, d, NULL);
			m->begin = now;
			if (!m->page && any(10)) {
				snprintf(m->path, sizeof(m->path), "%s%u-%u",
					 any(5) ? "t" : "a-long-beginning-of-this-text-", m->tid,
					 n);
				put_text(t, 3, d, m->path);
			}
			if (!m->page && any(2)) {
				snprintf(m->name, sizeof(m->name), "%c", 'a' + (char)any(4));
				put_text(t, 4, d, m->name);
			}
			open[t][depth[t]++] = n++;
			left++;
		} else if (any(16) == 0) { /* of a call that is not recorded */
			put_text(t, 3, d, "t12-7");
		} else if (d) {
			put(t, DT_EXIT, made[open[t][d - 1]].page, d - 1, NULL);
			depth[t]--;
			left--;
		}
	}
	assert_int_equal(dt_store_close(store, &e), 0);
}

struct reading {
	struct dt_filter *filter;
	bool wanted[CALLS];
	uint32_t calls;
};

/* The i-th call begins as the i-th was made up: their ticks rise. */
static void on_end(void *ctx, const struct dt_call *c)
{
	struct reading *k = ctx;
	uint32_t low = 0, high = CALLS;

	while (high - low > 1)
		*(made[low + (high - low) / 2].begin <= c->begin ? &low : &high) =
			low + (high - low) / 2;
	while (low && made[low].tid != c->tid) /* another thread's at that moment */
		low--;
	assert_int_equal(made[low].begin, c->begin);
	assert_int_equal(made[low].tid, c->tid);
	k->wanted[low] = dt_filter_begin(k->filter, c, 0) && dt_filter_end(k->filter, c);
	k->calls++;
}

/* Is a condition true: of a text that is there? */
static bool is_so(const char *pattern, bool opposite, const char *text)
{
	return *text && (fnmatch(pattern, text, 0) == 0) != opposite;
}

static void check(struct dt_reader *r, const char *path, bool not_path, const char *name,
		  bool not_name)
{
	struct reading k = {NULL};
	struct dt_pair_events events = {.end = on_end, .ctx = &k};
	struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	struct dt_pair *p = dt_pair_new(r, &events, false);
	char words[200];
	struct dt_error e;
	struct dt_span s;
	size_t n = 0, wanted = 0;

	snprintf(words, sizeof(words), "%s%s%s%s%s%s%s", path ? "path" : "",
		 path ? not_path ? "!=" : "=" : "", path ? path : "", name ? " " : "",
		 name ? "name" : "", name ? not_name ? "!=" : "=" : "", name ? name : "");
	k.filter = dt_meanings_filter(words, r, &e);
	if (!k.filter)
		fail_msg("%s", e.text);
	assert_non_null(p);
	assert_int_equal(dt_reader_start(r, &range, &e), 0);
	while (dt_reader_next(r, &s, &e) > 0)
		assert_int_equal(dt_pair_span(p, &s), 0);
	dt_pair_free(p);
	assert_int_equal(k.calls, CALLS);
	for (uint32_t i = 0; i < CALLS; i++) {
		bool want = (!path || is_so(path, not_path, made[i].path)) &&
			    (!name || is_so(name, not_name, made[i].name));

		n += want;
		wanted += k.wanted[i];
		if (k.wanted[i] != want)
			fail_msg("%s: call %u of thread %u, '%s', '%s'", words, i, made[i].tid,
				 made[i].path, made[i].name);
	}
	assert_int_equal(n, wanted);
	assert_false(dt_filter_failed(k.filter));
	assert_null(dt_text_matches_missing(k.filter));
	dt_filter_free(k.filter);
}

static void test_many(void **state)
{
	struct dt_error e;
	struct dt_reader *r;
	struct dt_filter *f;

	(void)state;
	seed = 17;
	make_trace();
	r = dt_reader_open(trace_path, &e);
	assert_non_null(r);
	check(r, "*", false, NULL, false);
	check(r, "t12-*", false, NULL, false);
	check(r, "t11-*7", true, NULL, false);
	check(r, "a-long*-text-13-*7", false, NULL, false);
	check(r, "t1[12]-*", false, "[bc]", false);
	check(r, "t1[12]-*", true, "a", true);
	check(r, NULL, false, "d", false);
	/* what there is no text of is told, when it has been asked */
	f = dt_meanings_filter("path=* other=*", r, &e);
	assert_non_null(f);
	assert_null(dt_text_matches_missing(f));
	assert_false(dt_filter_end(f, &(struct dt_call){.id = 1, .function = 1}));
	assert_string_equal(dt_text_matches_missing(f), "other");
	dt_filter_free(f);
	f = dt_meanings_filter("path>5", r, &e);
	assert_non_null(f);
	assert_null(dt_text_matches_missing(f));
	dt_filter_free(f);
	dt_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
