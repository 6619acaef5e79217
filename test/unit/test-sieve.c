/* SPDX-License-Identifier: MIT */
/*
 * session/sieve.c: random calls of several threads, which move between cores, are given to a sieve
 * whose records arrive as a recorder takes them: ring by ring, in pieces. What is right is computed
 * from the tree of calls itself. The records in the file have to be exactly those of the calls that
 * are wanted; and a program that forges records must not fill the memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "session/sieve-work.h"
#include "store/reader.h"
#include "test/unit/test-trace-scratch.h"

#define FUNCTIONS 8u /* f0 to f7 */
#define THREADS	  3u
#define CORES	  2u
#define MOST	  6000u /* calls */
#define BASE	  0x400000u

static struct dt_session session;

/* A call, as it is made up. */
struct made {
	uint32_t tid, function, depth;
	int64_t parent; /* index; -1: none */
	uint64_t begin, end, argument, result;
};

static struct made call[MOST];
static size_t calls;

/* All records of a core, in the order of time. */
static struct dt_record *of_core[CORES];
static size_t records[CORES];

static uint64_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* pc: the function's page, and in it 5 for its entry, 6 for its exit. */
static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	uint64_t function = (r->pc - BASE) / 0x1000;
	char name[8];
	struct dt_function_row f = {.address = BASE + 0x1000 * function,
				    .size = 0x100,
				    .name = name,
				    .file = "",
				    .signature = "n:i8@0;i8@0"};

	snprintf(name, sizeof(name), "f%u", (unsigned)function);
	row->function = dt_store_function(session.store, &f, NULL);
	row->kind = r->kind == DT_ENTRY ? DT_SITE_ENTRY : DT_SITE_RETURN;
	row->values = 1;
	dt_sieve_function(session.sieve, row->function, &f);
}

/* ---- making calls ---- */

static void put(unsigned core, uint32_t tid, uint8_t kind, const struct made *c, uint64_t ticks,
		uint64_t value)
{
	of_core[core][records[core]++] = (struct dt_record){
		.ticks = ticks,
		.pc = BASE + 0x1000u * c->function + (kind == DT_ENTRY ? 5 : 6),
		.tid = tid,
		.kind = kind,
		.flags = 1,
		.sp = 0x7fff00000000u + tid * 0x10000000ull - 64 * (c->depth + 1),
		.value = {value}};
}

/* Makes n calls of all threads, each ticking some ten times; every record has its own tick. */
static void make_calls(size_t n)
{
	int64_t open[THREADS] = {-1, -1, -1};
	uint64_t now = 1000;
	unsigned left = THREADS;

	calls = 0;
	memset(records, 0, sizeof(records));
	while (left) {
		uint32_t t = any(THREADS);
		int64_t at = open[t];

		now += 1 + any(20);
		if (calls < n && (at < 0 || (call[at].depth < 12 && any(2)))) {
			call[calls] = (struct made){.tid = 100 + t,
						    .function = any(FUNCTIONS),
						    .depth = at < 0 ? 0 : call[at].depth + 1,
						    .parent = at,
						    .begin = now,
						    .argument = any(10),
						    .result = any(10) - 3ull};
			put(any(CORES), 100 + t, DT_ENTRY, &call[calls], now, call[calls].argument);
			open[t] = (int64_t)calls++;
		} else if (at >= 0) {
			call[at].end = now;
			put(any(CORES), 100 + t, DT_EXIT, &call[at], now, call[at].result);
			open[t] = call[at].parent;
		}
		left = 0;
		for (unsigned i = 0; i < THREADS; i++)
			left += calls < n || open[i] >= 0;
	}
}

/* ---- what is wanted ---- */

/* Words, and the same as a condition on a call. */
struct word {
	const char *text;
	bool (*is)(const struct made *c);
};

static bool within(const struct made *c, uint32_t function)
{
	for (; c; c = c->parent < 0 ? NULL : &call[c->parent])
		if (c->function == function)
			return true;
	return false;
}

