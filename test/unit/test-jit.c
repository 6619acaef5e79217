/* SPDX-License-Identifier: MIT */
/*
 * symbols/jit.c: names of code made at run time. What is right is painted address by address: each
 * name over what was there before.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbols/jit.h"
#include "test/unit/test-elf-scratch.h"

#define SPACE 3000 /* addresses from BASE on */
#define BASE  0x7f0000001000ul

static int painted[SPACE]; /* the number of the name; 0: none */

static void paint(uint64_t low, uint64_t size, int name)
{
	for (uint64_t i = low; i < low + size && i < SPACE; i++)
		painted[i] = name;
}

static void check_painted(struct dt_jit *m)
{
	int got[SPACE] = {0};
	uint64_t behind = 0;
	size_t n;
	const struct dt_jit_code *c = dt_jit_all(m, &n);

	for (size_t i = 0; i < n; i++) {
		assert_true(c[i].low < c[i].high && c[i].low >= behind && c[i].start <= c[i].low);
		behind = c[i].high;
		assert_memory_equal(c[i].name, "f", 1);
		for (uint64_t a = c[i].low; a < c[i].high; a++)
			got[a - BASE] = atoi(c[i].name + 1);
	}
	for (unsigned i = 0; i < SPACE; i++)
		assert_int_equal(got[i], painted[i]);
}

static bool read_file(struct dt_jit *m, const char *name)
{
	int file = open(scratch_path(name), O_RDONLY | O_CLOEXEC);
	bool news = dt_jit_read(m, file);

	assert_true(file >= 0);
	close(file);
	return news;
}

static void write_text(const char *name, const char *mode, const char *text)
{
	FILE *f = fopen(scratch_path(name), mode);

	assert_non_null(f);
	assert_int_equal(fputs(text, f) < 0, 0);
	assert_int_equal(fclose(f), 0);
}

static void test_random_maps(void **state)
{
	(void)state;
	srand(7);
	for (int round = 0; round < 200; round++) {
		struct dt_jit *m = dt_jit_new(DT_JIT_MAP);
		int lines = rand() % 60, most = 1 + rand() % 400;

		memset(painted, 0, sizeof(painted));
		write_text("map", "w", "");
		for (int i = 1; i <= lines; i++) {
			uint64_t low = (uint64_t)(rand() % SPACE),
				 size = 1 + (uint64_t)(rand() % most);
			char line[128];

			size = low + size > SPACE ? SPACE - low : size;
			snprintf(line, sizeof(line),
				 rand() % 2 ? "%lx %lx f%d of a.js:1\n" : "0x%lX %lx f%d\n",
				 BASE + low, size, i);
			write_text("map", "a", line);
			paint(low, size, i);
			/* at any moment what has been read is right */
			if (rand() % 8 == 0) {
				assert_true(read_file(m, "map"));
				check_painted(m);
			}
		}
		read_file(m, "map");
		check_painted(m);
		assert_false(read_file(m, "map"));
		assert_int_equal(dt_jit_unread(m), 0);
		dt_jit_free(m);
	}
}

static const char *name_at(struct dt_jit *m, uint64_t address)
{
	size_t n;
	const struct dt_jit_code *c = dt_jit_all(m, &n);

	for (size_t i = 0; i < n; i++)
		if (address >= c[i].low && address < c[i].high)
			return c[i].name;
	return "";
}

