/* SPDX-License-Identifier: MIT */
/*
 * analyse/: pairing. Traces are written as text, a word or three a record:
 *
 *	E f 900      entry of f at sp 900 (hexadecimal); X: exit; T: exit in front of a tail jump
 *	T f 900 g    the same, known to jump to g;    P f 900: a point in f; V f 900: an event
 *	@ 2 7        what follows is on core 2 by thread 7;    + 50: the clock goes on by 50
 *	L 9          9 records of the core are lost here;    l 9 50: since tick 50
 *	h 1 22 27    thread 1 waited for room from tick 22 to 27;    s 1 22 27: it was stopped
 *	z 22 27      nothing was recorded from tick 22 to 27;    - 50: the clock goes back
 *	! 1          process 1 executes another program, 10 ticks after the record before
 *
 * Functions are a to z. Each record is 10 ticks after the one before, the first at 10. What comes
 * out is a line for each call, in the order in which they end: function, its caller or -, depth,
 * begin-end, marks, and for how long it was held; and for each event "*", how many calls it is in,
 *and when it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "core/offset.h"
#include "session/offsets.h"
#include "filter/filter.h"
#include "analyse/meanings.h"
#include "analyse/snapshot.h"
#include "analyse/stats.h"
#include "analyse/window.h"
#include "test/unit/share.h"
#include "test/unit/test-trace-scratch.h"

#define BASE 0x400000

static struct dt_store *store;
static char result[1 << 16];
static size_t used;
static struct dt_reader *reader;
static char name_of_id[1 << 16];

static uint64_t address(char f)
{
	return BASE + 0x1000 * (uint64_t)(f - 'a');
}

/* pc: the function's page, and in it 5 for E, 6 for X, 7 for P, 0x100 + target letter for T. */
static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	char f = (char)('a' + (r->pc - BASE) / 0x1000), text[2] = {f};
	uint64_t offset = r->pc % 0x1000;
	struct dt_function_row fr = {0, address(f), 0x1000, text, "", 0, "", 0, NULL};

	row->function = dt_store_function(store, &fr, NULL);
	/* a has an indirect jump */
	row->kind = r->kind == 'E'    ? f == 'a'   ? DT_SITE_ENTRY_JUMPS
					: f == 'u' ? DT_SITE_ENTRY_ALONE
						   : DT_SITE_ENTRY
		    : offset >= 0x100 ? DT_SITE_TAIL
				      : DT_SITE_RETURN;
	row->values = 1;
	if (offset > 0x100)
		row->target = address((char)(offset - 0x100));
}

static void begin_trace(void)
{
	struct dt_error e;

	store = dt_store_create(trace_path, describe, NULL, &e);
	if (!store)
		fail_msg("%s", e.text);
}

static void put(unsigned core, uint64_t lost, const struct dt_record *r)
{
	struct dt_error e;

	if (dt_store_put(store, core, r, r ? 1 : 0, lost, &e))
		fail_msg("%s", e.text);
}

/* Writes a trace from text. */
static void write_trace(const char *text)
{
	struct dt_record r = {.tid = 1};
	struct dt_held_row held = {0};
	char how[64];
	char word, f, target;
	uint64_t clock = 0, lost = 0, since, sp, n;
	int used_chars, fields;

	begin_trace();
	for (; *text; text += used_chars) {
		target = 0;
		if (sscanf(text, " @ %hu %u%n", &r.core, &r.tid, &used_chars) == 2)
			continue;
		if (sscanf(text, " + %lu%n", &n, &used_chars) == 1) {
			clock += n;
			continue;
		}
		if (sscanf(text, " - %lu%n", &n, &used_chars) == 1) {
			clock -= n;
			continue;
		}
		if (sscanf(text, " z %lu %lu%n", &n, &since, &used_chars) == 2) {
			const struct dt_pause pause = {.begin = n, .end = since, .times = 1};

			assert_int_equal(dt_store_pause(store, &pause, NULL), 0);
			continue;
		}
		if (sscanf(text, " L %lu%n", &lost, &used_chars) == 1)
			continue;
		if (sscanf(text, " l %lu %lu%n", &n, &since, &used_chars) == 2) {
			assert_int_equal(dt_store_lose(store, r.core, n, 0, since, NULL), 0);
			continue;
		}
		if (sscanf(text, " %[hs] %u %lu %lu%n", how, &held.tid, &held.begin, &held.end,
			   &used_chars) == 4) {
			held.why = how[0] == 'h' ? "room" : "stop";
			assert_int_equal(dt_store_held(store, &held, NULL), 0);
			continue;
		}
		if (sscanf(text, " ! %lu%n", &n, &used_chars) == 1) {
			assert_int_equal(dt_store_exec(store, (uint32_t)n, clock += 10, NULL), 0);
			continue;
		}
		fields = sscanf(text, " %c %c %lx%n", &word, &f, &sp, &used_chars);
		if (fields < 3)
			break;
		if (word == 'T' && text[used_chars] == ' ' && text[used_chars + 1] >= 'a' &&
		    text[used_chars + 1] <= 'z' &&
		    (text[used_chars + 2] == ' ' || !text[used_chars + 2])) {
			target = text[used_chars + 1];
			used_chars += 2;
		}
		r.ticks = clock += 10;
		r.sp = sp;
		r.kind = word == 'T' ? 'X' : (uint8_t)word;
		r.pc = address(f) + (word == 'E'   ? 5
				     : word == 'X' ? 6
				     : word == 'P' ? 7
						   : 0x100 + (uint64_t)(uint8_t)target);
		r.value[0] = (uint64_t)f;
		put(r.core, lost, &r);
		lost = 0;
	}
	if (lost)
		put(r.core, lost, NULL);
	assert_int_equal(dt_store_close(store, NULL), 0);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	assert_true(c->id < sizeof(name_of_id));
	name_of_id[c->id] = dt_reader_function(reader, c->function)->name[0];
	assert_int_equal(*c->note, 0);
	*c->note = (uint32_t)c->id;
	assert_non_null(c->argument);
	assert_int_equal(c->argument[0], (uint8_t)name_of_id[c->id]);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} marks[] = {{DT_CALL_UNWOUND, "unwound"},   {DT_CALL_TAIL, "tail"},
		     {DT_CALL_INFERRED, "inferred"}, {DT_CALL_OPEN, "open"},
		     {DT_CALL_NO_ENTRY, "no-entry"}, {DT_CALL_TAILED, "tailed"},
		     {DT_CALL_LOSS, "loss"},	     {DT_CALL_PAUSED, "paused"},
		     {DT_CALL_BACKWARD, "backward"}, {DT_CALL_RECURSIVE, "recursive"},
		     {DT_CALL_OTHER_STACK, "other"}, {DT_CALL_LEFT, "left"},
		     {DT_CALL_NO_EXIT, "no-exit"},   {DT_CALL_DOUBTFUL, "doubtful"}};
	char caller = c->parent ? name_of_id[c->parent] : '-';

	used += (size_t)sprintf(result + used, "%s %c %u %lu-%lu",
				dt_reader_function(reader, c->function)->name, caller, c->depth,
				c->begin, c->end);
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (c->flags & marks[i].flag)
			used += (size_t)sprintf(result + used, " %s", marks[i].text);
	if (c->held)
		used += (size_t)sprintf(result + used, " held %lu", c->held);
	if (c->waited)
		used += (size_t)sprintf(result + used, " waited %lu", c->waited);
	used += (size_t)sprintf(result + used, "\n");
	if (c->note)
		assert_int_equal(*c->note, c->id);
	assert_true(c->held <= c->end - c->begin && c->children <= dt_call_ticks(c));
	assert_true(used < sizeof(result) - 256);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	if (dt_reader_site(reader, s->site[i])->kind == DT_EVENT)
		used += (size_t)sprintf(result + used, "* %u %lu\n", depth, s->ticks[i]);
}

static const double *cost; /* see struct dt_pair_events */

static const char *pair(enum dt_order order)
{
	struct dt_pair_events events = {
		.begin = on_begin, .end = on_end, .other = on_other, .cost = cost};
	struct dt_reader_range range = {.order = order, .values = true};
	struct dt_error e;

	used = 0;
	result[0] = '\0';
	reader = dt_reader_open(trace_path, &e);
	if (!reader || dt_pair_run(reader, &range, &events, &e))
		fail_msg("%s", e.text);
	dt_reader_close(reader);
	return result;
}

/* The same, but what pairing knows goes through a snapshot after each span. */
static const char *pair_in_pieces(void)
{
	struct dt_pair_events events = {.begin = on_begin, .end = on_end, .other = on_other};
	struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	struct dt_pair *p;
	struct dt_error e;
	struct dt_span s;

	used = 0;
	result[0] = '\0';
	reader = dt_reader_open(trace_path, &e);
	p = reader ? dt_pair_new(reader, &events, true) : NULL;
	if (!p || dt_reader_start(reader, &range, &e))
		fail_msg("%s", e.text);
	while (dt_reader_next(reader, &s, &e) > 0) {
		struct dt_bytes b = {0};

		assert_int_equal(dt_pair_span(p, &s), 0);
		assert_int_equal(dt_pair_save(p, &b), 0);
		dt_pair_free(p);
		p = dt_pair_new(reader, &events, true);
		assert_int_equal(dt_pair_restore(p, b.p, b.n), 0);
		free(b.p);
	}
	dt_pair_finish(p);
	dt_pair_free(p);
	dt_reader_close(reader);
	return result;
}

static void gives(const char *text, const char *want)
{
	write_trace(text);
	assert_string_equal(pair(DT_BY_TIME), want);
	assert_string_equal(pair(DT_BY_THREAD), want);
	if (!cost)
		assert_string_equal(pair_in_pieces(), want);
	unlink(trace_path);
}

