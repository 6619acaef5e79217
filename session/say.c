/* SPDX-License-Identifier: MIT */
/* Lines for the user. */
#include "session/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void dt_say(const struct dt_say *say, const char *format, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0) {
		say->line(say->ctx, "no memory for a message");
		return;
	}
	say->line(say->ctx, text);
	free(text);
}