/* A file that is read while it is being written, and written anew in one way or another. */
static void test_rewritten(void **state)
{
	struct dt_jit *m = dt_jit_new(DT_JIT_MAP);
	char *longer = malloc(200001);

	(void)state;
	write_text("map", "w", "1000 10 one\n2000 10 two");
	assert_true(read_file(m, "map"));
	assert_string_equal(name_at(m, 0x100f), "one");
	/* the line that has no end yet is no line */
	assert_string_equal(name_at(m, 0x2000), "");
	assert_int_equal(dt_jit_unread(m), 0);
	write_text("map", "a", "nd\n3000 ");
	assert_true(read_file(m, "map"));
	assert_string_equal(name_at(m, 0x2000), "twond");
	write_text("map", "a", "10 three\n");
	assert_true(read_file(m, "map"));
	assert_string_equal(name_at(m, 0x3000), "three");
	/* shorter; longer; as long as before; another file */
	write_text("map", "w", "1000 10 four\n");
	assert_true(read_file(m, "map"));
	assert_string_equal(name_at(m, 0x1000), "four");
	assert_string_equal(name_at(m, 0x3000), "");
	write_text("map", "w", "1000 10 five and more that is new\n4000 10 six\n");
	assert_true(read_file(m, "map"));
	assert_string_equal(name_at(m, 0x1000), "five and more that is new");
	assert_string_equal(name_at(m, 0x4000), "six");
	write_text("map", "w", "1000 10 five and more that is new\n4000 10 SIX\n");
	assert_true(read_file(m, "map"));
	assert_string_equal(name_at(m, 0x4000), "SIX");
	write_text("other", "w", "5000 10 seven\n");
	assert_true(read_file(m, "other"));
	assert_string_equal(name_at(m, 0x5000), "seven");
	assert_string_equal(name_at(m, 0x4000), "");
	/* what is no line is counted, and nothing behind it is lost */
	memset(longer, 'x', 200000);
	longer[200000] = '\0';
	write_text("map", "w",
		   "\n1000\n1000 10\n1000 10 \n1000 0 none\nffffffffffffffff 10 over\n"
		   "11111111111111111 1 many\n-1 10 minus\n1000  10  spaces\ntext\n");
	write_text("map", "a", longer);
	write_text("map", "a", "\n6000 10 eight\n7000 20 ");
	write_text("map", "a", longer);
	write_text("map", "a", "\n8000 10 nine\n");
	assert_true(read_file(m, "map"));
	assert_string_equal(name_at(m, 0x1000), "spaces");
	assert_string_equal(name_at(m, 0x6000), "eight");
	assert_string_equal(name_at(m, 0x8000), "nine");
	assert_int_equal(dt_jit_unread(m), 11);
	/* a long name is cut */
	longer[3000] = '\0';
	write_text("map", "w", "1000 10 ");
	write_text("map", "a", longer);
	write_text("map", "a", "\n");
	assert_true(read_file(m, "map"));
	assert_int_equal(strlen(name_at(m, 0x1000)), DT_JIT_NAME);
	free(longer);
	dt_jit_free(m);
}

/* ---- jitdump, written by the words of its specification ---- */

static void put(FILE *f, unsigned long long v, unsigned bytes)
{
	while (bytes--) {
		fputc((int)(v & 0xff), f);
		v >>= 8;
	}
}

static FILE *begin_dump(const char *name, unsigned long magic, unsigned machine)
{
	FILE *f = fopen(scratch_path(name), "w");

	assert_non_null(f);
	put(f, magic, 4);
	put(f, 1, 4);
	put(f, 40, 4);
	put(f, machine, 4);
	put(f, 0, 4);
	put(f, 77, 4);
	put(f, 0, 16);
	return f;
}

static void put_load(FILE *f, uint64_t address, uint64_t size, const char *name)
{
	put(f, 0, 4);
	put(f, 16 + 40 + strlen(name) + 1 + size, 4);
	put(f, 1, 8);
	put(f, 77, 4);
	put(f, 77, 4);
	put(f, address, 8);
	put(f, address, 8);
	put(f, size, 8);
	put(f, 0, 8);
	fwrite(name, strlen(name) + 1, 1, f);
	for (uint64_t i = 0; i < size; i++)
		fputc(0xc3, f);
}

static void put_move(FILE *f, uint64_t from, uint64_t to, uint64_t size)
{
	put(f, 1, 4);
	put(f, 16 + 48, 4);
	put(f, 1, 8);
	put(f, 77, 4);
	put(f, 77, 4);
	put(f, to, 8);
	put(f, from, 8);
	put(f, to, 8);
	put(f, size, 8);
	put(f, 0, 8);
}

