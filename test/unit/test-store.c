/* SPDX-License-Identifier: MIT */
/* store/: what is put is read back, whatever it is, whenever the writer dies, and nothing else is.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <sqlite3.h>
#include <zstd.h>
#include <cmocka.h>

#include "store/chunk.h"
#include "store/decode.h"
#include "store/layout.h"
#include "store/reader.h"
#include "store/sites.h"
#include "test/unit/test-trace-scratch.h"

static uint64_t seed = 88172645463325252u;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A number of any magnitude. */
static uint64_t any_number(void)
{
	return random64() >> random64() % 64;
}

static uint8_t mask_of(uint64_t pc, uint8_t kind)
{
	return (uint8_t)((pc ^ kind) & 0xf);
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	size_t *described = ctx;

	row->kind = DT_SITE_ENTRY;
	row->values = mask_of(r->pc, r->kind);
	if (described)
		++*described;
}

/* ---- round trips ---- */

static struct dt_store *create(void *ctx)
{
	struct dt_error e;
	struct dt_store *s = dt_store_create(trace_path, describe, ctx, &e);

	if (!s)
		fail_msg("%s", e.text);
	return s;
}

static struct dt_reader *reopen(void)
{
	struct dt_error e;
	struct dt_reader *r = dt_reader_open(trace_path, &e);

	if (!r)
		fail_msg("%s", e.text);
	return r;
}

/* Values that are not meant read back as 0. */
static struct dt_record expected(const struct dt_record *r)
{
	struct dt_record x = *r;
	uint8_t mask = mask_of(r->pc, r->kind);

	for (int i = 0; i < 4; i++)
		if (!(mask >> i & 1))
			x.value[i] = 0;
	return x;
}

static void put_counted(struct dt_store *s, unsigned core, uint64_t from, uint64_t to);

/* Reads everything; all[core] has n[core] records, cores of them. Compares each core in order. */
static void check(struct dt_record **all, const size_t *n, unsigned cores, enum dt_order order,
		  uint64_t lost)
{
	struct dt_reader_range range = {.order = order, .values = true};
	struct dt_reader *r = reopen();
	size_t *got = calloc(cores, sizeof(*got));
	struct dt_error e;
	struct dt_span s;
	uint64_t last = 0;
	int rc;

	assert_int_equal(dt_reader_start(r, &range, &e), 0);
	while ((rc = dt_reader_next(r, &s, &e)) > 0) {
		lost -= s.lost;
		for (uint32_t i = 0; i < s.n; i++) {
			struct dt_record have, want;

			assert_true(s.core < cores && got[s.core] < n[s.core]);
			dt_span_record(r, &s, i, &have);
			want = expected(&all[s.core][got[s.core]++]);
			assert_memory_equal(&have, &want, sizeof(have));
			if (order == DT_BY_TIME && cores > 1) {
				assert_true(have.ticks >= last);
				last = have.ticks;
			}
		}
	}
	if (rc < 0)
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < cores; i++)
		assert_int_equal(got[i], n[i]);
	assert_int_equal(lost, 0);
	free(got);
	dt_reader_close(r);
}

static void put_all(struct dt_store *s, unsigned core, const struct dt_record *r, size_t n)
{
	struct dt_error e;

	while (n) {
		size_t part = 1 + random64() % 10000;

		if (part > n)
			part = n;
		assert_int_equal(dt_store_put(s, core, r, part, 0, &e), 0);
		r += part;
		n -= part;
	}
}

/* Anything at all in every field; one core, because nothing is in order. */
static void test_anything(void **state)
{
	size_t n = 200000;
	struct dt_record *r = malloc(n * sizeof(*r));
	struct dt_store *s = create(NULL);

	for (size_t i = 0; i < n; i++) {
		r[i].ticks = any_number();
		r[i].pc = any_number() & ~(random64() & 0xffff00);
		r[i].tid = random64() % 3 ? (uint32_t)(random64() % 5) : (uint32_t)random64();
		r[i].kind = random64() % 2 ? "EXPVSRMNc"[random64() % 9] : (uint8_t)random64();
		r[i].flags = (uint8_t)random64();
		r[i].core = random64() % 50 ? 0 : (uint16_t)random64();
		r[i].sp = any_number();
		for (int j = 0; j < 4; j++)
			r[i].value[j] = any_number();
	}
	put_all(s, 0, r, n);
	assert_int_equal(dt_store_close(s, NULL), 0);
	check(&r, &n, 1, DT_BY_TIME, 0);
	free(r);
}

/* Records of every kind, several cores, values that are all meant: each comes back exactly. */
static void test_every_kind(void **state)
{
	static const char kinds[] = "EXPVSRMNc";
	unsigned cores = 4;
	struct dt_record *r[4];
	size_t n[4];
	struct dt_store *s = create(NULL);
	uint64_t seen[256] = {0};

	for (unsigned c = 0; c < cores; c++) {
		uint64_t ticks = 1000;

		n[c] = 30000;
		r[c] = calloc(n[c], sizeof(**r));
		for (size_t i = 0; i < n[c]; i++) {
			struct dt_record *x = &r[c][i];

			ticks += random64() % 300;
			x->kind = (uint8_t)kinds[random64() % 9];
			x->ticks = ticks;
			/* imported events have no pc; all four values are meant */
			x->pc = random64() % 2 ? (uint64_t)(x->kind ^ 0xf)
					       : 0x401000 + random64() % 50;
			x->core = (uint16_t)c;
			x->tid = random64() % 9 ? (uint32_t)(random64() % 3) : DT_NO_TID;
			x->sp = random64() % 3 ? 0x7fff0000 - 8 * (random64() % 100) : 0;
			x->flags = (uint8_t)random64();
			x->value[0] = x->kind == 'M'   ? 0xeaull << 56 | (random64() % 99) << 12
				      : x->kind == 'N' ? 0xebull << 56 | (random64() % 99) << 12
				      : x->kind == 'V' ? random64()
						       : any_number();
			for (int j = 1; j < 4; j++)
				x->value[j] = any_number();
			seen[x->kind]++;
		}
		put_all(s, c, r[c], n[c]);
	}
	for (const char *k = kinds; *k; k++)
		assert_true(seen[(uint8_t)*k] > 10000);
	assert_int_equal(dt_store_close(s, NULL), 0);
	check(r, n, cores, DT_BY_TIME, 0);
	check(r, n, cores, DT_BY_THREAD, 0);
	for (unsigned c = 0; c < cores; c++)
		free(r[c]);
}

/* One core alone. */
static void test_one_core(void **state)
{
	struct dt_store *s = create(NULL);
	struct dt_reader *r;
	struct dt_error e;

	for (unsigned c = 0; c < 5; c++)
		put_counted(s, c, 0, 1000 * c);
	assert_int_equal(dt_store_close(s, NULL), 0);
	r = reopen();
	for (uint16_t c = 0; c < 6; c++) {
		struct dt_reader_range range = {.values = true, .one_core = true, .core = c};
		uint64_t n = 0;
		struct dt_span span;

		assert_int_equal(dt_reader_start(r, &range, &e), 0);
		while (dt_reader_next(r, &span, &e) > 0) {
			assert_int_equal(span.core, c);
			n += span.n;
		}
		assert_int_equal(n, c < 5 ? 1000 * c : 0);
	}
	dt_reader_close(r);
}

