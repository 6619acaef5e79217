/* SPDX-License-Identifier: MIT */
/* The tables of system calls: whole, and as the C library's headers have them. */
#include "symbols/call.h"

#include <fcntl.h>
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

/* A signature without the keys of its sets, "#..." and as many hexadecimal digits as there are. */
static const char *plain(const char *signature)
{
	static char text[4096];
	char *to = text;

	for (const char *p = signature; *p; p++)
		if (*p == '#')
			p += strspn(p + 1, "0123456789abcdef");
		else
			*to++ = *p;
	*to = '\0';
	return text;
}

/* Signatures as the manual pages have the calls: the first four values are in the record, the
 * others in one behind it; a result is negative, a number of an error, when the call fails. */
static void test_signatures(void **state)
{
	static const struct {
		unsigned number;
		const char *signature, *further;
	} call[] = {
		{SYS_read, "fd:i4@0,buf:p@1,count:u8@2;i8@0!k", ";v"},
		{SYS_exit_group, "error_code:i4@0;v", ";v"},
		{SYS_getpid, ";i8@0!k", ";v"},
		{SYS_openat, "dfd:i4@0,filename:s@1,flags:i4@2,mode:u4@3?2&4194368;i8@0!k", ";v"},
		{SYS_mmap, "addr:p@0,len:u8@1,prot:u8@2,flags:u8@3,fd:i4@-,off:u8@-;p@0!k",
		 "fd:i4@0,off:u8@1;v"},
		{SYS_clone,
		 "clone_flags:u8@0,newsp:p@1,parent_tidptr:p@2,child_tidptr:p@3,tls:p@-;i8@0!k",
		 "tls:p@0;v"},
	};
	struct dt_signature_value v;
	struct dt_call_info c;
	char text[4096];

	for (size_t i = 0; i < sizeof(call) / sizeof(*call); i++) {
		assert_true(dt_call_find(0, call[i].number, &c));
		dt_call_signature(&c, text, sizeof(text));
		assert_string_equal(plain(text), call[i].signature);
		dt_call_further(&c, text, sizeof(text));
		assert_string_equal(plain(text), call[i].further);
	}
	for (const char *at = NULL; dt_call_next(&at, &c);) {
		struct dt_bpf_call items;
		unsigned n = 0;

		dt_call_signature(&c, text, sizeof(text));
		assert_true(dt_signature_result(text, &v));
		assert_true(v.type.letter == 'v' || (v.failure.when == 'k' && v.places == 1));
		while (dt_signature_parameter(text, n, &v)) {
			assert_int_equal(v.places, n < 4);
			assert_true(n >= 4 ||
				    (v.place[0].kind == DT_PLACE_VALUE && v.place[0].n == n));
			n++;
		}
		dt_call_items(&c, &items);
		assert_int_equal(items.arguments, n);
		dt_call_further(&c, text, sizeof(text));
		assert_int_equal(dt_signature_parameter(text, 0, &v), n > 4);
		assert_int_equal(dt_signature_parameter(text, 1, &v), n > 5);
		assert_false(dt_signature_parameter(text, 2, &v));
		/* where there is no room for all of it, there is none of it */
		dt_call_signature(&c, text, sizeof(text));
		n = (unsigned)strlen(text);
		dt_call_signature(&c, text, n);
		assert_string_equal(text, "");
		dt_call_signature(&c, text, n + 1);
		assert_int_equal(strlen(text), n);
	}
}

/* What items say of when they are read, and of how much: as the manual pages have it. */
static void test_when(void **state)
{
	static const struct {
		unsigned number, item;
		struct dt_bpf_item is;
		const char *signature;
	} item[] = {
		{SYS_read,
		 1,
		 {DT_BPF_BYTES, 1, DT_BPF_SOUND, DT_BPF_RESULT, DT_BPF_NONE, 0, 1, 0},
		 "buf:s@0;v"},
		{SYS_write,
		 1,
		 {DT_BPF_BYTES, 1, DT_BPF_ENTRY, 2, DT_BPF_NONE, 0, 1, 0},
		 "buf:s@0;v"},
		{SYS_openat,
		 1,
		 {DT_BPF_TEXT, 1, DT_BPF_ENTRY, DT_BPF_NONE, DT_BPF_NONE, 0, 1, 0},
		 "filename:s@0;v"},
		{SYS_openat,
		 2,
		 {DT_BPF_FILE, DT_BPF_RESULT, DT_BPF_SOUND, DT_BPF_NONE, DT_BPF_NONE, 0, 1, 0},
		 "->:a@0;v"},
		{SYS_getcwd,
		 0,
		 {DT_BPF_TEXT, 0, DT_BPF_POSITIVE, DT_BPF_NONE, DT_BPF_NONE, 0, 1, 0},
		 "buf:s@0;v"},
		{SYS_execve,
		 1,
		 {DT_BPF_TEXTS, 1, DT_BPF_ENTRY, DT_BPF_NONE, DT_BPF_NONE, 0, 1, 0},
		 "argv:a@0;v"},
		{SYS_readv,
		 1,
		 {DT_BPF_PIECES, 1, DT_BPF_POSITIVE, 2, DT_BPF_NONE, 0, 1, 0},
		 "vec:a@0;v"},
		/* F_SETLK leads to a flock, F_GETLK gives one back */
		{SYS_fcntl,
		 1,
		 {DT_BPF_BYTES, 2, DT_BPF_ENTRY, DT_BPF_NONE, 1, 0, 32, F_SETLK},
		 "arg:a@0;v"},
		{SYS_fcntl,
		 5,
		 {DT_BPF_BYTES, 2, DT_BPF_ZERO, DT_BPF_NONE, 1, 0, 32, F_GETLK},
		 "arg:a@0;v"},
	};

	for (size_t i = 0; i < sizeof(item) / sizeof(*item); i++) {
		const struct dt_bpf_item *want = &item[i].is, *got;
		struct dt_bpf_call call;
		struct dt_call_info c;
		char text[256];

		assert_true(dt_call_find(0, item[i].number, &c));
		dt_call_items(&c, &call);
		assert_true(item[i].item < call.items);
		got = &call.item[item[i].item];
		assert_int_equal(got->what, want->what);
		assert_int_equal(got->argument, want->argument);
		assert_int_equal(got->when, want->when);
		assert_int_equal(got->count, want->count);
		assert_int_equal(got->test, want->test);
		assert_int_equal(got->size, want->size);
		assert_int_equal(got->value, want->value);
		dt_call_item(&c, item[i].item, text, sizeof(text));
		assert_string_equal(plain(text), item[i].signature);
	}
	/* an exit is needed where something is read then */
	for (size_t i = 0; i < 2; i++) {
		struct dt_bpf_call call;
		struct dt_call_info c;

		assert_true(dt_call_find(0, i ? SYS_write : SYS_read, &c));
		dt_call_items(&c, &call);
		assert_int_equal(call.at_exit, !i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_items), cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_when)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
