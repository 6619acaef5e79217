/* SPDX-License-Identifier: MIT */
/*
 * What is said when the kernel does not take the programs of BPF: session/kernel-bpf-load.c with a
 * made-up libbpf, which complains as the real one does, and a made-up kernel, which gives rights
 * and may be locked down.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "session/kernel-bpf-work.h"

static uint64_t rights;
static char lockdown[64]; /* "": there is no such file */

static int made_up_rights(const void *head, void *data)
{
	uint32_t *half = data; /* effective, permitted, inheritable; twice */

	half[0] = (uint32_t)rights;
	half[3] = (uint32_t)(rights >> 32);
	return 0;
}

static FILE *made_up_file(const char *path)
{
	return *lockdown && strstr(path, "/lockdown") ? fmemopen(lockdown, strlen(lockdown), "r")
						      : NULL;
}

const uint64_t made_up_size = 1;
#define dt_bpf_image_size	    made_up_size
#define syscall(number, head, data) made_up_rights(head, data)
#define fopen(path, how)	    made_up_file(path)
#include "session/kernel-bpf-load.c"

/* ---- libbpf ---- */

static struct {
	enum libbpf_print_level level;
	const char *text;
} complaint[4];
static int reason;
static libbpf_print_fn_t print;

static int its_own_print(enum libbpf_print_level level, const char *format, va_list ap)
{
	fail_msg("the program's own is called");
	return 0;
}

static libbpf_print_fn_t set_print(libbpf_print_fn_t fn)
{
	libbpf_print_fn_t before = print;

	print = fn;
	return before;
}

static void complain(enum libbpf_print_level level, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	print(level, format, ap);
	va_end(ap);
}

static struct bpf_object *refuse(const void *image, size_t size,
				 const struct bpf_object_open_opts *o)
{
	for (size_t i = 0; i < sizeof(complaint) / sizeof(*complaint); i++)
		if (complaint[i].text)
			complain(complaint[i].level, "%s", complaint[i].text);
	errno = reason;
	return NULL;
}

/* Asserts what is said when libbpf complains so of an error. */
static void says(int error, const char *want)
{
	struct dt_kernel_wanted wanted = {0};
	struct dt_kernel_bpf k = {.wanted = &wanted};
	struct dt_error e = {""};

	reason = error;
	print = its_own_print;
	dt_bpf.libbpf_set_print = set_print;
	dt_bpf.bpf_object__open_mem = refuse;
	assert_int_equal(dt_bpf_programs_load(&k, &e), -1);
	assert_string_equal(e.text, want);
	assert_ptr_equal(print, its_own_print);
	memset(complaint, 0, sizeof(complaint));
}

#define INVALID "the BPF programs: Invalid argument"

/* The first line of the first complaint is told, and nothing of an earlier failure. */
static void test_complaints(void **state)
{
	static char far[3000];

	rights = ~0ull;
	*lockdown = '\0';
	says(EINVAL, INVALID);
	complaint[0].text = "libbpf: map 'heads': it is odd\n";
	says(EINVAL, INVALID " (libbpf: map 'heads': it is odd)");
	says(EINVAL, INVALID);
	complaint[0].level = LIBBPF_INFO;
	complaint[0].text = "libbpf: loading\n";
	complaint[1].level = LIBBPF_DEBUG;
	complaint[1].text = "libbpf: sec '.text'\n";
	complaint[2].text = "first\nsecond\n\nlast";
	complaint[3].text = "another\n";
	says(ENOSPC, "the BPF programs: No space left on device (first)");
	complaint[3].text = "it has no end";
	says(E2BIG, "the BPF programs: Argument list too long (it has no end)");
	/* as much of a long one as there is room for */
	memset(far, 'x', sizeof(far) - 1);
	complaint[0].text = far;
	memset(said, '#', sizeof(said) - 1);
	{
		struct dt_error want;

		dt_fail(&want, INVALID " (%s)", far);
		says(EINVAL, want.text);
	}
	complaint[0].text = "\n";
	complaint[1].text = "behind an empty line\n";
	says(EINVAL, INVALID " (behind an empty line)");
}

/* Who lacks the rights is told of these, and where nobody may that is said. */
static void test_rights(void **state)
{
	const uint64_t admin = 1ull << 21, perfmon = 1ull << 38, bpf = 1ull << 39;
	static const char needs[] =
		"the BPF programs: it needs root, or the capabilities CAP_BPF and "
		"CAP_PERFMON (and CAP_SYSLOG, for names)";
	static const char nobody[] = "the BPF programs: this kernel allows it to nobody: "
				     "Operation not permitted";

	*lockdown = '\0';
	for (unsigned i = 0; i < 8; i++) {
		rights = (i & 1 ? admin : 0) | (i & 2 ? perfmon : 0) | (i & 4 ? bpf : 0);
		says(EPERM, i & 1 || i == 6 ? nobody : needs);
		rights = ~rights;
		says(EPERM, ~i & 1 || i == 1 ? nobody : needs);
	}
	rights = admin;
	strcpy(lockdown, "none [integrity] confidentiality\n");
	says(EINVAL, INVALID);
	strcpy(lockdown, "none integrity [confidentiality]\n");
	says(EINVAL, "the BPF programs: this kernel is locked down for confidentiality "
		     "(/sys/kernel/security/lockdown), and allows it to nobody");
	rights = 0;
	says(EINVAL, needs);
}

static void close_none(struct bpf_object *o)
{
	assert_null(o);
}

/* Refuses twice, with another complaint each time. */
static struct bpf_object *refuse_twice(const void *image, size_t size,
				       const struct bpf_object_open_opts *o)
{
	static int times;

	complaint[0].text = times++ ? "the rest is odd" : "a function is odd";
	return refuse(image, size, o);
}

/* Where functions are left out, and the rest is refused, too, that is what is told. */
static void test_the_rest(void **state)
{
	struct dt_kernel_wanted wanted = {0};
	struct dt_bpf_function function = {.symbol.name = "vfs_read"};
	struct dt_kernel_bpf k = {
		.wanted = &wanted, .function = &function, .functions = 1, .calls = true};
	struct dt_error e = {""};

	rights = ~0ull;
	*lockdown = '\0';
	reason = EINVAL;
	print = its_own_print;
	dt_bpf.libbpf_set_print = set_print;
	dt_bpf.bpf_object__open_mem = refuse_twice;
	dt_bpf.bpf_object__close = close_none;
	assert_int_equal(dt_bpf_programs_load(&k, &e), -1);
	assert_string_equal(e.text, INVALID " (the rest is odd)");
	assert_non_null(strstr(k.forbidden, "a function is odd"));
	memset(complaint, 0, sizeof(complaint));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complaints),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
