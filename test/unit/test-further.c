/* SPDX-License-Identifier: MIT */
/*
 * show/further.c: whose call a text belongs to. Of made-up threads, each of which is in a call,
 * some texts end with a record of their thread, others with the trace, after records of other
 * threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "show/further.h"

#include "show/entry-records.h"

#define THREADS 5u

static uint32_t looked_at; /* thread */
static struct dt_texts *begun;
static struct dt_call call[THREADS];
static struct dt_text *text[THREADS];
static unsigned came[THREADS]; /* texts of each thread's call */

static void look(uint32_t tid)
{
	looked_at = tid;
}

static void callers(bool (*fn)(void *ctx, const struct dt_call *c), void *ctx)
{
	if (looked_at < THREADS && call[looked_at].id)
		fn(ctx, &call[looked_at]);
}

/* A function's number is that of the thread that calls it. */
static bool is_of(uint32_t function, uint64_t entry)
{
	return entry == 1000 + function;
}

static void take_text(uint64_t id, const struct dt_text *t)
{
	assert_int_equal(id, call[t->head.tid].id);
	came[t->head.tid]++;
}

static void end_texts(void)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (text[i])
			begun->fn(begun->ctx, text[i]);
}

#define dt_pair_look(pair, tid)				 look(tid)
#define dt_pair_callers(pair, fn, ctx)			 callers(fn, ctx)
#define dt_entry_records_of(r, function, entry)		 is_of(function, entry)
#define dt_entry_records_text(fulls, id, r, t, argument) take_text(id, t)
#define dt_text_of_point(t)				 ((t)->head.kind == DT_MORE)
#define dt_texts_end(texts)				 end_texts()
#include "show/further.c"

static struct dt_further further;

static int begin(void **state)
{
	memset(came, 0, sizeof(came));
	dt_further_begin(&further, NULL, NULL, NULL);
	begun = &further.texts;
	for (unsigned i = 0; i < THREADS; i++) {
		call[i] = (struct dt_call){.id = i + 1, .entry = 1000 + i};
		text[i] = calloc(1, sizeof(*text[i]));
		text[i]->function = i;
		text[i]->head = (struct dt_record){.kind = DT_MORE, .tid = i};
	}
	return 0;
}

static int end(void **state)
{
	for (unsigned i = 0; i < THREADS; i++)
		free(text[i]);
	return 0;
}

static void test_whole(void **state)
{
	for (unsigned i = 0; i < 20; i++) {
		looked_at = i % THREADS;
		begun->fn(begun->ctx, text[looked_at]);
		assert_int_equal(came[i % THREADS], i / THREADS + 1);
	}
	/* one of which it is not known in which call it is, another call's, an event's */
	call[2].id = 0;
	looked_at = 2;
	begun->fn(begun->ctx, text[2]);
	looked_at = 3;
	begun->fn(begun->ctx, text[4]);
	text[3]->head.kind = DT_EVENT;
	begun->fn(begun->ctx, text[3]);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(came[i], 4);
}

static void test_end(void **state)
{
	for (unsigned last = 0; last <= THREADS; last++) {
		end(NULL);
		begin(NULL);
		looked_at = last;
		dt_further_end(&further);
		for (unsigned i = 0; i < THREADS; i++)
			assert_int_equal(came[i], 1);
		/* what comes when the calls are closed is not theirs */
		looked_at = 1;
		begun->fn(begun->ctx, text[1]);
		assert_int_equal(came[1], 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, begin, end),
		cmocka_unit_test_setup_teardown(test_end, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
