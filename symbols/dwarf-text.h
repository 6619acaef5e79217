/* SPDX-License-Identifier: MIT */
/* Text that is put together in a caller's buffer. */
#ifndef DT_SYMBOLS_DWARF_TEXT_H
#define DT_SYMBOLS_DWARF_TEXT_H

#include <stddef.h>

struct text {
	char *buf;
	size_t size, len; /* len = size: it did not fit */
	int parts;	  /* the writer's own count */
};

void dt_dwarf_put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
