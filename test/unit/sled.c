// SPDX-License-Identifier: MIT
/*
 * devtrace-as on damaged input: whatever comes in, nothing is read outside of it (the sanitizers
 * see that) and no line is lost. The damage is random and the same in every run.
 */
#include "instrument/sled-instruction.c"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint32_t seed;

static size_t below(size_t n)
{
	seed = seed * 1664525 + 1013904223;
	return n ? (seed >> 8) % n : 0;
}

static char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text = malloc(1 << 16);

	assert_non_null(f);
	*len = fread(text, 1, 1 << 16, f);
	fclose(f);
	return text;
}

static void damage(char *t, size_t *len)
{
	static const char odd[] = "\n\t.\"#,:\\@; rj";
	size_t at = below(*len), to = below(*len), n = below(200);

	if (!*len)
		return;
	switch (below(6)) {
	case 0:
		t[at] = odd[below(sizeof(odd))];
		break;
	case 1:
		if (at + n < *len) {
			memmove(t + at, t + at + n, *len - at - n);
			*len -= n;
		}
		break;
	case 2:
		*len = at + 1;
		break;
	case 3:
		if (at + n < *len && to + n < *len)
			memmove(t + to, t + at, n);
		break;
	case 4:
		t[at] = '\n';
		break;
	case 5:
		t[at] = (char)below(256);
	}
}

static size_t lines(const char *p, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += p[i] == '\n';
	return n;
}

/* `text` of exactly the size that the caller promises, so that a byte too far is noticed */
static void try(const char *text, size_t len)
{
	char *in = malloc(len + 2);
	struct text out = {0};

	memcpy(in, text, len);
	in[len] = '\n';
	in[len + 1] = 0;
	len += !len || in[len - 1] != '\n';
	sled_is_compiled(in, len);
	sled_insert(in, len, len % 2 ? "name.s" : NULL, &out);
	assert_true(lines(out.data, out.len) >= lines(in, len));
	free(in);
	free(out.data);
}

static void damaged_input(void **state)
{
	glob_t g;

	assert_int_equal(glob("test/instrument/golden/*.s", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t len, n;
		char *text = read_file(g.gl_pathv[i], &len), *copy = malloc(len);

		for (int round = 0; round < 1000; round++) {
			memcpy(copy, text, len);
			n = len;
			for (size_t k = below(12); k > 0; k--)
				damage(copy, &n);
			try(copy, n);
		}
		free(copy);
		free(text);
	}
	globfree(&g);
}

static void every_prefix(void **state)
{
	size_t len;
	char *text = read_file("test/instrument/golden/clang.s", &len);

	for (size_t n = 0; n <= len; n++)
		try(text, n);
	free(text);
}

static void inverted_conditions(void **state)
{
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
		const char *back = conditions[i][1];
		const char *again;

		if (!*back)
			continue;
		again = invert((struct str){back, strlen(back)});
		assert_non_null(again);
		assert_string_equal(invert((struct str){again, strlen(again)}), back);
	}
	assert_null(invert((struct str){"rcxz", 4}));
	assert_null(invert((struct str){"", 0}));
}

/* `jmp name': which names are those of registers, with Intel's syntax without a %. */
static void registers(void **state)
{
	static const char *const are[] = {"rax", "rdi", "rsi", "rip", "r8", "r9", "r10", "r15"},
				 *const not [] = {"r",	 "read", "r10x", "reg",	 "rat",	 "x8",
						  "eax", "rx",	 "",	 "r_10", "retry"};

	for (size_t i = 0; i < sizeof(are) / sizeof(*are); i++)
		assert_true(is_register((struct str){are[i], strlen(are[i])}));
	for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++)
		assert_false(is_register((struct str){not [i], strlen(not [i])}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_input),
		cmocka_unit_test(every_prefix),
		cmocka_unit_test(inverted_conditions),
		cmocka_unit_test(registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