static bool is_f1(const struct made *c)
{
	return c->function == 1;
}
static bool is_not_f2(const struct made *c)
{
	return c->function != 2;
}
static bool is_shallow(const struct made *c)
{
	return c->depth + 1 < 4;
}
static bool is_deep(const struct made *c)
{
	return c->depth + 1 > 3;
}
static bool is_in_f3(const struct made *c)
{
	return within(c, 3);
}
static bool is_not_in_f4(const struct made *c)
{
	return !within(c, 4);
}
static bool is_of_f5(const struct made *c)
{
	return c->parent >= 0 && call[c->parent].function == 5;
}
static bool is_large(const struct made *c)
{
	return c->argument > 4;
}
static bool is_negative(const struct made *c)
{
	return (int64_t)c->result < 0;
}
static bool is_long(const struct made *c)
{
	return c->end - c->begin > 300;
}
static bool is_short(const struct made *c)
{
	return c->end - c->begin < 200;
}

static const struct word word[] = {
	{"f1", is_f1},		 {"-f2", is_not_f2},	   {"depth<4", is_shallow},
	{"depth>3", is_deep},	 {"in:f3", is_in_f3},	   {"-in:f4", is_not_in_f4},
	{"caller:f5", is_of_f5}, {"n>4", is_large},	   {"result<0", is_negative},
	{"time>300ns", is_long}, {"time<200ns", is_short},
};
#define WORDS (sizeof(word) / sizeof(*word))

