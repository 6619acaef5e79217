/* SPDX-License-Identifier: MIT */
/* symbols/prototype.c: the C library's functions without debug information. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "symbols/prototype.h"

static void check(const char *name, const char *want)
{
	char got[512];

	dt_prototype(name, false, got, sizeof(got));
	if (strcmp(got, want) != 0)
		fail_msg("%s: %s, not %s", name, got, want);
}

static void test_signatures(void **state)
{
	check("open", "path:s@0,flags:i4@1,mode:u4@2;i4@0");
	check("malloc", "size:u8@0;p@0");
	check("free", "ptr:p@0;v");
	check("getpid", ";i4@0");
	check("printf", "format:s@0,...:a@-;i4@0");
	check("sendto", "sockfd:i4@0,buf:p@1,len:u8@2,flags:i4@3,dest_addr:p@-,addrlen:u4@-;i8@0");
	check("strtod", "nptr:s@0,endptr:p@1;f8@2");
	/* the first and the last of the table, and neighbours of which one begins like the other */
	check("_exit", "status:i4@0;v");
	check("writev", "fd:i4@0,iov:p@1,iovcnt:i4@2;i8@0");
	check("time", "tloc:p@0;i8@0");
	check("timerfd_create", "clockid:i4@0,flags:i4@1;i4@0");
	check("wait", "wstatus:p@0;i4@0");
	check("waitpid", "pid:i4@0,wstatus:p@1,options:i4@2;i4@0");
}

static void test_names(void **state)
{
	check("__libc_read", "fd:i4@0,buf:p@1,count:u8@2;i8@0");
	check("__GI_strdup", "s:s@0;s@0");
	check("_IO_puts", "s:s@0;i4@0");
	check("fopen64", "path:s@0,mode:s@1;p@0");
	check("__open64", "path:s@0,flags:i4@1,mode:u4@2;i4@0");
	check("nosuch", "");
	check("", "");
	check("64", "");
	check("__", "");
	check("ope", "");
	check("openx", "");
}

static void test_files(void **state)
{
	char small[8];

	assert_true(dt_prototype_file("/lib/x86_64-linux-gnu/libc.so.6"));
	assert_true(dt_prototype_file("/lib/ld-musl-x86_64.so.1"));
	assert_false(dt_prototype_file("/lib/libcrypt.so.1"));
	assert_false(dt_prototype_file("/usr/bin/libc"));
	/* what does not fit is not known */
	dt_prototype("open", false, small, sizeof(small));
	assert_string_equal(small, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
