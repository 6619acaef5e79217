/* SPDX-License-Identifier: MIT */
/* Memory that is read in stretches, and bytes that are searched by a rare one, against pread() and
 * memmem(). */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/rare.h"
#include "process/ahead.h"

#define PAGE 4096u

/* Six pages, of which the first and the last are not there: stretches that begin or end there can
 * only be read in part. */
static void test_reading(void **state)
{
	uint8_t *p =
		mmap(NULL, 6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_true(mem >= 0);
	for (size_t i = 0; i < 6 * PAGE; i++)
		p[i] = (uint8_t)(i * 7 + i / 256);
	munmap(p, PAGE);
	munmap(p + 5 * PAGE, PAGE);
	srandom(1);
	for (int turn = 0; turn < 200; turn++) {
		struct dt_ahead a = {.high = 0};

		for (int i = 0; i < 20; i++) {
			size_t at = (size_t)random() % (6 * PAGE), n = 1 + (size_t)random() % 8;
			bool there = at >= PAGE && at + n <= 5 * PAGE;
			uint8_t got[8];

			if (dt_ahead_read(&a, mem, (uint64_t)(uintptr_t)p + at, got, n) != there)
				fail_msg("%zu bytes at %zu", n, at);
			if (there)
				assert_memory_equal(got, p + at, n);
		}
	}
	close(mem);
	munmap(p + PAGE, 4 * PAGE);
}

static void test_noting(void **state)
{
	static uint8_t byte[2 * DT_AHEAD];
	uint64_t at = ((uint64_t)(uintptr_t)byte | (DT_AHEAD - 1)) + 1;
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct dt_ahead a = {.high = 0};
	uint8_t got = 1;

	assert_true(dt_ahead_read(&a, mem, at, &got, 1));
	assert_int_equal(got, 0);
	dt_ahead_note(&a, at, 5);
	assert_true(dt_ahead_read(&a, mem, at, &got, 1));
	assert_int_equal(got, 5);
	/* what has not been read is not noted */
	dt_ahead_note(&a, at - 1, 6);
	assert_true(dt_ahead_read(&a, mem, at, &got, 1));
	assert_int_equal(got, 5);
	close(mem);
}

static void test_searching(void **state)
{
	unsigned char bytes[300], needle[6];

	srandom(2);
	for (int turn = 0; turn < 20000; turn++) {
		/* of few values, so that there are many beginnings */
		size_t size = (size_t)random() % sizeof(bytes), n = 1 + (size_t)random() % 6;

		for (size_t i = 0; i < size; i++)
			bytes[i] = (unsigned char)(random() % 3 ? 0x48 : 0x90 + random() % 2);
		for (size_t i = 0; i < n; i++)
			needle[i] = (unsigned char)(random() % 3 ? 0x48 : 0x90 + random() % 2);
		assert_ptr_equal(dt_rare_find(bytes, size, needle, n),
				 memmem(bytes, size, needle, n));
	}
	assert_null(dt_rare_find(bytes, 3, needle, 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reading),
					   cmocka_unit_test(test_noting),
					   cmocka_unit_test(test_searching)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
