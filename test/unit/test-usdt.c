/* SPDX-License-Identifier: MIT */
/* USDT notes and the descriptions of their arguments. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "elf/usdt.h"
#include "test-elf-scratch.h"

static void is(const char *text, const char *want)
{
	struct dt_operand o[DT_USDT_ARGUMENTS];
	char got[1024] = "";
	size_t n = dt_usdt_arguments(text, o, DT_USDT_ARGUMENTS), at = 0;

	for (size_t i = 0; i < n && i < DT_USDT_ARGUMENTS; i++) {
		at += (size_t)snprintf(got + at, sizeof(got) - at, "%s", i ? ", " : "");
		at += dt_usdt_operand_text(got + at, sizeof(got) - at, &o[i]);
	}
	assert_string_equal(got, want);
}

static void test_arguments(void **state)
{
	is("", "");
	is("  ", "");
	is("-4@%edi 8@-16(%rbp)", "s4 %edi, u8 [rbp-16]");
	is("8@$0 -8@$-1 4@$0x1f 2@$010", "u8 0, s8 -1, u4 31, u2 8");
	is("1@%al 1@%ah -1@%r10b -2@%r11w 4@%r12d 8@%r13 1@%sil",
	   "u1 %al, u1 %ah, s1 %r10b, s2 %r11w, u4 %r12d, u8 %r13, u1 %sil");
	is("-4@(%rax) 8@8(%rax,%rbx,4) 8@(,%r9,8) 8@16(%rax,%rbx)",
	   "s4 [rax], u8 [rax+rbx*4+8], u8 [+r9*8], u8 [rax+rbx+16]");
	is("4@NBuffers(%rip) 4@a_b+4(%rip) 4@a-4(%rip) 8@foo 8@$foo 8@4+a(%rip)",
	   "u4 [NBuffers+rip], u4 [a_b+rip+4], u4 [a+rip-4], u8 [foo], u8 foo+0, u8 [a+rip+4]");
	is("8f@%xmm0 4f@8(%rsp) 16@%xmm15", "f8 %xmm0, f4 [rsp+8], u16 %xmm15");
	is("8@%fs:16 8@%fs:(%rax) 8@%gs:-8(%rbx)", "u8 [fs:+16], u8 [fs:rax], u8 [gs:rbx-8]");
	/* the older form, without sizes */
	is("%rax $5 (%rbx)", "u8 %rax, u8 5, u8 [rbx]");
	/* gcc may name the whole register for a part of it */
	is("-4@%rax", "s4 %eax");
	is("8@$-9223372036854775808 8@$18446744073709551615", "u8 -9223372036854775808, u8 -1");
}

static void test_unknown(void **state)
{
	static const char *const bad[] = {
		"4@",	   "4@%",	 "4@%foo",	  "4@%r16",	     "4@%r7",
		"4@(%rax", "4@(%rax)x",	 "4@(%rax,%rsp)", "4@(%rax,%rbx,3)", "4@(%eax)",
		"4@$",	   "4@$5(%rax)", "4@%raxx",	  "4@%r9q",	     "4@((%rax))",
		"4@%rip",  "4@%xmm",	 "4@%xmm99",	  "4@%rax%rbx",	     "4@,",
		"4@()8",   "4@[x0, 8]",	 "4@%r123",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct dt_operand o = {.kind = 99};

		assert_int_equal(dt_usdt_arguments(bad[i], &o, 1), strchr(bad[i], ' ') ? 2 : 1);
		/* "$" alone is a number left out */
		if (o.kind != DT_OPERAND_UNKNOWN && strcmp(bad[i], "4@$"))
			fail_msg("'%s' was taken for something", bad[i]);
		assert_int_equal(o.size, 4);
	}
	/* a size that does not exist: the operand is not looked at */
	is("3@%rax 128@%rax 0@%rax", "u0 ?, u0 ?, u0 ?");
}

static void test_many(void **state)
{
	struct dt_operand o[2];

	assert_int_equal(dt_usdt_arguments("1@%al 2@%ax 4@%eax", o, 2), 3);
	assert_int_equal(o[1].size, 2);
}

static void test_fields(void **state)
{
	struct dt_operand o[4];

	assert_int_equal(dt_usdt_arguments("-4@%ah 8@-16(%r9,%r10,2) 8@sym+7(%rip)", o, 4), 3);
	assert_int_equal(o[0].kind, DT_OPERAND_REGISTER);
	assert_int_equal(o[0].reg, 0);
	assert_int_equal(o[0].byte, 1);
	assert_true(o[0].is_signed);
	assert_int_equal(o[1].kind, DT_OPERAND_MEMORY);
	assert_int_equal(o[1].base, 9);
	assert_int_equal(o[1].index, 10);
	assert_int_equal(o[1].scale, 2);
	assert_int_equal(o[1].value, -16);
	assert_int_equal(o[2].base, DT_REGISTER_RIP);
	assert_int_equal(o[2].index, DT_REGISTER_NONE);
	assert_int_equal(o[2].value, 7);
	assert_int_equal(o[2].symbol_length, 3);
	assert_memory_equal(o[2].symbol, "sym", 3);
}

