/* SPDX-License-Identifier: MIT */
/*
 * hook/probes-leave.c: bytes are changed in memory that is made up, page by page. After each write
 * no jump may lead to a springboard that is not there. And where threads in trampolines go on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hook/probes-work.h"

static int made_up_read(int mem, uint64_t address, void *to, size_t n);
static int made_up_write(int mem, uint64_t address, const void *from, size_t n);

#define dt_memory_read	made_up_read
#define dt_memory_write made_up_write
#include "hook/probes-leave.c"

#define BASE 0x7f0000001000ull
#define SIZE (5 * PAGE)
#define MOST 400

static uint8_t memory[SIZE], before[SIZE], after[SIZE];
static struct patch patch[MOST];
static size_t patches, board[MOST], writes, fail_at;

static uint64_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static bool has(size_t i, const uint8_t *bytes)
{
	return memcmp(memory + (patch[i].address - BASE), bytes, patch[i].length) == 0;
}

static int made_up_read(int mem, uint64_t address, void *to, size_t n)
{
	assert_int_equal(mem, 3);
	if (address < BASE || address + n > BASE + SIZE)
		return -1;
	memcpy(to, memory + (address - BASE), n);
	return 0;
}

static int made_up_write(int mem, uint64_t address, const void *from, size_t n)
{
	assert_int_equal(mem, 3);
	assert_true(address >= BASE && address + n <= BASE + SIZE);
	if (++writes == fail_at)
		return -1;
	memcpy(memory + (address - BASE), from, n);
	for (size_t i = 0; i < patches; i++)
		if (board[i] < patches && has(i, patch[i].new))
			assert_true(has(board[i], patch[board[i]].new));
	return 0;
}

static int by_address(const void *a, const void *b)
{
	return dt_probe_by_patch(a, b);
}

static bool is_free(const uint8_t *used, uint64_t at, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (at + i >= SIZE || used[at + i])
			return false;
	return true;
}

static void add(uint8_t *used, uint64_t at, unsigned length)
{
	struct patch *p = &patch[patches++];

	memset(used + at, 1, length);
	*p = (struct patch){.address = BASE + at, .length = (uint8_t)length};
	memcpy(p->old, memory + at, length);
	for (unsigned i = 0; i < length; i++)
		p->new[i] = (uint8_t)(p->old[i] + 1 + any(255)); /* another byte */
	if (length == DT_PATCH_JUMP)
		p->new[0] = p->old[0] == 0xe9 ? 0xe8 : 0xe9;
}

/* Makes jumps of five bytes, and short ones or branches that lead to some of them; many of them
 * where pages meet. */
static void make_patches(unsigned n)
{
	static uint8_t used[SIZE];

	memset(used, 0, sizeof(used));
	for (size_t i = 0; i < SIZE; i++)
		memory[i] = (uint8_t)any(256);
	patches = 0;
	while (n--) {
		uint64_t at = any(2) ? any(SIZE) : (1 + any(4)) * PAGE - 140 + any(280);
		unsigned length = 1 + any(2);
		int distance = (int)any(256) - 128;
		uint64_t from = at - (uint64_t)(int64_t)distance - length;

		if (!is_free(used, at, DT_PATCH_JUMP))
			continue;
		add(used, at, DT_PATCH_JUMP);
		if (any(4) == 0 || from >= SIZE || !is_free(used, from, length))
			continue;
		add(used, from, length);
		patch[patches - 1].new[length - 1] = (uint8_t)distance;
		if (length == 2) {
			patch[patches - 1].new[0] = 0xeb;
			memory[from] = patch[patches - 1].old[0] = 0x90;
		} else {
			memory[from] = patch[patches - 1].old[0] = (uint8_t)(distance + 1);
		}
	}
	qsort(patch, patches, sizeof(*patch), by_address);
	memcpy(before, memory, SIZE);
	memcpy(after, memory, SIZE);
	for (size_t i = 0; i < patches; i++) {
		memcpy(after + (patch[i].address - BASE), patch[i].new, patch[i].length);
		board[i] = SIZE_MAX; /* none */
		for (size_t k = 0; k < patches && patch[i].length < DT_PATCH_JUMP; k++)
			if (patch[k].length == DT_PATCH_JUMP &&
			    patch[k].address ==
				    patch[i].address + patch[i].length +
					    (uint64_t)(int8_t)patch[i].new[patch[i].length - 1])
				board[i] = k;
	}
}

static void test_written(void **state)
{
	for (seed = 1; seed < 400; seed++) {
		uint64_t was = seed;

		make_patches(1 + any(180));
		fail_at = 0;
		assert_int_equal(dt_probe_write(3, patch, patches, false), 0);
		assert_memory_equal(memory, after, SIZE);
		writes = 0;
		assert_int_equal(dt_probe_write(3, patch, patches, true), 0);
		assert_memory_equal(memory, before, SIZE);
		/* a write that fails: what has been written is still in order, and it is told */
		fail_at = 1 + any((uint32_t)writes);
		writes = 0;
		assert_int_equal(dt_probe_write(3, patch, patches, false), -1);
		assert_int_equal(writes, fail_at);
		/* and can be taken back */
		fail_at = 0;
		assert_int_equal(dt_probe_write(3, patch, patches, true), 0);
		assert_memory_equal(memory, before, SIZE);
		seed = was;
	}
}

