/* SPDX-License-Identifier: MIT */
#include "cmd/fit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned dt_fit_print(const struct dt_terminal *t, const char *text, unsigned columns)
{
	size_t n = strlen(text);
	unsigned width = dt_terminal_width(t, text, n);
	char *cut = t->columns && width > columns ? malloc(n + 4) : NULL;

	if (!cut) {
		fwrite(text, 1, n, stdout);
		return width;
	}
	n = dt_terminal_middle(t, cut, text, n, columns);
	fwrite(cut, 1, n, stdout);
	width = dt_terminal_width(t, cut, n);
	free(cut);
	return width;
}

void dt_fit_print_end(const struct dt_terminal *t, const char *text, unsigned columns)
{
	size_t n = strlen(text), at = 0;

	if (!t->columns || dt_terminal_width(t, text, n) <= columns) {
		fwrite(text, 1, n, stdout);
		return;
	}
	if (!columns)
		return;
	/* from a character's beginning on */
	while (at < n &&
	       ((text[at] & 0xc0) == 0x80 || dt_terminal_width(t, text + at, n - at) > columns - 1))
		at++;
	fputs(t->utf8 ? "\xe2\x80\xa6" : ">", stdout);
	fwrite(text + at, 1, n - at, stdout);
}

/* Returns how many bytes at text are kept together: up to a comma, or, if that is too long, a word.
 */
static size_t together(const struct dt_terminal *t, const char *text)
{
	size_t n = strcspn(text, ",");

	n += text[n] == ',';
	return dt_terminal_width(t, text, n) <= t->columns ? n : strcspn(text, " ");
}

void dt_fit_line(const struct dt_terminal *t, const char *text)
{
	bool broken = t->columns && dt_terminal_width(t, text, strlen(text)) > t->columns;
	unsigned used = 0;

	if (!broken) {
		puts(text);
		return;
	}
	/* alignment is of no use then */
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t n = together(t, text);
		unsigned width = dt_terminal_width(t, text, n);

		if (used && used + 1 + width > t->columns) {
			putchar('\n');
			used = 0;
		}
		if (used)
			putchar(' ');
		fwrite(text, 1, n, stdout);
		used += width + (used ? 1 : 0);
		text += n;
	}
	putchar('\n');
}