/* ---- plain calls ---- */

static void test_nesting(void **state)
{
	gives("E a 900 E b 800 E c 700 X c 700 E d 700 X d 700 X b 800 X a 900",
	      "c b 2 30-40\nd b 2 50-60\nb a 1 20-70\na - 0 10-80\n");
}

static void test_recursion(void **state)
{
	gives("E a 900 E a 800 E a 700 X a 700 X a 800 X a 900",
	      "a a 2 30-40 recursive\na a 1 20-50 recursive\na - 0 10-60\n");
	gives("E a 900 E b 800 E a 700 E b 600 X b 600 X a 700 X b 800 X a 900",
	      "b a 3 40-50 recursive\na b 2 30-60 recursive\nb a 1 20-70\na - 0 10-80\n");
}

static void test_threads(void **state)
{
	gives("@ 0 1 E a 900 @ 0 2 E a 900 E b 800 @ 0 1 E b 800 X b 800 @ 0 2 X b 800 X a 900 "
	      "@ 0 1 X a 900",
	      "b a 1 40-50\nb a 1 30-60\na - 0 20-70\na - 0 10-80\n");
}

/* Threads move between cores. */
static void test_migration(void **state)
{
	gives("@ 0 1 E a 900 @ 1 1 E b 800 @ 0 1 E c 700 @ 2 1 X c 700 @ 1 1 X b 800 @ 0 1 X a 900",
	      "c b 2 30-40\nb a 1 20-50\na - 0 10-60\n");
}

/* Switches: threads leave their cores, are elsewhere meanwhile, and come back there or on another.
 */
static void test_waits(void **state)
{
	gives("@ 0 1 E a 900 @ 0 2 S s 0 @ 0 1 S s 0 X a 900", "a - 0 10-40 waited 10\n");
	gives("@ 0 1 E a 900 @ 1 3 E b 5000 @ 0 2 S s 0 @ 1 4 S s 0 @ 1 3 S s 0 X b 5000 "
	      "@ 0 1 S s 0 X a 900",
	      "b - 0 20-60 waited 10\na - 0 10-80 waited 40\n");
	gives("@ 0 1 E a 900 @ 0 2 S s 0 @ 1 1 S s 0 @ 0 3 S s 0 @ 1 4 S s 0 @ 0 1 S s 0 X a 900",
	      "a - 0 10-70 waited 20\n");
}

static void test_open(void **state)
{
	gives("E a 900 E b 800 E c 700 X c 700",
	      "c b 2 30-40\nb a 1 20-40 open\na - 0 10-40 open\n");
}

/* Tracing began in the middle of a, b and c. */
static void test_attached(void **state)
{
	gives("X c 700 E d 700 X d 700 X b 800 E e 800 X e 800 X a 900 E f 900 X f 900",
	      "c - 0 10-10 no-entry\nd - 0 20-30\nb - 0 40-40 no-entry\ne - 0 50-60\n"
	      "a - 0 70-70 no-entry\nf - 0 80-90\n");
}

/* A large array in a frame. */
static void test_large_frame(void **state)
{
	gives("E a 200000 E b 1f0000 E c 100000 X c 100000 E d 100000 E e ff000 X e ff000 "
	      "X d 100000 X b 1f0000 E f 1ffff0 X f 1ffff0 X a 200000",
	      "c b 2 30-40\ne d 3 60-70\nd b 2 50-80\nb a 1 20-90\nf a 1 100-110\na - 0 10-120\n");
}

/* ---- tail calls ---- */

#define K "ff00000000000" /* a stack of the kernel */

static void test_tail(void **state)
{
	gives("E m 900 E a 800 T a 800 b E b 800 X b 800 X m 900",
	      "b a 2 40-50 tailed\na m 1 20-50 tail\nm - 0 10-60\n");
	/* what is called from there, and what the caller calls then */
	gives("E m 900 E a 800 T a 800 b E b 800 E c 700 X c 700 X b 800 E b 800 X b 800 X m 900",
	      "c b 3 50-60\nb a 2 40-70 tailed\na m 1 20-70 tail\nb m 1 80-90\nm - 0 10-100\n");
	/* a chain */
	gives("E a 800 T a 800 b E b 800 T b 800 c E c 800 X c 800",
	      "c b 2 50-60 tailed\nb a 1 30-60 tail tailed\na - 0 10-60 tail\n");
	/* of itself */
	gives("E a 800 T a 800 a E a 800 X a 800",
	      "a a 1 30-40 tailed recursive\na - 0 10-40 tail\n");
	/* a handler of a signal at the jump, on the same stack and on another */
	gives("E m 900 E a 800 T a 800 b E c 600 X c 600 E b 800 X b 800 X m 900",
	      "c a 2 40-50\nb a 2 60-70 tailed\na m 1 20-70 tail\nm - 0 10-80\n");
	gives("E m 7fff900 E a 7fff800 T a 7fff800 b E c 50000600 X c 50000600 E b 7fff800 "
	      "X b 7fff800 X m 7fff900",
	      "c - 0 40-50 other\nb a 2 60-70 tailed\na m 1 20-70 tail\nm - 0 10-80\n");
	/* the last one is left by longjmp: all of them are */
	gives("E m 900 E a 800 T a 800 b E b 800 X m 900",
	      "b a 2 40-50 unwound tailed\na m 1 20-50 unwound\nm - 0 10-50\n");
	gives("E m 900 E a 800 T a 800 b E b 800 E c 880 X c 880 X m 900",
	      "b a 2 40-50 unwound tailed\na m 1 20-50 unwound\nc m 1 50-60\nm - 0 10-70\n");
	/* by an exception that is caught in what called the first one's caller */
	gives("E m 900 E d 800 E a 700 T a 700 b E b 700 E c 600 E e 800 X e 800 X m 900",
	      "c b 4 60-70 unwound\nb a 3 50-70 unwound tailed\na d 2 30-70 unwound\n"
	      "d m 1 20-70 unwound\ne m 1 70-80\nm - 0 10-90\n");
	/* its entry was before the trace */
	gives("T a 800 b E b 800 X b 800", "a - 0 10-10 tail no-entry left\nb - 0 20-30 tailed\n");
	/* the trace ends */
	gives("E a 800 T a 800 b E b 800", "b a 1 30-30 open tailed\na - 0 10-30 open\n");
	gives("E a 800 E b 700 X b 700 T a 800 b", "b a 1 20-30\na - 0 10-40 open\n");
}

/* Functions that move their return address: their exits are not at the sp of their entries. */
static void test_moved(void **state)
{
	/* it takes its arguments off the stack, and returns */
	gives("E m 900 E a 800 X a 820 E b 7f0 X b 7f0 X m 900",
	      "a m 1 20-30\nb m 1 40-50\nm - 0 10-60\n");
	/* it returns with something left on the stack for whoever called it */
	gives("E m 900 E a 800 X a 7d0 E b 700 X b 700 X m 900",
	      "a m 1 20-30\nb m 1 40-50\nm - 0 10-60\n");
	/* it pushes arguments, and jumps to what is not recorded, or is */
	gives("E m 900 E a 800 T a 7e0 E b 700 X b 700 X m 900",
	      "a m 1 20-30 tail left\nb m 1 40-50 doubtful\nm - 0 10-60\n");
	gives("E m 900 E a 800 T a 7e0 b E b 7e0 X b 7e0 X m 900",
	      "a m 1 20-30 tail left\nb m 1 40-50 tailed\nm - 0 10-60\n");
	/* those that have jumped to it ended with it */
	gives("E m 900 E a 800 T a 800 b E b 800 T b 7e0 X m 900",
	      "b a 2 40-50 tail tailed left\na m 1 20-50 tail left\nm - 0 10-60\n");
	/* calls inside it are over by then, also those that were left */
	gives("E m 900 E a 800 E b 700 X b 700 X a 820 X m 900",
	      "b a 2 30-40\na m 1 20-50\nm - 0 10-60\n");
	gives("E m 900 E a 800 E b 700 E c 600 X a 820 X m 900",
	      "c b 3 40-50 unwound\nb a 2 30-50 unwound\na m 1 20-50\nm - 0 10-60\n");
	/* in itself; and when the inner ones were left by an exception */
	gives("E m 900 E a 800 E a 700 X a 720 X a 820 X m 900",
	      "a a 2 30-40 recursive\na m 1 20-50\nm - 0 10-60\n");
	gives("E m 900 E a 800 E b 780 E a 700 E a 600 X a 820 X m 900",
	      "a a 4 50-60 unwound recursive\na b 3 40-60 unwound recursive\nb a 2 30-60 unwound\n"
	      "a m 1 20-60\nm - 0 10-70\n");
	/* without a call around both, it may be that of an earlier call, which the inner one has
	 * been left for */
	gives("E a 700 X a 800 X m 900",
	      "a - 0 10-20 unwound\na - 0 20-20 no-entry\nm - 0 30-30 no-entry\n");
	/* on a stack of its own size: what it is called in has a large frame */
	gives("E m 100000 E a 80000 X a 80020 X m 100000", "a m 1 20-30\nm - 0 10-40\n");
	/* what lies between was not recorded */
	gives("E m 900 E a 800 L 2 X a 820 X m 900",
	      "a m 1 20-30 loss\na m 1 30-30 no-entry loss\nm - 0 10-40 loss\n");
}

