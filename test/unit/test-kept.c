/* SPDX-License-Identifier: MIT */
/* Lines that are kept for later come out as they went in, from memory and from the file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>

#include "cmd/kept-lines.c"

#define THREADS 5
#define LINES	200000u

static char said[4096]; /* what has been reported, a line each */
static bool may_fail;

int dt_cmd_fail(const char *format, ...)
{
	size_t n = strlen(said);
	va_list ap;

	if (!may_fail)
		fail_msg("%s", format);
	va_start(ap, format);
	n += (size_t)vsnprintf(said + n, sizeof(said) - n - 1, format, ap);
	va_end(ap);
	strcpy(said + n, "\n");
	return 1;
}

static uint64_t seed;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Of any number of bytes. */
static uint64_t any_number(void)
{
	unsigned bits = (unsigned)(random64() % 65);

	return bits ? random64() >> (64 - bits) : 0;
}

/* Some functions show all arguments, others none; the results are two at most. */
static unsigned values_of(void *ctx, uint32_t function)
{
	static const unsigned results[] = {0, 1, 4, 3};

	return function % 16 | results[function / 16 % 4] << 4;
}

struct line {
	enum dt_kept_kind kind;
	uint32_t level;
	struct dt_call call;
	uint64_t argument[4], result[4];
	char text[64];
	size_t n;
};

static void make_line(struct line *l, uint32_t *level)
{
	*l = (struct line){.kind = (enum dt_kept_kind)(random64() % 4)};
	if (l->kind == DT_KEPT_TEXT) {
		l->n = random64() % sizeof(l->text);
		memset(l->text, (int)(random64() % 256), l->n);
		return;
	}
	/* mostly as in a tree, at times not */
	l->level = random64() % 50 ? *level - (l->kind == DT_KEPT_CLOSE) : (uint32_t)any_number();
	*level = l->level + (l->kind == DT_KEPT_OPEN);
	l->call.function = (uint32_t)any_number();
	l->call.flags = random64() % 8 ? 0 : (uint32_t)any_number();
	l->call.begin = any_number();
	l->call.end = l->call.begin + any_number();
	for (int i = 0; i < 4; i++) {
		l->argument[i] = any_number();
		l->result[i] = any_number();
	}
	l->call.argument = random64() % 20 ? l->argument : NULL;
	l->call.result = random64() % 20 ? l->result : NULL;
}

static void same_values(const uint64_t *a, const uint64_t *b, unsigned mask)
{
	assert_int_equal(a == NULL, b == NULL);
	for (int i = 0; a && i < 4; i++)
		if (mask >> i & 1)
			assert_int_equal(a[i], b[i]);
}

static void same_line(const struct line *l, const struct dt_kept_cursor *c)
{
	unsigned values = values_of(NULL, l->call.function);

	assert_int_equal(c->kind, l->kind);
	if (l->kind == DT_KEPT_TEXT) {
		assert_int_equal(c->text_n, l->n);
		assert_memory_equal(c->text, l->text, l->n);
		return;
	}
	assert_int_equal(c->line_level, l->level);
	assert_int_equal(c->call.function, l->call.function);
	assert_int_equal(c->call.flags, l->call.flags);
	if (l->kind != DT_KEPT_OPEN) {
		assert_int_equal(c->call.end - c->call.begin, l->call.end - l->call.begin);
		same_values(c->call.result, l->call.result, values >> 4);
	}
	if (l->kind != DT_KEPT_CLOSE)
		same_values(c->call.argument, l->call.argument, values & 0xf);
}

static uint64_t keep_and_compare(size_t memory_max)
{
	static struct line lines[LINES];
	struct dt_keep keep = {.fd = -1, .memory_max = memory_max};
	struct dt_kept kept[THREADS] = {0};
	struct dt_kept_cursor cursor;
	uint32_t level[THREADS] = {0};
	uint64_t in_file;

	seed = 88172645463325252u;
	for (unsigned i = 0; i < LINES; i++) {
		struct line *l = &lines[i];
		unsigned t = i % THREADS;

		make_line(l, &level[t]);
		if (l->kind == DT_KEPT_TEXT)
			dt_kept_text(&keep, &kept[t], l->text, l->n);
		else
			dt_kept_call(&keep, &kept[t], l->kind, &l->call, l->level,
				     values_of(NULL, l->call.function));
		assert_true(keep.memory <= memory_max);
	}
	for (unsigned t = 0; t < THREADS; t++) {
		dt_kept_rewind(&cursor, &keep, &kept[t]);
		for (unsigned i = t; i < LINES; i += THREADS) {
			assert_true(dt_kept_next(&cursor, values_of, NULL));
			same_line(&lines[i], &cursor);
		}
		assert_false(dt_kept_next(&cursor, values_of, NULL));
		dt_kept_end(&cursor);
	}
	in_file = keep.size;
	dt_keep_close(&keep);
	return in_file;
}