static int by_ticks(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The ticks of all records of the calls that fit all the words whose bits are set, sorted. */
static size_t wanted(unsigned words, uint64_t *ticks)
{
	size_t n = 0;

	for (size_t i = 0; i < calls; i++) {
		bool is = true;

		for (unsigned k = 0; k < WORDS; k++)
			is = is && (!(words & 1u << k) || word[k].is(&call[i]));
		if (is) {
			ticks[n++] = call[i].begin;
			ticks[n++] = call[i].end;
		}
	}
	qsort(ticks, n, sizeof(*ticks), by_ticks);
	return n;
}

/* ---- sifting ---- */

static void begin(const char *words)
{
	struct dt_error e = {""};

	session = (struct dt_session){.ticks_per_ns = 1};
	session.store = dt_store_create(trace_path, describe, NULL, &e);
	assert_non_null(session.store);
	session.sieve = dt_sieve_new(&session, words, &e);
	if (!session.sieve)
		fail_msg("%s: %s", words, e.text);
}

/* Gives the records in pieces, now of one ring, now of the other, as long as there are any. */
static void sift(void)
{
	size_t at[CORES] = {0};
	struct dt_error e = {""};
	bool more = true;

	while (more) {
		uint64_t until = UINT64_MAX;

		more = false;
		for (unsigned core = 0; core < CORES; core++) {
			size_t n = any(200);
			struct dt_mix mix = {.record = of_core[core] + at[core]};

			mix.n = n < records[core] - at[core] ? n : records[core] - at[core];
			if (dt_sieve_take(session.sieve, core, core, &mix, &e))
				fail_msg("%s", e.text);
			at[core] += mix.n;
			more |= at[core] < records[core];
			if (at[core] < records[core] && of_core[core][at[core]].ticks - 1 < until)
				until = of_core[core][at[core]].ticks - 1;
		}
		if (dt_sieve_run(session.sieve, until, !more, &e))
			fail_msg("%s", e.text);
	}
}

static size_t read_all(uint64_t *ticks)
{
	struct dt_reader_range all = {.order = DT_BY_TIME};
	struct dt_error e = {""};
	struct dt_reader *r = dt_reader_open(trace_path, &e);
	struct dt_span s;
	size_t n = 0;

	if (!r || dt_reader_start(r, &all, &e))
		fail_msg("%s", e.text);
	while (dt_reader_next(r, &s, &e) > 0)
		for (uint32_t i = 0; i < s.n; i++)
			ticks[n++] = s.ticks[i];
	dt_reader_close(r);
	qsort(ticks, n, sizeof(*ticks), by_ticks);
	return n;
}

static void compare(const char *words, unsigned bits)
{
	static uint64_t want[2 * MOST], got[2 * MOST];
	struct dt_sieve_counts counts;
	size_t n, m;

	begin(words);
	sift();
	counts = dt_sieve_counts(session.sieve);
	dt_sieve_free(session.sieve);
	assert_int_equal(dt_store_close(session.store, NULL), 0);
	n = wanted(bits, want);
	m = read_all(got);
	for (size_t i = 0; i < n && i < m; i++)
		if (want[i] != got[i])
			fail_msg("'%s': at tick %lu there is %s", words,
				 (unsigned long)(want[i] < got[i] ? want[i] : got[i]),
				 want[i] < got[i] ? "a record too few" : "one too many");
	if (n != m)
		fail_msg("'%s': %zu records wanted, %zu are there", words, n, m);
	assert_int_equal(counts.calls, calls - n / 2);
	assert_int_equal(counts.records, 2 * calls - n);
	assert_int_equal(counts.kept, 0);
}

/* Each word, and words that are drawn at random, two or three together. */
static void test_random_calls(void **state)
{
	for (unsigned round = 0; round < 120; round++) {
		unsigned bits = round < WORDS
					? 1u << round
					: 1u << any(WORDS) | 1u << any(WORDS) | 1u << any(WORDS);
		char text[256] = "";

		seed = round;
		make_calls(200 + any(MOST / 4));
		for (unsigned k = 0; k < WORDS; k++)
			if (bits & 1u << k) {
				strcat(text, text[0] ? " " : "");
				strcat(text, word[k].text);
			}
		compare(text, bits);
		assert_int_equal(unlink(trace_path), 0);
	}
}

/*
 * Entries without end, deeper and deeper, as only a forger makes them: memory is bounded, what is
 * beyond the bound is written, and entries and exits of the same call have the same fate.
 */
static void test_forged_depth(void **state)
{
	const struct dt_store_place in = {1, DT_SITE_ENTRY}, out = {1, DT_SITE_RETURN};
	const struct dt_function_row f = {.name = "f", .file = "", .signature = ""};
	struct dt_record r = {.tid = 7, .kind = DT_ENTRY};
	const uint64_t top = 1ull << 40, deepest = FRAMES + 1000;

	begin("-f");
	dt_sieve_function(session.sieve, 1, &f);
	for (uint64_t i = 0; i < deepest; i++) {
		r.ticks = i + 1;
		r.sp = top - 16 * i;
		assert_int_equal(dt_sieve_judge(session.sieve, &r, 0, &in),
				 i < FRAMES ? VERDICT_DROP : VERDICT_KEEP);
	}
	assert_int_equal(session.sieve->frames, FRAMES);
	r.kind = DT_EXIT;
	for (uint64_t i = deepest; i-- > 0;) {
		r.ticks++;
		r.sp = top - 16 * i;
		assert_int_equal(dt_sieve_judge(session.sieve, &r, 0, &out),
				 i < FRAMES ? VERDICT_DROP : VERDICT_KEEP);
	}
	assert_int_equal(session.sieve->frames, 0);
	dt_sieve_free(session.sieve);
	dt_store_discard(session.store);
}

/* A loss: what is open then is written, with its exit. */
static void test_loss(void **state)
{
	const struct dt_mix_gap gap = {1, 5, 1000};
	struct dt_record r[] = {
		{.ticks = 1000, .pc = BASE + 5, .tid = 1, .kind = DT_ENTRY, .sp = 4096},
		{.ticks = 2000, .pc = BASE + 6, .tid = 1, .kind = DT_EXIT, .sp = 4096}};
	struct dt_mix mix = {.record = r, .n = 2, .gap = (struct dt_mix_gap *)(uintptr_t)&gap};
	uint64_t ticks[4];

	for (unsigned lost = 0; lost < 2; lost++) {
		begin("time>1ms");
		mix.gaps = lost;
		assert_int_equal(dt_sieve_take(session.sieve, 0, 0, &mix, NULL), 0);
		assert_int_equal(dt_sieve_run(session.sieve, UINT64_MAX, true, NULL), 0);
		dt_sieve_free(session.sieve);
		assert_int_equal(dt_store_close(session.store, NULL), 0);
		assert_int_equal(read_all(ticks), lost ? 2 : 0);
		assert_int_equal(unlink(trace_path), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_calls),
		cmocka_unit_test(test_forged_depth),
		cmocka_unit_test(test_loss),
	};
	int rc;

	for (unsigned i = 0; i < CORES; i++)
		of_core[i] = malloc(2 * MOST * sizeof(**of_core));
	rc = cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
	for (unsigned i = 0; i < CORES; i++)
		free(of_core[i]);
	return rc;
}