/* To what is not recorded, or not known: when that returned is not known. */
static void test_tail_unknown(void **state)
{
	/* b: called by m behind it, or from what a jumped to */
	gives("E m 900 E a 800 T a 800 E b 800 X b 800 E c 800 X c 800 X m 900",
	      "a m 1 20-30 tail left\nb m 1 40-50 doubtful\nc m 1 60-70\nm - 0 10-80\n");
	gives("E m 900 E a 800 T a 800 c E b 800 X b 800 X m 900",
	      "a m 1 20-30 tail left\nb m 1 40-50 doubtful\nm - 0 10-60\n");
	/* below it: the same, with arguments on the stack, until something shows that it is over */
	gives("E m 900 E a 800 T a 800 E b 7f0 X b 7f0 E b 7f0 X b 7f0 E c 800 X c 800 E b 7f0 X b "
	      "7f0 X m 900",
	      "a m 1 20-30 tail left\nb m 1 40-50 doubtful\nb m 1 60-70 doubtful\n"
	      "c m 1 80-90 doubtful\nb m 1 100-110\nm - 0 10-120\n");
	/* that is known */
	gives("E m 900 E a 800 T a 800 X m 900 E b 800 X b 800",
	      "a m 1 20-30 tail left\nm - 0 10-40\nb - 0 50-60\n");
	/* at the end of a chain */
	gives("E m 900 E a 800 T a 800 b E b 800 T b 800 E c 800 X c 800 X m 900",
	      "b a 2 40-50 tail tailed left\na m 1 20-50 tail left\nc m 1 60-70 doubtful\n"
	      "m - 0 10-80\n");
	/* b is recorded, but not here */
	gives("E m 900 E b 800 X b 800 E a 800 T a 800 b E c 800 X c 800 X m 900",
	      "b m 1 20-30\na m 1 40-60 tail inferred\nc m 1 60-70 doubtful\nm - 0 10-80\n");
	gives("E m 900 E b 800 X b 800 E a 800 T a 800 b X m 900",
	      "b m 1 20-30\na m 1 40-60 tail inferred\nm - 0 10-60\n");
	/* ...but its exit */
	gives("E m 900 E b 800 X b 800 E a 800 T a 800 b X b 800 X m 900",
	      "b m 1 20-30\na m 1 40-60 tail\nb m 1 60-60 no-entry\nm - 0 10-70\n");
	/* the kernel's calls meanwhile say nothing of it */
	gives("E m 900 E a 800 T a 800 E k " K "900 X k " K "900 E b 800 X b 800 X m 900",
	      "a m 1 20-30 tail left\nk m 1 40-50\nb m 1 60-70 doubtful\nm - 0 10-80\n");
	gives("E m 900 E a 800 T a 800 b E k " K "900 X k " K "900 E b 800 X b 800 X m 900",
	      "k a 2 40-50\nb a 2 60-70 tailed\na m 1 20-70 tail\nm - 0 10-80\n");
}

/* A loop made of tail calls: only so many are held open. */
static void test_tail_chain(void **state)
{
	enum { TURNS = 200 };
	char *text = malloc(64 * TURNS), *p = stpcpy(text, "E m 900 ");
	unsigned long open = 0, left = 0, ended = 0, at = 20 + 20 * (TURNS - 1);

	for (int i = 0; i < TURNS - 1; i++)
		p += sprintf(p, "E %c 800 T %c 800 %c ", "ab"[i & 1], "ab"[i & 1], "ba"[i & 1]);
	sprintf(p, "E b 800 X b 800 X m 900");
	write_trace(text);
	pair(DT_BY_THREAD);
	for (const char *line = result; *line; line = strchr(line, '\n') + 1) {
		unsigned long depth, begin, end;
		char mine = line[0];

		assert_int_equal(sscanf(line + 4, "%lu %lu-%lu", &depth, &begin, &end), 3);
		if (mine == 'm')
			continue;
		open = depth > open ? depth : open;
		/* all that wait, and the last one, end with that */
		if (strstr(line, " left") &&
		    (size_t)(strstr(line, " left") - line) < strcspn(line, "\n")) {
			assert_int_equal(end, begin + 10);
			left++;
		} else {
			assert_int_equal(end, at + 10);
			ended++;
		}
		/* the caller is one that made a tail call to it, or, in a chain, waits for it */
		assert_true(depth == 1 ? line[2] == 'm' : line[2] == 'a' || line[2] == 'b');
	}
	assert_int_equal(open, DT_CALL_CHAIN + 1);
	assert_int_equal(ended, DT_CALL_CHAIN + 1);
	assert_int_equal(left, TURNS - DT_CALL_CHAIN - 1);
	free(text);
	unlink(trace_path);
}

/* ---- the kernel, on its own stack under the program's calls ---- */

static void test_kernel(void **state)
{
	/* b calls the kernel twice, and has another call in between */
	gives("E m 900 E b 800 E k " K "900 E l " K "800 X l " K "800 X k " K "900 E c 700 X c 700 "
	      "E k " K "900 X k " K "900 X b 800 X m 900",
	      "l k 3 40-50\nk b 2 30-60\nc b 2 70-80\nk b 2 90-100\nb m 1 20-110\nm - 0 10-120\n");
	/* one ends in a jump to the next, and each has its exit */
	gives("E m 900 E k " K "900 E l " K "900 X l " K "900 X k " K "900 X m 900",
	      "l k 2 30-40\nk m 1 20-50\nm - 0 10-60\n");
	/* a call that does not return there: the program is what runs next */
	gives("E m 900 E k " K "900 E l " K "800 E b 800 X b 800 X m 900",
	      "l k 2 30-40 unwound\nk m 1 20-40 unwound\nb m 1 40-50\nm - 0 10-60\n");
	gives("E m 900 E k " K "900 X m 900", "k m 1 20-30 unwound\nm - 0 10-30\n");
	/* an exit whose entry was before: the program stays where it is */
	gives("E m 900 X k " K "900 E b 800 X b 800 X m 900",
	      "k - 0 20-20 no-entry\nb m 1 30-40\nm - 0 10-50\n");
	/* without a thread: each core by itself */
	gives("@ 0 4294967295 E k " K "900 @ 1 4294967295 E l " K "800 @ 0 4294967295 X k " K "900 "
	      "@ 1 4294967295 X l " K "800",
	      "k - 0 10-30\nl - 0 20-40\n");
}

/* Another program in the process, on a stack that may be at the same place. */
static void test_exec(void **state)
{
	gives("E m 900 E b 800 ! 1 E m 900 E b 800 X b 800 X m 900",
	      "b m 1 20-30 unwound\nm - 0 10-30 unwound\nb m 1 50-60\nm - 0 40-70\n");
	gives("E m 900 E b 800 ! 1 E c 700 X c 700 E d 880 X d 880",
	      "b m 1 20-30 unwound\nm - 0 10-30 unwound\nc - 0 40-50\nd - 0 60-70\n");
	/* its first exit is of a call that was not recorded */
	gives("E m 900 ! 1 X m 900", "m - 0 10-20 unwound\nm - 0 30-30 no-entry\n");
	/* on two stacks; twice, and twice without a record in between */
	gives("E m 7fff9000 E a 7fff8000 E h 6000ff0 ! 1 E m 7fff9000 ! 1 ! 1 E m 7fff9000 X m "
	      "7fff9000",
	      "h - 0 30-40 unwound other\na m 1 20-40 unwound\nm - 0 10-40 unwound\n"
	      "m - 0 50-60 unwound\nm - 0 80-90\n");
	/* a tail call that is not followed by what was jumped to */
	gives("E a 900 T a 900 b ! 1 E b 900 X b 900", "a - 0 10-30 unwound\nb - 0 40-50\n");
	/* other processes, other threads: what was open in one is not met again */
	gives("E m 900 ! 2 E b 800 X b 800 X m 900", "b m 1 30-40\nm - 0 10-50\n");
	gives("@ 0 2 E w 800 @ 0 1 E m 900 ! 1 E b 880 X b 880",
	      "m - 0 20-30 unwound\nb - 0 40-50\nw - 0 10-10 open\n");
	/* nothing of the new program was recorded */
	gives("E m 900 ! 1", "m - 0 10-10 open\n");
	/* the kernel's calls that led to it were made by the old one, and end first */
	gives("E m 900 E k " K "900 E l " K "800 ! 1 X l " K "800 S m 8c0 X k " K
	      "900 E b 880 X b 880",
	      "l k 2 30-50\nk m 1 20-70\nm - 0 10-70 unwound\nb - 0 80-90\n");
	gives("E m 900 E k " K "900 ! 1 E l " K "800 X l " K "800 E b 880 E k " K "900 X k " K
	      "900 X b 880",
	      "l k 2 40-50\nk m 1 20-50 unwound\nm - 0 10-50 unwound\nk b 1 70-80\nb - 0 60-90\n");
}

