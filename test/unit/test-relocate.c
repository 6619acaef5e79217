/* SPDX-License-Identifier: MIT */
/*
 * arch/x86_64/relocate.c: every form of instruction that has to be changed when it is moved, as
 * pairs of bytes. test/tool/fuzz-relocate.c shows that such copies do the same; this, that they are
 * what they were when they were last looked at through objdump.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "arch/arch.h"

#define FROM 0x401000ull
#define NEAR 0x10401000ull     /* everything reaches */
#define FAR  0x7f0000001000ull /* nothing does */

/* The bytes at FROM; the copy at NEAR; the copy at FAR. A '!': refused, and why. */
static const struct {
	const char *name, *in, *near, *far;
} golden[] = {
	{"nop", "90", "90", "90"},
	{"endbr64", "f30f1efa", "f30f1efa", "f30f1efa"},
	{"syscall", "0f05", "0f05", "0f05"},
	{"jmp short", "eb10", "e90d0000f0", "3eff25000000001210400000000000"},
	{"jmp", "e900010000", "e9000100f0", "3eff25000000000511400000000000"},
	{"bnd jmp", "f2e900010000", "e9010100f0", "3eff25000000000611400000000000"},
	{"jz short", "7410", "0f840c0000f0", "0f850f0000003eff25000000001210400000000000"},
	{"jnz", "0f8500010000", "0f85000100f0", "0f840f0000003eff25000000000611400000000000"},
	{"jz with a branch hint", "3e7410", "0f840d0000f0",
	 "0f850f0000003eff25000000001310400000000000"},
	{"jrcxz", "e310", "e305e905000000e9060000f0",
	 "e305e90f0000003eff25000000001210400000000000"},
	{"jecxz", "67e310", "67e305e905000000e9060000f0",
	 "67e305e90f0000003eff25000000001310400000000000"},
	{"loop", "e210", "e205e905000000e9060000f0",
	 "e205e90f0000003eff25000000001210400000000000"},
	{"loope", "e110", "e105e905000000e9060000f0",
	 "e105e90f0000003eff25000000001210400000000000"},
	{"loopne", "e010", "e005e905000000e9060000f0",
	 "e005e90f0000003eff25000000001210400000000000"},
	{"loop by ecx", "67e210", "67e205e905000000e9060000f0",
	 "67e205e90f0000003eff25000000001310400000000000"},
	{"call", "e800010000", "ff350a000000e9fa0000f0cccccccccc0510400000000000",
	 "ff35120000003eff25000000000511400000000000cccccc0510400000000000"},
	{"call of __tls_get_addr, padded", "666648e800010000",
	 "ff350a000000e9fd0000f0cccccccccc0810400000000000",
	 "ff35120000003eff25000000000811400000000000cccccc0810400000000000"},
	{"call of the next instruction", "e80000000058",
	 "ff350a000000e90d000000cccccccccc051040000000000058",
	 "ff350a000000e90d000000cccccccccc051040000000000058"},
	{"call *d(%rip)", "ff1500010000", "ff350a000000ff25fa0000f0cccccccc0610400000000000",
	 "ff351a000000488d6424805048a1061140000000000048870424c28000cccccc0610400000000000"},
	{"call *%rax", "ffd0", "ff3502000000ffe00210400000000000",
	 "ff3502000000ffe00210400000000000"},
	{"call *%r11", "41ffd3", "ff350a00000041ffe3cccccccccccccc0310400000000000",
	 "ff350a00000041ffe3cccccccccccccc0310400000000000"},
	{"notrack call *%rdx", "3effd2", "ff350a0000003effe2cccccccccccccc0310400000000000",
	 "ff350a0000003effe2cccccccccccccc0310400000000000"},
	{"call *8(%rbx)", "ff5308", "ff350a000000ff6308cccccccccccccc0310400000000000",
	 "ff350a000000ff6308cccccccccccccc0310400000000000"},
	{"call *(%r12)", "41ff1424", "ff350a00000041ff2424cccccccccccc0410400000000000",
	 "ff350a00000041ff2424cccccccccccc0410400000000000"},
	{"call *16(%r13,%rax,8)", "41ff54c510", "ff350a00000041ff64c510cccccccccc0510400000000000",
	 "ff350a00000041ff64c510cccccccccc0510400000000000"},
	{"call *24(%rsp)", "ff542418", "ff350a000000ffa42420000000cccccc0410400000000000",
	 "ff350a000000ffa42420000000cccccc0410400000000000"},
	{"call *(%rsp)", "ff1424", "ff350a000000ffa42408000000cccccc0310400000000000",
	 "ff350a000000ffa42408000000cccccc0310400000000000"},
	{"call *-8(%rsp)", "ff5424f8", "488d6424f8ffb42400000000c744240804104000c744240c00000000c3",
	 "488d6424f8ffb42400000000c744240804104000c744240c00000000c3"},
	{"call *(%rsp,%rcx,8)", "ff14cc",
	 "488d6424f8ffb4cc08000000c744240803104000c744240c00000000c3",
	 "488d6424f8ffb4cc08000000c744240803104000c744240c00000000c3"},
	{"call *%fs:16", "64ff142510000000", "ff350a00000064ff242510000000cccc0810400000000000",
	 "ff350a00000064ff242510000000cccc0810400000000000"},
	{"jmp *d(%rip)", "ff2500010000", "ff25000100f0",
	 "488d6424805048a1061140000000000048870424c28000"},
	{"notrack jmp *%rax", "3effe0", "3effe0", "3effe0"},
	{"jmp *(%rax,%rcx,8)", "ff24c8", "ff24c8", "ff24c8"},
	{"ret", "c3", "c3", "c3"},
	{"rep ret", "f3c3", "f3c3", "f3c3"},
	{"bnd ret", "f2c3", "f2c3", "f2c3"},
	{"ret $16", "c21000", "c21000", "c21000"},
	{"push d(%rip)", "ff3500010000", "ff35000100f0", "5048a1061140000000000048870424"},
	{"pop d(%rip)", "8f0500010000", "8f05000100f0",
	 "488d64248050488b84248800000048a3061140000000000058488da42488000000"},
	{"push %fs:d(%rip)", "64ff3500010000", "64ff35000100f0",
	 "506448a1071140000000000048870424"},
	{"lea d(%rip), %rax", "488d0500010000", "488d05000100f0", "48b80711400000000000"},
	{"lea d(%rip), %r15", "4c8d3d00010000", "4c8d3d000100f0", "49bf0711400000000000"},
	{"lea d(%rip), %ecx", "8d0d00010000", "8d0d000100f0", "b906114000"},
	{"lea d(%rip), %r9d", "448d0d00010000", "448d0d000100f0", "41b907114000"},
	{"lea d(%rip), %dx", "668d1500010000", "668d15000100f0", "66ba0711"},
	{"lea d(%eip), %rax", "67488d0500010000", "67488d05000100f0", "67488d0500014000"},
	{"mov d(%rip), %rax", "488b0500010000", "488b05000100f0",
	 "488d6424805148b90711400000000000488b0159488da42480000000"},
	{"mov d(%rip), %rsp", "488b2500010000", "488b25000100f0",
	 "!its memory is too far away, and it uses the stack pointer"},
	{"mov %rsp, d(%rip)", "48892500010000", "488925000100f0",
	 "!its memory is too far away, and it uses the stack pointer"},
	{"mov d(%eip), %eax", "678b0500010000", "678b05000100f0", "678b0500014000"},
	{"movq $imm, d(%rip)", "48c7050001000078563412", "48c705000100f078563412",
	 "488d6424805048b80b1140000000000048c7007856341258488da42480000000"},
	{"cmpb $imm, d(%rip)", "803d000100007f", "803d000100f07f",
	 "488d6424805048b8071140000000000080387f58488da42480000000"},
	{"mov %fs:d(%rip), %rax", "64488b0500010000", "64488b05000100f0",
	 "488d6424805148b9081140000000000064488b0159488da42480000000"},
	{"lock cmpxchg16b d(%rip)", "f0480fc70d00010000", "f0480fc70d000100f0",
	 "488d6424805648be0911400000000000f0480fc70e5e488da42480000000"},
	{"div d(%rip)", "f73500010000", "f735000100f0",
	 "488d6424805148b90611400000000000f73159488da42480000000"},
	{"REX.B that is ignored", "498b0500010000", "498b05000100f0",
	 "488d6424805148b90711400000000000488b0159488da42480000000"},
	{"movss d(%rip), %xmm0", "f30f100500010000", "f30f1005000100f0",
	 "488d6424805048b80811400000000000f30f100058488da42480000000"},
	{"palignr", "660f3a0f050001000004", "660f3a0f05000100f004",
	 "488d6424805048b80a11400000000000660f3a0f000458488da42480000000"},
	{"vmovaps d(%rip), %ymm0", "c5fc280500010000", "c5fc2805000100f0",
	 "488d6424805048b80811400000000000c5fc280058488da42480000000"},
	{"vbroadcastss", "c4e27d180500010000", "c4e27d1805000100f0",
	 "488d6424805048b80911400000000000c4e27d180058488da42480000000"},
	{"vinsertf128, VEX.B ignored", "c4c37d18050001000001", "c4c37d1805000100f001",
	 "488d6424805048b80a11400000000000c4e37d18000158488da42480000000"},
	{"vmovdqa64, EVEX", "62f1fd486f0500010000", "62f1fd486f05000100f0",
	 "488d6424805048b80a1140000000000062f1fd486f0058488da42480000000"},
	{"vpternlogd, EVEX", "62f37d48250d00010000ff", "62f37d48250d000100f0ff",
	 "488d6424805048b80b1140000000000062f37d482508ff58488da42480000000"},
	{"pfadd, 3DNow", "0f0f05000100009e", "0f0f05000100f09e",
	 "488d6424805048b808114000000000000f0f009e58488da42480000000"},
	{"vprotb, XOP", "8fe878c0050001000003", "8fe878c005000100f003",
	 "488d6424805048b80a114000000000008fe878c0000358488da42480000000"},
	{"fld d(%rip)", "d90500010000", "d905000100f0",
	 "488d6424805048b80611400000000000d90058488da42480000000"},
	{"nop d(%rip)", "0f1f0500010000", "0f1f05000100f0",
	 "488d6424805148b907114000000000000f1f0159488da42480000000"},
	{"xbegin", "c7f800010000", "c7f8000100f0", "!where it goes when aborted is too far away"},
	{"int3", "cc", "!an instruction that is there to trap",
	 "!an instruction that is there to trap"},
	{"int1", "f1", "!an instruction that is there to trap",
	 "!an instruction that is there to trap"},
	{"ud2", "0f0b", "!an instruction that is there to trap",
	 "!an instruction that is there to trap"},
	{"hlt", "f4", "!an instruction that is there to trap",
	 "!an instruction that is there to trap"},
	{"lret", "cb", "!a far transfer of control", "!a far transfer of control"},
	{"iretq", "48cf", "!a far transfer of control", "!a far transfer of control"},
	{"jmp far", "ff2c24", "!a far transfer of control", "!a far transfer of control"},
	{"16-bit call", "66e800010000", "!a branch with an operand-size prefix",
	 "!a branch with an operand-size prefix"},
	{"16-bit jmp, which Intel takes for 32", "66e900010000",
	 "!a branch with an operand-size prefix", "!a branch with an operand-size prefix"},
	{"call *%rsp", "ffd4", "!a call to where the stack pointer points",
	 "!a call to where the stack pointer points"},
	{"call *(%esp)", "67ff1424", "!an unusual operand of a call",
	 "!an unusual operand of a call"},
	{"a loop over three", "31c0ffc075fcc3", "31c0ffc00f85f8ffffffc3", "31c0ffc00f85f8ffffffc3"},
	{"over an instruction to a ret", "740231c0c3", "0f840200000031c0c3", "0f840200000031c0c3"},
	{"into the middle of a moved one", "7401f0480fb10f",
	 "!it leads into the middle of one that is moved too",
	 "!it leads into the middle of one that is moved too"},
	{"no instruction", "06", "!no instruction can be decoded there",
	 "!no instruction can be decoded there"},
	{"cut off", "e80000", "!no instruction can be decoded there",
	 "!no instruction can be decoded there"},
};