/* The extremes of each field next to each other. */
static void test_extremes(void **state)
{
	static const uint64_t ends[] = {0,
					1,
					7,
					8,
					0xfffe,
					0xffff,
					0x10000,
					0x7fff8,
					0x80000,
					INT64_MAX,
					(uint64_t)INT64_MIN,
					UINT64_MAX - 7,
					UINT64_MAX};
	enum { N = sizeof(ends) / sizeof(*ends) };
	size_t n = 0;
	struct dt_record *r = calloc(N * N * N, sizeof(*r));
	struct dt_store *s = create(NULL);

	for (int a = 0; a < N; a++)
		for (int b = 0; b < N; b++)
			for (int c = 0; c < N; c++)
				r[n++] = (struct dt_record){
					.ticks = ends[a],
					.sp = ends[b],
					.pc = ends[c],
					.tid = (uint32_t)ends[b],
					.kind = 'E',
					.flags = (uint8_t)ends[c],
					.value = {ends[c], ends[b], ends[a], ends[c]}};
	put_all(s, 0, r, n);
	assert_int_equal(dt_store_close(s, NULL), 0);
	check(&r, &n, 1, DT_BY_THREAD, 0);
	free(r);
}

/* Several cores, more sites than a chunk's dictionary has bytes for, threads that move. */
static void test_cores(void **state)
{
	unsigned cores = 5;
	struct dt_record *r[5];
	size_t n[5], described = 0;
	struct dt_store *s = create(&described);

	for (unsigned c = 0; c < cores; c++) {
		uint64_t ticks = 1000;

		n[c] = 70000 * c + 1;
		r[c] = calloc(n[c], sizeof(**r));
		for (size_t i = 0; i < n[c]; i++) {
			ticks += random64() % 1000 ? random64() % 300 : any_number() >> 20;
			r[c][i].ticks = ticks;
			r[c][i].pc = 0x401000 + random64() % 3000;
			r[c][i].kind = r[c][i].pc & 1 ? 'E' : 'X';
			r[c][i].core = (uint16_t)c;
			r[c][i].tid = 100 + (uint32_t)(ticks / 100000 % 7);
			r[c][i].sp = 0x7fff0000 - 8 * (random64() % 1000);
			r[c][i].value[0] = random64() % 4;
			r[c][i].value[1] = i;
		}
		put_all(s, c, r[c], n[c]);
	}
	assert_int_equal(dt_store_close(s, NULL), 0);
	assert_int_equal(described, 3000);
	check(r, n, cores, DT_BY_TIME, 0);
	check(r, n, cores, DT_BY_THREAD, 0);
	for (unsigned c = 0; c < cores; c++)
		free(r[c]);
}

static void test_empty(void **state)
{
	size_t n = 0;
	struct dt_record *r = NULL;

	assert_int_equal(dt_store_close(create(NULL), NULL), 0);
	check(&r, &n, 1, DT_BY_TIME, 0);
}

/* ---- loss ---- */

/* lost + read = put + said to be lost, and each loss is where it was. */
static void test_loss(void **state)
{
	size_t n = 150000, at = 0;
	struct dt_record *r = calloc(n, sizeof(*r));
	struct dt_store *s = create(NULL);
	struct dt_reader_range range = {.order = DT_BY_TIME};
	uint64_t *before = calloc(n + 1, sizeof(*before)), total = 0, sum;
	struct dt_reader *reader;
	struct dt_summary summary;
	struct dt_span span;
	struct dt_error e;

	for (size_t i = 0; i < n; i++)
		r[i] = (struct dt_record){.ticks = 10 * i + 5, .pc = i % 10, .kind = 'E', .tid = 1};
	while (at < n) {
		size_t part = 1 + random64() % 3000,
		       lost = random64() % 3 ? 0 : 1 + random64() % 99;

		if (part > n - at)
			part = n - at;
		if (random64() % 4 == 0) { /* a loss said with no record, then again */
			assert_int_equal(dt_store_put(s, 0, NULL, 0, 3, &e), 0);
			before[at] += 3;
			if (random64() % 2)
				assert_int_equal(dt_store_flush(s, &e), 0);
		}
		assert_int_equal(dt_store_put(s, 0, r + at, part, lost, &e), 0);
		before[at] += lost;
		at += part;
	}
	assert_int_equal(dt_store_put(s, 0, NULL, 0, 7, &e), 0);
	before[n] = 7;
	assert_int_equal(dt_store_close(s, &e), 0);
	for (size_t i = 0; i <= n; i++)
		total += before[i];

	reader = reopen();
	assert_int_equal(dt_reader_summary(reader, &summary, &e), 0);
	assert_int_equal(summary.lost, total);
	assert_int_equal(summary.records, n);
	assert_int_equal(dt_reader_start(reader, &range, &e), 0);
	at = 0;
	sum = 0;
	while (dt_reader_next(reader, &span, &e) > 0) {
		assert_int_equal(span.lost, before[at]);
		if (span.lost) {
			assert_int_equal(span.lost_begin, at ? r[at - 1].ticks : 0);
			assert_int_equal(span.lost_end, at < n ? r[at].ticks : 0);
		}
		for (size_t i = 1; i < span.n; i++)
			assert_int_equal(before[at + i], 0);
		sum += span.lost;
		at += span.n;
	}
	assert_int_equal(sum, total);
	assert_int_equal(at, n);
	dt_reader_close(reader);
	free(before);
	free(r);
}

/* ---- ranges, live files, sites of several processes ---- */

static void put_counted(struct dt_store *s, unsigned core, uint64_t from, uint64_t to)
{
	struct dt_record r = {.kind = 'E', .tid = core, .core = (uint16_t)core};
	struct dt_error e;

	for (uint64_t i = from; i < to; i++) {
		r.ticks = 100 + i * 10 + core;
		r.pc = i % 100;
		r.value[0] = r.value[1] = r.value[2] = r.value[3] = i;
		assert_int_equal(dt_store_put(s, core, &r, 1, 0, &e), 0);
	}
}

static uint64_t count(struct dt_reader *r, uint64_t from, uint64_t to)
{
	struct dt_error e;
	struct dt_span s;
	uint64_t n = 0;

	while (dt_reader_next(r, &s, &e) > 0) {
		for (uint32_t i = 0; i < s.n; i++)
			assert_true(s.ticks[i] >= from && s.ticks[i] <= to);
		n += s.n;
	}
	return n;
}

