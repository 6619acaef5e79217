/* SPDX-License-Identifier: MIT */
/*
 * session/sieve-plain.c: plain calls are judged quickly and in one go, which has to come to the
 * same as judging each record in full. Threads do at random whatever records can tell of, with
 * losses, waits for devtrace, and other words in between: calls, tail jumps, returns from a moved
 * stack pointer, longjmp, other stacks and the kernel's, exits without entries, records that are
 * none of calls. A sieve that judges plain calls as such and one that never does are given the same
 * records in the same pieces: they have to write and to leave out the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "session/sieve-work.h"
#include "store/reader.h"
#include "test/unit/test-trace-scratch.h"

#define FUNCTIONS 7u
#define ALONE	  4u /* of this function the exits are not recorded */
#define SWAPS	  6u /* this one is swapcontext() in some rounds */
#define THREADS	  3u
#define CORES	  2u
#define RECORDS	  4000u
#define DEEP	  40u
#define BASE	  0x400000u

enum { ENTRY = 5, RETURN, OTHER_RETURN, TAIL, TEXT, EVENT }; /* where in a function */

static struct dt_session session;
static struct dt_record of_core[CORES][RECORDS];
static size_t records[CORES];
static bool swaps;
static uint64_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	uint64_t function = (r->pc - BASE) / 0x1000;
	char name[16];
	struct dt_function_row f = {.address = BASE + 0x1000 * function,
				    .size = 0x100,
				    .name = name,
				    .file = "",
				    .signature = "n:i8@0;i8@0"};

	snprintf(name, sizeof(name), "f%u", (unsigned)function);
	if (function == SWAPS && swaps)
		strcpy(name, "swapcontext");
	row->function = dt_store_function(session.store, &f, NULL);
	switch (r->pc % 0x1000) {
	case ENTRY:
		row->kind = function == ALONE ? DT_SITE_ENTRY_ALONE
			    : function % 2    ? DT_SITE_ENTRY_JUMPS
					      : DT_SITE_ENTRY;
		break;
	case TAIL:
		row->kind = DT_SITE_TAIL;
		break;
	case TEXT:
		row->kind = DT_SITE_POINT_TEXT;
		break;
	case EVENT:
		row->kind = DT_SITE_EVENT;
		break;
	default:
		row->kind = DT_SITE_RETURN;
	}
	row->values = 1;
	dt_sieve_function(session.sieve, row->function, &f);
}

/* ---- what threads do ---- */

static struct thread {
	uint32_t n, function[DEEP];
	uint64_t sp[DEEP], base;
} thread[THREADS];

static uint64_t now;

static void put(unsigned t, uint8_t kind, uint32_t function, unsigned where, uint64_t sp)
{
	unsigned core = any(8) ? t % CORES : any(CORES);

	now += 1 + any(20);
	if (records[core] < RECORDS)
		of_core[core][records[core]++] =
			(struct dt_record){.ticks = now,
					   .pc = BASE + 0x1000u * function + where,
					   .tid = 100 + t,
					   .kind = kind,
					   .flags = kind == DT_SWITCH ? 0 : 1,
					   .sp = sp,
					   .value = {any(10) - 3ull}};
}

static void call(unsigned i, uint64_t sp)
{
	struct thread *t = &thread[i];
	uint32_t function = any(FUNCTIONS);

	if (t->n == DEEP)
		return;
	put(i, DT_ENTRY, function, ENTRY, sp);
	if (function == ALONE)
		return;
	t->sp[t->n] = sp;
	t->function[t->n++] = function;
}

static uint64_t sp_of(const struct thread *t)
{
	return t->n ? t->sp[t->n - 1] : t->base;
}

static void leave(unsigned i)
{
	struct thread *t = &thread[i];

	if (!t->n--) {
		t->n = 0;
		return;
	}
	put(i, DT_EXIT, t->function[t->n], any(2) ? RETURN : OTHER_RETURN, t->sp[t->n]);
}

