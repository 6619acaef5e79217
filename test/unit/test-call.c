/* SPDX-License-Identifier: MIT */
/* The tables of system calls: whole, and as the C library's headers have them. */
#include "symbols/call.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <cmocka.h>

#include "core/signature.h"
#include "symbols/prototype.h"

static void test_all(void **state)
{
	struct dt_call_info c, found;
	struct dt_bpf_call call;
	char text[4096];
	unsigned n[DT_BPF_KINDS] = {0};

	for (const char *at = NULL; dt_call_next(&at, &c);) {
		assert_true(c.kind < DT_BPF_KINDS && c.number < DT_BPF_SIGNALS);
		n[c.kind]++;
		assert_true(dt_call_find(c.kind, c.number, &found));
		assert_string_equal(c.name, found.name);
		dt_call_signature(&c, text, sizeof(text));
		assert_true(dt_signature_known(text));
		dt_call_items(&c, &call);
		assert_in_range(call.items, 0, DT_BPF_ITEMS);
		assert_in_range(call.arguments, 0, 6);
		for (unsigned i = 0; i < call.items; i++) {
			assert_int_not_equal(call.item[i].what, DT_BPF_NOTHING);
			assert_in_range(call.item[i].size, 1, DT_BPF_MOST);
			dt_call_item(&c, i, text, sizeof(text));
			assert_true(dt_signature_known(text));
		}
	}
	assert_true(n[0] > 350 && n[1] > 400 && n[2] > 350);
}

static void is(unsigned number, const char *name)
{
	struct dt_call_info c;

	assert_true(dt_call_find(0, number, &c));
	assert_string_equal(c.name, name);
}

static void test_numbers(void **state)
{
	is(SYS_read, "read");
	is(SYS_newfstatat, "newfstatat");
	is(SYS_execve, "execve");
	is(SYS_rt_sigprocmask, "rt_sigprocmask");
	is(SYS_openat2, "openat2");
	is(SYS_clone3, "clone3");
}

static void test_items(void **state)
{
	struct dt_call_info c;
	struct dt_bpf_call call;

	assert_true(dt_call_find(0, SYS_newfstatat, &c));
	dt_call_items(&c, &call);
	assert_int_equal(call.items, 3);
	assert_int_equal(call.item[0].what, DT_BPF_FILE);
	assert_int_equal(call.item[1].what, DT_BPF_TEXT);
	assert_int_equal(call.item[1].when, DT_BPF_ENTRY);
	assert_int_equal(call.item[2].when, DT_BPF_ZERO);
	assert_int_equal(call.item[2].size, sizeof(struct stat));
	assert_int_equal(dt_prototype_size("new_utsname"), sizeof(struct utsname));
	/* the same constant that the compiler has: only with TIOCGWINSZ there is a winsize */
	assert_true(dt_call_find(0, SYS_ioctl, &c));
	dt_call_items(&c, &call);
	assert_int_equal(call.item[1].test, 1);
	assert_int_equal(call.item[1].value, 0x5413);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all),
					   cmocka_unit_test(test_numbers),
					   cmocka_unit_test(test_items)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
