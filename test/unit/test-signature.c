/* SPDX-License-Identifier: MIT */
/* core/signature.c: what a signature says, by example; text that is damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/failure.h"

/* "name i4#row 0 1 whole": all that was read, in one line */
static void tell(char *out, size_t size, const struct dt_signature_value *v)
{
	static const char kind[] = "rxmp";
	int n = snprintf(out, size, "%.*s %c%u", v->name_length, v->name,
			 v->type.letter ? v->type.letter : '?', v->type.size);

	if (v->type.row)
		n += snprintf(out + n, size - (size_t)n, "#%u", v->type.row);
	if (v->rest)
		n += snprintf(out + n, size - (size_t)n, " rest");
	for (int i = 0; i < v->places; i++)
		n += snprintf(out + n, size - (size_t)n, " %c%u", kind[v->place[i].kind],
			      v->place[i].n);
	if (dt_signature_whole(v))
		snprintf(out + n, size - (size_t)n, " whole");
}

static void test_values(void **state)
{
	static const struct {
		const char *text, *want;
	} golden[] = {
		{"x:i1@0;v", "x i1 r0 whole"},
		{"x:i2@1;v", "x i2 r1 whole"},
		{"x:i4@2;v", "x i4 r2 whole"},
		{"x:i8@3;v", "x i8 r3 whole"},
		{"x:u1@0;v", "x u1 r0 whole"},
		/* sixteen bytes, of which a place has eight */
		{"x:i16@0;v", "x i16 r0"},
		{"x:u16@0+1;v", "x u16 r0 r1 whole"},
		{"x:i16@2+3;v", "x i16 r2 r3 whole"},
		{"x:i16@-;v", "x i16"},
		{"x:b@0;v", "x b1 r0 whole"},
		{"x:c@0;v", "x c1 r0 whole"},
		{"x:p@0;v", "x p8 r0 whole"},
		{"x:s@0;v", "x s8 r0 whole"},
		{"x:f4@0;v", "x f4 r0 whole"},
		{"x:f8@-;v", "x f8"},
		{"x:f10@-;v", "x f10"},
		{"x:f10@0;v", "x f10 r0"},
		{"x:e1#7@0;v", "x e1#7 r0 whole"},
		{"x:e4#4294967295@0;v", "x e4#4294967295 r0 whole"},
		{"x:a#12@0+1;v", "x a8#12 r0 r1 whole"},
		{"x:a@-;v", "x a8"},
		{":i4@0;v", " i4 r0 whole"},
		{"...:a@-;v", "... a8 rest"},
		/* of dt_symtab_places(), and its keys */
		{"x:i4@5;v", "x i4 r5 whole"},
		{"x:f8@x7;v", "x f8 x7 whole"},
		{"x:a#000002fa@1+x0;v", "x a8 r1 x0 whole"},
		{"x:i8@m16;v", "x i8 m16 whole"},
		{"x:a#000002fa@*4+*4;v", "x a8 p4 p4 whole"},
		/* a letter that is not known here */
		{"x:z@0;v", "x z8 r0 whole"},
		{"x:z4@0;v", "x z4 r0 whole"},
		/* damaged */
		{"x;v", " ?0"},
		{"x:;v", "x ?0"},
		{"x:i@0;v", "x ?0"},
		{"x:i0@0;v", "x ?0"},
		{"x:i17@0;v", "x ?0"},
		{"x:i99999999999999999999@0;v", "x ?0"},
		{"x:4@0;v", "x ?0"},
		{"x:i4;v", "x i4"},
		{"x:i4@;v", "x i4"},
		{"x:i4@z;v", "x i4"},
		{"x:i4@0+;v", "x i4"},
		{"x:i4@0+1+2;v", "x i4"},
		{"x:i4@0 ;v", "x i4"},
		{"x:i4@99999;v", "x i4"},
		{"x:i4#@0;v", "x ?0"},
		{"x:i4#xyz@0;v", "x ?0"},
		{"x:i4#99999999999@0;v", "x i4 r0 whole"},
		{"x:i4x@0;v", "x ?0"},
	};

	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
		struct dt_signature_value v;
		char text[200], result[64];

		assert_true(dt_signature_parameter(golden[i].text, 0, &v));
		tell(text, sizeof(text), &v);
		assert_string_equal(text, golden[i].want);
		assert_false(dt_signature_parameter(golden[i].text, 1, &v));
		/* the same as a result */
		if (!strchr(golden[i].text, ':'))
			continue;
		snprintf(result, sizeof(result), ";%s", strchr(golden[i].text, ':') + 1);
		*strrchr(result, ';') = '\0';
		assert_true(dt_signature_result(result, &v));
		assert_int_equal(v.name_length, 0);
		v.name = golden[i].text;
		v.name_length = (uint16_t)strcspn(v.name, ":");
		v.rest = !strcmp(golden[i].want, "... a8 rest");
		tell(text, sizeof(text), &v);
		assert_string_equal(text, golden[i].want);
	}
}