/* Whether a patch is not as it was, and which. */
static void test_not_old(void **state)
{
	struct dt_target t = {.mem = 3};
	struct dt_probes p = {.patch = patch};

	fail_at = 0;
	for (seed = 1000; seed < 1100; seed++) {
		uint64_t was = seed;
		size_t i;

		make_patches(60);
		p.patches = patches;
		assert_null(not_old(&t, &p));
		i = any((uint32_t)patches);
		memory[patch[i].address - BASE + any(patch[i].length)] ^= 1;
		assert_ptr_equal(not_old(&t, &p), &patch[i]);
		seed = was;
	}
	/* memory that can not be read is not known to be as it was */
	p.patches = 1;
	patch[0].address = BASE + SIZE;
	assert_ptr_equal(not_old(&t, &p), &patch[0]);
}

/* Where threads go on: from their place in a trampoline, or on a springboard. */
static void test_back(void **state)
{
	struct region region[] = {{0x10000, 0x12000}, {0x20000, 0x21000}};
	struct dt_moved_at moved[] = {
		{9, 9}, /* of none */
		{0, 0},	 {3, 20},
		{5, 22}, {8, 40}, /* two instructions and one with a hook; the end */
		{0, 0},	 {6, 6},
	};
	struct window window[] = {
		{.start = 0x400100,
		 .at = 0x10000,
		 .copy = 0x10030,
		 .end = 0x10100,
		 .first_moved = 1,
		 .moved = 3},
		/* without a hook in front of it */
		{.start = 0x400200,
		 .at = 0x20000,
		 .copy = 0x20000,
		 .end = 0x20040,
		 .first_moved = 5,
		 .moved = 1},
	};
	struct patch jump[] = {
		{.address = 0x400100, .length = 2, .new = {0xeb, 0x10}},
		{.address = 0x400112, .length = 5, .new = {0xe9}},
		{.address = 0x400150, .length = 1, .old = {0x7f}, .new = {0xf0}},
		{.address = 0x400141, .length = 5, .new = {0xe9}},
	};
	struct dt_probes p = {.region = region,
			      .regions = 2,
			      .moved = moved,
			      .window = window,
			      .windows = 2,
			      .patch = jump,
			      .patches = 4};
	static const struct {
		uint64_t ip, back;
	} is[] = {
		{0x10000, 0x400100},			   /* in the entry's hook */
		{0x1002f, 0x400100},  {0x10030, 0x400100}, /* at the copies, */
		{0x10044, 0x400103},  {0x10046, 0x400105}, {0x10058, 0x400108}, /* at the jump back,
										 */
		{0x10031, 0},			    /* in the middle of a hook, */
		{0x100ff, 0},	      {0x10100, 0}, /* behind it */
		{0x11fff, 0},	      {0x20000, 0x400200}, {0x20006, 0x400206}, {0x20007, 0},
		{0x400112, 0x400100}, /* on the board of a window's jump: it begins anew */
		{0x400141, 0x4001d0}, /* on that of a branch: it has been taken */
		{0x400100, 0},	      {0x400113, 0},	   {0x12000, 0},
	};
	struct dt_ips ips = {.n = 1};
	uint64_t ip, low, high;

	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++)
		if (dt_probes_back(&p, is[i].ip) != is[i].back)
			fail_msg("%lx: %lx", (unsigned long)is[i].ip,
				 (unsigned long)dt_probes_back(&p, is[i].ip));
	assert_int_equal(dt_probes_back(NULL, 0x10000), 0);
	assert_true(dt_probe_has_region(&p, 0x10000, 0x12000));
	assert_true(dt_probe_has_region(&p, 0x20fff, 0x21000));
	assert_false(dt_probe_has_region(&p, 0xffff, 0x10001));
	assert_false(dt_probe_has_region(&p, 0x11fff, 0x12001));
	assert_true(dt_probes_code(&p, 1, &low, &high));
	assert_true(low == 0x20000 && high == 0x21000);
	assert_false(dt_probes_code(&p, 2, &low, &high));
	assert_false(dt_probes_code(NULL, 0, &low, &high));
	/* threads are inside in a trampoline, or on a board */
	ips.ip = &ip;
	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++) {
		ip = is[i].ip;
		assert_int_equal(dt_probes_inside(&p, &ips),
				 (ip >= 0x10000 && ip < 0x12000) ||
					 (ip >= 0x20000 && ip < 0x21000) || ip == 0x400112 ||
					 ip == 0x400141);
	}
	assert_false(dt_probes_inside(NULL, &ips));
	ips.failed = true;
	assert_true(dt_probes_inside(NULL, &ips));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_not_old),
		cmocka_unit_test(test_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