/* A trace that grows: the other program, and that of another process, come while it is read. */
static void test_exec_live(void **state)
{
	struct dt_pair_events events = {.begin = on_begin, .end = on_end};
	struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	static const struct {
		uint64_t exec; /* of this process before the record */
		char kind, f;
		uint64_t sp;
	} step[] = {{0, 'E', 'm', 0x900},
		    {0, 'E', 'k', 0xff00000000000900},
		    {1, 'X', 'k', 0xff00000000000900},
		    {2, 'V', 'v', 0},
		    {0, 'E', 'b', 0x880},
		    {0, 'X', 'b', 0x880}};
	uint64_t clock = 0;
	struct dt_pair *p;
	struct dt_error e;
	struct dt_span s;

	used = 0;
	begin_trace();
	assert_int_equal(dt_store_flush(store, NULL), 0);
	reader = dt_reader_open(trace_path, &e);
	assert_non_null(reader);
	p = dt_pair_new(reader, &events, true);
	assert_int_equal(dt_reader_start(reader, &range, &e), 0);
	for (size_t i = 0; i < sizeof(step) / sizeof(*step); i++) {
		struct dt_record r = {.tid = 1,
				      .kind = (uint8_t)step[i].kind,
				      .sp = step[i].sp,
				      .pc = address(step[i].f) + (step[i].kind == 'E' ? 5 : 6),
				      .value = {(uint64_t)step[i].f}};
		int rc;

		if (step[i].exec)
			assert_int_equal(
				dt_store_exec(store, (uint32_t)step[i].exec, clock += 10, NULL), 0);
		r.ticks = clock += 10;
		put(0, 0, &r);
		assert_int_equal(dt_store_flush(store, NULL), 0);
		while ((rc = dt_reader_next(reader, &s, &e)) > 0)
			assert_int_equal(dt_pair_span(p, &s), 0);
		assert_int_equal(rc, 0);
	}
	dt_pair_finish(p);
	assert_string_equal(result, "k m 1 20-40\nm - 0 10-60 unwound\nb - 0 70-80\n");
	dt_pair_free(p);
	dt_reader_close(reader);
	assert_int_equal(dt_store_close(store, NULL), 0);
	unlink(trace_path);
}

/* Only entries of u are recorded: it has no end, and nothing is in it. */
static void test_entry_alone(void **state)
{
	gives("E m 900 E u 800 E c 7f0 X c 7f0 E u 800 E u 700 X m 900",
	      "u m 1 20-20 no-exit\nc m 1 30-40\nu m 1 50-50 no-exit\nu m 1 60-60 no-exit\n"
	      "m - 0 10-70\n");
	gives("E u 800 E u 800 E b 900 X b 900",
	      "u - 0 10-10 no-exit\nu - 0 20-20 no-exit\nb - 0 30-40\n");
}

/* By a jump that has no site of its own. */
static void test_indirect_tail(void **state)
{
	gives("E m 900 E a 800 E b 800 X b 800 X m 900",
	      "a m 1 20-30 tail inferred\nb m 1 30-40 doubtful\nm - 0 10-50\n");
	/* b has none: its call was unwound, and c is another */
	gives("E m 900 E b 800 E c 800 X c 800 X m 900",
	      "b m 1 20-30 unwound\nc m 1 30-40\nm - 0 10-50\n");
	/* to a function whose entry is not traced */
	gives("E m 900 E a 800 X b 800 X m 900",
	      "a m 1 20-30 tail inferred\nb m 1 30-30 no-entry\nm - 0 10-40\n");
}

/* ---- frames left without an exit ---- */

static void test_longjmp(void **state)
{
	char text[512] = "E m a00 ", want[2048] = "";

	for (int i = 0; i < 10; i++)
		sprintf(text + strlen(text), "E d %x ", 0x9f0 - 16 * i);
	strcat(text, "X m a00");
	for (int i = 9; i >= 0; i--)
		sprintf(want + strlen(want), "d %c %d %d-120 unwound%s\n", i ? 'd' : 'm', i + 1,
			20 + 10 * i, i ? " recursive" : "");
	strcat(want, "m - 0 10-120\n");
	gives(text, want);
	/* then another call at the place of the outermost of them */
	gives("E m a00 E d 900 E d 800 E d 700 E e 900 X e 900 X m a00",
	      "d d 3 40-50 unwound recursive\nd d 2 30-50 unwound recursive\nd m 1 20-50 unwound\n"
	      "e m 1 50-60\nm - 0 10-70\n");
	/* an exception that is caught half way */
	gives("E m a00 E b 900 E c 800 E d 700 E e 800 X e 800 X b 900 X m a00",
	      "d c 3 40-50 unwound\nc b 2 30-50 unwound\ne b 2 50-60\nb m 1 20-70\nm - 0 10-80\n");
}

/* All that is known of the stack is unwound. */
static void test_longjmp_all(void **state)
{
	gives("E a 900 E b 800 E c 980 E d 900 X d 900 X c 980",
	      "b a 1 20-30 unwound\na - 0 10-30 unwound\nd c 1 40-50\nc - 0 30-60\n");
	gives("E a 900 E b 800 X m 980", "b a 1 20-30 unwound\na - 0 10-30 unwound\n"
					 "m - 0 30-30 no-entry\n");
}

/* A child made by vfork writes as its parent, on its stack, and ends without an exit. */
static void test_vfork(void **state)
{
	gives("E m 900 E r 800 E c 700 E d 600 X d 600 E e 600 X r 800 X m 900",
	      "d c 3 40-50\ne c 3 60-70 unwound\nc r 2 30-70 unwound\nr m 1 20-70\nm - 0 10-80\n");
}

static void test_point(void **state)
{
	gives("E m 900 E a 800 E b 700 P m 8c0 E c 800 X c 800 X m 900",
	      "b a 2 30-40 unwound\na m 1 20-40 unwound\nc m 1 50-60\nm - 0 10-70\n");
	gives("E m 900 E a 800 P a 7f0 X a 800 X m 900", "a m 1 20-40\nm - 0 10-50\n");
}

/* Events and messages are recorded by the thread itself: they tell what is gone, as points do.
 * Switches and rundowns are about it, and may have any sp. */
static void test_event(void **state)
{
	for (const char *kind = "MN"; *kind; kind++) {
		char text[128];

		snprintf(text, sizeof(text),
			 "E m 900 E a 800 E b 700 %c m 8c0 E c 800 X c 800 X m 900", *kind);
		gives(text, "b a 2 30-40 unwound\na m 1 20-40 unwound\nc m 1 50-60\nm - 0 10-70\n");
	}
	for (const char *kind = "SR"; *kind; kind++) {
		char text[128];

		snprintf(text, sizeof(text), "E m 900 E a 800 %c m 8c0 X a 800 X m 900", *kind);
		gives(text, "a m 1 20-40\nm - 0 10-50\n");
	}
	gives("E m 900 V a 0 X m 900", "* 1 20\nm - 0 10-30\n");
}

/* ---- several stacks ---- */

/* main resumes a coroutine that yields twice */
static void test_coroutine(void **state)
{
	gives("E m 7fff9000 E r 7fff8000 E c 5000ff0 E y 5000f00 X r 7fff8000 E w 7fff8000 "
	      "X w 7fff8000 E r 7fff8000 X y 5000f00 E d 5000f00 E y 5000e00 X r 7fff8000 "
	      "E r 7fff8000 X y 5000e00 X d 5000f00 X c 5000ff0 X r 7fff8000 X m 7fff9000",
	      "r m 1 20-50\nw m 1 60-70\ny c 1 40-90\nr m 1 80-120\ny d 2 110-140\nd c 1 100-150\n"
	      "c - 0 30-160 other\nr m 1 130-170\nm - 0 10-180\n");
}

/* Their stacks lie next to each other, 32 KB each, in the same pool; each calls the next. */
static void test_coroutine_pool(void **state)
{
	gives("E m 7fff9000 E r 7fff8000 E c 5010ff0 E y 5010f00 X r 7fff8000 E r 7fff8000 "
	      "E d 5008ff0 E y 5008f00 X y 5010f00 E e 5010f00 E y 5010e00 X y 5008f00 X d 5008ff0 "
	      "X y 5010e00 X e 5010f00 X c 5010ff0 X r 7fff8000 X m 7fff9000",
	      "r m 1 20-50\ny c 1 40-90\ny d 1 80-120 recursive\nd - 0 70-130 other\n"
	      "y e 2 110-140 recursive\ne c 1 100-150\nc - 0 30-160 other\nr m 1 60-170\n"
	      "m - 0 10-180\n");
}

static void test_signal_stack(void **state)
{
	gives("E m 7fff9000 E a 7fff8000 E h 6000ff0 E i 6000f00 X i 6000f00 X h 6000ff0 "
	      "X a 7fff8000 E b 7fff8000 X b 7fff8000 X m 7fff9000",
	      "i h 1 40-50\nh - 0 30-60 other\na m 1 20-70\nb m 1 80-90\nm - 0 10-100\n");
	/* left by siglongjmp */
	gives("E m 7fff9000 E a 7fff8000 E h 6000ff0 E b 7fff8000 X b 7fff8000 X m 7fff9000",
	      "a m 1 20-40 tail inferred\nb m 1 40-50 doubtful\nm - 0 10-60\nh - 0 30-60 open other\n");
}

/* Events are in the call whose frame is above them, on whatever stack that is. */
static void test_event_stack(void **state)
{
	gives("E m 900 V m 900 E a 800 V a 800 V a 7f8 X a 800 V m 880 X m 900 V m 900",
	      "* 1 20\n* 2 40\n* 2 50\na m 1 30-60\n* 1 70\nm - 0 10-80\n* 0 90\n");
	/* an event in a caller: the calls below it have been left by a jump */
	gives("E m 900 E a 800 E b 700 E c 600 V a 7f0 X a 800 X m 900",
	      "c b 3 40-50 unwound\nb a 2 30-50 unwound\n* 2 50\na m 1 20-60\nm - 0 10-70\n");
	/* a coroutine yields without a record; so it is resumed, and events tell where the thread
	 * is */
	gives("E m 7fff9000 E r 7fff8000 E c 5000ff0 E d 5000f00 V r 7fff7ff0 V d 5000ef0 "
	      "V m 7fff8f00 X d 5000f00 X c 5000ff0 X m 7fff9000",
	      "* 2 50\n* 2 60\nr m 1 20-70 unwound\n* 1 70\nd c 1 40-80\nc - 0 30-90 other\n"
	      "m - 0 10-100\n");
	/* in a handler on a signal stack, no call of which is traced */
	gives("E m 7fff9000 E a 7fff8000 V a 6000f00 X a 7fff8000 X m 7fff9000",
	      "* 2 30\na m 1 20-40\nm - 0 10-50\n");
}

