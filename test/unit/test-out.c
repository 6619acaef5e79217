/* SPDX-License-Identifier: MIT */
/*
 * show/out.c: whatever is written at whatever place of the buffer, all of it comes out, in order,
 * to a descriptor, a file and memory; nothing is written behind the buffer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "show/out.h"

#define GUARD 4096
#define MOST  (4 * DT_OUT_BUFFER)

static struct {
	struct dt_out o;
	unsigned char guard[GUARD];
} made;

static char want[MOST], got[MOST], text[DT_OUT_BUFFER];
static size_t wants;
static uint64_t seed;

static uint64_t any(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static uint64_t any_number(void)
{
	static const uint64_t edge[] = {
		0, 1, 9, 10, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, 0xffffffff};

	return any(3) ? (any(1u << 30) << 34 ^ any(1u << 30)) >> any(64)
		      : edge[any(sizeof(edge) / sizeof(*edge))];
}

/* Writes something, and the same to `want'. */
static void write_any(struct dt_out *o)
{
	uint64_t v = any_number();
	size_t n = any(5) ? any(300) : any(DT_OUT_BUFFER);
	char *to = want + wants;

	switch (any(8)) {
	case 0:
		dt_out_decimal(o, v);
		wants += (size_t)sprintf(to, "%" PRIu64, v);
		break;
	case 1:
		dt_out_signed(o, (int64_t)v);
		wants += (size_t)sprintf(to, "%" PRId64, (int64_t)v);
		break;
	case 2:
	case 3:
		dt_out_hex(o, v);
		wants += (size_t)sprintf(to, "0x%" PRIx64, v);
		break;
	case 4:
		dt_out_char(o, (char)('a' + v % 26));
		want[wants++] = (char)('a' + v % 26);
		break;
	case 5:
		n = n < 2000 ? n : 2000;
		dt_out_spaces(o, n);
		memset(to, ' ', n);
		wants += n;
		break;
	case 6:
		dt_out_bytes(o, text, n);
		memcpy(to, text, n);
		wants += n;
		break;
	default:
		n = 1 + n % 100;
		memcpy(dt_out_room(o, n), text, n);
		dt_out_used(o, n);
		memcpy(to, text, n);
		wants += n;
	}
}

static void check_guard(void)
{
	assert_true(made.o.n <= DT_OUT_BUFFER);
	assert_int_equal(made.guard[0], 0x5a);
	assert_memory_equal(made.guard, made.guard + 1, GUARD - 1);
}

static void begin(uint64_t with)
{
	seed = with;
	wants = 0;
	memset(&made, 0, offsetof(struct dt_out, buffer));
	memset(made.guard, 0x5a, GUARD);
	for (size_t i = sizeof(text); !text[0] && i--;)
		text[i] = (char)('A' + any(58));
}

/* From each place near the buffer's end on. */
static void test_edges(void **state)
{
	struct dt_out *o = &made.o;
	const char *kept;
	size_t n;

	for (unsigned k = 0; k < 70; k++)
		for (uint64_t with = 1; with < 40; with++) {
			begin(with);
			o->fd = -1;
			dt_out_bytes(o, text, DT_OUT_BUFFER - k);
			memcpy(want, text, DT_OUT_BUFFER - k);
			wants = DT_OUT_BUFFER - k;
			for (int i = 0; i < 3; i++) {
				/* few bytes: otherwise it is not about this place */
				size_t before = wants;

				write_any(o);
				check_guard();
				if (wants - before > 400)
					break;
			}
			kept = dt_out_kept(o, &n);
			assert_non_null(kept);
			assert_int_equal(n, wants);
			assert_memory_equal(kept, want, n);
			dt_out_forget(o);
			dt_out_kept(o, &n);
			assert_int_equal(n, 0);
			free(o->kept);
		}
}

/* Much, to a file that is read again: by its descriptor, or as a FILE. */
static void test_written(void **state)
{
	for (uint64_t with = 100; with < 130; with++) {
		FILE *f = tmpfile();
		struct dt_out *o = &made.o;

		assert_non_null(f);
		begin(with);
		o->fd = fileno(f);
		o->file = with % 2 ? f : NULL;
		while (wants < MOST - 2 * DT_OUT_BUFFER)
			write_any(o);
		check_guard();
		assert_int_equal(dt_out_end(o), 0);
		assert_int_equal(pread(fileno(f), got, MOST, 0), wants);
		assert_memory_equal(got, want, wants);
		fclose(f);
	}
}

/* What can not be written is told, once. */
static void test_failed(void **state)
{
	struct dt_out *o = &made.o;

	begin(7);
	o->fd = open("/dev/full", O_WRONLY);
	assert_true(o->fd >= 0);
	dt_out_text(o, "lost");
	assert_int_equal(dt_out_end(o), 1);
	dt_out_text(o, "lost, too");
	assert_int_equal(dt_out_end(o), 1);
	close(o->fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