static void test_whole_signatures(void **state)
{
	const char *s = "fd:i4@0,:p@1,n:u8@2,...:a@-;i8@0", *p = s;
	static const char *const want[] = {"fd i4 r0 whole", " p8 r1 whole", "n u8 r2 whole",
					   "... a8 rest"};
	struct dt_signature_value v;
	char text[100];
	uint8_t index;

	for (int i = 0; i < 4; i++) {
		assert_true(dt_signature_next(&p, &v));
		tell(text, sizeof(text), &v);
		assert_string_equal(text, want[i]);
	}
	assert_false(dt_signature_next(&p, &v));
	assert_false(dt_signature_next(&p, &v));
	assert_true(dt_signature_named(s, "n", 1, &v));
	assert_true(dt_signature_single(&v, &index));
	assert_int_equal(index, 2);
	assert_int_equal(v.typed_length, 2);
	assert_memory_equal(v.typed, "u8", 2);
	assert_true(dt_signature_named(s, "", 0, &v));
	assert_int_equal(v.type.letter, 'p');
	assert_false(dt_signature_named(s, "nn", 2, &v));
	assert_false(dt_signature_named(s, "f", 1, &v));
	assert_true(dt_signature_result(s, &v));
	assert_int_equal(v.type.letter, 'i');
	assert_true(dt_signature_result(";v", &v));
	assert_int_equal(v.type.letter, 'v');
	assert_int_equal(v.places, 0);
	/* what is not one value of a record */
	for (int i = 0; i < 5; i++) {
		static const char *const none[] = {";i16@0", ";a@0+1", ";f8@x0", ";i4@4", ";i4@-"};

		assert_true(dt_signature_result(none[i], &v));
		assert_false(dt_signature_single(&v, &index));
	}
}

/* Arguments that are not always passed. */
static void test_conditions(void **state)
{
	static const struct {
		const char *text;
		uint8_t when;
		uint64_t bits;
	} golden[] = {
		{"x:u4@2?1&64;v", 1, 64}, {"x:u4#3@2?3&4294967295;v", 3, 4294967295},
		{"x:u4@2;v", 0, 0},	  {"x:u4@2?;v", 0, 0},
		{"x:u4@2?1;v", 0, 0},	  {"x:u4@2?1&;v", 0, 0},
		{"x:u4@2?4&64;v", 0, 0},  {"x:u4@2?x1&64;v", 0, 0},
		{"x:u4@2?1&64x;v", 0, 0}, {"x:u4@2?1&4294967296;v", 0, 0},
	};

	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
		struct dt_signature_value v;
		char text[100];

		assert_true(dt_signature_parameter(golden[i].text, 0, &v));
		assert_int_equal(v.when, golden[i].when);
		assert_int_equal(v.when_bits, golden[i].bits);
		assert_int_equal(dt_signature_passed(&v, (const uint64_t[4]){0}), !golden[i].bits);
		assert_true(
			dt_signature_passed(&v, (const uint64_t[4]){~0ull, ~0ull, ~0ull, ~0ull}));
		/* the rest is read as without it */
		tell(text, sizeof(text), &v);
		assert_true(strstr(text, "x u4") == text && strstr(text, " r2 whole"));
	}
}