static size_t from_hex(const char *s, uint8_t *out)
{
	unsigned v;
	size_t n = 0;

	for (; sscanf(s, "%2x", &v) == 1; s += 2)
		out[n++] = (uint8_t)v;
	return n;
}

static void to_hex(char *out, const uint8_t *p, size_t n)
{
	*out = '\0';
	for (size_t i = 0; i < n; i++)
		out += sprintf(out, "%02x", p[i]);
}

static void check(const char *name, const uint8_t *in, size_t n, uint64_t to, const char *expected)
{
	char text[1024], *why;
	uint8_t out[400];
	struct dt_emit o = {.bytes = out, .room = sizeof(out), .address = to};
	struct dt_moved m;
	struct dt_error e;

	if (dt_relocate(&o, in, n, FROM, NULL, 0, &m, &e)) {
		why = strstr(e.text, "moved: ");
		assert_non_null(why);
		snprintf(text, sizeof(text), "!%s", why + 7);
	} else {
		assert_true(o.size <= m.n * DT_RELOCATE_ROOM);
		assert_int_equal(m.at[m.n].from, n);
		assert_int_equal(m.at[m.n].to, o.size);
		to_hex(text, out, o.size);
	}
	if (strcmp(text, expected))
		fail_msg("%s at 0x%lx: %s, not %s", name, (unsigned long)to, text, expected);
}

