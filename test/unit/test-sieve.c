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
#include "store/sums.h"
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
	uint64_t left;	/* when its exit was recorded: as it ended, or at a tail jump */
	uint32_t level; /* of the stack */
	bool jumped_to; /* by its parent, with which it ends */
	size_t group;	/* calls of which all are kept if one is wanted; 0: it is not kept */
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

/* pc: the function's page, and in it 5 for its entry, 6 for its exit, 7 for one by a jump. */
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
	row->kind = r->kind == DT_ENTRY ? DT_SITE_ENTRY
		    : r->pc % 16 == 7	? DT_SITE_TAIL
					: DT_SITE_RETURN;
	row->values = 1;
	dt_sieve_function(session.sieve, row->function, &f);
}

/* ---- making calls ---- */

/* at: where in the function, as describe() knows it */
static void put(unsigned core, uint32_t tid, unsigned at, const struct made *c, uint64_t ticks,
		uint64_t value)
{
	of_core[core][records[core]++] = (struct dt_record){
		.ticks = ticks,
		.pc = BASE + 0x1000u * c->function + at,
		.tid = tid,
		.kind = at == 5 ? DT_ENTRY : DT_EXIT,
		.flags = 1,
		.sp = 0x7fff00000000u + tid * 0x10000000ull - 64 * (c->level + 1),
		.value = {value}};
}

static void begin_call(uint32_t t, int64_t parent, bool jumped_to, uint64_t now)
{
	struct made *c = &call[calls];

	*c = (struct made){.tid = 100 + t,
			   .function = any(FUNCTIONS),
			   .depth = parent < 0 ? 0 : call[parent].depth + 1,
			   .level = parent < 0 ? 0 : call[parent].level + !jumped_to,
			   .parent = parent,
			   .jumped_to = jumped_to,
			   .begin = now,
			   .argument = any(10)};
	put(any(CORES), 100 + t, 5, c, now, c->argument);
	calls++;
}

/* Ends a call, and those that have jumped to it. Returns the index of their caller. */
static int64_t end_call(uint32_t t, int64_t at, uint64_t now)
{
	uint64_t result = any(10) - 3ull;

	put(any(CORES), 100 + t, 6, &call[at], now, result);
	call[at].left = now;
	for (bool more = true; more; at = call[at].parent) {
		call[at].end = now;
		call[at].result = result;
		more = call[at].jumped_to;
	}
	return at;
}

/* Makes n calls of all threads, each ticking some ten times; every record has its own tick. tails:
 * some jump to others. */
static void make_calls(size_t n, bool tails)
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
			bool jumps = tails && at >= 0 && !any(3);

			if (jumps) {
				put(any(CORES), 100 + t, 7, &call[at], now, 0);
				call[at].left = now;
				now += 1 + any(20);
			}
			begin_call(t, at, jumps, now);
			open[t] = (int64_t)calls - 1;
		} else if (at >= 0) {
			open[t] = end_call(t, at, now);
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
	bool ends; /* it is known at the call's end */
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
	{"f1", is_f1, false},
	{"-f2", is_not_f2, false},
	{"depth<4", is_shallow, false},
	{"depth>3", is_deep, false},
	{"in:f3", is_in_f3, false},
	{"-in:f4", is_not_in_f4, false},
	{"caller:f5", is_of_f5, false},
	{"n>4", is_large, false},
	{"result<0", is_negative, true},
	{"time>300ns", is_long, true},
	{"time<200ns", is_short, true},
};
#define WORDS (sizeof(word) / sizeof(*word))

