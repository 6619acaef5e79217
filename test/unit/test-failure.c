/* SPDX-License-Identifier: MIT */
/*
 * core/failure.c: whether a result says that the call failed. What is right is said by what the
 * words in doc/format.md mean of the number that the C compiler makes of the value.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/failure.h"

/* The values of a record that say something of all sizes. */
static const uint64_t some[] = {
	0,
	1,
	2,
	5,
	100,
	127,
	128,
	255,
	256,
	4094,
	4095,
	4096,
	32767,
	32768,
	65535,
	65536,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0x1ffffffff,
	INT64_MAX,
	(uint64_t)INT64_MIN,
	(uint64_t)-1,
	(uint64_t)-2,
	(uint64_t)-4094,
	(uint64_t)-4095,
	(uint64_t)-4096,
	(uint64_t)-100,
	0xffffff00,
	0xffff0000,
	0xfffff001,
	0xfffff000,
	0xff80,
	0xff,
};

#define VALUES (sizeof(some) / sizeof(*some))

/* The number that a value is in a type; -1 for all ones of an unsigned one: *ones. */
static __int128 number(char letter, unsigned size, uint64_t v, bool *ones)
{
	switch (letter == 'i' || letter == 'e' || letter == 'c' ? size : 10 * size) {
	case 1:
		return (int8_t)v;
	case 2:
		return (int16_t)v;
	case 4:
		return (int32_t)v;
	case 8:
		return (int64_t)v;
	case 10:
		*ones = (uint8_t)v == UINT8_MAX;
		return (uint8_t)v;
	case 20:
		*ones = (uint16_t)v == UINT16_MAX;
		return (uint16_t)v;
	case 40:
		*ones = (uint32_t)v == UINT32_MAX;
		return (uint32_t)v;
	default:
		*ones = v == UINT64_MAX;
		return v;
	}
}

static bool failed(char when, __int128 n, bool ones, bool other)
{
	if (other)
		return false;
	switch (when) {
	case '-':
		return n < 0 || ones;
	case 'm':
		return n == -1 || ones;
	case '0':
		return n == 0;
	case '+':
	case 'e':
		return n != 0;
	case 'n':
		return n <= 0 || ones;
	case 'k':
		return n < 0 && n > -4096;
	default:
		return false;
	}
}

static void check(const char *type, char when, uint64_t v, uint64_t errno_is)
{
	uint64_t value[4] = {1, v, 3, errno_is}, error = 0;
	struct dt_signature_value result;
	char signature[64];
	bool ones = false, is, other;
	__int128 n;

	/* errno is the record's last value; 5 and 100 are no failures */
	snprintf(signature, sizeof(signature), "n:i4@0;%s@1!%c/5/100%s", type, when,
		 when == 'e' || when == 'k' ? "" : "@3");
	assert_true(dt_signature_result(signature, &result));
	assert_int_equal(result.failure.when, when);
	n = number(result.type.letter, result.type.size, v, &ones);
	/* a pointer that the kernel gives back is an error if it is one of the last ones */
	if (when == 'k' && result.type.size == 8)
		n = (int64_t)v;
	other = n == 5 || n == 100;
	is = failed(when, n, ones, other);
	if (dt_failure_is(&result, value) != is)
		fail_msg("%s: %lx", signature, (unsigned long)v);
	if (!is)
		return;
	error = when == 'e' ? (uint64_t)n : when == 'k' ? (uint64_t)-n : errno_is;
	if (dt_failure_error(&result, value) != (error < 4096 ? error : 0))
		fail_msg("%s: error of %lx", signature, (unsigned long)v);
}

static void test_all(void **state)
{
	static const char *const type[] = {"i1", "i2", "i4", "i8", "u1", "u2", "u4",
					   "u8", "c",  "b1", "e4", "p",	 "e8"};

	(void)state;
	for (size_t t = 0; t < sizeof(type) / sizeof(*type); t++)
		for (const char *when = "-m0+nek"; *when; when++)
			for (size_t i = 0; i < VALUES; i++)
				for (uint64_t e = 0; e < 5; e++)
					check(type[t], *when, some[i],
					      (const uint64_t[]){0, 2, 4095, 4096, 1ull << 40}[e]);
}

/* Results that say nothing: without a place, of two, in no register, that are no whole numbers, of
 * a word that is not known; and when there is no failure without an errno. */
static void test_nothing(void **state)
{
	static const char *const signature[] = {
		";i4!-",   ";i4@-!-", ";i16@0+1!-", ";i4@x0!-", ";i4@m8!-", ";f8@0!-",
		";f4@0!0", ";v@0!0",  ";i4@0!?",    ";i4@0",	";i4@4!-",
	};
	static const uint64_t ones[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, none[4];
	struct dt_signature_value result;

	(void)state;
	for (size_t i = 0; i < sizeof(signature) / sizeof(*signature); i++) {
		assert_true(dt_signature_result(signature[i], &result));
		if (dt_failure_is(&result, ones) || dt_failure_is(&result, none))
			fail_msg("%s", signature[i]);
	}
	assert_true(dt_signature_result(";p@0!0@3+", &result));
	assert_false(dt_failure_is(&result, none));
	assert_true(dt_failure_is(&result, (const uint64_t[4]){0, 0, 0, 7}));
	assert_int_equal(dt_failure_error(&result, (const uint64_t[4]){0, 0, 0, 7}), 7);
	/* nothing tells the reason */
	assert_true(dt_signature_result(";i4@0!-", &result));
	assert_true(dt_failure_is(&result, ones));
	assert_int_equal(dt_failure_error(&result, ones), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
