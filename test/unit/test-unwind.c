/* SPDX-License-Identifier: MIT */
/* Unwinding (elf/unwind.h, arch/unwind.h): what descriptions mean, and what nobody wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "elf/unwind.h"

/* As compilers have it: the CFA is rsp + 8, the return address below it. */
static const uint8_t initial[] = {0x0c, 7, 8, 0x90, 1};
/* after 1 byte rbp is pushed (CFA rsp + 16, rbp at CFA - 16), after 4 the CFA is rbp + 16 */
static const uint8_t code[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6};

static struct dt_frame frame_of(const uint8_t *first, size_t n, const uint8_t *text, size_t size)
{
	return (struct dt_frame){.start = 0x1000,
				 .end = 0x1100,
				 .initial = first,
				 .initial_end = first + n,
				 .code = text,
				 .code_end = text + size,
				 .code_align = 1,
				 .data_align = -8};
}

static void test_rows(void **state)
{
	const struct dt_frame f = frame_of(initial, sizeof(initial), code, sizeof(code));
	struct dt_unwind_row row;

	assert_true(dt_unwind_row(&f, 0x1000, &row));
	assert_int_equal(row.cfa.how, DT_UNWIND_SUM);
	assert_int_equal(row.cfa.reg, 7);
	assert_int_equal(row.cfa.n, 8);
	assert_int_equal(row.start, 0x1000);
	assert_int_equal(row.end, 0x1001);
	assert_true(dt_unwind_row(&f, 0x1003, &row));
	assert_int_equal(row.cfa.n, 16);
	assert_int_equal(row.reg[6].how, DT_UNWIND_SAVED);
	assert_int_equal(row.reg[6].n, -16);
	assert_true(dt_unwind_row(&f, 0x10ff, &row));
	assert_int_equal(row.cfa.reg, 6);
	assert_int_equal(row.start, 0x1004);
	assert_int_equal(row.end, 0x1100);
	assert_int_equal(row.function, 0x1000);
}

static void test_steps(void **state)
{
	/* sp: the return address of what was called; then a frame of rbp's */
	uint64_t words[8] = {0x1010, 1, 2, 0x7038, 0x2000, 3, 4, 5};
	const struct dt_unwind_stack s = {0x7000, (const uint8_t *)words, sizeof(words)};
	const uint64_t kept[DT_UNWIND_KEPT] = {30, 0x7018, 12, 13, 14, 15};
	const struct dt_frame f = frame_of(initial, sizeof(initial), code, sizeof(code));
	const struct dt_unwind_stack less = {0x7000, (const uint8_t *)words, 32};
	struct dt_unwind_registers r, same;
	struct dt_unwind_row row;

	assert_true(dt_unwind_row(&f, 0x100f, &row));
	assert_true(dt_unwind_begin(&r, &s, kept));
	assert_int_equal(dt_unwind_pc(&r), 0x1010);
	same = r;
	assert_int_equal(dt_unwind_step(&r, &row, &s), DT_UNWIND_STEPPED);
	assert_int_equal(dt_unwind_pc(&r), 0x2000);
	assert_int_equal(r.value[7], 0x7028);
	assert_int_equal(r.value[6], 0x7038);
	assert_int_equal(r.value[3], 30);
	assert_int_equal(dt_unwind_step(&same, &row, &less), DT_UNWIND_DEEPER);
	/* never down the stack, nor in place */
	same.value[6] = 0x6ff0;
	assert_int_equal(dt_unwind_step(&same, &row, &s), DT_UNWIND_WRONG);
	words[4] = 0;
	assert_true(dt_unwind_begin(&r, &s, kept));
	assert_int_equal(dt_unwind_step(&r, &row, &s), DT_UNWIND_OUTERMOST);
}