/* The golden vectors of failures: what is said of them, and which results are one. */
static void test_failures(void **state)
{
	static const struct {
		const char *text, *values; /* values: "result errno" */
		bool failed;
		uint32_t error;
	} golden[] = {
		{";i4@0!-@3", "ffffffff 2", true, 2},
		{";i4@0!-@3", "ffffffffffffffff 2", true, 2},
		{";i4@0!-@3", "ffffffff 0", true, 0}, /* errno is not known */
		{";i4@0!-@3", "ffffffff 1000", true, 0},
		{";i4@0!-@3", "ffffffff 200000002", true, 0},
		{";i4@0!-@3", "3 2", false, 0},
		{";i4@0!-@3", "dead00000003 2", false, 0}, /* only four bytes are the result */
		{";i8@0!-@3", "ffffffff 2", false, 0},
		{";i4@0!-", "fffffffe 2", true, 0},
		{";u8@0!-@3", "fffffffffffffffe 2", false, 0},
		{";u8@0!-@3", "ffffffffffffffff 54", true, 0x54},
		{";p@0!-@3", "ffffffffffffffff c", true, 0xc},
		{";p@0!0@3", "0 c", true, 0xc},
		{";p@0!0@3", "1 c", false, 0},
		{";b@0!0", "ff00 0", true, 0},
		{";i4@0!+", "0 0", false, 0},
		{";i4@0!+", "fffffffe 0", true, 0},
		{";i4@0!+/100/101", "64 0", false, 0},
		{";i4@0!+/100/101", "65 0", false, 0},
		{";i4@0!+/100/101", "66 0", true, 0},
		{";i4#7@0!-/-5@3", "fffffffb 9", false, 0},
		{";i4#7@0!-/-5@3", "fffffffa 9", true, 9},
		{";i4@0!n", "0 0", true, 0},
		{";i4@0!n", "fffffff0 0", true, 0},
		{";i4@0!n", "1 0", false, 0},
		{";i4@0!e", "10 5", true, 0x10},
		{";i4@0!e", "0 5", false, 0},
		{";i8@0!k", "fffffffffffffffe 5", true, 2},
		{";i8@0!k", "fffffffffffff000 5", false, 0},
		{";i8@0!k", "fffffffffffff001 5", true, 4095},
		{";i4@0!m@3", "ffffffff 2", true, 2},
		{";i4@0!m@3", "fffffffe 2", false, 0},
		{";i4@0!m@3", "0 2", false, 0},
		{";i8@0!m", "ffffffffffffffff 2", true, 0},
		{";i8@0!m", "ffffffff 2", false, 0},
		{";u4@0!m", "ffffffff 2", true, 0},
		{";u4@0!m", "fffffffe 2", false, 0},
		{";p@0!m", "ffffffffffffffff 2", true, 0},
		/* only together with an errno */
		{";p@0!0@3+", "0 2", true, 2},
		{";p@0!0@3+", "0 0", false, 0},
		{";p@0!0@3+", "1 2", false, 0},
		{";i8@0!m/5@3+", "ffffffffffffffff 2", true, 2},
		{";i8@0!m/5@3+", "ffffffffffffffff 0", false, 0},
		/* nothing is said, or it can not be known */
		{";i4@0", "ffffffff 2", false, 0},
		{";i4@-!-", "ffffffff 2", false, 0},
		{";i16@0+1!-", "ffffffff ffffffffffffffff", false, 0},
		{";f8@2!-", "ffffffffffffffff 2", false, 0},
		{";v", "ffffffff 2", false, 0},
		{";v!-", "ffffffff 2", false, 0},
		/* of a later version, and damaged */
		{";i4@0!q", "ffffffff 2", false, 0},
		{";i4@0!", "ffffffff 2", false, 0},
		{";i4@0!-@", "ffffffff 2", false, 0},
		{";i4@0!-@4", "ffffffff 2", false, 0},
		{";i4@0!-@x0", "ffffffff 2", false, 0},
		{";i4@0!-@3++", "ffffffff 2", false, 0},
		{";i4@0!-+", "ffffffff 2", false, 0},
		{";i4@0!-@+", "ffffffff 2", false, 0},
		{";i4@0!@3", "ffffffff 2", false, 0},
		{";i4@0!--", "ffffffff 2", false, 0},
		{";i4@0!-!-", "ffffffff 2", false, 0},
		{";i4@0!-/", "ffffffff 2", false, 0},
		{";i4@0!-/1/2/3/4/5", "ffffffff 2", false, 0},
		{";i4@0!-/99999999999", "ffffffff 2", false, 0},
	};

	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
		struct dt_signature_value v;
		uint64_t value[4] = {0};
		char *end;

		value[0] = strtoull(golden[i].values, &end, 16);
		value[1] = value[3] = strtoull(end, NULL, 16);
		assert_true(dt_signature_result(golden[i].text, &v));
		if (dt_failure_is(&v, value) != golden[i].failed)
			fail_msg("%s with %s", golden[i].text, golden[i].values);
		if (golden[i].failed)
			assert_int_equal(dt_failure_error(&v, value), golden[i].error);
		/* the result is read as without it */
		assert_int_equal(v.type.letter, golden[i].text[1]);
	}
}

