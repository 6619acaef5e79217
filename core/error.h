/* SPDX-License-Identifier: MIT */
/*
 * Errors are values: a function that can fail returns -1 (or NULL) and leaves one line in the
 * caller's struct dt_error that says what was wrong and what would be right. Only cmd/ prints it.
 */
#ifndef DT_CORE_ERROR_H
#define DT_CORE_ERROR_H

#ifdef __KERNEL__
#include <linux/stdarg.h>
#else
#include <stdarg.h>
#endif
#include "core/types.h"

/* An error: one line of text. */
struct dt_error {
	char text[512]; /* no newline at the end; cut with "..." when longer */
};

/* Sets the text; always returns -1, so that callers can `return dt_fail(e, ...)`. e may be NULL. */
int dt_fail(struct dt_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Formats into buf, which is always terminated when size > 0. Returns the length that the whole
 * text has, as snprintf does. Knows %s %c %d %i %u %x %X %p %% with l, ll, z, width, precision for
 * %s, and the flags 0 and -.
 */
size_t dt_format(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Formats as dt_format() does, with a va_list. */
size_t dt_vformat(char *buf, size_t size, const char *format, va_list ap);

#endif