static void test_dump(void **state)
{
	struct dt_jit *m = dt_jit_new(DT_JIT_DUMP);
	FILE *f = begin_dump("dump", 0x4a695444, 62);
	unsigned char *bytes;
	size_t n;

	(void)state;
	memset(painted, 0, sizeof(painted));
	put_load(f, BASE, 100, "f1");
	put_load(f, BASE + 200, 100, "f2");
	paint(0, 100, 1);
	paint(200, 100, 2);
	/* debug information, which is left out */
	put(f, 2, 4);
	put(f, 16 + 24, 4);
	put(f, 1, 8);
	put(f, 5, 24);
	fflush(f);
	assert_true(read_file(m, "dump"));
	check_painted(m);
	put_load(f, BASE + 250, 100, "f3");
	paint(250, 100, 3);
	put_move(f, BASE, BASE + 1000, 100);
	paint(0, 100, 0);
	paint(1000, 100, 1);
	fflush(f);
	assert_true(read_file(m, "dump"));
	check_painted(m);
	assert_int_equal(dt_jit_unread(m), 0);
	put_move(f, BASE + 5, BASE + 1000, 100);
	fflush(f);
	read_file(m, "dump");
	assert_int_equal(dt_jit_unread(m), 1);
	/* a record that is not whole yet */
	put(f, 0, 4);
	put(f, 500, 4);
	fclose(f);
	assert_false(read_file(m, "dump"));
	check_painted(m);
	dt_jit_free(m);
	/* of another byte order, of another processor */
	m = dt_jit_new(DT_JIT_DUMP);
	f = begin_dump("other", 0x4454694a, 62);
	put_load(f, BASE, 10, "f1");
	fclose(f);
	assert_false(read_file(m, "other"));
	f = begin_dump("other", 0x4a695444, 183);
	put_load(f, BASE, 10, "f1");
	fclose(f);
	assert_false(read_file(m, "other"));
	dt_jit_free(m);
	/* cut everywhere, and with each byte changed */
	bytes = scratch_read("dump", &n);
	for (size_t i = 0; i < n; i += i < 300 ? 1 : 7) {
		unsigned char was = bytes[i];

		for (int x = 0; x < 3; x++) {
			m = dt_jit_new(DT_JIT_DUMP);
			bytes[i] = (unsigned char)(x == 0 ? 0 : x == 1 ? 0xff : was ^ 0x40);
			scratch_write("bad", bytes, x == 2 ? i : n);
			read_file(m, "bad");
			dt_jit_all(m, &(size_t){0});
			dt_jit_free(m);
		}
		bytes[i] = was;
	}
	free(bytes);
}

/* Records that say sizes which they can not have. */
static void test_sizes(void **state)
{
	struct dt_jit *m = dt_jit_new(DT_JIT_DUMP);
	FILE *f = begin_dump("sizes", 0x4a695444, 62);

	(void)state;
	memset(painted, 0, sizeof(painted));
	/* as long as its head, so that nothing is in it: the next one is where it ends */
	put(f, 0, 4);
	put(f, 16, 4);
	put(f, 1, 8);
	put(f, 1, 4);
	put(f, 16, 4);
	put(f, 1, 8);
	put_load(f, BASE, 100, "f1");
	paint(0, 100, 1);
	fflush(f);
	assert_true(read_file(m, "sizes"));
	check_painted(m);
	assert_int_equal(dt_jit_unread(m), 2);
	/* without a name; and of no code */
	put_load(f, BASE + 200, 100, "");
	put_load(f, BASE + 400, 0, "f2");
	fflush(f);
	assert_true(read_file(m, "sizes"));
	check_painted(m);
	assert_int_equal(dt_jit_unread(m), 4);
	/* shorter than its head: nothing is read from there on */
	put(f, 0, 4);
	put(f, 15, 4);
	put(f, 1, 8);
	put_load(f, BASE + 200, 100, "f3");
	fflush(f);
	assert_true(read_file(m, "sizes"));
	check_painted(m);
	assert_int_equal(dt_jit_unread(m), 5);
	put_load(f, BASE + 300, 100, "f4");
	fclose(f);
	assert_false(read_file(m, "sizes"));
	check_painted(m);
	assert_int_equal(dt_jit_unread(m), 5);
	/* another file in its place is read, and its longer head stepped over */
	f = fopen(scratch_path("longer"), "w");
	assert_non_null(f);
	put(f, 0x4a695444, 4);
	put(f, 1, 4);
	put(f, 48, 4);
	put(f, 62, 4);
	put(f, 0, 4);
	put(f, 77, 4);
	put(f, 0, 16);
	put(f, ~0ull, 8);
	put_load(f, BASE + 500, 100, "f5");
	fclose(f);
	memset(painted, 0, sizeof(painted));
	paint(500, 100, 5);
	assert_true(read_file(m, "longer"));
	check_painted(m);
	assert_int_equal(dt_jit_unread(m), 0);
	dt_jit_free(m);
}

/* What was moved is looked for under its latest name, and not under one that has gone. */
static void test_moves(void **state)
{
	struct dt_jit *m = dt_jit_new(DT_JIT_DUMP);
	FILE *f = begin_dump("moves", 0x4a695444, 62);

	(void)state;
	memset(painted, 0, sizeof(painted));
	put_load(f, BASE, 100, "f1");
	put_load(f, BASE, 50, "f2");
	put_move(f, BASE, BASE + 1000, 50);
	paint(1000, 50, 2);
	paint(50, 50, 1);
	/* and back, over itself, longer */
	put_move(f, BASE + 1000, BASE + 1020, 60);
	paint(1000, 50, 0);
	paint(1020, 60, 2);
	fclose(f);
	assert_true(read_file(m, "moves"));
	check_painted(m);
	assert_int_equal(dt_jit_unread(m), 0);
	dt_jit_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_maps), cmocka_unit_test(test_rewritten),
		cmocka_unit_test(test_dump),	    cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_moves),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
