/* SPDX-License-Identifier: MIT */
/* Puts text together in the caller's buffer. */
#ifndef DT_SYMBOLS_DWARF_TEXT_H
#define DT_SYMBOLS_DWARF_TEXT_H

#include <stddef.h>

/* A text that is being put together. */
struct text {
	char *buf;
	size_t size, len; /* bytes; len == size: the text did not fit */
	int parts;	  /* for the writer's own use */
};

/* Appends formatted text. */
void dt_dwarf_put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
