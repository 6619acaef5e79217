/* SPDX-License-Identifier: MIT */
/* The words for the fields of the kernel's tracepoints, as 6.1 to 6.18 write them; and texts that
 * are damaged or hostile. */
#include "session/kernel-words.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char out[DT_KERNEL_WORDS];

/* Constants that this kernel is said to have: BIT_3 and so on; and ALL. */
static bool constant(void *ctx, const char *name, size_t n, uint64_t *value)
{
	if (n == 5 && memcmp(name, "BIT_", 4) == 0 && name[4] >= '0' && name[4] <= '9')
		return *value = 1u << (name[4] - '0'), true;
	return n == 3 && memcmp(name, "ALL", 3) == 0 ? *value = UINT64_MAX, true : false;
}

/* Expects these words of a field in a `print fmt'; "": none. */
static void expect(const char *arguments, const char *field, const char *want)
{
	static char format[100000];

	strcpy(format, "name: x\nformat:\n\tfield:int a;\n\nprint fmt: \"a=%d, b=%s\"");
	strcat(format, arguments);
	strcat(format, "\n");
	assert_int_equal(dt_kernel_words(format, field, constant, NULL, out), *want != '\0');
	assert_string_equal(*want ? out : "", want);
}

static const char sched[] =
	", REC->prev_comm, (REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002) + 1) << 1) "
	"- 1)) ? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002) + 1) << "
	"1) - 1), \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"I\" }) : "
	"\"R\", REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002) + 1) << 1) ? \"+\" : "
	"\"\", REC->next_pid";

static void test_as_kernels_write_them(void **state)
{
	expect(sched, "prev_state", "f:;S=1/1,D=2/2,I=4/4,R=0/7,+=8/8");
	expect(sched, "prev_comm", "");
	expect(sched, "prev", "");
	expect(", REC->vec, __print_symbolic(REC->vec, { 0, \"HI\" }, { 1, \"TIMER\" })", "vec",
	       "e:;HI=0,TIMER=1");
	expect(", REC->irq, REC->ret ? \"handled\" : \"unhandled\"", "ret",
	       "e:;unhandled=0,handled=1");
	/* a number is printed, too: the words say less */
	expect(", REC->n, REC->n ? \"some\" : \"none\"", "n", "");
	expect(", (REC->gfp) ? __print_flags(REC->gfp, \"|\", {( unsigned long)((( gfp_t)((((1UL))) "
	       "<< (6))) | (( gfp_t)0x80u)), \"IO\"}, {( unsigned long) ~(( gfp_t)-1), \"no\"}) : "
	       "\"none\"",
	       "gfp", "f:;IO=192/192,none=0");
	expect(", __print_symbolic(REC->p & 0xF, {1, \"one\"}, {0, \"zero\"})", "p",
	       "f:;one=1/15,zero=0/15");
	/* what this kernel has not translated is left out, the rest is known */
	expect(", __print_symbolic(REC->m, { HRTIMER_MODE_ABS, \"ABS\" }, { 3, \"REL\" }, { f(1, "
	       "2), \"F\" })",
	       "m", "e:;REL=3");
	/* what it has not translated, and its BTF tells */
	expect(", __print_symbolic(REC->m, { BIT_3, \"three\" }, { (BIT_0), \"none\" }, { BIT_1 | "
	       "BIT_2, \"both\" }, { (u32)ALL, \"all\" }, { BIT_33, \"?\" })",
	       "m", "e:;three=8,none=1,both=6,all=-1");
	expect(", __print_flags((REC->f & BIT_4), \"|\", { BIT_4, \"four\" })", "f",
	       "f:;four=16/16");
	expect(", REC->f & BIT_5 ? \"yes\" : \"\"", "f", "f:;yes=32/32");
	expect(", __print_symbolic_u64((u64)REC->m, { -1, \"A=,B\" }, { 1ULL << 63, \"\\\"q\\\"\" })",
	       "m", "e:;A??B=-1,?q?=-9223372036854775808");
	expect(", REC->f & 1 ? \"A\" : \"\", REC->f & 0x10 ? \"B\" : \"C\", REC->f & 6 ? \"D\" : \"\"",
	       "f", "f:;A=1/1,B=16/16,C=0/16");
	/* of a part of a field, or more than one */
	expect(", __print_symbolic((REC->io >> 13) & 7, { 1, \"rt\" })", "io", "");
	expect(", __print_symbolic(REC->io | REC->m, { 1, \"rt\" })", "io", "");
}