static void test_range(void **state)
{
	struct dt_store *s = create(NULL);
	struct dt_reader_range range = {.values = true};
	struct dt_reader *r;
	struct dt_error e;

	put_counted(s, 0, 0, 200000);
	put_counted(s, 1, 0, 200000);
	assert_int_equal(dt_store_close(s, NULL), 0);
	r = reopen();
	for (int i = 0; i < 200; i++) {
		uint64_t a = random64() % 200000, b = a + random64() % 70000;

		range.from = 100 + a * 10;
		range.to = 100 + b * 10 - 1;
		if (b > 200000)
			b = 200000;
		range.order = i % 2 ? DT_BY_TIME : DT_BY_THREAD;
		assert_int_equal(dt_reader_start(r, &range, &e), 0);
		assert_int_equal(count(r, range.from, range.to), 2 * (b - a));
	}
	dt_reader_close(r);
}

/* The next span, as the records in it; what was lost before it in *lost. How many, or -1. */
static long next_records(struct dt_reader *r, struct dt_record *to, uint64_t *lost)
{
	struct dt_error e;
	struct dt_span s;
	int rc = dt_reader_next(r, &s, &e);

	if (rc < 0)
		fail_msg("%s", e.text);
	*lost = rc ? s.lost : 0;
	for (uint32_t i = 0; rc && i < s.n; i++)
		dt_span_record(r, &s, i, &to[i]);
	return rc ? (long)s.n : -1;
}

/* Ranges read one behind the other, which go on where the last one ended, are as when each is read
 * by itself: records out of order and lost ones at the borders, threads and values that change. */
static void test_ranges_in_a_row(void **state)
{
	struct dt_record *one = calloc(2048, sizeof(*one)), *two = calloc(2048, sizeof(*two));
	struct dt_store *s = create(NULL);
	struct dt_reader *row, *alone;
	struct dt_error e;
	uint64_t end = 0, all = 600000;

	for (unsigned core = 0; core < 4; core++) {
		struct dt_record r = {.kind = 'E', .core = (uint16_t)core, .ticks = 1000};

		for (unsigned i = 0; i < 150000; i++) {
			/* two cores' records are in order in each chunk, but a chunk may begin
			 * earlier */
			uint64_t turn = random64() % 20000;
			uint64_t late =
				turn < 3 || (core > 1 && turn % 20 == 0) ? random64() % 250000 : 0;

			/* or told late, after what a ring had held */
			if (core == 3 && turn % 1000 == 0)
				late = random64() % 30000000;

			r.ticks += random64() % (random64() % 1000 ? 100 : 100000);
			r.tid = random64() % 50 ? r.tid : (uint32_t)(random64() % 6);
			r.pc = random64() % 200;
			r.sp = 8 * (random64() % 100);
			r.value[0] = r.value[1] = any_number();
			late = late < r.ticks - 1000 ? late : 0;
			r.ticks -= late;
			if (turn < 6)
				assert_int_equal(dt_store_flush(s, &e), 0);
			/* a chunk of one record, before one that begins earlier */
			if (turn == 0) {
				r.ticks += late;
				assert_int_equal(dt_store_put(s, core, &r, 1, 0, &e), 0);
				assert_int_equal(dt_store_flush(s, &e), 0);
				r.ticks -= late;
				all++;
			}
			assert_int_equal(dt_store_put(s, core, &r, 1, random64() % 500 ? 0 : 2, &e),
					 0);
			r.ticks += late;
			end = r.ticks > end ? r.ticks : end;
		}
	}
	assert_int_equal(dt_store_close(s, NULL), 0);
	row = reopen();
	alone = reopen();
	for (int pass = 0; pass < 4; pass++) {
		struct dt_reader_range range = {.order = pass % 2 ? DT_BY_TIME : DT_BY_THREAD,
						.values = pass / 2};
		uint64_t n = 0;

		for (uint64_t from = 1; from < end; from = range.to + 1) {
			uint64_t lost, more;
			long records;

			range.from = from;
			range.to = from + random64() % (random64() % 4 ? 1000000 : 1000);
			assert_int_equal(dt_reader_start(row, &range, &e), 0);
			assert_int_equal(dt_reader_start(alone, &range, &e), 0);
			do {
				records = next_records(row, one, &lost);
				assert_int_equal(next_records(alone, two, &more), records);
				assert_int_equal(lost, more);
				for (long i = 0; i < records; i++)
					assert_memory_equal(&one[i], &two[i], sizeof(*one));
				n += records > 0 ? (uint64_t)records : 0;
			} while (records >= 0);
			/* begun twice, it does not go on from the last one */
			assert_int_equal(dt_reader_start(alone, &range, &e), 0);
		}
		assert_int_equal(n, all);
	}
	dt_reader_close(row);
	dt_reader_close(alone);
	free(one);
	free(two);
}

/* A reader of a file that is being written sees all that was flushed, and later what follows. */
static void test_live(void **state)
{
	struct dt_store *s = create(NULL);
	struct dt_reader_range range = {0};
	struct dt_reader *r;
	struct dt_error e;
	uint64_t n = 0, seen = 0;

	r = reopen();
	assert_int_equal(dt_reader_start(r, &range, &e), 0);
	for (int i = 0; i < 50; i++) {
		uint64_t more = random64() % 5000;

		put_counted(s, (unsigned)(i / 10), n, n + more);
		n += more;
		assert_int_equal(dt_store_put(s, 0, NULL, 0, 1, &e), 0);
		assert_int_equal(dt_store_flush(s, &e), 0);
		seen += count(r, 0, UINT64_MAX);
		assert_int_equal(seen, n);
	}
	assert_int_equal(dt_store_close(s, NULL), 0);
	assert_int_equal(count(r, 0, UINT64_MAX), 0);
	dt_reader_close(r);
}

/* A pass ends where the file did when it began, however much is written meanwhile: a reader that is
 * slower than the writer comes to an end, too. */
static void test_growing(void **state)
{
	struct dt_store *s = create(NULL);
	struct dt_reader_range range = {0};
	struct dt_reader *r;
	struct dt_error e;
	struct dt_span span;
	uint64_t n = 1000, seen = 0;

	put_counted(s, 0, 0, n);
	assert_int_equal(dt_store_flush(s, &e), 0);
	r = reopen();
	assert_int_equal(dt_reader_start(r, &range, &e), 0);
	for (int i = 0; i < 1000 && dt_reader_next(r, &span, &e) > 0; i++) {
		seen += span.n;
		put_counted(s, 0, n, n + 10);
		n += 10;
		assert_int_equal(dt_store_flush(s, &e), 0);
	}
	assert_int_equal(seen, 1000);
	/* the rest comes when it is asked once more */
	assert_int_equal(count(r, 0, UINT64_MAX), n - 1000);
	assert_int_equal(dt_store_close(s, NULL), 0);
	dt_reader_close(r);
}

