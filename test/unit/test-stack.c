/* SPDX-License-Identifier: MIT */
/* arch/x86_64/stack.c: where rsp and rbp are after an instruction */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "arch/arch.h"

#define NO DT_STACK_UNKNOWN

/* The instruction's bytes in hexadecimal, what is known in front of it, and behind it. */
/* Reads bytes of hexadecimal digits, which are one instruction. */
static struct dt_insn decode(const char *hex, uint8_t code[16])
{
	struct dt_insn in;
	size_t n = 0;

	for (; hex[2 * n]; n++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * n, "%2x", &byte), 1);
		code[n] = (uint8_t)byte;
	}
	assert_int_equal(dt_insn_decode(&in, code, n, 0x1000), n);
	return in;
}

static void step(const char *hex, int32_t sp, int32_t bp, int32_t sp_then, int32_t bp_then)
{
	struct dt_stack s = {sp, bp};
	uint8_t code[16] = {0};
	struct dt_insn in = decode(hex, code);

	dt_stack_step(&s, &in, code);
	if (s.sp != sp_then || s.fp != bp_then)
		fail_msg("%s: %d %d, not %d %d", hex, s.sp, s.fp, sp_then, bp_then);
}

static bool is_padding(const char *hex)
{
	uint8_t code[16] = {0};
	struct dt_insn in = decode(hex, code);

	return dt_insn_is_padding(&in);
}

/* Between functions: int3 and nop; not what has the same last byte in another map of opcodes. */
static void test_padding(void **state)
{
	assert_true(is_padding("cc"));
	assert_true(is_padding("90"));
	assert_true(is_padding("0f1f4000"));  /* nopl 0(%rax) */
	assert_false(is_padding("0fcc"));     /* bswap %esp */
	assert_false(is_padding("0f38ccc1")); /* sha256msg1 %xmm1, %xmm0 */
	assert_false(is_padding("c3"));
}

static void test_pushes(void **state)
{
	step("55", 0, NO, 8, NO);	 /* push %rbp */
	step("4155", 8, 8, 16, 8);	 /* push %r13 */
	step("6a01", 8, NO, 16, NO);	 /* push $1 */
	step("ff742408", 8, NO, 16, NO); /* push 8(%rsp) */
	step("9c", 8, NO, 16, NO);	 /* pushf */
	step("5d", 16, 16, 8, NO);	 /* pop %rbp */
	step("415d", 16, 16, 8, 16);	 /* pop %r13 */
	step("5c", 16, 8, NO, 8);	 /* pop %rsp */
	step("8f00", 16, 8, 8, 8);	 /* pop (%rax) */
	step("6650", 0, NO, NO, NO);	 /* push %ax */
}

static void test_frames(void **state)
{
	step("4889e5", 8, NO, 8, 8);	      /* mov %rsp, %rbp */
	step("488bec", 8, NO, 8, 8);	      /* the same the other way */
	step("4889ec", 40, 8, 8, 8);	      /* mov %rbp, %rsp */
	step("c9", NO, 8, 0, NO);	      /* leave */
	step("4883ec18", 8, NO, 32, NO);      /* sub $24, %rsp */
	step("4881ec00010000", 8, 8, 264, 8); /* sub $256, %rsp */
	step("4883c418", 32, NO, 8, NO);      /* add $24, %rsp */
	step("4883ed80", 8, 8, 8, -120);      /* sub $-128, %rbp */
	step("488d6424f0", 8, NO, 24, NO);    /* lea -16(%rsp), %rsp */
	step("488d65d8", NO, 8, 48, 8);	      /* lea -40(%rbp), %rsp */
	step("488d6c2410", 40, NO, 40, 24);   /* lea 16(%rsp), %rbp */
}

static void test_unknown(void **state)
{
	step("4883e4e0", 8, 8, NO, 8);	 /* and $-32, %rsp */
	step("4829c4", 8, 8, NO, 8);	 /* sub %rax, %rsp */
	step("4894", 8, 8, NO, 8);	 /* xchg %rax, %rsp */
	step("488b6708", 8, 8, NO, 8);	 /* mov 8(%rdi), %rsp */
	step("488b6f08", 8, 8, 8, NO);	 /* mov 8(%rdi), %rbp */
	step("4889fd", 8, 8, 8, NO);	 /* mov %rdi, %rbp */
	step("31ed", 8, 8, 8, NO);	 /* xor %ebp, %ebp */
	step("bd01000000", 8, 8, 8, NO); /* mov $1, %ebp */
	step("488d2c06", 8, 8, 8, NO);	 /* lea (%rsi,%rax), %rbp */
	step("488d2404", 8, 8, NO, 8);	 /* lea (%rsp,%rax), %rsp */
	step("c8100000", 8, 8, NO, NO);	 /* enter $16, $0 */
	step("83c501", 8, 8, 8, NO);	 /* add $1, %ebp */
}

static void test_others(void **state)
{
	step("4989e4", 8, 8, 8, 8);	  /* mov %rsp, %r12 */
	step("4d89ec", 8, 8, 8, 8);	  /* mov %r13, %r12 */
	step("48892c24", 8, 8, 8, 8);	  /* mov %rbp, (%rsp) */
	step("4839ec", 8, 8, 8, 8);	  /* cmp %rbp, %rsp */
	step("e800000000", 8, 8, 8, 8);	  /* call */
	step("ffd4", 8, 8, 8, 8);	  /* call *%rsp */
	step("0f1f4500", 8, 8, 8, 8);	  /* nop 0(%rbp) */
	step("41bd01000000", 8, 8, 8, 8); /* mov $1, %r13d */
	step("c5fd6f6d00", 8, 8, 8, 8);	  /* vmovdqa 0(%rbp), %ymm5 */
}

/* Which instructions make a pointer into the frame, of which what is behind a call may be read. */
static void test_points(void **state)
{
	static const struct {
		const char *hex;
		bool points;
	} are[] = {
		{"4889e0", true},      /* mov %rsp, %rax */
		{"4889e5", false},     /* mov %rsp, %rbp */
		{"4989e5", true},      /* mov %rsp, %r13 */
		{"4c89e0", false},     /* mov %r12, %rax */
		{"4889c3", false},     /* mov %rax, %rbx */
		{"488920", false},     /* mov %rsp, (%rax) */
		{"488bc4", true},      /* mov %rsp, %rax, the other way to write it */
		{"498bc4", false},     /* mov %r12, %rax */
		{"488bc3", false},     /* mov %rbx, %rax */
		{"488b0424", false},   /* mov (%rsp), %rax */
		{"488d442408", true},  /* lea 8(%rsp), %rax */
		{"488d4508", true},    /* lea 8(%rbp), %rax */
		{"488d4808", false},   /* lea 8(%rax), %rcx */
		{"498d442408", false}, /* lea 8(%r12), %rax */
		{"498d4508", false},   /* lea 8(%r13), %rax */
		{"488d0c03", false},   /* lea (%rbx, %rax), %rcx */
		{"c5f877", false},     /* vzeroupper */
		{"0f1f4500", false},   /* nop 0(%rbp) */
	};
	uint8_t code[16];

	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++) {
		struct dt_insn in = decode(are[i].hex, code);

		if (dt_insn_points(&in) != are[i].points)
			fail_msg("%s", are[i].hex);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_padding), cmocka_unit_test(test_pushes),
		cmocka_unit_test(test_frames),	cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_others),	cmocka_unit_test(test_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
