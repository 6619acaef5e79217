/* SPDX-License-Identifier: MIT */
/*
 * elf/go-names.c: the names of functions in Go's own table, of each of its versions, found by its
 * section, in another section, and in a file without sections; and damaged tables. The tables are
 * assembled here, and what is right is in the symbol table of the same file before it is stripped.
 * (test/soak.sh compares programs that Go's compiler has made.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "symbols/nameless.h"
#include "symbols/symtab.h"
#include "test/unit/test-elf-scratch.h"

static const char *const names[] = {"main.main", "main.(*T).Grow", "runtime.mallocgc"};

static const char code[] = ".text\n"
			   ".skip 32, 0x90\n"
			   "text:\n"
			   ".globl f0, f1, f2, past, _start\n"
			   "f0: _start: mov $60, %eax\n xor %edi, %edi\n syscall\n .skip 3, 0x90\n"
			   "f1: lea 1(%rdi), %eax\n ret\n .skip 7, 0x90\n"
			   "f2: ret\n"
			   "past: nop\n"
			   ".section .note.GNU-stack\n";

/* The words behind the head, and the pairs; the descriptions are the same but for their first
 * number. */
static const struct version {
	unsigned magic;
	const char *head, *pairs, *description;
} version[] = {
	/* here the pairs are part of the head */
	{0xfffffffb, ".quad 3, f0, d0-table, f1, d1-table, f2, d2-table, past\n.long 0\n", "",
	 "d%u: .quad f%u\n.long n%u-table, 0, 0, 0\n"},
	{0xfffffffa, ".quad 3, 0, names-table, 0, 0, 0, pairs-table\n",
	 "pairs: .quad f0, d0-pairs, f1, d1-pairs, f2, d2-pairs, past\n",
	 "d%u: .quad f%u\n.long n%u-names, 0, 0, 0\n"},
	{0xfffffff0, ".quad 3, 0, text, names-table, 0, 0, 0, pairs-table\n",
	 "pairs: .long f0-text, d0-pairs, f1-text, d1-pairs, f2-text, d2-pairs, past-text\n",
	 "d%u: .long f%u-text\n.long n%u-names, 0, 0, 0\n"},
	{0xfffffff1, ".quad 3, 0, text, names-table, 0, 0, 0, pairs-table\n",
	 "pairs: .long f0-text, d0-pairs, f1-text, d1-pairs, f2-text, d2-pairs, past-text\n",
	 "d%u: .long f%u-text\n.long n%u-names, 0, 0, 0\n"},
};

static uint64_t address[4]; /* of f0, f1, f2 and past, as nm prints them */

/* Makes the program "whole" with its table in a section, and "go", the same without symbols. */
static void make(const struct version *v, const char *section, const char *more,
		 const char *options)
{
	char line[256];
	FILE *f = fopen(scratch_path("go.s"), "w"), *nm;

	assert_non_null(f);
	fprintf(f, "%s.section %s,\"aw\"\n.balign 32\n%stable: .long 0x%x\n.byte 0, 0, 1, 8\n%s",
		code, section, more, v->magic, v->head);
	fprintf(f, "names:\n");
	for (unsigned i = 0; i < 3; i++)
		fprintf(f, "n%u: .asciz \"%s\"\n", i, names[i]);
	fprintf(f, "%s", v->pairs);
	for (unsigned i = 0; i < 3; i++)
		fprintf(f, v->description, i, i, i);
	fclose(f);
	assert_int_equal(scratch_run("gcc -c -o go.o go.s && gcc -nostdlib %s -o whole go.o 2>&1 "
				     "&& strip -o go whole && nm whole >nm",
				     options),
			 0);
	memset(address, 0, sizeof(address));
	nm = fopen(scratch_path("nm"), "r");
	while (fgets(line, sizeof(line), nm)) {
		unsigned long at;
		char name[128];

		if (sscanf(line, "%lx %*c %127s", &at, name) != 2)
			continue;
		if (name[0] == 'f' && name[1] >= '0' && name[1] <= '2' && !name[2])
			address[name[1] - '0'] = at;
		if (!strcmp(name, "past"))
			address[3] = at;
	}
	fclose(nm);
	assert_true(address[0] && address[3] > address[2]);
}

