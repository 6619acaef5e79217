/* SPDX-License-Identifier: MIT */
/*
 * hook/probes-lift.c: of made-up modules, which jumps are lifted and set down is computed once more
 * from what is on, hook by hook; the bytes that result are as these jumps say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hook/probes-work.h"

static int made_up_change(struct dt_target *t, const struct dt_module *m,
			  const struct dt_probe_change *c, struct dt_error *e);

#define dt_probe_change(...) made_up_change(__VA_ARGS__)
#include "hook/probes-lift.c"

#define MOST 40 /* windows, patches, hooks, sites, points */

static struct window window[MOST];
static struct patch patch[MOST];
static struct pc_entry pc[MOST];
static struct planted_point planted[MOST];
static struct dt_point point[MOST], *points[MOST];
static uint64_t toggle[MOST];
static uint8_t chosen[MOST];
static struct dt_file file = {.chosen = chosen, .points = {.point = points}};
static struct dt_probes probes = {
	.patch = patch, .window = window, .pc = pc, .toggle = toggle, .point = planted};
static struct dt_module module = {.file = &file, .probes = &probes};
static struct dt_target target;
static bool down[MOST], fails; /* by patch: its jump is in memory */
static unsigned changes;
static uint64_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static size_t patch_at(uint64_t address)
{
	for (size_t i = 0; i < probes.patches; i++)
		if (patch[i].address == address)
			return i;
	fail_msg("no patch is at %lx", (unsigned long)address);
	return 0;
}

static int made_up_change(struct dt_target *t, const struct dt_module *m,
			  const struct dt_probe_change *c, struct dt_error *e)
{
	bool back[MOST + 1] = {false};

	assert_true(t == &target && m == &module && c->undos + c->puts > 0);
	changes++;
	if (fails)
		return dt_fail(e, "a thread is busy");
	for (size_t i = 0; i < c->undos; i++) {
		size_t k = patch_at(c->undo[i].address);

		assert_true(down[k] && (!i || c->undo[i - 1].address < c->undo[i].address));
		down[k] = false;
	}
	for (size_t i = 0; i < c->puts; i++) {
		size_t k = patch_at(c->put[i].address);

		assert_true(!down[k] && (!i || c->put[i - 1].address < c->put[i].address));
		down[k] = true;
		if (patch[k].window < probes.plan.windows)
			back[patch[k].window] = true;
	}
	/* threads in exactly the windows whose jumps come back are moved */
	for (size_t i = 0, n = 0; i < probes.windows; i++) {
		bool is = false;

		for (size_t k = 0; k < c->windows; k++)
			is = is || c->window[k].start == window[i].start;
		assert_int_equal(is,
				 window[i].index < probes.plan.windows && back[window[i].index]);
		n += is;
		assert_true(i + 1 < probes.windows || n == c->windows);
	}
	for (size_t k = 1; k < c->windows; k++)
		assert_true(c->window[k - 1].start < c->window[k].start);
	return 0;
}

/* Makes windows with gaps between their trampolines, which are in another order than the windows;
 * patches of theirs, some of none; and hooks of sites and of points, some in no trampoline. */
static void make(void)
{
	uint32_t order[MOST];

	probes.plan.windows = any(MOST);
	probes.windows = probes.plan.windows ? any(MOST) : 0;
	probes.lifted = 0;
	for (uint32_t i = 0; i < probes.windows; i++)
		order[i] = i;
	for (uint32_t i = (uint32_t)probes.windows; i > 1; i--) {
		uint32_t k = any(i), was = order[i - 1];

		order[i - 1] = order[k];
		order[k] = was;
	}
	for (uint32_t i = 0; i < probes.windows; i++) {
		uint64_t at = 0x10000 + 0x100 * (uint64_t)order[i];

		window[i] = (struct window){.start = 0x400000 + 0x20 * (uint64_t)i,
					    .at = at,
					    .end = at + 0x80 + 0x40 * any(3),
					    /* of those that others have replaced, none */
					    .index = any(9) ? any((uint32_t)probes.plan.windows)
							    : NONE};
	}
	probes.patches = any(MOST);
	for (size_t i = 0; i < probes.patches; i++) {
		patch[i] = (struct patch){.address = 0x400000 + 0x10 * ((i * 7) % MOST),
					  .window = any(9) ? any((uint32_t)probes.plan.windows + 1)
							   : NONE};
		down[i] = true;
	}
	probes.pcs = any(MOST);
	for (uint32_t i = 0; i < MOST; i++) {
		points[i] = &point[i];
		pc[i] = (struct pc_entry){.pc = i,
					  .toggle = 0xff80 + 0x20 * any(0x100 * (MOST + 2) / 0x20),
					  .site = any(3) ? i : NONE,
					  .point = any(MOST)};
		/* of a site or point that has been planted anew the old hook is called no more */
		toggle[i] = pc[i].toggle + !any(5);
	}
	for (uint32_t i = 0; i < MOST; i++)
		if (pc[i].site == NONE)
			planted[pc[i].point].toggle = pc[i].toggle + !any(5);
}

