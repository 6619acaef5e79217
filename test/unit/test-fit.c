/* SPDX-License-Identifier: MIT */
/*
 * cmd/fit.c: lines that are broken for terminals of any width are as full as they can be and no
 * wider, and have every word of the text; what is cut has as much as there is room for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static FILE *out;

#undef stdout
#define stdout	      out
#define puts(text)    fprintf(out, "%s\n", text)
#define putchar(byte) fputc(byte, out)
#include "cmd/fit.c"

#define MOST 400 /* bytes of a text */

static char *printed;
static size_t size;
static uint64_t seed = 1;

static unsigned any(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* A character is a column. */
static unsigned width_of(const char *text, size_t n)
{
	unsigned width = 0;

	for (size_t i = 0; i < n; i++)
		width += (text[i] & 0xc0) != 0x80;
	return width;
}

unsigned dt_terminal_width(const struct dt_terminal *t, const char *text, size_t n)
{
	return width_of(text, n);
}

size_t dt_terminal_middle(const struct dt_terminal *t, char *to, const char *from, size_t n,
			  unsigned columns)
{
	memcpy(to, from, columns);
	return columns;
}

/* Makes words, some of which end in a comma, some with two columns between. */
static void make_up(char *text)
{
	unsigned n = 0, words = 1 + any(30);

	for (unsigned i = 0; i < words; i++) {
		unsigned letters = 1 + any(any(6) ? 5 : 20);

		for (; letters; letters--)
			n += (unsigned)sprintf(text + n, "%s", any(9) ? "x" : "\xc3\xb6");
		if (any(3) == 0)
			text[n++] = ',';
		if (i + 1 < words)
			n += (unsigned)sprintf(text + n, "%s", any(8) ? " " : "  ");
	}
	text[n] = '\0';
}

/* The part that is not torn apart: up to a comma, or a word where that is too wide. */
static unsigned part(const char *text, const char *end, unsigned columns)
{
	const char *comma = memchr(text, ',', (size_t)(end - text));
	const char *stop = comma ? comma + 1 : end;

	if (width_of(text, (size_t)(stop - text)) > columns) {
		stop = memchr(text, ' ', (size_t)(end - text));
		stop = stop ? stop : end;
	}
	return width_of(text, (size_t)(stop - text));
}

static void print_line(const char *text, unsigned columns)
{
	const struct dt_terminal t = {.columns = columns};

	free(printed);
	out = open_memstream(&printed, &size);
	dt_fit_line(&t, text);
	fclose(out);
}

/* Asserts that both have the same words in the same order. */
static void same_words(const char *a, const char *b)
{
	for (;;) {
		size_t n = strcspn(a += strspn(a, " \n"), " \n");

		assert_int_equal(strcspn(b += strspn(b, " \n"), " \n"), n);
		assert_memory_equal(a, b, n);
		if (!n)
			return;
		a += n;
		b += n;
	}
}

static void test_lines(void **state)
{
	char text[MOST * 4];

	for (unsigned round = 0; round < 20000; round++) {
		unsigned columns = 1 + any(80);

		make_up(text);
		print_line(text, columns);
		same_words(text, printed);
		if (width_of(text, strlen(text)) <= columns) {
			assert_int_equal(size, strlen(text) + 1);
			assert_memory_equal(printed, text, size - 1);
			continue;
		}
		for (const char *line = printed, *end; *line; line = end + 1) {
			unsigned width;

			end = strchr(line, '\n');
			assert_non_null(end);
			width = width_of(line, (size_t)(end - line));
			assert_true(width && *line != ' ');
			/* but for a part that is too wide by itself */
			if (width > columns)
				assert_null(memchr(line, ' ', (size_t)(end - line)));
			/* the next line's first part has no room behind it */
			if (end[1]) {
				const char *next = strchr(end + 1, '\n');

				assert_true(width + 1 + part(end + 1, next, columns) > columns);
			}
		}
	}
	/* not at a terminal: as it is */
	print_line("  a, b  c", 0);
	assert_string_equal(printed, "  a, b  c\n");
}

static void test_ends(void **state)
{
	char text[MOST * 4];

	for (unsigned round = 0; round < 5000; round++) {
		struct dt_terminal t = {.columns = 80, .utf8 = round & 1};
		unsigned columns = any(100), width;
		const char *mark = t.utf8 ? "\xe2\x80\xa6" : ">";

		make_up(text);
		width = width_of(text, strlen(text));
		free(printed);
		out = open_memstream(&printed, &size);
		dt_fit_print_end(&t, text, columns);
		fclose(out);
		assert_int_equal(width_of(printed, size), width < columns ? width : columns);
		if (width <= columns) {
			assert_string_equal(printed, text);
		} else if (columns) {
			assert_memory_equal(printed, mark, strlen(mark));
			assert_string_equal(printed + strlen(mark),
					    text + strlen(text) + strlen(mark) - size);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_ends),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(printed);
	return failed;
}
