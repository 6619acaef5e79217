/* SPDX-License-Identifier: MIT */
/* show/shape.c: values by the types that a trace describes, and descriptions that are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "show/shape.c"
#include "test/unit/test-trace-scratch.h"

static char *plain(char *p, char letter, unsigned size, uint64_t v)
{
	return p + sprintf(p, "%c%u:%lx", letter, size, (unsigned long)v);
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
}

static struct dt_reader *with_types(const char *const *text, size_t n)
{
	struct dt_error e;
	struct dt_store *s = dt_store_create(trace_path, describe, NULL, &e);
	struct dt_reader *r;

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(dt_store_type(s, text[i], &e), i + 1);
	/* the same words have their row already */
	for (size_t i = 0; i < n; i++)
		assert_int_equal(dt_store_type(s, text[i], &e), i + 1);
	assert_int_equal(dt_store_close(s, &e), 0);
	r = dt_reader_open(trace_path, &e);
	assert_non_null(r);
	return r;
}

static void test_values(void **state)
{
	static const char *const text[] = {
		"e:color;RED=3,GREEN=4,BLUE=-5",
		"e:flags;NONE=0,A=1,B=2,C=4,D=8,AB=3",
		"e:count;ZERO=0,ONE=1,TWO=2,THREE=3,FOUR=4",
		"a:point;x:i4@0,y:u4@32",
		"a:in;p:a#4@0,c:e4#1@64,:a#6@96",
		"a:;:c@0,:c@8,:c@16",
		"a:bits;a:u4@0/3,b:i4@3/5,c:e4#1@8/4,d:b@12/1,e:u8@13/40",
		"a:deep;a:a#8@0",
		"e:big;HUGE=9223372036854775807,LOW=-9223372036854775808",
		"a:two;a:p@0,b:f8@64",
		"f:open;RDONLY=0/3,WRONLY=1/3,RDWR=2/3,TMPFILE=48,DIR=16,CREAT=64",
		"f:prot;NONE=0,READ=1,WRITE=2",
		"f:which;GET=1/4294967295,SET=2/4294967295,MINUS=-1/4294967295",
		"o:mode;",
		"a:both;flags:u4#11@0,mode:u2#14@32",
		"n:sockaddr;",
		"n:sockaddr;2",
		"n:sockaddr;4",
		"n:sockaddr;22",
	};
	static const struct {
		uint32_t row, size;
		uint64_t low, high;
		const char *want; /* NULL: nothing */
	} value[] = {
		{1, 4, 3, 0, "RED"},
		{1, 4, 0xfffffffb, 0, "BLUE"},
		{1, 4, 0xdead0000fffffffb, 0, "BLUE"}, /* the rest of the register is not meant */
		{1, 8, 0xfffffffb, 0, NULL},
		{1, 1, 0xfb, 0, "BLUE"},
		{1, 4, 7, 0, NULL},
		{2, 4, 0, 0, "NONE"},
		{2, 4, 3, 0, "AB"},
		{2, 4, 13, 0, "A|C|D"},
		{2, 4, 16, 0, NULL},
		{2, 4, 17, 0, NULL},
		{3, 4, 4, 0, "FOUR"},
		{3, 4, 5, 0, NULL}, /* not ONE|FOUR */
		{4, 8, 0xfffffffe00000001, 0, "{x=i4:1, y=u4:fffffffe}"},
		{5, 8, 0x200000001, 0x6261ull << 32 | 0xfffffffb,
		 "{p={x=i4:1, y=u4:2}, c=BLUE, \"ab\"}"},
		{6, 8, 0x636261, 0, "\"abc\""},
		{6, 8, 0x5c2261, 0, "\"a\\\"\\\\\""},
		{6, 8, 0x1b, 0, "{c1:1b, c1:0, c1:0}"},
		{7, 8, 5 | 0x1d << 3 | 4 << 8 | 1 << 12 | 0xabcdeull << 13, 0,
		 "{a=u8:5, b=i8:fffffffffffffffd, c=GREEN, d=b1:1, e=u8:abcde}"},
		{8, 8, 0, 0, "{a={a={a={a={a=?}}}}}"},
		{9, 8, INT64_MAX, 0, "HUGE"},
		{9, 8, 1ull << 63, 0, "LOW"},
		{10, 8, 1, 2, "{a=p8:1, b=f8:2}"},
		{11, 4, 0, 0, "RDONLY"},
		{11, 4, 64, 0, "RDONLY|CREAT"},
		{11, 4, 0xdead0000000051, 0, "WRONLY|DIR|CREAT"},
		{11, 4, 0x32, 0, "RDWR|TMPFILE"}, /* not DIR as well */
		{11, 4, 3, 0, NULL},
		{11, 4, 0x80000083, 0, NULL},
		{11, 4, 0x80000081, 0, "WRONLY|0x80000080"},
		{12, 4, 0, 0, "NONE"},
		{12, 4, 3, 0, "READ|WRITE"},
		{12, 4, 4, 0, NULL},
		{13, 4, 2, 0, "SET"},
		{13, 4, 3, 0, NULL},
		{13, 4, 0xffffffff, 0, "MINUS"},
		{14, 4, 0x1a4, 0, "0644"},
		{14, 4, 0x100000000, 0, "0"},
		{15, 8, 0x1ff00000041, 0, "{flags=WRONLY|CREAT, mode=0777}"},
		{0, 8, 1, 2, NULL},
		/* the entry's value 2 is 6; a NUL ends what has no length */
		{16, 8, 0x6261000063620001, 0, "{sa_family=AF_UNIX, sun_path=\"bc\"}"},
		{17, 8, 0x6261000063620001, 0, "{sa_family=AF_UNIX, sun_path=\"bc\"}"},
		{16, 8, 0x0078000063000001, 0, "{sa_family=AF_UNIX, sun_path=@\"c\"}"},
		{17, 8, 0x0078000063000001, 0, "{sa_family=AF_UNIX, sun_path=@\"c\\x00\\x00\"}"},
		{16, 8, 0x04030201bb010002, 0,
		 "{sa_family=AF_INET, sin_port=443, sin_addr=1.2.3.4}"},
		{17, 8, 0x04030201bb010002, 0,
		 "{sa_family=AF_INET, sa_data=\"\\x01\\xbb\\x01\\x02\"}"},
		{16, 8, 77, 0, "{sa_family=77, ...}"},
		{18, 8, 1, 2, NULL},
		{19, 8, 1, 2, NULL},
		{20, 8, 1, 2, NULL},
		{UINT32_MAX, 8, 1, 2, NULL},
	};
	static const uint64_t entry[4] = {1, 1, 0xdead00000006, 1};
	struct dt_shapes s = {.reader = with_types(text, sizeof(text) / sizeof(*text)),
			      .entry = entry};

	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < sizeof(value) / sizeof(*value); i++) {
			char out[DT_SHAPE_TEXT] = "";
			char *end = dt_shape_put(&s, out, value[i].row, value[i].size, value[i].low,
						 value[i].high, plain);

			if (!value[i].want) {
				assert_null(end);
				continue;
			}
			assert_non_null(end);
			*end = '\0';
			assert_string_equal(out, value[i].want);
		}
	dt_shapes_free(&s);
	dt_reader_close((struct dt_reader *)(uintptr_t)s.reader);
}