static int by_ticks(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool has_all(const struct made *c, unsigned words, bool ended)
{
	for (unsigned k = 0; k < WORDS; k++)
		if (words & 1u << k && (ended || !word[k].ends) && !word[k].is(c))
			return false;
	return true;
}

/* The ticks of all records of the calls that fit all the words whose bits are set, sorted. What has
 * jumped and may be wanted is kept with what it has jumped to. */
static size_t wanted(unsigned words, uint64_t *ticks)
{
	static bool kept[MOST + 1];
	size_t n = 0;

	memset(kept, 0, sizeof(kept));
	for (size_t i = 0; i < calls; i++) {
		struct made *c = &call[i];

		c->group = c->jumped_to && call[c->parent].group ? call[c->parent].group
			   : has_all(c, words, false)		 ? i + 1
								 : 0;
		kept[c->group] |= has_all(c, words, true);
	}
	for (size_t i = 0; i < calls; i++)
		if (call[i].group && kept[call[i].group]) {
			ticks[n++] = call[i].begin;
			ticks[n++] = call[i].left;
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
	session.options.filter = words;
	session.sieve = dt_sieve_new(&session, &e);
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
			if (dt_sieve_take(session.sieve, core, core, &mix, any(2), &e))
				fail_msg("%s", e.text);
			at[core] += mix.n;
			more |= at[core] < records[core];
			if (at[core] < records[core] && of_core[core][at[core]].ticks - 1 < until)
				until = of_core[core][at[core]].ticks - 1;
		}
		if (dt_sieve_run(session.sieve, until, !more, NULL, &e))
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
		unsigned bits = round < 2 * WORDS
					? 1u << round % WORDS
					: 1u << any(WORDS) | 1u << any(WORDS) | 1u << any(WORDS);
		char text[256] = "";

		seed = round;
		make_calls(200 + any(MOST / 4), round >= WORDS && round % 3);
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
	const struct dt_store_place in = {1, DT_SITE_ENTRY, false},
				    out = {1, DT_SITE_RETURN, false};
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
	const struct dt_mix_gap gap = {.at = 1, .lost = 5, .begin = 1000};
	struct dt_record r[] = {
		{.ticks = 1000, .pc = BASE + 5, .tid = 1, .kind = DT_ENTRY, .sp = 4096},
		{.ticks = 2000, .pc = BASE + 6, .tid = 1, .kind = DT_EXIT, .sp = 4096}};
	struct dt_mix mix = {.record = r, .n = 2, .gap = (struct dt_mix_gap *)(uintptr_t)&gap};
	uint64_t ticks[4];

	for (unsigned lost = 0; lost < 2; lost++) {
		begin("time>1ms");
		mix.gaps = lost;
		assert_int_equal(dt_sieve_take(session.sieve, 0, 0, &mix, false, NULL), 0);
		assert_int_equal(dt_sieve_run(session.sieve, UINT64_MAX, true, NULL, NULL), 0);
		dt_sieve_free(session.sieve);
		assert_int_equal(dt_store_close(session.store, NULL), 0);
		assert_int_equal(read_all(ticks), lost ? 2 : 0);
		assert_int_equal(unlink(trace_path), 0);
	}
}

/* ---- sums ---- */

/* What a call adds to a row: the row's key as text, and the value. */
struct sum_case {
	const char *text;
	void (*key)(const struct made *c, char *text);
	int64_t (*value)(const struct made *c); /* NULL: a count */
	bool (*is)(const struct made *c);	/* NULL: all */
};

static void key_none(const struct made *c, char *text)
{
	text[0] = '\0';
}
static void key_function(const struct made *c, char *text)
{
	sprintf(text, "f%u", c->function);
}
static void key_caller(const struct made *c, char *text)
{
	if (c->parent < 0)
		strcpy(text, "?");
	else
		sprintf(text, "f%u", call[c->parent].function);
}
static void key_argument_thread(const struct made *c, char *text)
{
	sprintf(text, "%lu,%u", (unsigned long)c->argument, c->tid);
}
static void key_result_depth(const struct made *c, char *text)
{
	sprintf(text, "%ld,%u", (long)c->result, c->depth + 1);
}
static void key_callers(const struct made *c, char *text)
{
	*text = '\0';
	while (c->parent >= 0) {
		c = &call[c->parent];
		text += sprintf(text, "f%u;", c->function);
	}
}
static int64_t value_argument(const struct made *c)
{
	return (int64_t)c->argument;
}
static int64_t value_result(const struct made *c)
{
	return (int64_t)c->result;
}
static int64_t value_time(const struct made *c)
{
	return (int64_t)(c->end - c->begin);
}
static int64_t value_self(const struct made *c)
{
	int64_t self = value_time(c);

	for (size_t i = 0; i < calls; i++)
		if (call[i].parent == c - call)
			self -= value_time(&call[i]);
	return self;
}

static const struct sum_case sum_case[] = {
	{"count", key_none, NULL, NULL},
	{"count by function", key_function, NULL, NULL},
	{"n by caller", key_caller, value_argument, NULL},
	{"hist(result) by n, thread", key_argument_thread, value_result, NULL},
	{"hist(time) by function if in:f3", key_function, value_time, is_in_f3},
	{"self by function", key_function, value_self, NULL},
	{"arg1 by result,depth if result<0", key_result_depth, value_argument, is_negative},
	{"count by callers if f1", key_callers, NULL, is_f1},
	{"sum(result) by caller if time>300ns", key_caller, value_result, is_long},
	{"count by function if caller:f5", key_function, NULL, is_of_f5},
	{"hist self if depth>3", key_none, value_self, is_deep},
};
#define SUM_CASES (sizeof(sum_case) / sizeof(*sum_case))

/* A row as text: what it should be, or what it is. */
#define ROW_TEXT 512
struct row_text {
	char text[ROW_TEXT];
};

struct model_row {
	char key[256];
	uint64_t calls, bucket[DT_SUMS_BUCKETS];
	int64_t sum, least, greatest;
};

static size_t put_row(struct row_text *out, size_t n, const struct sum_case *x, const char *key,
		      uint64_t rows_calls, int64_t sum, int64_t least, int64_t greatest,
		      const uint64_t *bucket)
{
	char *p = out[n].text;

	p += sprintf(p, "%s: %lu", key, (unsigned long)rows_calls);
	if (x->value)
		p += sprintf(p, " %ld %ld %ld", (long)sum, (long)least, (long)greatest);
	for (unsigned i = 0; bucket && i < DT_SUMS_BUCKETS; i++)
		if (bucket[i])
			p += sprintf(p, " %u:%lu", i, (unsigned long)bucket[i]);
	return n + 1;
}

/* The bucket of a value, found by trying all. */
static unsigned bucket_by_trying(int64_t v)
{
	unsigned i = 0;

	while (i + 1 < DT_SUMS_BUCKETS && dt_sums_lowest(i + 1) <= v)
		i++;
	return i;
}

static size_t model(const struct sum_case *x, struct row_text *out)
{
	static struct model_row row[MOST];
	size_t rows = 0, n = 0;
	bool hist = strncmp(x->text, "hist", 4) == 0;

	for (size_t i = 0; i < calls; i++) {
		int64_t v = x->value ? x->value(&call[i]) : 0;
		char key[256];
		size_t k = 0;

		if (x->is && !x->is(&call[i]))
			continue;
		x->key(&call[i], key);
		while (k < rows && strcmp(row[k].key, key) != 0)
			k++;
		if (k == rows) {
			row[rows] = (struct model_row){.least = v, .greatest = v};
			strcpy(row[rows++].key, key);
		}
		row[k].calls++;
		row[k].sum += v;
		row[k].least = v < row[k].least ? v : row[k].least;
		row[k].greatest = v > row[k].greatest ? v : row[k].greatest;
		row[k].bucket[bucket_by_trying(v)]++;
	}
	for (size_t k = 0; k < rows; k++)
		n = put_row(out, n, x, row[k].key, row[k].calls, row[k].sum, row[k].least,
			    row[k].greatest, hist ? row[k].bucket : NULL);
	return n;
}

/* Reads what is in the file. */
struct got {
	const struct sum_case *x;
	struct dt_sums_words words;
	struct dt_reader *r;
	struct row_text *out;
	size_t n;
	uint64_t calls;
};

static int take_words(void *ctx, const struct dt_sum_row *row)
{
	struct got *g = ctx;

	assert_string_equal(row->words, g->x->text);
	assert_int_equal(row->others + row->missed, 0);
	g->calls = row->calls;
	return dt_sums_parse(&g->words, g->x->text, NULL);
}

static int take_line(void *ctx, const struct dt_sum_line *line)
{
	struct got *g = ctx;
	struct dt_sums_row *row = malloc(sizeof(*row) + line->key_n);
	uint32_t at = 0;
	char key[256] = "", *p = key;

	row->n = (uint32_t)line->key_n;
	if (line->key_n)
		memcpy(row->key, line->key, line->key_n);
	for (unsigned i = 0; i < g->words.keys; i++) {
		struct dt_sums_part part = dt_sums_part(row, &at);
		bool names = g->words.key[i].what == DT_SUMS_FUNCTION ||
			     g->words.key[i].what == DT_SUMS_CALLER;

		p += sprintf(p, "%s", i ? "," : "");
		if (part.kind == DT_SUMS_UNKNOWN)
			p += sprintf(p, "?");
		else if (part.kind == DT_SUMS_NUMBER && names)
			p += sprintf(p, "%s", dt_reader_function_name(g->r, (uint32_t)part.number));
		else if (part.kind == DT_SUMS_NUMBER)
			p += sprintf(p, "%ld", (long)part.number);
		for (uint32_t k = 0; part.kind == DT_SUMS_PATH && k < part.n; k += 4) {
			uint32_t f;

			memcpy(&f, part.bytes + k, sizeof(f));
			p += sprintf(p, "%s;", dt_reader_function_name(g->r, f));
		}
	}
	assert_int_equal(at, row->n);
	assert_int_equal(line->unknown, 0);
	g->calls -= line->calls;
	g->n = put_row(g->out, g->n, g->x, key, line->calls, (int64_t)line->number[0],
		       (int64_t)line->number[1], (int64_t)line->number[2], line->bucket);
	free(row);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Sums are what the tree of calls itself says, in whatever pieces its records come. */
static void test_random_sums(void **state)
{
	static struct row_text want[MOST], got[MOST];

	for (unsigned round = 0; round < 4 * SUM_CASES; round++) {
		const struct sum_case *x = &sum_case[round % SUM_CASES];
		struct got g = {.x = x, .out = got};
		struct dt_error e = {""};
		size_t n;

		seed = 1000 + round;
		make_calls(50 + any(1000), false);
		session = (struct dt_session){.ticks_per_ns = 1};
		session.options.sum = &x->text;
		session.options.sums = 1;
		session.store = dt_store_create(trace_path, describe, NULL, &e);
		assert_non_null(session.store);
		session.sieve = dt_sieve_new(&session, &e);
		if (!session.sieve)
			fail_msg("%s: %s", x->text, e.text);
		sift();
		assert_int_equal(dt_sieve_account(session.sieve, true, &e), 0);
		dt_sieve_free(session.sieve);
		assert_int_equal(dt_store_close(session.store, NULL), 0);
		n = model(x, want);
		g.r = dt_reader_open(trace_path, &e);
		assert_non_null(g.r);
		assert_int_equal(dt_sums_read(g.r, take_words, &g, &e), 0);
		assert_int_equal(dt_sums_read_lines(g.r, 0, take_line, &g, &e), 0);
		assert_int_equal(g.calls, 0);
		dt_reader_close(g.r);
		qsort(want, n, sizeof(*want), by_text);
		qsort(got, g.n, sizeof(*got), by_text);
		for (size_t i = 0; i < n && i < g.n; i++)
			if (strcmp(want[i].text, got[i].text) != 0)
				fail_msg("'%s': wanted '%s', got '%s'", x->text, want[i].text,
					 got[i].text);
		assert_int_equal(n, g.n);
		assert_int_equal(unlink(trace_path), 0);
	}
}

/* Buckets begin at powers of two, on both sides of 0. */
static void test_sum_buckets(void **state)
{
	static const int64_t value[] = {
		0,  1,	2,  3,	   4,	  7,	 8,	    1023,      1024,	     -1,
		-2, -3, -4, -1023, -1024, -1025, INT64_MAX, INT64_MIN, INT64_MIN + 1};

	for (size_t i = 0; i < sizeof(value) / sizeof(*value); i++)
		assert_int_equal(dt_sums_bucket(value[i]), bucket_by_trying(value[i]));
	assert_int_equal(dt_sums_bucket(UINT64_MAX), 128);
	assert_true(dt_sums_lowest(128) == (__int128)1 << 63);
	for (unsigned i = 0; i + 1 < DT_SUMS_BUCKETS; i++)
		assert_true(dt_sums_lowest(i) < dt_sums_lowest(i + 1));
}

static void test_sum_words(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"", "a sum is WHAT"},
		{"by function", "a sum is WHAT"},
		{"count by", "a key is wanted"},
		{"count by if f", "a key is wanted"},
		{"count by function,", "a key is wanted"},
		{"count by time", "a row for each time"},
		{"function by n", "no value to be summed up"},
		{"count(n)", "count has no value"},
		{"hist(n by function", "a ) is wanted"},
		{"n by function or so", "or: what is this?"},
		{"n by function if", "words of a filter are wanted"},
		{"a+b", "a+b: the name of an argument"},
		{"count by a,b,c,d,e,f,g", "too many keys: 6"},
	};
	static const char *const good[] = {"count",
					   "count()",
					   "count if f",
					   "hist n",
					   "hist( n )by function",
					   "avg(time) by thread,process , core if -f2",
					   "hist",
					   "sum by error",
					   "n by callers if depth<3 result=0"};
	struct dt_sums_words w;
	struct dt_error e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		e.text[0] = '\0';
		assert_int_equal(dt_sums_parse(&w, bad[i].text, &e), -1);
		if (!strstr(e.text, bad[i].error))
			fail_msg("'%s': %s", bad[i].text, e.text);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (dt_sums_parse(&w, good[i], &e))
			fail_msg("'%s': %s", good[i], e.text);
	assert_int_equal(w.keys, 1);
	assert_string_equal(w.filter, "depth<3 result=0");
}