static void test_no_signature(void **state)
{
	static const char *const none[] = {"", "x", "x:i4@0", ",", ":"};
	struct dt_signature_value v;

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		assert_false(dt_signature_known(none[i]));
		assert_false(dt_signature_parameter(none[i], 0, &v));
		assert_false(dt_signature_named(none[i], "x", 1, &v));
		assert_false(dt_signature_result(none[i], &v));
	}
	assert_true(dt_signature_known(";v"));
	assert_false(dt_signature_parameter(";v", 0, &v));
}

static void test_members(void **state)
{
	static const struct {
		const char *text;
		int rc;
		struct dt_signature_member want;
	} golden[] = {
		{"x:i4@32", 1, {.name_length = 1, .type = {'i', 4, 0, false}, .bit = 32}},
		{":e2#9@127", 1, {.type = {'e', 2, 9, true}, .bit = 127}},
		{"n:u8@3/61",
		 1,
		 {.name_length = 1, .type = {'u', 8, 0, false}, .bit = 3, .bits = 61}},
		{"w:i16@0", 1, {.name_length = 1, .type = {'i', 16, 0, false}}},
		{"", 0, {0}},
		{"x", -1, {0}},
		{"x:", -1, {0}},
		{"x:i4", -1, {0}},
		{"x:i@0", -1, {0}},
		{"x:@0", -1, {0}},
		{"x:i4@", -1, {0}},
		{"x:i4@128", -1, {0}},
		{"x:i4@0/", -1, {0}},
		{"x:i4@0/0", -1, {0}},
		{"x:i4@0/65", -1, {0}},
		{"x:i4#@0", -1, {0}},
		{"x:i4#0@0", -1, {0}},
		{"x:i4#99999999999@0", -1, {0}},
		{"x:i4@0+1", -1, {0}},
		{"x@0:i4", -1, {0}},
	};

	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
		struct dt_signature_member m;
		const char *p = golden[i].text;
		int rc = dt_signature_member(&p, &m);

		assert_int_equal(rc, golden[i].rc);
		assert_ptr_equal(p, golden[i].text + (rc == 1 ? strlen(golden[i].text) : 0));
		if (rc < 1)
			continue;
		assert_int_equal(m.name_length, golden[i].want.name_length);
		assert_int_equal(m.type.letter, golden[i].want.type.letter);
		assert_int_equal(m.type.size, golden[i].want.type.size);
		assert_int_equal(m.type.row, golden[i].want.type.row);
		assert_int_equal(m.type.keyed, golden[i].want.type.keyed);
		assert_int_equal(m.bit, golden[i].want.bit);
		assert_int_equal(m.bits, golden[i].want.bits);
	}
}

/* Any text ends, is read within its bounds (the sanitizers look), and leads behind itself. */
static void test_any_text(void **state)
{
	static const char some[] = "iucbpsfeav0123456789:@#;,+-./xm!!/nk?&*";
	unsigned seed = 1;

	for (int round = 0; round < 200000; round++) {
		char *text = malloc(33);
		size_t n = (size_t)rand_r(&seed) % 33;
		const char *p;
		struct dt_signature_value v;
		struct dt_signature_member m;
		unsigned values = 0;

		assert_non_null(text);
		for (size_t i = 0; i < n; i++)
			text[i] = some[(size_t)rand_r(&seed) % (sizeof(some) - 1)];
		text = realloc(text, n + 1);
		text[n] = '\0';
		for (p = text; dt_signature_next(&p, &v); values++) {
			assert_true(p > text && p <= text + n);
			assert_true(v.when < 4 && v.when_bits <= UINT32_MAX);
			assert_true(v.places <= 2 && v.type.size <= 16);
			assert_true(v.name + v.name_length <= text + n);
			assert_true(v.typed + v.typed_length <= text + n);
		}
		assert_true(values <= n + 1);
		if (dt_signature_result(text, &v)) {
			assert_true(v.failure.others <= DT_FAILURE_OTHERS && v.failure.error < 4);
			if (dt_failure_is(&v, (const uint64_t[4]){0}))
				dt_failure_error(&v, (const uint64_t[4]){0});
		}
		p = text;
		while (dt_signature_member(&p, &m) > 0)
			assert_true(p <= text + n && m.bit < 128 && m.bits <= 64);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	     cmocka_unit_test(test_whole_signatures),
		cmocka_unit_test(test_no_signature), cmocka_unit_test(test_members),
		cmocka_unit_test(test_any_text),     cmocka_unit_test(test_failures),
		cmocka_unit_test(test_conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