static void test_golden(void **state)
{
	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
		uint8_t in[32];
		size_t n = from_hex(golden[i].in, in);

		check(golden[i].name, in, n, NEAR, golden[i].near);
		check(golden[i].name, in, n, FAR, golden[i].far);
	}
}

/* Moves the instruction's copy, and the instruction itself by another distance, and compares that
 * with a copy made for these places. */
static void move_copy(const char *name, const uint8_t *in, size_t n, uint64_t to, uint64_t there,
		      uint64_t here)
{
	uint8_t out[400], again[400];
	struct dt_fixes fixes = {0};
	struct dt_emit o = {.bytes = out, .room = sizeof(out), .address = to, .fixes = &fixes};
	struct dt_emit x = {.bytes = again, .room = sizeof(again), .address = to + here};
	struct dt_moved m;
	struct dt_error e;

	if (dt_relocate(&o, in, n, FROM, NULL, 0, &m, &e))
		return;
	assert_int_equal(dt_relocate(&x, in, n, FROM + there, NULL, 0, &m, &e), 0);
	for (size_t i = 0; i < fixes.n; i++)
		assert_true(dt_fix_apply(&fixes.fix[i], out, here, there));
	if (!fixes.pinned && (o.size != x.size || memcmp(out, again, o.size)))
		fail_msg("%s, moved from 0x%lx by 0x%lx, is another one", name, (unsigned long)to,
			 (unsigned long)here);
	/* only a part of an address, and what wraps at 32 bits, can be at one place alone */
	if (fixes.pinned && !strstr(name, "eip") && !strstr(name, "lea"))
		fail_msg("%s can not be moved", name);
	free(fixes.fix);
}