/* No input may lead outside it (the sanitizers look), or make the text too long. */
static void test_fuzz(void **state)
{
	static const char *const piece[] = {
		"-", "4",  "8",	  "@",	 "%", "rax", "r12d", "(",  ")",	   ",",
		"$", "0x", "fs:", "sym", "+", "f",   "%rip", "\"", "xmm3", "99999999999999999999",
		" ", "%ah"};
	unsigned seed = 12345;

	for (int i = 0; i < 300000; i++) {
		struct dt_operand o[4];
		char text[128] = "", out[96];
		size_t n = 0, count;
		char *exact;

		for (int k = rand_r(&seed) % 12; k >= 0 && n < 80; k--) {
			if (rand_r(&seed) % 8)
				n += (size_t)sprintf(text + n, "%s",
						     piece[(size_t)rand_r(&seed) %
							   (sizeof(piece) / sizeof(piece[0]))]);
			else
				text[n++] = (char)(1 + rand_r(&seed) % 255);
		}
		exact = malloc(n + 1);
		memcpy(exact, text, n);
		exact[n] = '\0';
		count = dt_usdt_arguments(exact, o, 4);
		for (size_t k = 0; k < count && k < 4; k++)
			assert_true(dt_usdt_operand_text(out, sizeof(out), &o[k]) < 96);
		free(exact);
	}
}

/* A file made by hand, in the assembler, as <sys/sdt.h> would. */
static void test_notes(void **state)
{
	static const char source[] =
		".text\n.globl _start\n_start: nop\n1: nop\n.fill 32, 1, 0x90\n"
		".section .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
		".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"
		".data\nsem: .short 0\n"
		".section .note.stapsdt,\"\",\"note\"\n"
		".macro probe where, base, sem, p, n, a\n"
		".balign 4\n.long 8, 3f-2f, 3\n.asciz \"stapsdt\"\n"
		"2: .8byte \\where, \\base, \\sem\n.asciz \"\\p\"\n.asciz \"\\n\"\n.asciz \"\\a\"\n"
		"3: .balign 4\n.endm\n"
		"probe 1b, _.stapsdt.base, sem, prov, one, \"-4@%edi\"\n"
		"probe 1b, _.stapsdt.base-16, 0, prov, moved, \"\"\n"
		"probe 0, _.stapsdt.base, 0, prov, dropped, \"\"\n"
		".balign 4\n.long 4, 4, 1\n.asciz \"GNU\"\n.long 0\n"
		"probe 1b, _.stapsdt.base, 0, \"\", noname, \"\"\n"
		"probe 1b, _.stapsdt.base, 0, last, two, \"8@%rax 8@%rbx\"\n"
		".long 8, 0x7fffffff, 3\n.asciz \"stapsdt\"\n";
	struct dt_usdt u;
	struct dt_error e;
	struct dt_elf *f;

	scratch_write("notes.s", source, sizeof(source) - 1);
	assert_int_equal(scratch_run("as -o notes.o notes.s && ld -o notes notes.o"), 0);
	f = dt_elf_open(scratch_path("notes"), &e);
	assert_non_null(f);
	assert_int_equal(dt_usdt_read(f, &u, &e), 0);
	assert_int_equal(u.n, 2 + 1);
	assert_string_equal(u.probe[0].provider, "prov");
	assert_string_equal(u.probe[0].name, "one");
	assert_string_equal(u.probe[0].arguments, "-4@%edi");
	assert_int_equal(u.probe[0].address, f->entry + 1);
	assert_true(u.probe[0].semaphore);
	/* its base lay 16 below when it was noted: the address has moved with it */
	assert_string_equal(u.probe[1].name, "moved");
	assert_int_equal(u.probe[1].address, f->entry + 17);
	assert_string_equal(u.probe[2].arguments, "8@%rax 8@%rbx");
	assert_int_equal(u.bad, 3); /* dropped, noname, and the end that is cut off */
	dt_usdt_free(&u);
	dt_elf_close(f);
}

/* Every byte of the notes changed in turn: no fault, no endless loop. */
static void test_damaged(void **state)
{
	uint64_t size = 0, found = 0;
	struct dt_error e;
	struct dt_elf *f = dt_elf_open(scratch_path("notes"), &e);
	char *notes = dt_elf_section(f, ".note.stapsdt", &size, NULL);
	unsigned char *file;
	size_t n;

	assert_non_null(notes);
	file = scratch_read("notes", &n);
	for (size_t i = 0; i + size <= n; i++)
		if (!memcmp(file + i, notes, size))
			found = i;
	assert_true(found);
	dt_elf_close(f);
	for (size_t i = 0; i < size; i++)
		for (int bit = 0; bit < 8; bit += 7) {
			struct dt_usdt u;

			file[found + i] ^= (unsigned char)(1 << bit);
			scratch_write("damaged", file, n);
			f = dt_elf_open(scratch_path("damaged"), &e);
			assert_non_null(f);
			assert_int_equal(dt_usdt_read(f, &u, &e), 0);
			dt_usdt_free(&u);
			dt_elf_close(f);
			file[found + i] ^= (unsigned char)(1 << bit);
		}
	free(file);
	free(notes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments), cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_many),	  cmocka_unit_test(test_fields),
		cmocka_unit_test(test_fuzz),	  cmocka_unit_test(test_notes),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