/* The same pc in two processes is two sites; forgetting describes again. */
static void test_processes(void **state)
{
	struct dt_record r = {.pc = 5, .kind = 'E', .tid = 1};
	size_t described = 0;
	struct dt_store *s = create(&described);
	const struct dt_thread_info *t;
	struct dt_reader *reader;
	struct dt_error e;

	assert_int_equal(dt_store_thread(s, 1, 10, "one", &e), 0);
	assert_int_equal(dt_store_thread(s, 2, 20, "two", &e), 0);
	for (int i = 0; i < 10; i++) {
		r.tid = 1 + i % 2;
		assert_int_equal(dt_store_put(s, 0, &r, 1, 0, &e), 0);
	}
	assert_int_equal(described, 2);
	dt_store_forget(s, 10, 5, 6); /* r is of process 20 */
	assert_int_equal(dt_store_put(s, 0, &r, 1, 0, &e), 0);
	assert_int_equal(described, 2);
	dt_store_forget(s, 20, 5, 6);
	assert_int_equal(dt_store_put(s, 0, &r, 1, 0, &e), 0);
	assert_int_equal(described, 3);
	dt_store_forget(s, 20, 6, 7);
	assert_int_equal(dt_store_put(s, 0, &r, 1, 0, &e), 0);
	assert_int_equal(described, 3);
	assert_int_equal(dt_store_close(s, &e), 0);
	reader = reopen();
	assert_int_equal(dt_reader_sites(reader), 3);
	assert_int_equal(dt_reader_site(reader, 1)->pid, 10);
	assert_int_equal(dt_reader_site(reader, 2)->pid, 20);
	t = dt_reader_thread(reader, 2);
	assert_non_null(t);
	assert_string_equal(t->name, "two");
	assert_null(dt_reader_thread(reader, 3));
	dt_reader_close(reader);
}

/* A hundred thousand processes, one after the other, of which each has ten places. */
static void test_processes_left(void **state)
{
	struct dt_sites s = {0};

	for (uint32_t pid = 1; pid <= 100000; pid++) {
		for (uint64_t pc = 1; pc <= 10; pc++)
			dt_sites_find(&s, pid, pc, 0, 'E')->row = pid;
		assert_int_equal(dt_sites_known(&s, pid, 1, 0, 'E')->row, pid);
		assert_int_equal(dt_sites_leave(&s, pid), 0);
		/* of no process: it stays */
		dt_sites_find(&s, 0, 7, 0, 'E')->row = 77;
	}
	assert_true(s.size <= 4096);
	assert_int_equal(dt_sites_known(&s, 0, 7, 0, 'E')->row, 77);
	/* a number that comes again is not the process that had it, also if there was no need yet
	 * to give its entries up */
	dt_sites_find(&s, 5, 1, 0, 'E')->row = 5;
	dt_sites_find(&s, 6, 1, 0, 'E')->row = 6;
	dt_sites_leave(&s, 5);
	dt_sites_stay(&s, 6);
	assert_int_equal(dt_sites_known(&s, 5, 1, 0, 'E')->row, 5);
	dt_sites_stay(&s, 5);
	assert_null(dt_sites_known(&s, 5, 1, 0, 'E'));
	assert_int_equal(dt_sites_known(&s, 6, 1, 0, 'E')->row, 6);
	dt_sites_free(&s);
}

static void test_descriptions(void **state)
{
	struct dt_store *s = create(NULL);
	struct dt_module_row m = {10, 0x1000, 0x2000, 0x3000, "/bin/x", "abcd", 5, 0};
	struct dt_function_row f = {0, 0x2010, 16, "f", "x.c", 7, "a:i4@0;v", 0, NULL};
	const struct dt_function_info *fi;
	const struct dt_process_info *p;
	struct dt_reader *r;
	struct dt_error e;
	uint64_t ns;
	size_t n;

	assert_int_equal(dt_store_meta(s, "host", "here", &e), 0);
	assert_int_equal(dt_store_meta(s, "host", "there", &e), 0);
	f.module = dt_store_module(s, &m, &e);
	assert_int_equal(f.module, 1);
	assert_int_equal(dt_store_function(s, &f, &e), 1);
	assert_int_equal(dt_store_function(s, &f, &e), 1); /* the same one */
	f.address++;
	assert_int_equal(dt_store_function(s, &f, &e), 2);
	assert_int_equal(dt_store_module_end(s, 1, 77, &e), 0);
	assert_int_equal(dt_store_process(s, 10, 1, "/bin/x", "x -y", 3, &e), 0);
	assert_int_equal(dt_store_process_end(s, 10, 256, 99, &e), 0);
	assert_int_equal(dt_store_clock(s, 1000, 500, 10500, &e), 0);
	assert_int_equal(dt_store_clock(s, 3000, 1500, 11500, &e), 0);
	assert_int_equal(dt_store_close(s, &e), 0);

	r = reopen();
	assert_string_equal(dt_reader_meta(r, "host"), "there");
	assert_null(dt_reader_meta(r, "nothing"));
	assert_int_equal(dt_reader_functions(r), 2);
	fi = dt_reader_function(r, 1);
	assert_string_equal(fi->name, "f");
	assert_string_equal(fi->signature, "a:i4@0;v");
	assert_string_equal(fi->file, "x.c");
	assert_int_equal(fi->line, 7);
	assert_int_equal(dt_reader_module(r, fi->module)->end_ticks, 77);
	assert_null(dt_reader_function(r, 0));
	assert_null(dt_reader_function(r, 3));
	p = dt_reader_processes(r, &n);
	assert_int_equal(n, 1);
	assert_int_equal(p->status, 256);
	assert_string_equal(p->cmdline, "x -y");
	assert_int_equal(dt_reader_ns(r, 2000), 1000);
	assert_int_equal(dt_reader_ns(r, 500), 250);
	assert_int_equal(dt_reader_ns(r, 4000), 2000);
	assert_true(dt_reader_ns_per_tick(r) == 0.5);
	assert_true(dt_reader_realtime(r, 2000, &ns));
	assert_int_equal(ns, 11000);
	assert_true(dt_reader_realtime(r, 5000, &ns));
	assert_int_equal(ns, 12500);
	assert_true(dt_reader_realtime(r, 0, &ns));
	assert_int_equal(ns, 10000);
	dt_reader_close(r);
}

/* A clock that does not run evenly: a time is between the two readings around it, wherever the
 * others are. */
static void test_uneven_clock(void **state)
{
	/* ticks, ns of the monotonic and of the real-time clock, which is set back once */
	static const uint64_t clock[][3] = {
		{1000, 500, 10500}, {3000, 1500, 11500}, {5000, 5500, 12500}, {9000, 6500, 13500}};
	static const uint64_t wanted[][3] = {{2000, 1000, 11000}, {3000, 1500, 11500},
					     {3500, 2500, 12500}, {4999, 5498, 15498},
					     {5000, 5500, 12500}, {7000, 6000, 13000}};
	struct dt_store *s = create(NULL);
	struct dt_reader *r;
	struct dt_error e;
	uint64_t ns;

	for (size_t i = 0; i < sizeof(clock) / sizeof(*clock); i++)
		assert_int_equal(dt_store_clock(s, clock[i][0], clock[i][1], clock[i][2], &e), 0);
	assert_int_equal(dt_store_close(s, &e), 0);
	r = reopen();
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		assert_int_equal(dt_reader_ns(r, wanted[i][0]), wanted[i][1]);
		assert_true(dt_reader_realtime(r, wanted[i][0], &ns));
		assert_int_equal(ns, wanted[i][2]);
	}
	dt_reader_close(r);
}