static void test_fixes(void **state)
{
	for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
		uint8_t in[32];
		size_t n = from_hex(golden[i].in, in);

		move_copy(golden[i].name, in, n, NEAR, 0x555500123000, 0x555500123000);
		move_copy(golden[i].name, in, n, NEAR, 0x555500123000, 0x5554f0001000);
		move_copy(golden[i].name, in, n, NEAR, 0, 0x7000);
		move_copy(golden[i].name, in, n, FAR, 0x2000, 0x1000);
	}
}

static void emit_mark(struct dt_emit *o, const struct dt_relocate_hook *h)
{
	dt_emit_bytes(o, h->ctx, strlen(h->ctx));
}

/* Hooks stand in front of their instruction, or where its branch is taken. */
static void test_hooks(void **state)
{
	/* test %edi, %edi; je 0x401100; inc %eax; ret */
	static const uint8_t in[] = {0x85, 0xff, 0x0f, 0x84, 0xf8, 0, 0, 0, 0xff, 0xc0, 0xc3};
	const struct dt_relocate_hook hook[] = {
		{FROM + 2, DT_HOOK_TAKEN, emit_mark, "ab"},
		{FROM + 10, DT_HOOK_BEFORE, emit_mark, "cde"},
	};
	uint8_t out[100];
	struct dt_emit o = {.bytes = out, .room = sizeof(out), .address = NEAR};
	struct dt_moved m;
	char text[300];

	assert_int_equal(dt_relocate(&o, in, sizeof(in), FROM, hook, 2, &m, NULL), 0);
	to_hex(text, out, o.size);
	assert_string_equal(text, "85ff"
				  "0f8507000000" /* jne over the hook and the jump */
				  "6162"
				  "e9f10000f0"
				  "ffc0"
				  "636465c3");
	assert_false(m.falls);
	assert_int_equal(m.n, 4);
	assert_int_equal(m.at[3].from, 10);
	assert_int_equal(m.at[3].to, 17); /* a thread about to return passes the hook */
}

