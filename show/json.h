/* SPDX-License-Identifier: MIT */
/* Text that is put together, and JSON in it. */
#ifndef DT_SHOW_JSON_H
#define DT_SHOW_JSON_H

#include "core/types.h"
#include "store/chunk.h"

/* Once there was no memory, `failed' stays set, and nothing more is added. */
struct dt_json {
	struct dt_bytes bytes;
	bool failed;
};

void dt_json_bytes(struct dt_json *t, const void *p, size_t n);
void dt_json_print(struct dt_json *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Of n bytes, what is UTF-8; the rest, and NUL, becomes U+FFFD. */
void dt_json_utf8(struct dt_json *t, const char *s, size_t n);
/* In quotes, as JSON has it; what is not UTF-8 becomes U+FFFD. */
void dt_json_string(struct dt_json *t, const char *s);

#endif
