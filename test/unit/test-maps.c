/* SPDX-License-Identifier: MIT */
/*
 * process/maps.c: where free addresses are found, in mappings that are made up, against looking at
 * each place at which the answer could be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "process/maps.c"

#define MOST 12
#define P    0x1000ull

static struct dt_mapping map[MOST];
static struct dt_maps maps = {.map = map};
static uint64_t seed;

static uint64_t any(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 20) % n;
}

/* Makes mappings with gaps between them, some of which are just as large as is wanted. */
static void make(uint64_t size)
{
	static const char *const paths[] = {"", "/bin/a", "[heap]", "[stack]", "[vdso]"};
	uint64_t at = LOWEST + P * any(0x100000);

	maps.n = any(MOST + 1);
	for (size_t i = 0; i < maps.n; i++) {
		uint64_t least = 2 * CLEAR + size;

		map[i] = (struct dt_mapping){.low = at, .high = at + P * (1 + any(0x4000))};
		map[i].path = (char *)paths[any(5)];
		at = map[i].high;
		switch (any(5)) {
		case 0: /* none, or too little */
			at += P * any(2 * CLEAR / P);
			break;
		case 1: /* as much, a page more or less */
			at += least + P * any(3) - P;
			break;
		case 2:
			at += HEAP_CLEAR + STACK_CLEAR + size + P * any(3) - P;
			break;
		default:
			at += P * any(0x80000);
		}
	}
}

/* Looks whether so much is free there, with what is left beside it. */
static bool is_free(uint64_t at, uint64_t size, uint64_t top)
{
	uint64_t low = LOWEST + CLEAR, high = HIGHEST - CLEAR;

	for (size_t i = 0; i < maps.n; i++) {
		if (at >= map[i].low && at < map[i].high)
			return false;
		if (map[i].high <= at) /* the last one below it */
			low = map[i].high + (strcmp(map[i].path, "[heap]") ? CLEAR : HEAP_CLEAR);
	}
	for (size_t i = maps.n; i-- > 0;) {
		uint64_t clear = strcmp(map[i].path, "[stack]") ? CLEAR : STACK_CLEAR;

		if (map[i].low > at) /* the first one above it */
			high = map[i].low > clear ? map[i].low - clear : 0;
	}
	high = high < top ? high : top;
	return at >= low && at + size <= high;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t best, best_way;

static void try_at(uint64_t at, uint64_t near, uint64_t size, uint64_t reach, uint64_t top)
{
	if (at > HIGHEST || !is_free(at, size, top) || apart(at, near) > reach ||
	    apart(at + size, near) > reach || apart(at, near) >= best_way)
		return;
	best = at;
	best_way = apart(at, near);
}

static void test_gap(void **state)
{
	unsigned found = 0, none = 0;

	for (uint64_t k = 1; k < 30000; k++) {
		uint64_t size, near, reach, top, is;

		seed = k * 7919;
		size = P * (1 + any(200));
		make(size);
		near = maps.n && any(3) ? map[any(maps.n)].low + P * any(0x8000)
					: LOWEST + P * any(0x400000);
		reach = any(2) ? 0x7fff0000 : P * any(0x20000);
		top = any(3) ? HIGHEST : near + P * any(0x10000);
		best = 0;
		best_way = UINT64_MAX;
		try_at(near, near, size, reach, top);
		try_at(LOWEST + CLEAR, near, size, reach, top);
		try_at(HIGHEST - CLEAR - size, near, size, reach, top);
		try_at(top - size, near, size, reach, top);
		for (size_t i = 0; i < maps.n; i++) {
			try_at(map[i].high + CLEAR, near, size, reach, top);
			try_at(map[i].high + HEAP_CLEAR, near, size, reach, top);
			try_at(map[i].low - CLEAR - size, near, size, reach, top);
			try_at(map[i].low - STACK_CLEAR - size, near, size, reach, top);
		}
		is = dt_maps_gap(&maps, near, size, reach, top);
		/* of two that are as far, either will do */
		if ((is == 0) != (best == 0) ||
		    (is && (!is_free(is, size, top) || apart(is, near) != best_way)))
			fail_msg("%lu: %lx, not %lx", (unsigned long)k, (unsigned long)is,
				 (unsigned long)best);
		*(is ? &found : &none) += 1;
	}
	if (found < 500 || none < 500)
		fail_msg("%u found, %u not", found, none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
