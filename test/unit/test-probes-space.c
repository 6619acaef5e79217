/* SPDX-License-Identifier: MIT */
/*
 * Where hook/probes-plant.c finds room for trampolines: of made-up mappings of all kinds, each free
 * address is computed once more, from the mapping below and the one above it alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "hook/probes-job.h"

static rlim_t stack_limit;

static int made_up_prlimit(struct rlimit *most)
{
	*most = (struct rlimit){stack_limit, RLIM_INFINITY};
	return 0;
}

#define prlimit(pid, what, new, old) made_up_prlimit(old)
#include "hook/probes-plant.c"

#define MOST	40
#define MODULES 6
#define LEAST	0x10000ull

enum kind { OTHER, STACK, REGION };

static struct dt_mapping map[MOST];
static enum kind kind[MOST];
static struct region region[MODULES][MOST];
static struct dt_probes probes[MODULES], into;
static struct dt_module module[MODULES];
static struct dt_target target;
static struct dt_maps maps = {.map = map};
static uint64_t seed = 1;

static uint64_t any(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 20) % n;
}

/* Returns what is left free below mapping i, for it or what is beside it to grow. */
static uint64_t below(size_t i)
{
	if (kind[i] == REGION)
		return 0x1000;
	if (kind[i] == OTHER || stack_limit <= 32 << 20)
		return 32 << 20;
	return stack_limit < 1 << 30 ? stack_limit + (32 << 20) : 1 << 30;
}

static uint64_t above(size_t i)
{
	return kind[i] == REGION ? 0x1000 : 32 << 20;
}

static bool is_free(uint64_t at)
{
	uint64_t low = LEAST + (32 << 20), high = DT_USER_TOP - (32 << 20);
	size_t i = 0;

	while (i < maps.n && map[i].high <= at)
		i++;
	if (i)
		low = map[i - 1].high + above(i - 1);
	if (i < maps.n)
		high = map[i].low > below(i) ? map[i].low - below(i) : 0;
	return at >= low && at < high;
}

static bool is_found(uint64_t at)
{
	for (size_t i = 0; i < into.space.n; i++)
		if (at >= into.space.free[i].low && at < into.space.free[i].high)
			return true;
	return false;
}

/* Makes up mappings; regions are spread over modules that are there, gone, and kept for later. */
static void make_up(void)
{
	uint64_t at = LEAST + (any(2) ? 0 : any(1ull << 40));

	for (unsigned i = 0; i < MODULES; i++)
		probes[i] = (struct dt_probes){.region = region[i]};
	maps.n = 1 + any(MOST - 1);
	for (size_t i = 0; i < maps.n; i++) {
		/* beside the last one, a few pages from it, about as far as is left free, or far */
		static const uint64_t far[] = {0, 4, 1 << 14, 1 << 15, 1 << 19, 1 << 26};

		at += 0x1000 * any(far[any(sizeof(far) / sizeof(*far))] + 1);
		map[i] = (struct dt_mapping){.low = at, .path = ""};
		at = map[i].high = at + 0x1000 * (1 + any(64));
		kind[i] = (enum kind)any(3);
		if (kind[i] == STACK) {
			map[i].path = "[stack]";
		} else if (kind[i] == REGION) {
			struct dt_probes *p = &probes[any(MODULES)];

			/* all of the region, or its beginning */
			at += 0x1000 * any(2);
			p->region[p->regions++] = (struct region){map[i].low, at};
		}
	}
	target = (struct dt_target){.module = module, .gone = module + 2, .shelf = module + 4};
	target.n = target.n_gone = target.n_shelf = 2;
}

static void test_room(void **state)
{
	static const rlim_t limits[] = {RLIM_INFINITY,	1 << 30, (1 << 30) - 1, 8 << 20, 32 << 20,
					(32 << 20) + 1, 0};
	struct dt_error e;

	for (unsigned i = 0; i < MODULES; i++)
		module[i].probes = &probes[i];
	for (unsigned round = 0; round < 3000; round++) {
		make_up();
		stack_limit = limits[any(sizeof(limits) / sizeof(*limits))];
		assert_int_equal(find_space(&target, &into, &maps, &e), 0);
		for (size_t i = 0; i < maps.n; i++) {
			const uint64_t edge[] = {map[i].low, map[i].high, map[i].low - below(i),
						 map[i].high + above(i), map[i].low + below(i)};

			for (size_t k = 0; k < sizeof(edge) / sizeof(*edge); k++)
				for (int d = -1; d <= 1; d++)
					if (is_found(edge[k] + (uint64_t)d) !=
					    is_free(edge[k] + (uint64_t)d))
						fail_msg("round %u, mapping %zu, edge %zu%+d: %d",
							 round, i, k, d,
							 is_found(edge[k] + (uint64_t)d));
		}
		for (int d = -1; d <= 0; d++) {
			const uint64_t first = LEAST + (32 << 20), end = DT_USER_TOP - (32 << 20);

			assert_int_equal(is_found(first + (uint64_t)d),
					 is_free(first + (uint64_t)d));
			assert_int_equal(is_found(end + (uint64_t)d), is_free(end + (uint64_t)d));
		}
		for (size_t i = 1; i < into.space.n; i++)
			assert_true(into.space.free[i - 1].high < into.space.free[i].low);
	}
	dt_space_free(&into.space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