/* However many records a program forges behind an entry, and whatever they say, memory is bounded.
 */
static void test_forged_behind(void **state)
{
	struct dt_behind *list = NULL, *other = NULL;
	uint32_t all = 0;
	uint64_t value[4];

	memset(value, 'x', sizeof(value));
	for (uint32_t i = 1; i < 100000; i++) {
		const struct dt_store_place more = {i, DT_SITE_POINT_MORE, false},
					    text = {i, DT_SITE_POINT_TEXT, false};

		assert_true(dt_behind_take(&list, &all, &more, value, false));
		assert_true(dt_behind_take(&other, &all, &text, value, false));
		/* of a text that does not end, no more than there is room for */
		assert_true(dt_behind_take(&other, &all,
					   &(struct dt_store_place){1, DT_SITE_POINT_TEXT, false},
					   value, false));
	}
	assert_int_equal(all, 2 * DT_BEHIND_CALL);
	for (const struct dt_behind *x = other; x; x = x->next)
		assert_in_range(x->n, 1, DT_BEHIND_TEXT);
	dt_behind_free(&list, &all);
	dt_behind_free(&other, &all);
	assert_int_equal(all, 0);
}

#define WAITS 3000u

static uint64_t first[WAITS], last[WAITS]; /* of waits */

/* Tries what says quickly that there is no wait between two times, of the first n. */
static void check_none(struct sieve_thread *t, unsigned n, uint64_t a, uint64_t b, unsigned *none,
		       unsigned *some)
{
	uint64_t held = 0, before = 0;
	bool known = dt_sieve_held_none(t, a, b);

	for (unsigned w = 0; w < n; w++) {
		uint64_t ends = last[w] < a ? last[w] : a;

		held += last[w] > a && first[w] < b;
		before += first[w] < ends ? ends - first[w] : 0;
	}
	if (known)
		assert_int_equal(held, 0);
	if (known || dt_sieve_held_look(t, a, b)) {
		assert_int_equal(held, 0);
		assert_int_equal(t->calm_before, before);
		assert_true(dt_sieve_held_none(t, a, b));
		assert_int_equal(dt_sieve_held_between(t, a, b, UINT64_MAX), 0);
		assert_int_equal(dt_sieve_held_behind(t, a, b), 0);
		++*none;
	} else {
		/* of a time before all waits it does not know */
		assert_true(held || !before);
		++*some;
	}
}