/* ---- losses ---- */

static void test_loss(void **state)
{
	/* what was open may have ended and begun again meanwhile */
	gives("E m 900 E a 800 L 5 X a 800 X m 900", "a m 1 20-30 loss\nm - 0 10-40 loss\n");
	gives("E m 900 E a 800 L 5 E b 800 X b 800 X m 900",
	      "a m 1 20-30 loss\nb m 1 30-40\nm - 0 10-50 loss\n");
	gives("E m 900 L 5 X a 800 E b 800 X b 800 X m 900",
	      "a m 1 20-20 no-entry loss\nb m 1 30-40\nm - 0 10-50 loss\n");
	gives("E m 900 E a 800 L 2", "a m 1 20-20 open\nm - 0 10-20 open\n");
	/* of another core, where the thread was not */
	gives("@ 1 2 E a 900 X a 900 @ 0 1 E m 900 @ 1 2 L 5 E a 900 @ 0 1 X m 900 @ 1 2 X a 900",
	      "a - 0 10-20\nm - 0 30-50\na - 0 40-60\n");
	/* of the core it came from, though that core speaks again only later */
	gives("@ 1 1 E m 900 @ 0 1 X m 900 @ 1 2 L 5 E a 900 X a 900",
	      "m - 0 10-20 loss\na - 0 30-40\n");
	/* those of several sources of a core overlap */
	gives("@ 1 1 E a 900 L 5 X a 900 E c 900 @ 1 2 l 3 5 E b 900 X b 900 @ 1 1 X c 900",
	      "a - 0 10-20 loss\nb - 0 40-50\nc - 0 30-60\n");
	/* what the kernel loses while the ring does not: where it begins, and in the kernel */
	gives("@ 1 1 E m 900 E a 800 @ 1 2 l 3 15 E b 900 X b 900 @ 1 1 X a 800 X m 900",
	      "b - 0 30-40\na m 1 20-50\nm - 0 10-60 loss\n");
	gives("@ 1 1 E m 900 E k " K "900 @ 1 2 l 3 5 E b 900 X b 900 @ 1 1 X k " K "900 X m 900",
	      "b - 0 30-40\nk m 1 20-50 loss\nm - 0 10-60 loss\n");
	/* the ring loses, too, while the kernel does */
	gives("@ 1 1 E m 900 E a 800 @ 1 2 l 3 5 E b 900 L 2 X b 900 @ 1 1 X a 800 X m 900",
	      "b - 0 30-40 loss\na m 1 20-50 loss waited 10\nm - 0 10-60 loss waited 10\n");
}

/* ---- pauses ---- */

static void test_paused(void **state)
{
	/* what was open may have ended, and begun again; it is not said how */
	gives("z 25 38 E m 900 E a 800 + 20 E b 800 X b 800 X m 900",
	      "a m 1 20-50 paused\nb m 1 50-60\nm - 0 10-70 paused\n");
	gives("z 25 38 E m 900 E a 800 + 20 X m 900", "a m 1 20-50 paused\nm - 0 10-50 paused\n");
	gives("z 25 38 E m 900 E a 800 + 20 X a 800 X m 900",
	      "a m 1 20-50 paused\nm - 0 10-60 paused\n");
	/* an entry that was missed */
	gives("z 15 18 E m 900 X a 800 X m 900",
	      "a m 1 20-20 no-entry paused\nm - 0 10-30 paused\n");
	/* before, behind and between calls; from a record to the next one of the thread */
	gives("z 1 5 z 32 38 z 61 70 E a 800 E b 700 X b 700 + 10 E b 700 X b 700 X a 800",
	      "b a 1 20-30\nb a 1 50-60\na - 0 10-70 paused\n");
	gives("z 20 30 E m 900 E a 800 E b 700 X b 700 X a 800 X m 900",
	      "b a 2 30-40\na m 1 20-50 paused\nm - 0 10-60 paused\n");
	/* it began before the trace */
	gives("z 0 9 E m 900 X m 900", "m - 0 10-20\n");
	/* losses and pauses are told apart */
	gives("z 12 18 E m 900 E a 800 L 2 X a 800 X m 900",
	      "a m 1 20-30 loss\nm - 0 10-40 loss paused\n");
}

/* What seems to end before it began took no time that is known. */
static void test_backward(void **state)
{
	gives("E m 900 + 20 E a 800 - 25 X a 800 + 20 X m 900",
	      "a m 1 40-40 backward\nm - 0 10-55\n");
}

/* ---- the tracer's own time ---- */

static void test_held(void **state)
{
	double costs[256] = {['E'] = 2, ['X'] = 2};

	/* it is of no call's time, wherever it began and ended */
	gives("s 1 22 27 E m 900 E a 800 X a 800 X m 900",
	      "a m 1 20-30 held 5\nm - 0 10-40 held 5\n");
	gives("s 1 12 18 E m 900 E a 800 X a 800 X m 900", "a m 1 20-30\nm - 0 10-40 held 6\n");
	gives("s 1 5 12 s 1 38 99 E m 900 E a 800 X a 800 X m 900",
	      "a m 1 20-30\nm - 0 10-40 held 4\n");
	gives("s 1 15 25 E m 900 E a 800 X a 800 X m 900",
	      "a m 1 20-30 held 5\nm - 0 10-40 held 10\n");
	gives("s 2 15 25 E m 900 E a 800 X a 800 X m 900", "a m 1 20-30\nm - 0 10-40\n");
	/* told twice, or in pieces, it is counted once */
	gives("s 1 24 28 s 1 22 26 s 1 23 24 E m 900 E a 800 X a 800 X m 900",
	      "a m 1 20-30 held 6\nm - 0 10-40 held 6\n");
	/* a handler of a signal ran meanwhile: its time is its own, what is before and behind is
	 * not */
	gives("s 1 25 55 E m 900 E a 800 E h 700 X h 700 V a 7f0 X a 800 X m 900",
	      "h a 2 30-40\n* 2 50\na m 1 20-60 held 10\nm - 0 10-70 held 10\n");
	/* the kernel's calls are not the program's */
	gives("s 1 25 55 E m 900 E a 800 E k ffff800000001000 X k ffff800000001000 X a 800 X m 900",
	      "k a 2 30-40 held 10\na m 1 20-50 held 25\nm - 0 10-60 held 30\n");
	/* for room: until the record that it was for, and until then once */
	gives("h 1 22 27 E m 900 E a 800 X a 800 X m 900",
	      "a m 1 20-30 held 8\nm - 0 10-40 held 8\n");
	gives("h 1 12 15 h 1 16 18 s 1 17 19 E m 900 E a 800 X a 800 X m 900",
	      "a m 1 20-30\nm - 0 10-40 held 8\n");
	gives("h 1 25 55 E m 900 E a 800 E h 700 X h 700 V a 7f0 X a 800 X m 900",
	      "h a 2 30-40\n* 2 50\na m 1 20-60 held 15\nm - 0 10-70 held 15\n");
	/* as if the clock had stood still */
	cost = costs;
	gives("s 1 22 27 E m 900 E a 800 X a 800 X m 900", "a m 1 18-21\nm - 0 10-29\n");
	cost = NULL;
}

/* ---- equal functions ---- */

static void describe_named(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	static const struct {
		uint64_t address;
		const char *name;
	} f[] = {
		{0x1000, "f"}, {0x2000, "f.cold"}, {0x3000, "g"}, {0x101000, "f"}, {0x103000, "g"}};
	uint64_t at = r->pc & ~(uint64_t)0xfff;

	for (size_t i = 0; i < sizeof(f) / sizeof(*f); i++) {
		struct dt_function_row fr = {
			at < 0x100000 ? 1 : 2, at, 64, f[i].name, "", 0, "", 0, NULL};

		if (f[i].address == at)
			row->function = dt_store_function(store, &fr, NULL);
	}
	row->kind = r->kind == 'E' ? DT_SITE_ENTRY : DT_SITE_RETURN;
}

/* A return in f.cold is one of f's; f in two processes is one row. */
static void test_same(void **state)
{
	struct dt_module_row m = {1, 0, 0, 0x10000, "/bin/x", "", 0, 0};
	struct dt_stats stats = {0};
	struct dt_pair_events events = {.end = dt_stats_call, .ctx = &stats};
	struct dt_reader_range range = {.order = DT_BY_THREAD};
	struct dt_record r[] = {{.ticks = 10, .kind = 'E', .tid = 1, .pc = 0x1005, .sp = 900},
				{.ticks = 20, .kind = 'X', .tid = 1, .pc = 0x2006, .sp = 900},
				{.ticks = 30, .kind = 'E', .tid = 2, .pc = 0x101005, .sp = 900},
				{.ticks = 35, .kind = 'X', .tid = 2, .pc = 0x101006, .sp = 900},
				{.ticks = 40, .kind = 'E', .tid = 2, .pc = 0x103005, .sp = 900},
				{.ticks = 45, .kind = 'X', .tid = 2, .pc = 0x103006, .sp = 900}};
	struct dt_reader *in;
	struct dt_error e;

	store = dt_store_create(trace_path, describe_named, NULL, &e);
	dt_store_module(store, &m, &e);
	m.pid = 2;
	m.base = 0x100000;
	dt_store_module(store, &m, &e);
	assert_int_equal(dt_store_put(store, 0, r, 6, 0, &e), 0);
	assert_int_equal(dt_store_close(store, &e), 0);
	in = dt_reader_open(trace_path, &e);
	assert_int_equal(dt_pair_run(in, &range, &events, &e), 0);
	assert_string_equal(dt_reader_function(in, 1)->name, "f");
	assert_int_equal(stats.function[1].calls, 2);
	assert_int_equal(stats.function[1].timed, 2);
	assert_int_equal(stats.function[1].total, 15);
	for (uint32_t i = 2; i < stats.functions; i++)
		if (stats.function[i].calls)
			assert_string_equal(dt_reader_function(in, i)->name, "g");
	dt_stats_free(&stats);
	dt_reader_close(in);
}

