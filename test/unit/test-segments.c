/* SPDX-License-Identifier: MIT */
/*
 * analyse/stack.c: segments of open calls, made and dropped and grown by chance, against plain
 * walks over all of their frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyse/stack.h"

#define MOST 9u /* segments */

static uint64_t seed = 99;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

/* A segment with some frames: the sp fall from one to the next. */
static void add(struct dt_thread_stack *t)
{
	struct dt_segment *s = any(2) ? dt_segment_new(t) : dt_segment_sized(t, any(4));
	uint32_t frames = any(5) ? any(12) : 40;
	uint64_t sp = 20000 + 10 * any(2000);

	assert_non_null(s);
	s->kept = any(5) == 0;
	for (uint32_t i = 0; i < frames; i++) {
		if (s->n == s->size)
			assert_int_equal(dt_segment_grow(s), 0);
		s->frame[s->n] = (struct dt_stack_frame){.call = {.sp = sp, .depth = i}};
		if (any(2))
			s->frame[s->n].call.argument = s->frame[s->n].argument;
		s->frame[s->n].call.note = s->frame[s->n].note;
		s->n++;
		sp -= 10 * any(30);
	}
	/* they point into the frames, wherever these are by now */
	for (uint32_t i = 0; i < s->n; i++) {
		struct dt_stack_frame *f = &s->frame[i];

		assert_int_equal(f->call.depth, i);
		assert_ptr_equal(f->call.note, f->note);
		assert_true(!f->call.argument || f->call.argument == f->argument);
	}
	if (t->segments > 1 && any(2))
		s->below = t->segment[any(t->segments - 1)];
}

/* The innermost frame at or above sp. */
static int64_t above(const struct dt_segment *s, uint64_t sp)
{
	int64_t at = -1;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->frame[i].call.sp >= sp)
			at = i;
	return at;
}

static void nearest(const struct dt_thread_stack *t, const struct dt_segment *but, uint64_t sp,
		    bool kept)
{
	uint64_t best = DT_STACK_FAR;
	const struct dt_segment *found = dt_stack_nearest(t, but, sp, kept);

	for (uint32_t i = 0; i < t->segments; i++) {
		const struct dt_segment *s = t->segment[i];
		int64_t at = above(s, sp);

		assert_int_equal(dt_segment_above(s, sp), at);
		if (s != but && (kept || !s->kept) && at >= 0 && s->frame[at].call.sp - sp < best)
			best = s->frame[at].call.sp - sp;
	}
	if (best == DT_STACK_FAR) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_ptr_not_equal(found, but);
	assert_true(kept || !found->kept);
	assert_int_equal(found->frame[above(found, sp)].call.sp - sp, best);
}

/* Between the floor and the innermost frame of the segment there is no frame of another one; nor is
 * the floor higher than it has to be. */
static void switched(struct dt_thread_stack *t, struct dt_segment *s)
{
	uint64_t floor = 0, top = s && s->n ? s->frame[0].call.sp : 0;

	dt_stack_switch(t, s);
	assert_ptr_equal(t->current, s);
	for (uint32_t i = 0; top && i < t->segments; i++) {
		const struct dt_segment *o = t->segment[i];
		bool below = false, beyond = false;

		for (uint32_t k = 0; o != s && !o->kept && k < o->n; k++) {
			*(o->frame[k].call.sp <= top ? &below : &beyond) = true;
			if (!beyond && o->frame[k].call.sp > floor)
				floor = o->frame[k].call.sp;
		}
		/* a frame of the same height as the segment's first one is not below it */
		if (beyond && below && o->frame[o->n - 1].call.sp < top)
			floor = UINT64_MAX;
	}
	assert_int_equal(t->floor, floor);
}

static void drop(struct dt_thread_stack *t)
{
	struct dt_segment *s = t->segment[any(t->segments)], *left[MOST];
	uint32_t n = 0;

	if (any(2))
		t->current = s;
	for (uint32_t i = 0; i < t->segments; i++)
		if (t->segment[i] != s)
			left[n++] = t->segment[i];
	dt_segment_drop(t, s);
	assert_int_equal(t->segments, n);
	assert_true(t->current != s);
	for (uint32_t i = 0; i < n; i++) {
		bool there = false;

		assert_true(left[i]->below != s);
		for (uint32_t k = 0; k < n; k++)
			there |= t->segment[k] == left[i];
		assert_true(there);
	}
}

static void test_all(void **state)
{
	struct dt_thread_stack t = {0};

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		if (t.segments < MOST && any(MOST) >= t.segments)
			add(&t);
		else if (t.segments)
			drop(&t);
		if (!t.segments)
			continue;
		switched(&t, any(8) ? t.segment[any(t.segments)] : NULL);
		for (unsigned i = 0; i < 4; i++)
			nearest(&t, any(3) ? t.segment[any(t.segments)] : NULL,
				any(2) ? 10 * any(4100) : any(41000), any(2));
	}
	while (t.segments)
		dt_segment_drop(&t, t.segment[0]);
	free(t.segment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