/* The names of events; a file from before there were any has none. */
static void test_events(void **state)
{
	static const struct dt_event_row rows[] = {{0, 0, "kernel", "CSWITCH", "Context Switch"},
						   {0xa000, 1, "chips", "GET", "get"},
						   {0, 5, "kernel", "TIMER", "old"},
						   {0, 5, "kernel", "TIMER", "new"},
						   {0xffff, 0xffff, "last", "LAST", ""},
						   {0, DT_NO_EVENT, "kernel", "", ""}};
	struct dt_store *s = create(NULL);
	const struct dt_event_row *row;
	struct dt_reader *r;
	struct dt_error e;
	sqlite3 *db;
	size_t n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(dt_store_event(s, &rows[i], &e), 0);
	dt_store_meta(s, "clock_offset.3", "-140", &e);
	assert_int_equal(dt_store_close(s, &e), 0);
	r = reopen();
	dt_reader_events(r, &n);
	assert_int_equal(n, 5);
	row = dt_reader_event(r, 0xa000000100000011);
	assert_string_equal(row->name, "GET");
	assert_string_equal(row->subsystem_name, "chips");
	assert_string_equal(dt_reader_event(r, 0x0000000500000000)->description, "new");
	assert_string_equal(dt_reader_event(r, UINT64_MAX)->name, "LAST");
	assert_string_equal(dt_reader_event(r, 0x00000000ffffffff)->name, "CSWITCH");
	/* an event that is not known, of a subsystem that is; and neither */
	assert_string_equal(dt_reader_event(r, 0x0000000700000000)->name, "");
	assert_null(dt_reader_event(r, 0xa000000200000000));
	assert_null(dt_reader_event(r, 0x0001000000000000));
	assert_int_equal(dt_reader_clock_offset(r, 3), -140);
	assert_int_equal(dt_reader_clock_offset(r, 2), 0);
	dt_reader_close(r);
	assert_int_equal(sqlite3_open(trace_path, &db), 0);
	assert_int_equal(sqlite3_exec(db, "DROP TABLE event", NULL, NULL, NULL), 0);
	sqlite3_close(db);
	r = reopen();
	assert_null(dt_reader_event(r, 0));
	dt_reader_close(r);
}

/* ---- dying writers ---- */

static void child_writes(int fd)
{
	struct dt_store *s = dt_store_create(trace_path, describe, NULL, NULL);
	struct dt_record r[100] = {{0}};

	for (uint64_t n = 0;;) {
		size_t part = 1 + (n * 7919) % 100;

		for (size_t i = 0; i < part; i++)
			r[i] = (struct dt_record){.ticks = n + i,
						  .pc = 16 * ((n + i) % 1000) + 1,
						  .kind = 'E',
						  .value = {n + i}};
		if (!s || dt_store_put(s, 0, r, part, 0, NULL))
			_exit(1);
		n += part;
		if (n % 3 == 0 && (dt_store_flush(s, NULL) || write(fd, &n, 8) != 8))
			_exit(1);
	}
}

/* Whatever the moment, what was flushed is there, and what is there is right. */
static void test_kill(void **state)
{
	for (int round = 0; round < 40; round++) {
		uint64_t flushed = 0, got = 0, said = 1 + random64() % 60;
		struct dt_reader_range range = {.values = true};
		struct dt_reader *r;
		struct dt_error e;
		struct dt_span s;
		int fd[2], rc;
		pid_t pid;

		assert_int_equal(pipe(fd), 0);
		pid = fork();
		if (pid == 0) {
			close(fd[0]);
			child_writes(fd[1]);
		}
		close(fd[1]);
		while (said-- > 0)
			assert_int_equal(read(fd[0], &flushed, 8), 8);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(fd[0], &flushed, 8) == 8)
			; /* what it had still said */
		close(fd[0]);
		r = reopen();
		assert_int_equal(dt_reader_start(r, &range, &e), 0);
		while ((rc = dt_reader_next(r, &s, &e)) > 0)
			for (uint32_t i = 0; i < s.n; i++, got++) {
				assert_int_equal(s.ticks[i], got);
				assert_int_equal(dt_reader_site(r, s.site[i])->pc,
						 16 * (got % 1000) + 1);
				/* values: bit 0 of the mask is of pc ^ kind */
				assert_int_equal(s.value[i][0], mask_of(1, 'E') & 1 ? got : 0);
			}
		assert_int_equal(rc, 0);
		assert_true(got >= flushed);
		dt_reader_close(r);
		unlink(trace_path);
	}
}

/* A full disk, as far as an ordinary process can have one: a limit on the size of files. */
static void test_disk_full(void **state)
{
	struct rlimit old, small;
	struct dt_store *s = create(NULL);
	uint64_t flushed = 0, n = 0;
	struct dt_reader_range range = {0};
	struct dt_reader *r;
	struct dt_error e;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 2 << 20;
	setrlimit(RLIMIT_FSIZE, &small);
	for (;;) {
		struct dt_record x = {.ticks = n,
				      .kind = 'E',
				      .value = {random64(), random64(), random64(), random64()}};

		x.pc = 10; /* all four values, as 10 ^ 'E' is 0xf */
		if (dt_store_put(s, 0, &x, 1, 0, &e))
			break;
		n++;
		if (n % 1000 == 0) {
			if (dt_store_flush(s, &e))
				break;
			flushed = n;
		}
		assert_true(n < 10000000);
	}
	assert_non_null(strstr(e.text, trace_path));
	assert_non_null(strstr(e.text, "what was recorded before is kept"));
	assert_null(strchr(e.text, '\n'));
	/* and it stays so */
	assert_int_equal(dt_store_flush(s, &e), -1);
	assert_non_null(strstr(e.text, "what was recorded before is kept"));
	assert_int_equal(dt_store_close(s, &e), -1);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(flushed > 0);
	r = reopen();
	assert_int_equal(dt_reader_start(r, &range, &e), 0);
	assert_true(count(r, 0, UINT64_MAX) >= flushed);
	dt_reader_close(r);
}

/* ---- files that are not traces, or not whole ---- */

static void write_file(const char *path, const void *data, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	fclose(f);
}

static void refused(const char *path, const char *why)
{
	struct dt_error e = {""};
	struct dt_reader *r = dt_reader_open(path, &e);

	assert_null(r);
	assert_non_null(strstr(e.text, path));
	if (!strstr(e.text, why))
		fail_msg("'%s' does not say '%s'", e.text, why);
	assert_null(strchr(e.text, '\n'));
}