static void switch_some(uint32_t of)
{
	for (uint32_t i = 0; i < MOST; i++) {
		chosen[i] = !any(of);
		point[i].wanted = !any(of);
	}
}

/* Looks, without sorting anything, whether a window of the plan has hooks of which none is on. */
static bool is_idle(uint32_t index)
{
	bool any_hook = false, on = false;

	for (size_t i = 0; i < probes.pcs; i++)
		for (size_t k = 0; k < probes.windows; k++) {
			const struct pc_entry *x = &pc[i];

			if (window[k].index != index || x->toggle < window[k].at ||
			    x->toggle >= window[k].end)
				continue;
			any_hook = true;
			if (!dt_target_is_silent(&target))
				on = on ||
				     (x->site == NONE
					      ? point[x->point].wanted &&
							planted[x->point].toggle == x->toggle
					      : chosen[x->site] && toggle[x->site] == x->toggle);
		}
	return any_hook && !on;
}

/* Checks what is lifted; before: what was. */
static void check_lifted(const bool *before, bool set_down)
{
	size_t n = 0;

	for (size_t i = 0; i < probes.patches; i++) {
		bool idle = !set_down && patch[i].window < probes.plan.windows &&
			    is_idle(patch[i].window);
		bool want = idle && (target.lifts || before[i]);

		if (patch[i].lifted != want || down[i] == want)
			fail_msg("seed %lu, patch %zu: lifted %d, in memory %d, before %d; idle %d",
				 (unsigned long)seed, i, patch[i].lifted, down[i], before[i], idle);
		n += want;
	}
	assert_int_equal(probes.lifted, n);
}

static void note_lifted(bool *before)
{
	for (size_t i = 0; i < MOST; i++)
		before[i] = patch[i].lifted;
}

static bool differ(const bool *before)
{
	for (size_t i = 0; i < probes.patches; i++)
		if (patch[i].lifted != before[i])
			return true;
	return false;
}

static void test_lifted(void **state)
{
	bool before[MOST];
	struct dt_error e;

	for (uint64_t k = 1; k < 3000; k++) {
		seed = k;
		make();
		for (unsigned round = 0; round < 8; round++) {
			uint64_t lifts = probes.lifts;

			switch_some(1 + any(12));
			target = (struct dt_target){
				.lifts = any(4) != 0, .unwatched = !any(6), .opted_out = !any(6)};
			note_lifted(before);
			changes = 0;
			if (any(6)) {
				assert_int_equal(dt_probe_lift(&target, &module, &e), 0);
				check_lifted(before, false);
			} else {
				assert_int_equal(dt_probe_set_down(&target, &module, &e), 0);
				check_lifted(before, true);
			}
			/* threads are stopped only where something changes, and that is counted */
			assert_int_equal(changes, differ(before));
			assert_int_equal(probes.lifts - lifts, changes);
		}
	}
}

/* What could not be changed has not been: it is tried again. */
static void test_failed(void **state)
{
	bool before[MOST];
	struct dt_error e;
	unsigned failures = 0;

	for (uint64_t k = 5000; k < 5200; k++) {
		int rc;

		seed = k;
		make();
		switch_some(9);
		target = (struct dt_target){.lifts = true};
		note_lifted(before);
		fails = true;
		changes = 0;
		rc = dt_probe_lift(&target, &module, &e);
		assert_int_equal(rc, changes ? -1 : 0);
		failures += changes;
		assert_false(differ(before));
		assert_int_equal(probes.lifted, 0);
		fails = false;
		assert_int_equal(dt_probe_lift(&target, &module, &e), 0);
		check_lifted(before, false);
	}
	assert_true(failures > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lifted),
		cmocka_unit_test(test_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