/* A call that ends with the next record, several times. */
static void leaves(unsigned i)
{
	for (unsigned n = any(6); n; n--) {
		uint32_t before = thread[i].n;

		call(i, sp_of(&thread[i]) - 8 * (1 + any(4)));
		if (thread[i].n > before)
			leave(i);
	}
}

static void jump(unsigned i)
{
	struct thread *t = &thread[i];
	uint64_t sp = sp_of(t);

	if (!t->n)
		return;
	put(i, DT_EXIT, t->function[t->n - 1], TAIL, sp);
	t->n--;
	if (any(4)) /* else it jumps to what is not recorded */
		call(i, sp);
}

static void rare(unsigned i)
{
	struct thread *t = &thread[i];

	switch (any(8)) {
	case 0: /* longjmp */
		t->n -= t->n ? any(t->n) : 0;
		break;
	case 1: /* another stack, or back on the first */
		t->base ^= 0x100000;
		call(i, t->base - 64);
		break;
	case 2: /* the kernel's */
		call(i, 0xffff800000000000u + 0x10000 * i + 64 * any(8));
		break;
	case 3: /* as forgers and strange code have it: at the caller's sp, above it, far below */
		call(i, sp_of(t) + (any(2) ? 0 : any(2) ? 64 : -40000ull));
		break;
	case 4: /* the return address has been moved */
		if (t->n--)
			put(i, DT_EXIT, t->function[t->n], RETURN, t->sp[t->n] + 16);
		else
			t->n = 0;
		break;
	case 5: /* no entry of that */
		put(i, DT_EXIT, any(FUNCTIONS), RETURN, sp_of(t) - 8 * any(3));
		break;
	case 6:
		put(i, DT_EVENT, any(FUNCTIONS), EVENT, sp_of(t));
		break;
	default:
		put(i, DT_SWITCH, 0, 0, 0);
	}
}

static void make_records(void)
{
	memset(records, 0, sizeof(records));
	memset(thread, 0, sizeof(thread));
	now = 1000;
	for (unsigned i = 0; i < THREADS; i++)
		thread[i].base = 0x7fff00000000u + i * 0x10000000ull;
	for (unsigned n = 0; n < RECORDS; n++) {
		unsigned i = any(4) ? any(THREADS) : 0, what = any(100);

		for (unsigned k = any(8); k; k--, what = any(100))
			if (what < 30)
				call(i, sp_of(&thread[i]) - 16 * (1 + any(8)));
			else if (what < 60)
				leave(i);
			else if (what < 85)
				leaves(i);
			else if (what < 90)
				jump(i);
			else if (what < 93)
				put(i, DT_MORE, any(FUNCTIONS), TEXT, sp_of(&thread[i]));
			else if (what < 95)
				rare(i);
	}
}

/* ---- the two sieves ---- */

static const char *const words[] = {
	"f1",		"-f2",		 "depth<4",
	"depth>3",	"in:f3",	 "-in:f4",
	"caller:f5",	"n>4",		 "result<0",
	"time>300ns",	"time<90ns",	 "time>20ns time<90ns",
	"f1 n<2",	"result=3 n!=1", "depth<6 time>50ns",
	"-caller:f1",	"caller:nobody", "arg1>1000000",
	"-swapcontext", "time>10ms",	 "time>0ns",
};
#define WORDS (sizeof(words) / sizeof(*words))

/* What a sieve has written and left out. */
struct outcome {
	size_t n;
	uint64_t ticks[CORES * RECORDS], left[CORES];
	struct dt_sieve_counts counts;
	struct dt_left_out_row row[2 * FUNCTIONS + 2];
	uint64_t frames;
};

static void read_all(struct outcome *o)
{
	struct dt_reader_range all = {.order = DT_BY_TIME};
	struct dt_error e = {""};
	struct dt_reader *r = dt_reader_open(trace_path, &e);
	struct dt_span s;

	if (!r || dt_reader_start(r, &all, &e))
		fail_msg("%s", e.text);
	while (dt_reader_next(r, &s, &e) > 0)
		for (uint32_t i = 0; i < s.n; i++)
			o->ticks[o->n++] = s.ticks[i];
	dt_reader_close(r);
}