static void check_names(const char *file)
{
	struct dt_error e = {""};
	struct dt_symtab *t = dt_symtab_open(scratch_path(file), NULL, &e);
	const struct dt_function *f;
	size_t n;

	assert_non_null(t);
	f = dt_symtab_functions(t, &n);
	assert_int_equal(n, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(f[i].name, names[i]);
		assert_int_equal(f[i].address, address[i]);
		assert_int_equal(f[i].size, address[i + 1] - address[i]);
		assert_true(f[i].go);
		assert_ptr_equal(dt_symtab_find(t, address[i + 1] - 1), &f[i]);
	}
	assert_null(dt_symtab_find(t, address[3]));
	dt_symtab_close(t);
}

static size_t functions_in(const char *file)
{
	struct dt_symtab *t = dt_symtab_open(scratch_path(file), NULL, NULL);
	size_t n = 0;

	if (t)
		dt_symtab_functions(t, &n);
	dt_symtab_close(t);
	return t ? n : SIZE_MAX;
}

static void test_versions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(version) / sizeof(*version); i++) {
		make(&version[i], ".gopclntab", "", "-static -no-pie");
		check_names("go");
		/* its functions are not hooked, so the program has none that could be traced */
		assert_true(dt_nameless_program(scratch_path("go")));
		assert_int_equal(scratch_run("objcopy --rename-section "
					     ".gopclntab=.data.rel.ro.gopclntab go go2"),
				 0);
		check_names("go2");
	}
	make(&version[1], ".gopclntab", "", "-static -no-pie");
	/* what its own symbols name is not looked up there */
	assert_int_equal(functions_in("whole"), 4);
}

/* In a program that is loaded anywhere, a relocation says where Go's code begins. */
static void test_anywhere(void **state)
{
	(void)state;
	make(&version[2], ".gopclntab", "", "-pie -Wl,-z,notext");
	check_names("go");
	make(&version[2], ".other",
	     ".section .go.buildinfo,\"aw\"\n.quad 1\n.section .other,\"aw\"\n.balign 32\n",
	     "-pie -Wl,-z,notext");
	check_names("go");
}

/* Removes the section headers. */
static void drop_sections(void)
{
	size_t n;
	unsigned char *p = scratch_read("go", &n);

	memset(p + 0x28, 0, 8);
	memset(p + 0x3a, 0, 6);
	scratch_write("bare", p, n);
	free(p);
}

static void test_without_sections(void **state)
{
	char twice[512];

	(void)state;
	for (size_t i = 0; i < sizeof(version) / sizeof(*version); i++) {
		make(&version[i], ".gopclntab", "", "-static -no-pie");
		drop_sections();
		check_names("bare");
	}
	/* of two tables nobody knows which is the program's own */
	snprintf(twice, sizeof(twice), ".long 0x%x\n.byte 0, 0, 1, 8\n%s.skip 64\n.balign 32\n",
		 version[0].magic, version[0].head);
	make(&version[0], ".gopclntab", twice, "-static -no-pie");
	drop_sections();
	assert_int_equal(functions_in("bare"), 0);
	/* without a mark of Go, and with sections, it is not searched for */
	make(&version[0], ".other", "", "-static -no-pie");
	assert_int_equal(functions_in("go"), 0);
}

/* Each byte of the table is changed, and the file is cut in it. */
static void test_damaged(void **state)
{
	static const unsigned char to[] = {0, 1, 0x7f, 0x80, 0xff};

	(void)state;
	for (size_t i = 0; i < sizeof(version) / sizeof(*version); i++) {
		unsigned char *p, head[8];
		size_t n, at = 0;

		make(&version[i], ".gopclntab", "", "-static -no-pie");
		p = scratch_read("go", &n);
		memcpy(head, &version[i].magic, 4);
		memcpy(head + 4, "\0\0\1\10", 4);
		while (at + 8 < n && memcmp(p + at, head, 8) != 0)
			at++;
		assert_true(at + 8 < n);
		for (size_t k = at; k < at + 300 && k < n; k++)
			for (size_t x = 0; x < sizeof(to); x++) {
				unsigned char was = p[k];
				size_t found;

				p[k] = to[x];
				scratch_write("bad", p, n);
				found = functions_in("bad");
				assert_true(found <= 3 || found == SIZE_MAX);
				p[k] = was;
			}
		for (size_t k = at; k < at + 300 && k < n; k += 3) {
			scratch_write("bad", p, k);
			functions_in("bad");
		}
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_anywhere),
		cmocka_unit_test(test_without_sections),
		cmocka_unit_test(test_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