static void test_damage(void **state)
{
	static const char *const text[] = {
		"",
		"e",
		"e:",
		"e:;A",
		"e:;A=",
		"e:;A=x",
		"e:;=3",
		"e:;A=3x",
		"q:;A=3",
		"f:;A=3/",
		"f:;A=3/0",
		"f:;A=3/x",
		"e:;A=3/3",
		"o:;A",
		"a:x",
		"a:x;",
		"a:x;y",
		"a:x;y:",
		"a:x;y:i",
		"a:x;y:i0@0",
		"a:x;y:i4@",
		"a:x;y:i4@128",
		"a:x;y:i99@0",
		"a:x;y:i4#@0",
		"a:x;y:i4#99999999999@0",
		"a:x;y:i4@0/0",
		"a:x;y:i4@0/65",
		"a:x;y:i4@0z",
		"e:;A=3,",
		"a:x;y:i4@0,,z:i4@0",
	};
	const size_t n = sizeof(text) / sizeof(*text);
	struct dt_shapes s = {.reader = with_types(text, n)};
	char out[DT_SHAPE_TEXT];

	for (uint32_t row = 1; row <= n; row++) {
		char *end = dt_shape_put(&s, out, row, 4, 3, 0, plain);

		/* what has nothing in it, or a comma too many at the end, is whole as far as it
		 * goes */
		if (end && strcmp(text[row - 1], "e:;A=3,") && strcmp(text[row - 1], "a:x;"))
			fail_msg("'%s' gives %.*s", text[row - 1], (int)(end - out), out);
	}
	dt_shapes_free(&s);
	dt_reader_close((struct dt_reader *)(uintptr_t)s.reader);
}

/* As many and as long parts as there can be: the line's room is kept. */
static void test_room(void **state)
{
	char name[300], *huge = malloc(1 << 20), *p = huge;
	const char *const text[] = {huge, "a:x;a:a#1@0,b:a#1@0,c:a#1@0,d:a#1@0"};
	struct dt_shapes s = {0};
	char out[DT_SHAPE_TEXT + 64];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	p = stpcpy(p, "a:big;");
	for (int i = 0; i < 1000; i++)
		p += sprintf(p, "%s%s:u8@%d/1", i ? "," : "", name, i % 128);
	s.reader = with_types(text, 2);
	for (uint32_t row = 1; row <= 2; row++) {
		char *end;

		memset(out, '#', sizeof(out));
		end = dt_shape_put(&s, out, row, 8, UINT64_MAX, UINT64_MAX, plain);
		assert_non_null(end);
		assert_true(end - out <= DT_SHAPE_TEXT);
		for (int i = 0; i < 64; i++)
			assert_int_equal(out[DT_SHAPE_TEXT + i], '#');
	}
	dt_shapes_free(&s);
	dt_reader_close((struct dt_reader *)(uintptr_t)s.reader);
	free(huge);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_values), TEST(test_damage), TEST(test_room)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