/* What is not what a kernel writes: no words, or some, and no harm. */
static void test_hostile(void **state)
{
	static char deep[90000];
	static const char *const bad[] = {
		", __print_flags(",
		", __print_flags(REC->a",
		", __print_flags(REC->a, \"|",
		", __print_flags(REC->a, \"|\", {",
		", __print_flags(REC->a, \"|\", { 1, \"",
		", __print_flags(REC->a, \"|\", { 1, \"A",
		", __print_symbolic(REC->a, { 1 << 64, \"A\" })",
		", __print_symbolic(REC->a, { 1 / 0, \"A\" })",
		", REC->a ? \"",
		", REC->a ?",
		", REC->",
		", __print_symbolic(REC->a, { REC->a, \"A\" })",
		", ((((",
		", ))))",
		", }}}}{{{{",
		", \\",
		", __print_symbolic(REC->a, { , \"A\" })",
		", __print_symbolic(REC->a, {}, {}, {})",
		", __print_symbolic(REC->a, { 1, \"\" })",
		", REC->a & 0 ? \"A\" : \"B\"",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		expect(bad[i], "a", "");
	assert_false(dt_kernel_words("", "a", constant, NULL, out));
	assert_false(dt_kernel_words("\nprint fmt: \"", "a", constant, NULL, out));
	assert_false(dt_kernel_words("\nprint fmt: \"\"", "", constant, NULL, out));
	/* as deep as there is room */
	strcpy(deep, ", __print_symbolic(");
	memset(deep + strlen(deep), '(', 60000);
	expect(deep, "a", "");
	memset(deep + strlen(", __print_symbolic("), '~', 60000);
	expect(deep, "a", "");
}

/* More words than fit: those that do are whole. */
static void test_many(void **state)
{
	static char many[90000];
	size_t n = (size_t)sprintf(many, ", __print_symbolic(REC->a");

	for (unsigned i = 0; i < 2000; i++)
		n += (size_t)sprintf(many + n, ", { %u, \"a_long_word_%u\" }", i, i);
	strcpy(many + n, ")");
	expect(many, "b", "");
	strcpy(out, "");
	{
		static char format[100000];

		snprintf(format, sizeof(format), "\nprint fmt: \"%%s\"%s\n", many);
		assert_true(dt_kernel_words(format, "a", constant, NULL, out));
	}
	assert_in_range(strlen(out), DT_KERNEL_WORDS - 64, DT_KERNEL_WORDS - 1);
	assert_int_equal(atoi(strrchr(out, '_') + 1), atoi(strrchr(out, '=') + 1));
}

/* Whatever becomes of it, what is written is a description, and ends within its room. */
static void test_damaged(void **state)
{
	char format[sizeof(sched) + 64];
	unsigned some = 0;

	srandom(2);
	for (unsigned turn = 0; turn < 50000; turn++) {
		size_t n = (size_t)sprintf(format, "\nprint fmt: \"%%d\"%s\n", sched);

		for (long i = 1 + random() % 5; i > 0; i--)
			format[(size_t)random() % n] = (char)(random() % 96 + 32);
		if (!dt_kernel_words(format, "prev_state", constant, NULL, out))
			continue;
		some++;
		assert_in_range(strlen(out), 4, 300);
		assert_true(strncmp(out, "f:;", 3) == 0 || strncmp(out, "e:;", 3) == 0);
		for (const char *p = out + 3; *p; p += strcspn(p, ",") + (strchr(p, ',') != NULL))
			assert_int_equal(p[strcspn(p, "=,")], '=');
	}
	assert_in_range(some, 10000, 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_kernels_write_them),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
