/* SPDX-License-Identifier: MIT */
/* Signal frames on a stack: what this machine's kernel lays out is known as one, and numbers that a
 * program has there are not. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "arch/arch.h"

#define WORDS (DT_FRAME_BEFORE + 1 + DT_FRAME_AFTER)

static uint64_t seen[WORDS];
static bool known, returns;

#ifdef __x86_64__
#define IP(c) (&(c)->uc_mcontext.gregs[REG_RIP])
#else
#define IP(c) (&(c)->uc_mcontext.pc)
#endif

static void on_signal(int number, siginfo_t *info, void *context)
{
	const uint64_t *ip = (const void *)IP((ucontext_t *)context);
	uint64_t restorer;

	memcpy(seen, ip - DT_FRAME_BEFORE, sizeof(seen));
	known = dt_frame_may_be(ip, &restorer);
	returns = !restorer || dt_frame_restorer((const unsigned char *)restorer);
}

static void test_kernel(void **state)
{
	struct sigaction how = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	sigaction(SIGUSR1, &how, NULL);
	raise(SIGUSR1);
	assert_true(known);
	assert_true(returns);
}

/* A frame with one word changed; what: its place, from ip. */
static bool with(int what, uint64_t value)
{
	uint64_t word[WORDS], restorer;

	memcpy(word, seen, sizeof(word));
	word[DT_FRAME_BEFORE + what] = value;
	return dt_frame_may_be(word + DT_FRAME_BEFORE, &restorer);
}

static void test_changed(void **state)
{
#ifdef __x86_64__
	const uint64_t cs = seen[DT_FRAME_BEFORE + DT_FRAME_AFTER];

	assert_true(with(0, 0x401000));
	assert_true(with(1, 0x10246));
	assert_true(with(1, 0x200ed7));
	assert_true(with(DT_FRAME_AFTER, 0x33)); /* an older kernel's */
	assert_false(with(-DT_FRAME_BEFORE, 0));
	/* a count that goes down from 100,000, as the argument of a function that calls itself */
	assert_false(with(DT_FRAME_AFTER, 0x10033));
	assert_false(with(DT_FRAME_AFTER, cs | 1ull << 32));
	assert_false(with(DT_FRAME_AFTER, 0x23));
	assert_false(with(1, 0));
	assert_false(with(1, 0x7f631e83df3a));
#else
	assert_true(with(0, 0x401000));
	assert_false(with(DT_FRAME_AFTER, 0x46508001));
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernel),
					   cmocka_unit_test(test_changed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