static void test_moving_threads(void **state)
{
	static const uint8_t in[] = {0x55, 0xff, 0xc0, 0xe3, 0x10}; /* push; inc; jrcxz */
	uint8_t out[100];
	struct dt_emit o = {.bytes = out, .room = sizeof(out), .address = NEAR};
	struct dt_moved m;

	assert_int_equal(dt_relocate(&o, in, sizeof(in), FROM, NULL, 0, &m, NULL), 0);
	assert_true(m.falls);
	/* at the first instruction there is the jump by now */
	assert_int_equal(dt_moved_forward(m.at, m.n, FROM, NEAR, FROM), FROM);
	assert_int_equal(dt_moved_forward(m.at, m.n, FROM, NEAR, FROM + 1), NEAR + 1);
	assert_int_equal(dt_moved_forward(m.at, m.n, FROM, NEAR, FROM + 3), NEAR + 3);
	assert_int_equal(dt_moved_forward(m.at, m.n, FROM, NEAR, FROM + 5), FROM + 5);
	assert_int_equal(dt_moved_forward(m.at, m.n, FROM, NEAR, FROM - 1), FROM - 1);
	assert_int_equal(dt_moved_back(m.at, m.n, FROM, NEAR, NEAR), FROM);
	assert_int_equal(dt_moved_back(m.at, m.n, FROM, NEAR, NEAR + 3), FROM + 3);
	assert_int_equal(dt_moved_back(m.at, m.n, FROM, NEAR, NEAR + 5), 0); /* within jrcxz */
	assert_int_equal(dt_moved_back(m.at, m.n, FROM, NEAR, NEAR + o.size), FROM + 5);
}

/* What does not fit is counted, not written. */
static void test_room(void **state)
{
	static const uint8_t in[] = {0xe8, 0, 1, 0, 0};
	uint8_t out[40];
	struct dt_moved m;

	for (size_t room = 0; room < 30; room++) {
		struct dt_emit o = {.bytes = out, .room = room, .address = NEAR};

		memset(out, 0x5a, sizeof(out));
		assert_int_equal(dt_relocate(&o, in, sizeof(in), FROM, NULL, 0, &m, NULL), 0);
		assert_int_equal(o.size, 24); /* what is pushed is aligned */
		for (size_t i = room; i < sizeof(out); i++)
			assert_int_equal(out[i], 0x5a);
	}
}

/* Too many instructions are refused, not cut off. */
static void test_long(void **state)
{
	uint8_t in[DT_RELOCATE_MAX + 1], out[DT_RELOCATE_MAX + 1];
	struct dt_emit o = {.bytes = out, .room = sizeof(out), .address = NEAR};
	struct dt_moved m;
	struct dt_error e;

	memset(in, 0x90, sizeof(in));
	assert_int_equal(dt_relocate(&o, in, DT_RELOCATE_MAX, FROM, NULL, 0, &m, &e), 0);
	o.size = 0;
	assert_int_equal(dt_relocate(&o, in, sizeof(in), FROM, NULL, 0, &m, &e), -1);
	assert_string_equal(e.text, "the instruction at 0x401040 cannot be moved: the stretch is "
				    "too long");
}

static void test_kinds(void **state)
{
	static const struct {
		const char *in;
		uint8_t kind;
	} kinds[] = {
		{"90", DT_INSN_NOP},
		{"6690", DT_INSN_NOP},
		{"4990", DT_INSN_PLAIN}, /* xchg %r8, %rax */
		{"f390", DT_INSN_PLAIN}, /* pause */
		{"0f1f440000", DT_INSN_NOP},
		{"662e0f1f840000000000", DT_INSN_NOP},
		{"f30f1efa", DT_INSN_ENDBR},
		{"f3480f1ec8", DT_INSN_PLAIN}, /* rdsspq */
		{"0f1820", DT_INSN_PLAIN},
		{"0f05", DT_INSN_SYSCALL},
		{"cd80", DT_INSN_SYSCALL},
		{"c3", DT_INSN_RETURN},
		{"c20800", DT_INSN_RETURN},
		{"40c3", DT_INSN_RETURN},
		{"cb", DT_INSN_FAR},
		{"ffe0", DT_INSN_JUMP_INDIRECT},
		{"ff10", DT_INSN_CALL_INDIRECT},
		{"ff18", DT_INSN_FAR},
		{"ff30", DT_INSN_PLAIN},
		{"c7f800000000", DT_INSN_XBEGIN},
		{"c7c000000000", DT_INSN_PLAIN},
		{"0fb900", DT_INSN_TRAP},
	};
	uint8_t b[DT_INSN_MAX];
	struct dt_insn in;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t n = from_hex(kinds[i].in, b);

		assert_int_equal(dt_insn_decode(&in, b, n, FROM), n);
		if (in.kind != kinds[i].kind)
			fail_msg("%s is of kind %d", kinds[i].in, in.kind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden), cmocka_unit_test(test_hooks),
		cmocka_unit_test(test_fixes),  cmocka_unit_test(test_moving_threads),
		cmocka_unit_test(test_room),   cmocka_unit_test(test_long),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