/* ---- statistics ---- */

/* The total of a, of which the outermost calls' times are not known: what is known of those in
 * them, once. */
static void test_total_of_unfinished(void **state)
{
	static const struct {
		const char *text;
		uint64_t total, self;
	} t[] = {
		{"E a 900 E a 800 E a 700 X a 700 X a 800 X a 900", 50, 50},
		{"E a 900 E a 800 E a 700 X a 700 X a 800", 30, 30},
		{"E a 900 E a 800 E a 700 X a 700 E a 700 X a 700", 20, 20},
		{"E a 900 E b 800 E a 700 X a 700 X b 800 E a 800 E b 700 X b 700 X a 800", 40, 30},
		{"E a 900 E a 800 X a 800 + 5 E a 850 E a 750 X a 750 X a 850", 40, 40},
		/* lost in the outer one, and in the one in it */
		{"E a 900 E a 800 E a 700 X a 700 L 3 X a 800 X a 900", 10, 10},
		{"E a 900", 0, 0},
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct dt_stats stats = {0};
		struct dt_pair_events events = {.end = dt_stats_call, .ctx = &stats};
		struct dt_reader_range range = {.order = DT_BY_THREAD};
		const struct dt_function_stats *a = NULL;
		struct dt_reader *in;
		struct dt_error e = {""};

		write_trace(t[i].text);
		in = dt_reader_open(trace_path, &e);
		if (!in || dt_pair_run(in, &range, &events, &e))
			fail_msg("%s: %s", t[i].text, e.text);
		for (uint32_t k = 1; k < stats.functions; k++)
			if (stats.function[k].calls &&
			    !strcmp(dt_reader_function(in, k)->name, "a"))
				a = &stats.function[k];
		if (!a || a->total != t[i].total || a->self != t[i].self)
			fail_msg("%s: %lu, %lu", t[i].text, a ? (unsigned long)a->total : 0,
				 a ? (unsigned long)a->self : 0);
		dt_stats_free(&stats);
		dt_reader_close(in);
	}
}

static void test_stats(void **state)
{
	struct dt_stats s = {0};
	struct dt_function_stats *f;

	/* a calls itself: 100 ticks in all, 60 of them in the inner call, which waits 20 for b */
	dt_stats_call(&s, &(struct dt_call){.function = 2, .begin = 30, .end = 50});
	dt_stats_call(&s, &(struct dt_call){.function = 1,
					    .begin = 20,
					    .end = 80,
					    .children = 20,
					    .flags = DT_CALL_RECURSIVE});
	dt_stats_call(&s, &(struct dt_call){.function = 1, .end = 100, .children = 60});
	dt_stats_call(&s, &(struct dt_call){.function = 1, .end = 999, .flags = DT_CALL_OPEN});
	dt_stats_call(&s, &(struct dt_call){.function = 2, .end = 10, .flags = DT_CALL_UNWOUND});
	f = &s.function[1];
	assert_int_equal(f->calls, 3);
	assert_int_equal(f->timed, 2);
	assert_int_equal(f->open, 1);
	assert_int_equal(f->total, 100);
	assert_int_equal(f->self, 80);
	assert_int_equal(f->min, 60);
	assert_int_equal(f->max, 100);
	assert_int_equal(s.function[2].unwound, 1);
	assert_int_equal(s.function[2].total, 30);
	dt_stats_free(&s);
}

/* Each way that a call may end is counted by itself; of some the times count, too. */
static void test_stats_of_ends(void **state)
{
	static const struct {
		uint32_t flag;
		size_t count; /* where it is counted */
		bool timed;
	} end[] = {
		{DT_CALL_UNWOUND, offsetof(struct dt_function_stats, unwound), true},
		{DT_CALL_TAIL, offsetof(struct dt_function_stats, tail), true},
		{DT_CALL_OPEN, offsetof(struct dt_function_stats, open), false},
		{DT_CALL_NO_EXIT, offsetof(struct dt_function_stats, no_exit), false},
		{DT_CALL_LOSS, offsetof(struct dt_function_stats, loss), false},
		{DT_CALL_PAUSED, offsetof(struct dt_function_stats, paused), false},
		{DT_CALL_BACKWARD, offsetof(struct dt_function_stats, backward), false},
	};
	const size_t ends = sizeof(end) / sizeof(*end);

	for (size_t i = 0; i < ends; i++) {
		struct dt_stats s = {0};

		dt_stats_call(&s,
			      &(struct dt_call){.function = 1, .end = 10, .flags = end[i].flag});
		assert_int_equal(s.function[1].calls, 1);
		assert_int_equal(s.function[1].timed, end[i].timed);
		assert_int_equal(s.function[1].total, end[i].timed ? 10 : 0);
		for (size_t k = 0; k < ends; k++)
			assert_int_equal(*(uint64_t *)((char *)&s.function[1] + end[k].count),
					 k == i);
		dt_stats_free(&s);
	}
}

/* ---- filters ---- */

/* Which of three functions a filter wants, called with 1, 2, 3, 4. */
static void test_filter(void **state)
{
	static const struct {
		const char *name, *signature;
	} function[] = {
		{"alpha", "arg0:i4@0,n:i4@1;v"}, {"beta", "a:i8@0,b:i4@1;v"}, {"gamma", ""}};
	static const struct {
		const char *filter, *wants;
	} wanted[] = {
		{"", "abg"},	    {"alpha", "a"},    {"-alpha", "bg"}, {"-alpha -gamma", "b"},
		{"*a -beta", "ag"}, {"-b* *a", "ag"},  {"arg0=1", "a"}, /* a parameter's name; the
									   first argument is arg1 */
		{"arg0=2", ""},	    {"arg1=1", "abg"}, {"arg1=2", ""},	 {"arg2=2", "abg"},
		{"arg4=4", "g"}, /* nothing is known of it: as it is in the register */
		{"n=2", "a"},	    {"b>1 b<3", "b"},  {"b!=2", ""},	 {"-beta arg2>1", "ag"},
	};
	static const uint64_t argument[4] = {1, 2, 3, 4};
	struct dt_error e = {""};

	begin_trace();
	for (size_t i = 0; i < 3; i++) {
		struct dt_function_row row = {0,
					      address('a') + 0x1000 * i,
					      0x1000,
					      function[i].name,
					      "",
					      0,
					      function[i].signature,
					      0,
					      NULL};

		assert_int_equal(dt_store_function(store, &row, NULL), i + 1);
	}
	assert_int_equal(dt_store_close(store, NULL), 0);
	reader = dt_reader_open(trace_path, &e);
	assert_non_null(reader);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		struct dt_filter *f = dt_meanings_filter(wanted[i].filter, reader, &e);
		char got[4] = "", *p = got;

		if (!f)
			fail_msg("%s: %s", wanted[i].filter, e.text);
		for (uint32_t k = 0; k < 3; k++)
			if (dt_filter_begin(f,
					    &(struct dt_call){.id = 1,
							      .function = k + 1,
							      .argument = argument},
					    dt_filter_nobody(f)))
				*p++ = function[k].name[0];
		if (strcmp(got, wanted[i].wants))
			fail_msg("'%s' wants '%s', not '%s'", wanted[i].filter, got,
				 wanted[i].wants);
		dt_filter_free(f);
	}
	dt_reader_close(reader);
}

/* The word "failed": what failed, what did not, and what is not known. */
static void test_filter_failed(void **state)
{
	static const char *const signature[] = {"n:i4@0;i4@0!-@3", "n:i4@0;p@0!0", "n:i4@0;i4@0"};
	static const struct {
		uint64_t result[3];
		const char *failed, *not_failed;
	} wanted[] = {{{(uint32_t)-1, 0, 5}, "ab", ""}, {{0, 7, (uint32_t)-1}, "", "ab"}};
	struct dt_error e = {""};

	begin_trace();
	for (size_t i = 0; i < 3; i++) {
		char name[2] = {(char)('a' + i)};
		struct dt_function_row row = {
			0, address('a') + 0x1000 * i, 0x1000, name, "", 0, signature[i], 0, NULL};

		assert_int_equal(dt_store_function(store, &row, NULL), i + 1);
	}
	assert_int_equal(dt_store_close(store, NULL), 0);
	reader = dt_reader_open(trace_path, &e);
	assert_non_null(reader);
	for (size_t i = 0; i < 4; i++) {
		struct dt_filter *f = dt_meanings_filter(i % 2 ? "-failed" : "failed", reader, &e);
		char got[4] = "", *p = got;

		assert_non_null(f);
		for (uint32_t k = 0; k < 3; k++) {
			uint64_t values[4] = {wanted[i / 2].result[k]}, argument[4] = {0};
			struct dt_call c = {.id = 1,
					    .function = k + 1,
					    .exit = 1,
					    .argument = argument,
					    .result = values};

			if (dt_filter_end(f, &c))
				*p++ = (char)('a' + k);
		}
		assert_string_equal(got, i % 2 ? wanted[i / 2].not_failed : wanted[i / 2].failed);
		dt_filter_free(f);
	}
	dt_reader_close(reader);
}

/* What tables are sorted by: the mean is rounded, what is not known is 0, equal rows are by name.
 */