/* A thread's waits, told in an order that is nearly that of time, are asked about at random; what
 * is right is added up from all of them. The sieve remembers 1,024. */
static void test_waits(void **state)
{
	const struct dt_record r = {.tid = 7};
	struct sieve_thread *t;
	uint64_t now = 1000;
	unsigned none = 0, some = 0;

	begin("time>1us");
	for (unsigned i = 0; i < WAITS; i++) {
		first[i] = now + 1 + any(50);
		last[i] = first[i] + 1 + any(50);
		now = last[i];
	}
	for (unsigned i = 0; i < WAITS; i += 2)
		for (unsigned k = 2; k-- > 0;) { /* each pair the wrong way round */
			dt_sieve_held(session.sieve, 7, first[i + k], last[i + k], (i + k) % 3);
			if (k)
				continue;
			t = dt_sieve_thread_of(session.sieve, &r, 0);
			for (unsigned n = 0; n < 20; n++) {
				/* within the last 200, or all that there are */
				unsigned from = i > 200 ? i - 200 : 0;
				uint64_t a =
					first[from] + any((uint32_t)(last[i + 1] - first[from]));
				uint64_t b = a + any((uint32_t)(last[i + 1] + 20 - a)), held = 0;
				uint64_t before = 0, behind = 0, since = b;

				for (unsigned w = 0; w < i + 2; w++) {
					uint64_t begins = first[w] > a ? first[w] : a;
					uint64_t ends = last[w] < b ? last[w] : b;

					held += begins < ends ? ends - begins : 0;
					ends = last[w] < a ? last[w] : a;
					before += first[w] < ends ? ends - first[w] : 0;
					/* from its first wait on, it was about to make the record
					 */
					if (w % 3 && last[w] > a && last[w] <= b && since == b)
						since = begins;
				}
				for (unsigned w = 0; w < i + 2; w++) {
					uint64_t begins = first[w] > since ? first[w] : since;
					uint64_t ends = last[w] < b ? last[w] : b;

					behind += begins < ends ? ends - begins : 0;
				}
				behind = b - since - behind;
				assert_int_equal(dt_sieve_held_at(t, a), before);
				assert_int_equal(dt_sieve_held_before(t, a), before);
				/* short times, too: in most of them there is no wait */
				b = n % 2 ? b : a + n / 2;
				check_none(t, i + 2, a, b, &none, &some);
				if (n % 2 == 0)
					continue;
				assert_int_equal(dt_sieve_held_between(t, a, b, UINT64_MAX), held);
				assert_int_equal(dt_sieve_held_behind(t, a, b), behind);
			}
		}
	assert_in_range(none, 1000, 30000);
	assert_in_range(some, 1000, 30000);
	/* of a time that begins before all that are remembered */
	assert_int_equal(dt_sieve_held_between(t, first[0], now, 0), dt_sieve_held_before(t, now));
	dt_sieve_free(session.sieve);
	dt_store_close(session.store, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_calls), cmocka_unit_test(test_random_sums),
		cmocka_unit_test(test_sum_buckets),  cmocka_unit_test(test_sum_words),
		cmocka_unit_test(test_forged_depth), cmocka_unit_test(test_forged_behind),
		cmocka_unit_test(test_loss),	     cmocka_unit_test(test_waits),
	};
	int rc;

	for (unsigned i = 0; i < CORES; i++)
		of_core[i] = malloc(2 * MOST * sizeof(**of_core));
	rc = cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
	for (unsigned i = 0; i < CORES; i++)
		free(of_core[i]);
	return rc;
}