/* Gives the records in pieces; plainly: those of plain calls are judged as such. */
static void sift(bool plainly)
{
	const struct dt_mix_gap gap = {.at = 0, .lost = 3, .begin = 1000};
	struct dt_sieve *v = session.sieve;
	size_t at[CORES] = {0};
	struct dt_error e = {""};
	bool more = true;

	while (more) {
		uint64_t until = UINT64_MAX;

		more = false;
		for (unsigned core = 0; core < CORES; core++) {
			size_t n = any(300);
			struct dt_mix mix = {.record = of_core[core] + at[core]};

			mix.n = n < records[core] - at[core] ? n : records[core] - at[core];
			if (mix.n && !any(12)) {
				mix.gap = (struct dt_mix_gap *)(uintptr_t)&gap;
				mix.gaps = 1;
			}
			if (mix.n && !any(4))
				dt_sieve_held(v, mix.record->tid, mix.record->ticks - 1 - any(5),
					      mix.record->ticks - 1, any(2));
			if (dt_sieve_take(v, core, core, &mix, any(2), &e))
				fail_msg("%s", e.text);
			at[core] += mix.n;
			more |= at[core] < records[core];
			if (at[core] < records[core] && of_core[core][at[core]].ticks - 1 < until)
				until = of_core[core][at[core]].ticks - 1;
		}
		if (!any(20) && dt_sieve_change(v, words[any(WORDS)], &e))
			fail_msg("%s", e.text);
		if (!any(20) && dt_sieve_settle(v, &e))
			fail_msg("%s", e.text);
		/* with this, each call is asked whether its core and thread are wanted: all are */
		if (!plainly)
			v->anywhere = false;
		if (dt_sieve_run(v, until, !more, NULL, &e))
			fail_msg("%s", e.text);
		assert_int_equal(v->plain, plainly);
	}
}

static void run(struct outcome *o, uint64_t from, bool plainly)
{
	struct dt_error e = {""};

	memset(o, 0, sizeof(*o));
	seed = from;
	session = (struct dt_session){.ticks_per_ns = 1};
	session.store = dt_store_create(trace_path, describe, NULL, &e);
	assert_non_null(session.store);
	session.options.filter = words[from % WORDS];
	session.sieve = dt_sieve_new(&session, &e);
	if (!session.sieve)
		fail_msg("%s: %s", words[from % WORDS], e.text);
	sift(plainly);
	o->counts = dt_sieve_counts(session.sieve);
	o->frames = session.sieve->frames;
	for (unsigned i = 0; i < CORES; i++)
		o->left[i] = session.sieve->lane[i].left;
	for (uint32_t i = 0; i < session.sieve->lefts && i < 2 * FUNCTIONS + 2; i++)
		o->row[i] = session.sieve->left[i].row;
	dt_sieve_free(session.sieve);
	assert_int_equal(dt_store_close(session.store, NULL), 0);
	read_all(o);
	assert_int_equal(unlink(trace_path), 0);
}

static void test_same(void **state)
{
	static struct outcome full, quick;

	for (unsigned round = 0; round < 200; round++) {
		seed = round;
		swaps = any(3) == 0;
		make_records();
		run(&full, round, false);
		run(&quick, round, true);
		for (size_t i = 0; i < full.n && i < quick.n; i++)
			if (full.ticks[i] != quick.ticks[i])
				fail_msg("round %u, '%s': at tick %lu there is %s", round,
					 words[round % WORDS],
					 (unsigned long)(full.ticks[i] < quick.ticks[i]
								 ? full.ticks[i]
								 : quick.ticks[i]),
					 full.ticks[i] < quick.ticks[i] ? "a record too few"
									: "one too many");
		assert_int_equal(full.n, quick.n);
		assert_memory_equal(&full.counts, &quick.counts, sizeof(full.counts));
		assert_memory_equal(full.left, quick.left, sizeof(full.left));
		assert_memory_equal(full.row, quick.row, sizeof(full.row));
		assert_int_equal(full.frames, quick.frames);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
