/* SPDX-License-Identifier: MIT */
/* The fields of the kernel's own tracepoints, as tracefs writes them; and texts that are damaged.
 */
#include "session/kernel-tracepoints.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/signature.h"

#define COMMON                                                                                     \
	"name: x\nID: 3\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\t"       \
	"signed:0;\n\n"

static const char sched[] = COMMON
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:const void * site;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long args[6];\toffset:40;\tsize:48;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:88;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u8[] mac;\toffset:92;\tsize:4;\tsigned:0;\n"
	"\tfield:u8 end[];\toffset:96;\tsize:0;\tsigned:0;\n\nprint fmt: \"%s\", REC->name\n";

static void test_fields(void **state)
{
	struct dt_kernel_tracepoint p = {.id = 3};
	char text[512];

	assert_true(dt_kernel_tracepoint_read(&p, sched));
	assert_int_equal(p.values, 8);
	assert_int_equal(p.texts, 3);
	assert_int_equal(p.bytes, 96);
	dt_kernel_tracepoint_values(&p, 0, NULL, text, sizeof(text));
	assert_string_equal(text, "prev_pid:i4@0,site:p@1,args0:u8@2,args1:u8@3;v");
	assert_true(dt_signature_known(text));
	dt_kernel_tracepoint_values(&p, 4, NULL, text, sizeof(text));
	assert_string_equal(text, "args2:u8@0,args3:u8@1,args4:u8@2,args5:u8@3;v");
	assert_int_equal(p.field[7].how.offset, 80);
	/* the whole hit in its order, of which the first record has four */
	dt_kernel_tracepoint_hit(&p, (uint32_t[DT_BPF_FIELDS]){7}, text, sizeof(text));
	assert_string_equal(text, "prev_comm:s@-,prev_pid:i4#7@0,site:p@1,args0:u8@2,args1:u8@3,"
				  "args2:u8@-,args3:u8@-,args4:u8@-,args5:u8@-,name:s@-,mac:s@-;v");
	for (unsigned i = 0; i < 3; i++) {
		static const char *const want[] = {"prev_comm:s@0;v", "name:s@0;v", "mac:s@0;v"};

		dt_kernel_tracepoint_text(&p, i, text, sizeof(text));
		assert_string_equal(text, want[i]);
	}
	assert_int_equal(p.field[8].how.at, DT_BPF_FIELD_HERE);
	assert_int_equal(p.field[8].how.is, DT_BPF_FIELD_TEXT);
	assert_int_equal(p.field[9].how.at, DT_BPF_FIELD_THERE);
	assert_int_equal(p.field[9].how.is, DT_BPF_FIELD_TEXT);
	assert_int_equal(p.field[10].how.at, DT_BPF_FIELD_BEHIND);
	assert_int_equal(p.field[10].how.is, DT_BPF_FIELD_BYTES);
}

static void test_what_can_not_be(void **state)
{
	static const char *const bad[] = {
		"\tfield:int a;\toffset:8;\tsize:x;\tsigned:1;\n",
		"\tfield:int a;\toffset:8;\n",
		"\tfield:int",
		"\tfield:int a];\toffset:8;\tsize:4;\tsigned:1;\n",
		"\tfield:;\toffset:8;\tsize:4;\tsigned:1;\n",
		"\tfield:int a;\toffset:99999;\tsize:4;\tsigned:1;\n",
		"\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\n",
		"\tfield:char a[2000];\toffset:8;\tsize:2000;\tsigned:1;\n",
		"\tfield:__data_loc char[] a;\toffset:8;\tsize:2;\tsigned:1;\n",
	};
	struct dt_kernel_tracepoint p = {.id = 3};
	char many[65536] = COMMON;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(dt_kernel_tracepoint_read(&p, bad[i]));
	for (unsigned i = 0; i <= DT_BPF_FIELDS; i++)
		strcat(many, "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n");
	assert_false(dt_kernel_tracepoint_read(&p, many));
}

/* What is read of a damaged text is within the record all the same. */
static void test_damaged(void **state)
{
	struct dt_kernel_tracepoint p = {.id = 3};
	char text[sizeof(sched)], signature[4096];
	unsigned understood = 0;

	srandom(1);
	for (unsigned turn = 0; turn < 20000; turn++) {
		memcpy(text, sched, sizeof(text));
		for (long i = 1 + random() % 4; i > 0; i--)
			text[random() % (long)(sizeof(text) - 1)] = (char)(random() % 96 + 32);
		if (!dt_kernel_tracepoint_read(&p, text))
			continue;
		understood++;
		assert_in_range(p.values + p.texts, 0, DT_BPF_FIELDS);
		for (unsigned i = 0; i < p.values + p.texts; i++) {
			const struct dt_bpf_field *f = &p.field[i].how;

			assert_in_range(f->offset + f->size, 1, DT_BPF_TRACEPOINT_MOST);
			if (i < p.values)
				assert_in_range(f->size, 1, 8);
		}
		for (unsigned i = 0; i < p.values; i += 4)
			dt_kernel_tracepoint_values(&p, i, NULL, signature, sizeof(signature));
		dt_kernel_tracepoint_hit(&p, NULL, signature, sizeof(signature));
	}
	assert_in_range(understood, 1000, 19999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_what_can_not_be),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
