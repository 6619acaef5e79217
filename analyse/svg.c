/* SPDX-License-Identifier: MIT */
/* Pictures as SVG. */
#include "analyse/svg.h"

#include <stdlib.h>
#include <string.h>

#include "core/plain.h"

static void put(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", f);
		else if (*s == '>')
			fputs("&gt;", f);
		else if (*s == '&')
			fputs("&amp;", f);
		else if (*s == '"')
			fputs("&quot;", f);
		else
			putc(*s, f);
	}
}

/* XML has no way to write most controls, and nothing but whole characters. */
void dt_svg_text(FILE *f, const char *s)
{
	size_t n = strlen(s), plain = dt_plain_is(s) ? 0 : dt_plain(NULL, s, n);
	char *text = plain ? malloc(plain + 1) : NULL;

	if (text) {
		dt_plain(text, s, n);
		text[plain] = '\0';
		put(f, text);
	} else {
		put(f, plain ? "?" : s);
	}
	free(text);
}