static void test_in_memory(void **state)
{
	assert_int_equal(keep_and_compare(SIZE_MAX / 2), 0);
}

static void test_in_file(void **state)
{
	assert_true(keep_and_compare(0) > (LINES - 2000) * sizeof(uint32_t));
}

static void test_in_both(void **state)
{
	uint64_t all = keep_and_compare(0), rest = keep_and_compare(1 << 20);

	assert_true(rest > 0);
	assert_true(rest <= all - (1 << 20) + THREADS * PIECE);
}

/* Texts that are longer than what is kept at a time. */
static void test_long_texts(void **state)
{
	static const size_t length[] = {1, 4095, 4096, 4097, 16376, 16377, 70000, 8192, 65536};
	static char text[70000], out[300000];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i % 251);
	for (size_t memory_max = 0; memory_max <= 1 << 20; memory_max += 1 << 20) {
		struct dt_keep keep = {.fd = -1, .memory_max = memory_max};
		struct dt_kept kept = {0};
		struct dt_kept_cursor cursor;
		size_t n = 0, at = 0;

		for (size_t i = 0; i < sizeof(length) / sizeof(*length); i++)
			dt_kept_text(&keep, &kept, text, length[i]);
		dt_kept_rewind(&cursor, &keep, &kept);
		while (dt_kept_next(&cursor, values_of, NULL)) {
			assert_true(n + cursor.text_n <= sizeof(out));
			memcpy(out + n, cursor.text, cursor.text_n);
			n += cursor.text_n;
		}
		for (size_t i = 0; i < sizeof(length) / sizeof(*length); at += length[i++])
			assert_memory_equal(out + at, text, length[i]);
		assert_int_equal(n, at);
		assert_int_equal(keep.size > 0, memory_max == 0);
		dt_kept_end(&cursor);
		dt_keep_close(&keep);
	}
}

static void test_no_lines(void **state)
{
	struct dt_keep keep = {.fd = -1};
	struct dt_kept kept = {0};
	struct dt_kept_cursor cursor;

	dt_kept_rewind(&cursor, &keep, &kept);
	assert_false(dt_kept_next(&cursor, values_of, NULL));
	dt_kept_end(&cursor);
	assert_int_equal(keep.fd, -1);
}

/* Keeps much more than fits into a buffer, of two threads, in a file that is as it is said; then
 * reads it. Returns what was reported. */
static const char *keep_badly(int fd)
{
	static const char text[1000];
	struct dt_keep keep = {.fd = fd};
	struct dt_kept kept[2] = {{0}};
	struct dt_kept_cursor cursor;

	said[0] = '\0';
	may_fail = true;
	for (int i = 0; i < 100; i++)
		dt_kept_text(&keep, &kept[i % 2], text, sizeof(text));
	assert_true(keep.failed == (said[0] != '\0'));
	for (int i = 0; i < 2; i++) {
		dt_kept_rewind(&cursor, &keep, &kept[i]);
		while (dt_kept_next(&cursor, values_of, NULL))
			;
		dt_kept_end(&cursor);
	}
	assert_true(keep.failed);
	dt_keep_close(&keep);
	may_fail = false;
	return said;
}

/* Each reason is said once, however many lines come behind it. */
static void test_failures(void **state)
{
	char *tmp = getenv("TMPDIR"), *before = tmp ? strdup(tmp) : NULL, name[100];
	const char *is;
	int pipes[2];

	(void)state;
	setenv("TMPDIR", "/nonexistent/folder", 1);
	is = keep_badly(-1);
	assert_int_equal(sscanf(is, "/nonexistent/folder/devtrace-%99[^:]: No such", name), 1);
	assert_string_equal(strchr(is, ':'), ": No such file or directory\n");
	setenv("TMPDIR", "/proc/self/status", 1);
	assert_string_equal(strchr(keep_badly(-1), ':'), ": Not a directory\n");
	if (before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
	free(before);

	assert_string_equal(keep_badly(open("/dev/full", O_RDWR)),
			    "a temporary file cannot be written: No space left on device\n");
	assert_string_equal(keep_badly(open("/dev/null", O_RDONLY)),
			    "a temporary file cannot be written: Bad file descriptor\n");
	assert_string_equal(keep_badly(open("/dev/null", O_WRONLY)),
			    "a temporary file cannot be read: Bad file descriptor\n");
	assert_int_equal(pipe(pipes), 0);
	assert_string_equal(keep_badly(pipes[1]),
			    "a temporary file cannot be written: Illegal seek\n");
	close(pipes[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_memory), cmocka_unit_test(test_in_file),
		cmocka_unit_test(test_in_both),	  cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_no_lines),  cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
