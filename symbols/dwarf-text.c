/* SPDX-License-Identifier: MIT */
/* Puts text together in the caller's buffer. */
#include "symbols/dwarf-text.h"

#include <stdarg.h>
#include <stdio.h>

void dt_dwarf_put(struct text *t, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(t->buf + t->len, t->len < t->size ? t->size - t->len : 0, format, ap);
	va_end(ap);
	t->len = n < 0 || t->len + (size_t)n >= t->size ? t->size : t->len + (size_t)n;
}