/* The rule of PLT entries, as linkers write it: rsp + 8, and 8 more behind the push. */
static void test_expression(void **state)
{
	static const uint8_t plt[] = {0x0f, 11,	  0x77, 8,    0x80, 0,	 0x3f,
				      0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	const struct dt_frame f = frame_of(initial, sizeof(initial), plt, sizeof(plt));
	uint64_t words[4] = {0x100c, 0x55, 0x3000, 0x4000};
	const struct dt_unwind_stack s = {0x7000, (const uint8_t *)words, sizeof(words)};
	const uint64_t kept[DT_UNWIND_KEPT] = {0};
	struct dt_unwind_registers r;
	struct dt_unwind_row row;

	assert_true(dt_unwind_row(&f, 0x100b, &row));
	assert_int_equal(row.cfa.how, DT_UNWIND_VALUE);
	assert_true(dt_unwind_begin(&r, &s, kept));
	r.value[16] = 0x100b;
	assert_int_equal(dt_unwind_step(&r, &row, &s), DT_UNWIND_STEPPED);
	assert_int_equal(dt_unwind_pc(&r), 0x3000);
	words[0] = 0x1006;
	assert_true(dt_unwind_begin(&r, &s, kept));
	assert_int_equal(dt_unwind_step(&r, &row, &s), DT_UNWIND_STEPPED);
	assert_int_equal(dt_unwind_pc(&r), 0x55);
}

/* Any bytes at all, as a description, as a row, as registers and stack: nothing is read but these,
 * and it ends. An expression that jumps back for ever is among them. */
static void test_hostile(void **state)
{
	static const uint8_t forever[] = {0x0f, 4, 0x2f, 0xfd, 0xff, 0x96};
	const struct dt_frame loop = frame_of(initial, sizeof(initial), forever, sizeof(forever));
	const uint64_t kept[DT_UNWIND_KEPT] = {0};
	struct dt_unwind_registers r;
	struct dt_unwind_row row;
	unsigned rows = 0, steps = 0;

	for (unsigned i = 0; i < 200000; i++) {
		size_t n = (size_t)(random() % 40), size = (size_t)(random() % 128);
		uint8_t *first = malloc(n + 1), *text = malloc(40), *bytes = malloc(size + 1);
		const struct dt_unwind_stack s = {0x7000, bytes, size};
		struct dt_frame f = frame_of(first, n, text, (size_t)(random() % 40));

		for (size_t k = 0; k < 40; k++)
			text[k] = (uint8_t)random();
		for (size_t k = 0; k < n; k++)
			first[k] = (uint8_t)(i % 2 && k < sizeof(initial) ? initial[k] : random());
		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t)(random() % 4 ? random() : 0x70);
		f.data_align = (int32_t)random();
		f.code_align = (uint32_t)random() % 8;
		if (dt_unwind_row(&f, 0x1000 + (uint64_t)random() % 256, &row)) {
			rows++;
			assert_true(dt_unwind_row_is(&row));
			assert_true(row.start < row.end);
		} else {
			for (size_t k = 0; k < sizeof(row); k++)
				((uint8_t *)&row)[k] = (uint8_t)(random() % 7);
			dt_bool_settle(&row.signal);
		}
		if (dt_unwind_row_is(&row) && dt_unwind_begin(&r, &s, kept)) {
			r.known = (uint32_t)random();
			for (int k = 0; k < 20 && dt_unwind_step(&r, &row, &s) == DT_UNWIND_STEPPED;
			     k++)
				steps++;
		}
		free(first);
		free(text);
		free(bytes);
	}
	assert_true(rows > 1000);
	assert_true(steps > 10);
	assert_true(dt_unwind_row(&loop, 0x1000, &row));
	r = (struct dt_unwind_registers){.known = ~0u};
	assert_int_equal(dt_unwind_step(&r, &row, &(struct dt_unwind_stack){0x7000, forever, 0}),
			 DT_UNWIND_WRONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows), cmocka_unit_test(test_steps),
		cmocka_unit_test(test_expression), cmocka_unit_test(test_hostile)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