static void test_stats_values(void **state)
{
	static const uint64_t end[] = {10, 11, 12, 14}; /* 47 ticks in 4 calls: 11.75 */
	struct dt_stats s = {0};
	struct dt_stats_row row[3];

	for (size_t i = 0; i < 4; i++)
		dt_stats_call(&s, &(struct dt_call){.function = 0, .end = end[i], .children = 3});
	for (enum dt_stats_key k = 0; k < DT_STATS_KEYS; k++) {
		static const uint64_t wanted[DT_STATS_KEYS] = {
			[DT_STATS_TOTAL] = 47, [DT_STATS_SELF] = 35, [DT_STATS_CALLS] = 4,
			[DT_STATS_AVG] = 12,   [DT_STATS_MIN] = 10,  [DT_STATS_P50] = 11,
			[DT_STATS_P99] = 14,   [DT_STATS_MAX] = 14,  [DT_STATS_CPU] = 47,
			[DT_STATS_P90] = 14,   [DT_STATS_P95] = 14,  [DT_STATS_P999] = 14,
			[DT_STATS_STDDEV] = 1}; /* the root of 8.75 / 4 */

		assert_int_equal(dt_stats_value(&s.function[0], k), wanted[k]);
		assert_int_equal(dt_stats_value(&s.function[1], k), 0);
	}
	row[0] = (struct dt_stats_row){NULL, "b", 1};
	row[1] = (struct dt_stats_row){NULL, "a", 1};
	row[2] = (struct dt_stats_row){NULL, "c", 2};
	qsort(row, 3, sizeof(*row), dt_stats_row_compare);
	assert_string_equal(row[0].name, "c");
	assert_string_equal(row[1].name, "a");
	assert_string_equal(row[2].name, "b");
	dt_stats_free(&s);
}

/* A quantile is off by at most 1/32, for durations of any size. */
static void test_quantiles(void **state)
{
	for (uint64_t scale = 1; scale < (uint64_t)1 << 50; scale = scale * 7 + 3) {
		struct dt_stats s = {0};

		for (uint64_t i = 1; i <= 1000; i++)
			dt_stats_call(&s, &(struct dt_call){.function = 0, .end = i * scale});
		for (double q = 0.01; q < 1; q += 0.01) {
			double got = (double)dt_stats_quantile(&s.function[0], q);
			double want = 1000 * q * (double)scale;

			assert_true(got <= (want + (double)scale) * (1 + 1.0 / 32) + 1);
			assert_true(got >= (want - (double)scale) * (1 - 1.0 / 32) - 1);
		}
		dt_stats_free(&s);
	}
}

/* ---- random call trees ---- */

#define MAX_STACK 40
#define STACKS	  4

struct truth {
	uint64_t begin, sp;
	char function;
	bool tailed, doubtful; /* how it began: as in its flags */
};

struct stack {
	struct truth frame[MAX_STACK];
	int n;
	uint64_t top;
};

static uint64_t seed = 99;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static char want[1 << 16];
static size_t want_used;
static uint64_t now;
static struct stack stacks[STACKS];

static void record(char kind, char f, uint64_t sp, int offset)
{
	struct dt_record r = {.ticks = now += 10,
			      .tid = 1,
			      .kind = (uint8_t)kind,
			      .sp = sp,
			      .pc = address(f) + (uint64_t)offset,
			      .value = {(uint64_t)f}};

	put(0, 0, &r);
}

static void ends(struct stack *s, const char *how)
{
	struct truth *t = &s->frame[--s->n];

	want_used += (size_t)sprintf(want + want_used, "%c %c %d %lu-%lu%s%s%s\n", t->function,
				     s->n ? t[-1].function : '-', s->n, t->begin, now, how,
				     t->tailed ? " tailed" : "", t->doubtful ? " doubtful" : "");
}

/* By its exit, and with it those that have jumped to it. */
static void returns(struct stack *s)
{
	uint64_t sp = s->frame[s->n - 1].sp;

	ends(s, "");
	while (s->n && s->frame[s->n - 1].sp == sp)
		ends(s, " tail");
}

/* To a function that is named in its record, or is not: then it is not known whether that came. */
static void tail_call(struct stack *s, char f, bool known)
{
	struct truth *t = &s->frame[s->n - 1];
	uint64_t sp = t->sp;

	record('X', t->function, sp, 0x100 + (known ? f : 0));
	if (!known) {
		want_used += (size_t)sprintf(want + want_used, "%c %c %d %lu-%lu tail%s left%s\n",
					     t->function, s->n > 1 ? t[-1].function : '-', s->n - 1,
					     t->begin, now, t->tailed ? " tailed" : "",
					     t->doubtful ? " doubtful" : "");
		while (--s->n && s->frame[s->n - 1].sp == sp) {
			t = &s->frame[s->n - 1];
			want_used += (size_t)sprintf(
				want + want_used, "%c %c %d %lu-%lu tail%s left%s\n", t->function,
				s->n > 1 ? t[-1].function : '-', s->n - 1, t->begin, now,
				t->tailed ? " tailed" : "", t->doubtful ? " doubtful" : "");
		}
	}
	record('E', f, sp, 5);
	s->frame[s->n++] = (struct truth){
		.begin = now, .sp = sp, .function = f, .tailed = known, .doubtful = !known};
}

/* n frames are left without exits; they are seen gone at the next record: so another follows. */
static void abandon(struct stack *s, int n, uint64_t when)
{
	now = when;
	while (n--)
		ends(s, " unwound");
}

static void calls(struct stack *s, char f)
{
	uint64_t sp = s->n ? s->frame[s->n - 1].sp - 16 - 16 * (random64() % 60) : s->top;

	record('E', f, sp, 5);
	s->frame[s->n++] = (struct truth){.begin = now, .sp = sp, .function = f};
}

