/* SPDX-License-Identifier: MIT */
/* Signatures of the kernel's functions, of types (BTF) that are made up here. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>

#include "session/kernel-names.c"

/* What is behind "NAME: ": letters of parameters, and of the result. */
static const struct {
	const char *name, *types, *signature;
} function[] = {
	{"none", " v", ";v"},
	{"one", "i i", "a0:i4@0;i4@0"},
	{"kinds", "pbcl u", "a0:p@0,a1:b@1,a2:u1@2,a3:i8@3;u4@0"},
	{"typedefs", "te p", "a0:i4@0,a1:u4@1;p@0"},
	/* a record has four */
	{"four", "llll l", "a0:i8@0,a1:i8@1,a2:i8@2,a3:i8@3;i8@0"},
	{"five", "lllll l", "a0:i8@0,a1:i8@1,a2:i8@2,a3:i8@3,a4:i8@-;i8@0"},
	{"seven", "iiiiiii v", "a0:i4@0,a1:i4@1,a2:i4@2,a3:i4@3,a4:i4@-,a5:i4@-,a6:i4@-;v"},
	/* by value: of one register, of two, by the stack, which takes none */
	{"small", "si s", "a0:a@-,a1:i4@1;a@-"},
	{"middle", "mi m", "a0:a@-,a1:i4@2;a@-"},
	{"large", "Li v", "a0:a@-,a1:i4@0;v"},
	{"between", "imii i", "a0:i4@0,a1:a@-,a2:i4@3,a3:i4@-;i4@0"},
	{"wide", "wi w", "a0:i16@-,a1:i4@2;i16@-"},
	{"any", "p. i", "a0:p@0,...:a@-;i4@0"},
};

static int type_of(char letter, const int *id)
{
	static const char letters[] = "ibcluptesmLw";

	return letter == 'v' || letter == '.' ? 0 : id[strchr(letters, letter) - letters];
}

static struct btf *made_up(void)
{
	struct btf *b = btf__new_empty();
	int id[12];

	id[0] = btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	id[1] = btf__add_int(b, "bool", 1, BTF_INT_BOOL);
	id[2] = btf__add_int(b, "u8", 1, 0);
	id[3] = btf__add_int(b, "long", 8, BTF_INT_SIGNED);
	id[4] = btf__add_int(b, "unsigned int", 4, 0);
	id[5] = btf__add_ptr(b, id[0]);
	id[6] = btf__add_typedef(b, "again", btf__add_const(b, btf__add_typedef(b, "word", id[0])));
	id[7] = btf__add_enum(b, "which", 4);
	id[8] = btf__add_struct(b, "small", 8);
	id[9] = btf__add_struct(b, "middle", 16);
	id[10] = btf__add_struct(b, "large", 24);
	id[11] = btf__add_int(b, "__int128", 16, BTF_INT_SIGNED);
	for (size_t i = 0; i < sizeof(function) / sizeof(*function); i++) {
		const char *result = strchr(function[i].types, ' ') + 1;
		int proto = btf__add_func_proto(b, type_of(*result, id));

		for (const char *p = function[i].types; *p != ' '; p++) {
			char name[4];

			dt_format(name, sizeof(name), "a%u", (unsigned)(p - function[i].types));
			assert_int_equal(
				btf__add_func_param(b, *p == '.' ? "" : name, type_of(*p, id)), 0);
		}
		assert_true(btf__add_func(b, function[i].name, BTF_FUNC_STATIC, proto) > 0);
	}
	return b;
}

static void test_signatures(void **state)
{
	struct dt_kernel_names k = {0};
	struct dt_error e;
	char text[256];

	assert_int_equal(dt_btf_load(&e), 0);
	dt_btf.load_vmlinux_btf = made_up;
	assert_int_equal(dt_kernel_names_types(&k, &e), 0);
	assert_non_null(k.btf);
	for (size_t i = 0; i < sizeof(function) / sizeof(*function); i++) {
		dt_kernel_names_signature(&k, function[i].name, text, sizeof(text));
		if (strcmp(text, function[i].signature))
			fail_msg("%s is '%s', not '%s'", function[i].name, text,
				 function[i].signature);
		/* one that has no room is none, never a part */
		for (size_t size = 1; size <= strlen(function[i].signature); size++) {
			dt_kernel_names_signature(&k, function[i].name, text, size);
			assert_string_equal(text, "");
		}
	}
	dt_kernel_names_signature(&k, "no_such", text, sizeof(text));
	assert_string_equal(text, "");
	btf__free(k.btf);
	free(k.typed);
}

/* A kernel without types. */
static void test_without(void **state)
{
	struct dt_kernel_names k = {0};
	char text[64] = "?";

	dt_kernel_names_signature(&k, "four", text, sizeof(text));
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signatures),
		cmocka_unit_test(test_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