static void test_not_traces(void **state)
{
	sqlite3 *db;

	refused("/nonexistent/devtrace.db", "no such file");
	refused(scratch, "is a directory");
	refused("/dev/null", "not a regular file");
	write_file(trace_path, "", 0);
	refused(trace_path, "is empty");
	write_file(trace_path, "hello, this is text\n", 20);
	refused(trace_path, "not a devtrace trace");
	unlink(trace_path);
	assert_int_equal(sqlite3_open(trace_path, &db), 0);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE x(y)", NULL, NULL, NULL), 0);
	sqlite3_close(db);
	refused(trace_path, "not a devtrace trace");
	unlink(trace_path);
	assert_int_equal(dt_store_close(create(NULL), NULL), 0);
	assert_int_equal(sqlite3_open(trace_path, &db), 0);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL), 0);
	sqlite3_close(db);
	refused(trace_path, "newer devtrace");
	if (geteuid()) {
		chmod(trace_path, 0);
		refused(trace_path, "ermission denied");
	}
}

static void not_overwritten(const char *path, const char *why)
{
	struct dt_error e = {""};

	assert_null(dt_store_create(path, describe, NULL, &e));
	if (!strstr(e.text, why))
		fail_msg("'%s' does not say '%s'", e.text, why);
}

static void test_overwrite(void **state)
{
	static const char text[] =
		"somebody's thesis, long enough to be mistaken for a header ......"
		"...................................................";
	struct stat st;

	write_file(trace_path, text, sizeof(text));
	not_overwritten(trace_path, "not overwritten");
	assert_int_equal(stat(trace_path, &st), 0);
	assert_int_equal(st.st_size, sizeof(text));
	not_overwritten(scratch, "directory");
	not_overwritten("/dev/null", "not a regular file");
	not_overwritten("/nonexistent/x.db", "cannot create");
	write_file(trace_path, "", 0);
	assert_int_equal(dt_store_close(create(NULL), NULL), 0);
	assert_int_equal(stat(trace_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(dt_store_close(create(NULL), NULL), 0); /* a trace is replaced */
}

/* What the trace at path says its host is. */
static void is_of(const char *path, const char *host)
{
	struct dt_error e = {""};
	struct dt_reader *r = dt_reader_open(path, &e);

	assert_non_null(r);
	assert_string_equal(dt_reader_meta(r, "host"), host);
	dt_reader_close(r);
}

static struct dt_store *late(const char *host, bool keep)
{
	struct dt_error e = {""};
	struct dt_store *s = dt_store_create_late(trace_path, keep, describe, NULL, &e);

	assert_non_null(s);
	assert_int_equal(dt_store_meta(s, "host", host, NULL), 0);
	assert_int_equal(dt_store_flush(s, NULL), 0);
	return s;
}

static void put_one(struct dt_store *s)
{
	struct dt_record r = {.ticks = 100, .pc = 5, .tid = 1, .kind = 'E'};

	assert_int_equal(dt_store_put(s, 0, &r, 1, 0, NULL), 0);
}

/* A trace that is there stays until the new one has records in the file. */
static void test_late(void **state)
{
	struct dt_error e = {""};
	struct dt_reader *r;
	struct dt_summary sum;
	struct dt_store *s;
	char old[300];

	unlink(trace_path);
	dt_format(old, sizeof(old), "%s.old", trace_path);
	s = late("a", false);
	is_of(trace_path, "a"); /* nothing was there */
	put_one(s);
	assert_int_equal(dt_store_close(s, NULL), 0);
	is_of(trace_path, "a");
	for (int k = 0; k < 3; k++) { /* closed, shown and closed, discarded */
		s = late("b", k == 1);
		assert_true(dt_store_is_late(s));
		is_of(trace_path, "a");
		if (k == 1) {
			assert_int_equal(dt_store_show(s, &e), 0);
			is_of(trace_path, "b");
		}
		if (k == 2)
			dt_store_discard(s);
		else
			assert_int_equal(dt_store_close(s, NULL), 0);
		is_of(trace_path, "a");
		assert_int_equal(access(old, F_OK), -1);
	}
	s = late("c", true);
	put_one(s);
	is_of(trace_path, "a");
	assert_int_equal(dt_store_flush(s, NULL), 0);
	assert_false(dt_store_is_late(s));
	is_of(trace_path, "c");
	is_of(old, "a");
	put_one(s);
	assert_int_equal(dt_store_close(s, NULL), 0);
	is_of(old, "a");
	r = dt_reader_open(trace_path, &e);
	assert_non_null(r);
	assert_int_equal(dt_reader_summary(r, &sum, &e), 0);
	assert_int_equal(sum.records, 2);
	dt_reader_close(r);
	/* once it has records, to discard it brings back what was there */
	s = late("d", false);
	put_one(s);
	assert_int_equal(dt_store_flush(s, NULL), 0);
	is_of(trace_path, "d");
	dt_store_discard(s);
	is_of(trace_path, "c");
	unlink(old);
}

/* A process of which only a thread is known is in the file, whenever that is written. */
static void test_undescribed(void **state)
{
	for (int k = 0; k < 3; k++) { /* nothing there; in memory until the end; until a flush */
		sqlite3_stmt *q = NULL;
		struct dt_store *s;
		sqlite3 *db;

		if (!k)
			unlink(trace_path);
		s = late("a", false);
		put_one(s);
		if (k == 2)
			assert_int_equal(dt_store_flush(s, NULL), 0);
		assert_int_equal(dt_store_process(s, 1, 0, "x", "x", 50, NULL), 0);
		assert_int_equal(dt_store_thread(s, 77, 77, "child", NULL), 0);
		assert_int_equal(dt_store_close(s, NULL), 0);
		assert_int_equal(sqlite3_open(trace_path, &db), 0);
		sqlite3_prepare_v2(db, "SELECT count(*) FROM process WHERE pid = 77", -1, &q, NULL);
		assert_int_equal(sqlite3_step(q), SQLITE_ROW);
		assert_int_equal(sqlite3_column_int(q, 0), 1);
		sqlite3_finalize(q);
		sqlite3_close(db);
	}
}

/* Reads all of a file that may be damaged; returns whether it said so. */
static bool read_damaged(void)
{
	struct dt_error e = {""};
	struct dt_reader_range range = {.values = true};
	struct dt_reader *r = dt_reader_open(trace_path, &e);
	struct dt_span s;
	int rc = -1;

	if (r) {
		rc = dt_reader_start(r, &range, &e);
		while (!rc && (rc = dt_reader_next(r, &s, &e)) > 0)
			rc = 0;
	}
	if (rc) {
		assert_non_null(strstr(e.text, trace_path));
		assert_null(strchr(e.text, '\n'));
	}
	dt_reader_close(r);
	return rc != 0;
}

static void test_damage(void **state)
{
	struct dt_store *s = create(NULL);
	struct stat st;
	uint8_t *data, *copy;
	int said = 0, fd;

	for (uint64_t i = 0; i < 70000; i++) {
		struct dt_record r = {.ticks = 100 * i + random64() % 100,
				      .pc = random64() % 100,
				      .sp = random64() % 1000 * 8,
				      .kind = 'E',
				      .value = {random64() % 1000, random64() % 100}};

		assert_int_equal(dt_store_put(s, i % 20 == 0, &r, 1, 0, NULL), 0);
	}
	assert_int_equal(dt_store_close(s, NULL), 0);
	assert_false(read_damaged());
	assert_int_equal(stat(trace_path, &st), 0);
	data = malloc((size_t)st.st_size);
	copy = malloc((size_t)st.st_size);
	fd = open(trace_path, O_RDONLY);
	assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	for (int i = 0; i < 300; i++) {
		memcpy(copy, data, (size_t)st.st_size);
		for (uint64_t j = 1 + random64() % 8; j > 0; j--)
			copy[random64() % (size_t)st.st_size] ^= (uint8_t)(1 + random64() % 255);
		write_file(trace_path, copy, (size_t)st.st_size);
		said += read_damaged();
	}
	assert_true(said > 50); /* many a byte means nothing */
	for (off_t size = 1; size < st.st_size; size += st.st_size / 40) {
		write_file(trace_path, data, (size_t)size);
		assert_true(read_damaged());
	}
	free(data);
	free(copy);
}

/* A chunk has records with values, and no values, in a file that somebody else has made. */
static void test_no_values(void **state)
{
	static const char *const change[] = {"UPDATE chunk SET vals = x''",
					     "UPDATE chunk SET vals = zeroblob(0)"};

	for (size_t i = 0; i < sizeof(change) / sizeof(*change); i++) {
		struct dt_store *s = create(NULL);
		sqlite3 *db;

		for (uint64_t k = 1; k <= 100; k++) {
			struct dt_record r = {
				.ticks = 100 * k, .pc = 7, .sp = 64, .kind = 'E', .value = {k, k}};

			assert_int_equal(dt_store_put(s, 0, &r, 1, 0, NULL), 0);
		}
		assert_int_equal(dt_store_close(s, NULL), 0);
		assert_false(read_damaged());
		assert_int_equal(sqlite3_open(trace_path, &db), 0);
		assert_int_equal(sqlite3_exec(db, change[i], NULL, NULL, NULL), 0);
		sqlite3_close(db);
		assert_true(read_damaged());
	}
}

/* A chunk of n records of one site with so many values each; each but the first is `step' after the
 * one before. */
static void make_chunk(uint32_t n, unsigned values, uint64_t step, struct dt_bytes *events,
		       struct dt_bytes *vals)
{
	struct dt_encoder *c = dt_encoder_new();
	ZSTD_CCtx *cctx = ZSTD_createCCtx();
	struct dt_error e = {""};
	int l;

	assert_non_null(c);
	dt_encoder_reset(c);
	l = dt_encoder_local(c, 1, (uint8_t)((1 << values) - 1), 0);
	assert_int_equal(l, 0);
	for (uint32_t i = 0; i < n; i++) {
		struct dt_record r = {
			.ticks = 1000000 + i * step, .tid = 1, .value = {i, 2 * i, 3 * i, 4 * i}};

		dt_encoder_put(c, &r, 0, 0);
	}
	assert_int_equal(dt_encoder_finish(c, 0, cctx, events, vals, &e), 0);
	ZSTD_freeCCtx(cctx);
	dt_encoder_free(c);
}

static struct dt_decoder decoder;

static int load(const struct dt_bytes *events, size_t cut, const struct dt_bytes *vals,
		size_t vals_cut, uint32_t n, uint32_t sites)
{
	ZSTD_DCtx *dctx = ZSTD_createDCtx();
	struct dt_error e = {""};
	int rc = dt_decoder_load(&decoder, dctx, events->p, events->n - cut, vals ? vals->p : NULL,
				 vals ? vals->n - vals_cut : 0, n, sites, &e);

	ZSTD_freeDCtx(dctx);
	assert_true(rc == 0 || strstr(e.text, "damaged"));
	return rc;
}

/* Each part of a chunk is whole, but they are not of one chunk; or an end is missing. */
static void test_parts_disagree(void **state)
{
	struct dt_bytes events[5] = {{0}}, vals[5] = {{0}};

	for (unsigned k = 0; k < 5; k++)
		make_chunk(100, k, 10, &events[k], &vals[k]);
	for (unsigned k = 0; k < 5; k++) {
		assert_int_equal(load(&events[k], 0, NULL, 0, 100, 1), 0);
		for (unsigned v = 0; v < 5; v++) /* too few values are as wrong as too many */
			if (vals[v].n)
				assert_int_equal(load(&events[k], 0, &vals[v], 0, 100, 1),
						 k == v ? 0 : -1);
		assert_int_equal(load(&events[k], 0, NULL, 0, 99, 1), -1);
		assert_int_equal(load(&events[k], 0, NULL, 0, 101, 1), -1);
		assert_int_equal(load(&events[k], 0, NULL, 0, 100, 0),
				 -1); /* a site that is not there */
		assert_int_equal(load(&events[k], 1, NULL, 0, 100, 1), -1);
		if (vals[k].n)
			assert_int_equal(load(&events[k], 0, &vals[k], 1, 100, 1), -1);
	}
	for (unsigned k = 0; k < 5; k++) {
		free(events[k].p);
		free(vals[k].p);
	}
	dt_decoder_free(&decoder);
	memset(&decoder, 0, sizeof(decoder));
}

/* The bytes of the piece with that number, as long as it is: letters, and zeros behind and between
 * them. */
static void make_piece(uint32_t number, uint64_t value[4])
{
	uint8_t *p = (uint8_t *)value;

	memset(value, 0, 32);
	if (number % 5 == 4) { /* of these only the last bytes differ */
		value[3] = number;
		return;
	}
	for (unsigned i = 0; i < number % 33; i++)
		p[i] = (uint8_t)(number >> i % 4 * 8 | (i % 5 ? 0x80 : 0));
}

/* A chunk of n records, of which every third one has values and the others have a piece, of so many
 * different ones. */
static void make_pieces(uint32_t n, uint32_t different, struct dt_bytes *events,
			struct dt_bytes *vals)
{
	struct dt_encoder *c = dt_encoder_new();
	void *cctx = dt_encoder_context();
	struct dt_error e = {""};

	assert_non_null(c);
	dt_encoder_reset(c);
	for (unsigned round = 0; round < 2; round++) { /* nothing stays of the chunk before */
		dt_encoder_local(c, 1, 0xf, 0);
		dt_encoder_local(c, 2, 0xf | DT_LOCAL_PIECE, 4);
		for (uint32_t i = 0; i < n; i++) {
			struct dt_record r = {.ticks = 1000 + i, .tid = 1, .value = {i, i, i, i}};

			if (i % 3)
				make_piece(i % different, r.value);
			dt_encoder_put(c, &r, i % 3 != 0, 0);
		}
		assert_int_equal(dt_encoder_finish(c, 0, cctx, events, vals, &e), 0);
		dt_encoder_reset(c);
	}
	ZSTD_freeCCtx(cctx);
	dt_encoder_free(c);
}

/* Pieces of texts come back byte for byte, few and many of them, more than can be looked for, and
 * as many as records; and each different one is stored once. */
static void test_pieces(void **state)
{
	static const uint32_t different[] = {1, 3, 256, 257, 20000, DT_CHUNK_MAX};
	struct dt_bytes events = {0}, vals = {0};
	static struct dt_batch b;

	for (unsigned k = 0; k < sizeof(different) / sizeof(*different); k++) {
		uint32_t n = k == 0 ? 2 : DT_CHUNK_MAX, at = 0;
		struct dt_pieces_head h;
		uint64_t piece[4];

		make_pieces(n, different[k], &events, &vals);
		memcpy(&h, vals.p + sizeof(struct dt_vals_head), sizeof(h));
		assert_int_equal(h.records, n - (n + 2) / 3);
		if (different[k] < DT_PIECE_SLOTS / 2)
			assert_in_range(h.different, 1, different[k]);
		assert_int_equal(load(&events, 0, &vals, 0, n, 2), 0);
		while (dt_decoder_batch(&decoder, 0, &b, NULL) == 0 && b.n)
			for (uint32_t i = 0; i < b.n; i++, at++) {
				make_piece(at % different[k], piece);
				for (unsigned v = 0; at % 3 == 0 && v < 4; v++)
					piece[v] = at;
				assert_memory_equal(b.value[i], piece, 32);
				assert_int_equal(b.flags[i], at % 3 ? 4 : 0);
			}
		assert_int_equal(at, n);
		assert_int_equal(load(&events, 0, &vals, 1, n, 2), -1);
	}
	free(events.p);
	free(vals.p);
	dt_decoder_free(&decoder);
	memset(&decoder, 0, sizeof(decoder));
}

/* The processor time that it takes to encode a chunk of different pieces, s. alike: they all have
 * the same hash, as store/encode.c makes it, and so begin to be looked for in the same slot. */
static double time_of_pieces(bool alike)
{
	const uint64_t odd = 0x9e3779b97f4a7c15;
	struct dt_encoder *c = dt_encoder_new();
	uint64_t h = odd * odd;
	clock_t begun;

	assert_non_null(c);
	dt_encoder_reset(c);
	h ^= h >> 32;
	dt_encoder_local(c, 1, 0xf | DT_LOCAL_PIECE, 0);
	begun = clock();
	for (uint64_t i = 0; i < DT_CHUNK_MAX; i++) {
		struct dt_record r = {.ticks = 1000 + i, .tid = 1, .value = {1, 0, i, i * odd}};

		if (alike)
			r.value[3] = (h ^ i) * odd;
		dt_encoder_put(c, &r, 0, 0);
	}
	begun = clock() - begun;
	assert_int_equal(c->pieces.different, DT_CHUNK_MAX);
	dt_encoder_free(c);
	return (double)begun / CLOCKS_PER_SEC;
}

/* A program can choose texts that are looked for at the same place: they take no longer than
 * others, but for the few slots that are looked at. */
static void test_pieces_alike(void **state)
{
	double others = time_of_pieces(false), alike = time_of_pieces(true);

	print_message("different hashes %.4f s, one hash %.4f s\n", others, alike);
	assert_true(alike < 20 * others + 0.05);
}

/* Returns whether a chunk of pieces loads when a number of its vals' head is another one. */
static bool loads_with(const struct dt_bytes *events, struct dt_bytes *vals, size_t at, uint32_t n,
		       int by)
{
	uint32_t is, other;
	bool rc;

	memcpy(&is, vals->p + at, sizeof(is));
	other = is + (uint32_t)by;
	memcpy(vals->p + at, &other, sizeof(other));
	rc = load(events, 0, vals, 0, n, 2) == 0;
	memcpy(vals->p + at, &is, sizeof(is));
	return rc;
}

/* What does not fit together is refused: numbers of the head, pieces that are not there, a chunk
 * with pieces whose head does not say so, and the other way round. */
static void test_pieces_damaged(void **state)
{
	struct dt_bytes events = {0}, vals = {0}, none = {0}, values = {0};
	struct dt_events_head h;

	make_pieces(1000, 300, &events, &vals);
	for (size_t at = 0; at < sizeof(struct dt_vals_head) + sizeof(struct dt_pieces_head);
	     at += 4)
		for (int by = -1; by <= 1; by++)
			assert_int_equal(loads_with(&events, &vals, at, 1000, by), by == 0);
	make_chunk(1000, 4, 1, &none, &values);
	assert_int_equal(load(&events, 0, &values, 0, 1000, 2), -1);
	assert_int_equal(load(&none, 0, &vals, 0, 1000, 2), -1);
	/* as many values, but one more piece */
	make_pieces(999, 300, &none, &vals);
	assert_int_equal(load(&none, 0, &vals, 0, 999, 2), 0);
	make_pieces(998, 300, &none, &values);
	assert_int_equal(load(&none, 0, &values, 0, 998, 2), 0);
	assert_int_equal(load(&none, 0, &vals, 0, 998, 2), -1);
	make_pieces(1000, 300, &events, &vals);
	memcpy(&h, events.p, sizeof(h));
	h.columns ^= DT_HAS_PIECES;
	memcpy(events.p, &h, sizeof(h));
	assert_int_equal(load(&events, 0, &vals, 0, 1000, 2), -1);
	assert_int_equal(load(&events, 0, NULL, 0, 1000, 2), 0);
	free(events.p);
	free(vals.p);
	free(none.p);
	free(values.p);
	dt_decoder_free(&decoder);
	memset(&decoder, 0, sizeof(decoder));
}

/* How far a chunk's times go back is known when it is loaded: its records wait for each other that
 * long. */
static void test_steps_back(void **state)
{
	static const uint64_t step[] = {10, 70000, (uint64_t)-1, (uint64_t)-70000, 0};
	static const uint64_t back[] = {0, 0, 99, 99 * 70000, 0};
	struct dt_bytes events = {0}, vals = {0};

	for (unsigned i = 0; i < sizeof(step) / sizeof(*step); i++) {
		make_chunk(100, 1, step[i], &events, &vals);
		assert_int_equal(load(&events, 0, &vals, 0, 100, 1), 0);
		assert_int_equal(decoder.back, back[i]);
	}
	free(events.p);
	free(vals.p);
	dt_decoder_free(&decoder);
	memset(&decoder, 0, sizeof(decoder));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_anything),
		TEST(test_extremes),
		TEST(test_cores),
		TEST(test_empty),
		TEST(test_loss),
		TEST(test_range),
		TEST(test_ranges_in_a_row),
		TEST(test_live),
		TEST(test_growing),
		TEST(test_processes),
		TEST(test_processes_left),
		TEST(test_descriptions),
		TEST(test_kill),
		TEST(test_disk_full),
		TEST(test_not_traces),
		TEST(test_overwrite),
		TEST(test_late),
		TEST(test_undescribed),
		TEST(test_no_values),
		TEST(test_damage),
		TEST(test_every_kind),
		TEST(test_parts_disagree),
		TEST(test_pieces),
		TEST(test_pieces_alike),
		TEST(test_pieces_damaged),
		TEST(test_steps_back),
		TEST(test_one_core),
		TEST(test_events),
		TEST(test_uneven_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