/* Calls, returns, tail calls, longjmps, and switches between coroutines by a traced function. */
static void random_trace(void)
{
	int current = 0, steps = 150;

	now = 0;
	want_used = 0;
	begin_trace();
	for (int i = 0; i < STACKS; i++)
		stacks[i] = (struct stack){.top = 0x7fff00000000 - 0x10000000 * (uint64_t)i};
	while (steps-- > 0) {
		struct stack *s = &stacks[current];
		char f = (char)('a' + random64() % 20);
		uint64_t what = random64() % 12;
		int other = (int)(random64() % STACKS);

		if (s->n == 0 || (what < 5 && s->n < MAX_STACK - 1)) {
			calls(s, f);
		} else if (what == 5 && s->n > 3) {
			/* longjmp over two or more frames, and the one it arrives in returns */
			int left = 2 + (int)(random64() % (uint64_t)(s->n - 2));

			left = left >= s->n ? s->n - 1 : left;
			/* not in one that had jumped */
			while (left < s->n - 1 &&
			       s->frame[s->n - 1 - left].sp == s->frame[s->n - left].sp)
				left++;
			if (s->frame[s->n - 1 - left].sp == s->frame[s->n - left].sp)
				continue;
			abandon(s, left, now + 10);
			now -= 10;
			record('X', s->frame[s->n - 1].function, s->frame[s->n - 1].sp, 6);
			returns(s);
		} else if (what == 6) {
			tail_call(s, f, random64() % 2 && s->n < MAX_STACK - 1);
		} else if (what == 7 && other != current && s->n < MAX_STACK - 1) {
			/* "z" switches: entered here, left on the other stack if it was left so */
			struct stack *o = &stacks[other];

			calls(s, 'z');
			current = other;
			if (o->n == 0) {
				calls(o, f);
			} else {
				record('X', 'z', o->frame[o->n - 1].sp, 6);
				returns(o);
			}
		} else {
			struct truth *t = &s->frame[s->n - 1];

			/* the outermost call of a coroutine ends only on the main stack */
			if (s->frame[0].sp == t->sp && current)
				continue;
			record('X', t->function, t->sp, 6);
			returns(s);
		}
	}
	assert_int_equal(dt_store_close(store, NULL), 0);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines in order, without what is said only of calls of whole coroutines or unfinished ones. */
static void sort_lines(char *text, char **line, size_t *n)
{
	*n = 0;
	for (char *p = strtok(text, "\n"); p; p = strtok(NULL, "\n")) {
		char *cut;

		if (strstr(p, " open"))
			continue;
		while ((cut = strstr(p, " recursive")) || (cut = strstr(p, " other")))
			memmove(cut, cut + (cut[1] == 'r' ? 10 : 6),
				strlen(cut + (cut[1] == 'r' ? 10 : 6)) + 1);
		line[(*n)++] = p;
	}
	qsort(line, *n, sizeof(*line), by_text);
}

static void test_random(void **state)
{
	static char *have_line[4096], *want_line[4096];
	size_t have, wanted;

	if (share_of(2) < 2)
		seed = share_seed(0);
	for (unsigned i = 0; i < share_of(300); i++) {
		random_trace();
		pair(i % 2 ? DT_BY_TIME : DT_BY_THREAD);
		unlink(trace_path);
		sort_lines(result, have_line, &have);
		sort_lines(want, want_line, &wanted);
		for (size_t j = 0; j < have && j < wanted; j++)
			assert_string_equal(have_line[j], want_line[j]);
		assert_int_equal(have, wanted);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

/* The vector of Barrelfish's source: asked at 100, got at 250, answered at 260, back at 130. */
static void check_127_offset(void **state)
{
	assert_int_equal(dt_offset(100, 250, 260, 130), 140);
	assert_int_equal(dt_offset_error(100, 250, 260, 130), 10);
	/* the other way round, and across the whole range */
	assert_int_equal(dt_offset(250, 110, 130, 280), -145);
	assert_int_equal(dt_offset(0, UINT64_MAX / 2, UINT64_MAX / 2, 0), INT64_MAX);
	assert_int_equal(dt_offset(UINT64_MAX, 0x10, 0x10, UINT64_MAX), 0x11);
	/* a known difference is found again within the error that is said */
	for (uint64_t i = 0; i < 10000; i++) {
		uint64_t t0 = i * 7919, there = i % 97, back = i * 31 % 89, stay = i % 13;
		int64_t ahead = (int64_t)(i * 104729 % 2000001) - 1000000;
		uint64_t t1 = t0 + there + (uint64_t)ahead, t2 = t1 + stay;
		uint64_t t3 = t0 + there + stay + back;
		int64_t wrong =
			dt_offset(t0 + (1 << 30), t1 + (1 << 30), t2 + (1 << 30), t3 + (1 << 30)) -
			ahead;

		assert_true(wrong <= (int64_t)dt_offset_error(t0, t1, t2, t3) &&
			    -wrong <= (int64_t)dt_offset_error(t0, t1, t2, t3));
	}
}

/* What records cost is taken off: their threads' clocks stand still meanwhile, and never go back.
 */
static void check_128_cost(void **state)
{
	double ticks[256] = {[DT_ENTRY] = 3, [DT_EXIT] = 2, [DT_POINT] = 4};

	cost = ticks;
	gives("E a 900 E b 800 P b 800 X b 800 X a 900", "b a 1 17-31\na - 0 10-39\n");
	gives("@ 0 1 E a 900 @ 1 2 E a 900 @ 0 1 E b 800 X b 800 @ 1 2 X a 900 @ 0 1 X a 900",
	      "b a 1 27-35\na - 0 20-48\na - 0 10-53\n");
	/* open and without an entry */
	gives("E a 900 X b 800 E c 800",
	      "b a 1 18-18 no-entry\nc a 1 25-25 open\na - 0 10-25 open\n");
	/* up to another program */
	gives("E a 900 E b 800 ! 1 E a 900 X a 900",
	      "b a 1 17-27 unwound\na - 0 10-27 unwound\na - 0 34-42\n");
	/* more than there was */
	ticks[DT_ENTRY] = ticks[DT_EXIT] = 25;
	gives("E a 900 E b 800 X b 800 X a 900 + 100 E a 900 X a 900",
	      "b a 1 10-10\na - 0 10-10\na - 0 95-95\n");
	cost = NULL;
}

/* This machine's cores: what is measured is certain to within microseconds, and what is not is
 * left. */
static void test_offsets_of_cores(void **state)
{
	struct dt_offset o[4], again[4];
	unsigned cores = (unsigned)sysconf(_SC_NPROCESSORS_CONF) < 4 ? 2 : 4;

	assert_true(dt_offsets_measure(o, cores, DT_OFFSETS_PATIENCE));
	assert_true(dt_offsets_measure(again, cores, DT_OFFSETS_PATIENCE));
	/* on a busy machine neither is exact, but each is as exact as it says */
	for (unsigned i = 0; i < cores; i++) {
		int64_t between = o[i].ahead - again[i].ahead;

		if (o[i].error != ~0ull && again[i].error != ~0ull)
			assert_true((uint64_t)(between < 0 ? -between : between) <=
				    o[i].error + again[i].error);
	}
	assert_int_equal(dt_offset_correction(&(struct dt_offset){140, 100}), 140);
	assert_int_equal(dt_offset_correction(&(struct dt_offset){-140, 100}), -140);
	assert_int_equal(dt_offset_correction(&(struct dt_offset){100, 100}), 0);
	assert_int_equal(dt_offset_correction(&(struct dt_offset){140, ~0ull}), 0);
}

/* A window has as many cells as are wanted, from the first to the last, and not one more. */
static void test_window_shift(void **state)
{
	static const struct {
		uint64_t from, to;
		unsigned cells, shift;
	} wanted[] = {
		{0, 0, 1, 0},
		{7, 7, 1, 0},
		{0, 1, 1, 1},
		{0, 1, 2, 0},
		{0, 99, 100, 0},
		{0, 100, 100, 1},
		{0, 199, 100, 1},
		{0, 200, 100, 2},
		{1000, 1099, 100, 0},
		{1000, 1100, 100, 1},
		{0, 400, 400, 1},
		{0, 399, 400, 0},
		{0, UINT64_MAX, 8192, 51},
		{0, UINT64_MAX, 4, 62},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		assert_int_equal(dt_window_shift(wanted[i].from, wanted[i].to, wanted[i].cells),
				 wanted[i].shift);
}

/* Of several answers the surest is believed, wherever it comes; of equal ones the first. */
static void test_surest_answer(void **state)
{
	struct dt_offset o = {0, ~0ull};

	dt_offset_take(&o, 100, 300, 310, 190); /* 40 */
	assert_int_equal(o.error, 40);
	assert_int_equal(o.ahead, 160);
	dt_offset_take(&o, 1000, 1110, 1110, 1100); /* 50: less sure */
	assert_int_equal(o.error, 40);
	assert_int_equal(o.ahead, 160);
	dt_offset_take(&o, 2000, 2155, 2155, 2020); /* 10 */
	assert_int_equal(o.error, 10);
	assert_int_equal(o.ahead, 145);
	dt_offset_take(&o, 3000, 3165, 3165, 3020); /* 10 again */
	assert_int_equal(o.error, 10);
	assert_int_equal(o.ahead, 145);
}

/* A measurement given up while the other core answers ends nevertheless. */
static void test_offsets_given_up(void **state)
{
	struct dt_offset o[2];
	time_t end = time(NULL) + share_of(20);

	/* where others are busy on these cores, each takes milliseconds */
	for (unsigned i = 0; i < share_of(20000) && time(NULL) < end; i++) {
		alarm(60);
		assert_true(dt_offsets_measure(o, 2, i % 4000));
	}
	alarm(0);
}

/* ---- windows of a trace that grows ---- */

/* m calls f so often, and is in no region but the last one, in which it ends. */
static void write_long_call(unsigned calls)
{
	struct dt_record r = {
		.tid = 1, .ticks = 10, .sp = 0x900, .kind = 'E', .pc = address('m') + 5};

	begin_trace();
	put(0, 0, &r);
	for (unsigned i = 0; i < 2 * calls; i++) {
		r = (struct dt_record){.tid = 1,
				       .ticks = r.ticks + 10,
				       .sp = 0x800,
				       .kind = i % 2 ? 'X' : 'E',
				       .pc = address('f') + 5 + i % 2};
		put(0, 0, &r);
	}
	r = (struct dt_record){
		.tid = 1, .ticks = r.ticks + 10, .sp = 0x900, .kind = 'X', .pc = address('m') + 6};
	put(0, 0, &r);
	assert_int_equal(dt_store_close(store, NULL), 0);
}

static void test_window_tail(void **state)
{
	struct dt_bar_list list = {0};
	struct dt_windows *w;
	struct dt_pyramid *p;
	struct dt_error e;
	int rc;

	(void)state;
	write_long_call(150000);
	reader = dt_reader_open(trace_path, &e);
	assert_non_null(reader);
	p = dt_pyramid_open(reader, trace_path, &e);
	assert_non_null(p);
	while ((rc = dt_pyramid_follow(p, 0, false, &e)) == 2)
		;
	assert_int_equal(rc, 0);
	assert_true(p->tail);
	assert_true(p->regions > 2);
	w = dt_windows_new(p, trace_path, &e);
	assert_non_null(w);
	assert_int_equal(dt_windows_tail(w, &e), 0);
	/* in front of the tail, over it, and in it: m is there each time, once, whole */
	for (int k = 0; k < 3; k++) {
		const struct dt_region *first = &p->region[0], *last = &p->region[p->regions - 1];
		struct dt_window window = {.from = k == 2 ? last->begin : first->begin,
					   .to = k == 0 ? first->end - 1 : p->end};
		unsigned found = 0;

		window.shift = dt_window_shift(window.from, window.to, 1000);
		assert_int_equal(dt_window_bars(w, 0, &window, &list, &e), 0);
		for (size_t i = 0; i < list.n; i++)
			found += list.bar[i].depth == 0 && list.bar[i].begin == 10 &&
				 list.bar[i].end == 10 + 10 * 300001;
		assert_int_equal(found, 1);
	}
	free(list.bar);
	dt_windows_free(w);
	dt_pyramid_close(p);
	dt_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_window_tail),
		cmocka_unit_test(test_window_shift),
		cmocka_unit_test(test_surest_answer),
		cmocka_unit_test(test_offsets_of_cores),
		cmocka_unit_test(test_offsets_given_up),
		TEST(test_backward),
		TEST(test_nesting),
		TEST(test_recursion),
		TEST(test_total_of_unfinished),
		TEST(test_threads),
		TEST(test_migration),
		TEST(test_waits),
		TEST(test_open),
		TEST(test_attached),
		TEST(test_kernel),
		TEST(test_exec),
		TEST(test_exec_live),
		TEST(test_large_frame),
		TEST(test_tail),
		TEST(test_moved),
		TEST(test_tail_unknown),
		TEST(test_tail_chain),
		TEST(test_entry_alone),
		TEST(test_indirect_tail),
		TEST(test_longjmp),
		TEST(test_longjmp_all),
		TEST(test_vfork),
		TEST(test_event),
		TEST(test_event_stack),
		TEST(test_point),
		TEST(test_coroutine),
		TEST(test_coroutine_pool),
		TEST(test_signal_stack),
		TEST(test_loss),
		TEST(test_held),
		TEST(test_paused),
		TEST(test_same),
		TEST(test_stats),
		TEST(test_stats_of_ends),
		TEST(test_filter),
		TEST(test_filter_failed),
		TEST(test_stats_values),
		TEST(test_quantiles),
		TEST(test_random),
		TEST(check_127_offset),
		TEST(check_128_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
