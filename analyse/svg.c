/* SPDX-License-Identifier: MIT */
/* Pictures as SVG. */
#include "analyse/svg.h"

void dt_svg_text(FILE *f, const char *s)
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
		else if ((unsigned char)*s >= 0x20)
			putc(*s, f);
	}
}
