/* SPDX-License-Identifier: MIT */
/* show/format.c: calls that failed, with the reason as the C library names it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/capture.h"
#include "show/format.h"
#include "test/unit/test-trace-scratch.h"

static const char *const signature[] = {
	"path:p@0,flags:i4#1@1,mode:u4#2@2?1&64;i4@0!-@3",
	"mutex:p@0;i4@0!e",
	"p:p@0;v",
	"n:u8@0;p@0!0@3",
	"db:p@0;i4#3@0!+/100/101",
	"wide:i16@0+1,more:i4@2;v",
};

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
}

static struct dt_reader *trace(void)
{
	static const char *const type[] = {"f:open;RDONLY=0/3,WRONLY=1/3,CREAT=64", "o:mode;",
					   "e:result;OK=0,BUSY=5,ROW=100"};
	struct dt_error e;
	struct dt_store *s = dt_store_create(trace_path, describe, NULL, &e);
	struct dt_reader *r;

	assert_non_null(s);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(dt_store_type(s, type[i], &e), i + 1);
	for (size_t i = 0; i < sizeof(signature) / sizeof(*signature); i++)
		assert_int_equal(
			dt_store_function(s,
					  &(struct dt_function_row){.address = i + 1,
								    .name = "f",
								    .file = "",
								    .signature = signature[i]},
					  &e),
			i + 1);
	assert_int_equal(dt_store_close(s, &e), 0);
	r = dt_reader_open(trace_path, &e);
	assert_non_null(r);
	return r;
}

static void test_outcomes(void **state)
{
	static const struct {
		uint32_t function;
		uint64_t value, error;
		const char *want;
		bool failed;
	} golden[] = {
		{1, 3, ENOENT, " = 3", false},
		{1, 0xffffffff, ENOENT, " = -1 ENOENT (No such file or directory)", true},
		{1, 0xffffffff, 0, " = -1", true}, /* errno is not known */
		{1, 0xffffffff, 1000, " = -1 errno 1000", true},
		{2, EBUSY, 0, " = 16 EBUSY (Device or resource busy)", true},
		{2, 0, ENOENT, " = 0", false},
		{3, 0, ENOENT, "", false},
		{4, 0, ENOMEM, " = 0x0 ENOMEM (Cannot allocate memory)", true},
		{4, 0x10, ENOMEM, " = 0x10", false},
		{5, 5, 0, " = BUSY", true},
		{5, 100, 0, " = ROW", false},
		{5, 7, 0, " = 7", true},
	};
	struct dt_formats f = {.reader = trace(), .plain = true};
	static char out[DT_CALL_TEXT];

	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
		const uint64_t value[4] = {golden[i].value, 0, 0, golden[i].error};
		uint32_t error;

		*dt_format_outcome(&f, out, golden[i].function, value) = '\0';
		assert_string_equal(out, golden[i].want);
		assert_int_equal(dt_format_failed(&f, golden[i].function, value, &error),
				 golden[i].failed);
	}
	/* the argument that is not always passed */
	*dt_format_call(&f, out, 1, (const uint64_t[4]){0x10, 0, 0777}) = '\0';
	assert_string_equal(out, "f(path=0x10, flags=RDONLY)");
	*dt_format_call(&f, out, 1, (const uint64_t[4]){0x10, 0x41, 0644}) = '\0';
	assert_string_equal(out, "f(path=0x10, flags=WRONLY|CREAT, mode=0644)");
	/* a value of which either half could not be read */
	*dt_format_point(&f, out, 6, (const uint64_t[4]){1, 2, 3}, true) = '\0';
	assert_string_equal(out, "f(wide=0x2:0x1, more=3)");
	for (int half = 0; half < 2; half++) {
		uint64_t value[4] = {1, 2, 3};

		value[half] = DT_CAPTURE_BAD;
		*dt_format_point(&f, out, 6, value, true) = '\0';
		assert_string_equal(out, "f(wide=?, more=3)");
	}
	/* a record that is kept until its line is written has to have what decides */
	assert_int_equal(dt_format_values(&f, 1), 0x97);
	dt_formats_free(&f);
	dt_reader_close((struct dt_reader *)(uintptr_t)f.reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_outcomes, scratch_setup, scratch_teardown)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
