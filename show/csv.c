/* SPDX-License-Identifier: MIT */
#include "show/csv.h"

#include <string.h>

void dt_csv_words(FILE *f, const char *s, size_t n, bool always)
{
	/* spreadsheets skip tabs and ends of lines before a formula */
	bool formula = n && memchr("=+-@\t\r\n", *s, 7);

	if (!always && !formula && !memchr(s, '"', n) && !memchr(s, ',', n) &&
	    !memchr(s, '\n', n) && !memchr(s, '\r', n)) {
		fwrite(s, 1, n, f);
		return;
	}
	putc('"', f);
	if (formula)
		putc('\'', f);
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			putc('"', f);
		putc(s[i], f);
	}
	putc('"', f);
}
