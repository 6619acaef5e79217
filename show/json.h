/* SPDX-License-Identifier: MIT */
/* Putting text together in memory, also as JSON. */
#ifndef DT_SHOW_JSON_H
#define DT_SHOW_JSON_H

#include "core/types.h"
#include "store/chunk.h"

/* A growing text; free bytes.p. `failed' is set when there was no memory, or a line of
 * dt_json_print() was too long; nothing is added after that. */
struct dt_json {
	struct dt_bytes bytes;
	bool failed;
};

/* Adds n bytes as they are. */
void dt_json_bytes(struct dt_json *t, const void *p, size_t n);
/* Adds formatted text of at most 511 bytes. */
void dt_json_print(struct dt_json *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds n bytes; each NUL, and each byte that is not UTF-8, becomes U+FFFD. */
void dt_json_utf8(struct dt_json *t, const char *s, size_t n);
#define DT_JSON_CHARACTER 12 /* bytes that a character takes at most */

/* Writes the first character of n bytes, at least one, as it stands in a string of JSON, and sets
 * *length to how many bytes it has. A byte that is not UTF-8 becomes U+FFFD, a NUL \u0000. Returns
 * the end; no NUL is written. */
char *dt_json_character(char *to, const char *s, size_t n, unsigned *length);
/* Adds a string in quotes with JSON's escapes; each byte that is not UTF-8 becomes U+FFFD. */
void dt_json_string(struct dt_json *t, const char *s);
/* Does the same with n bytes, of which NULs are written as \u0000. */
void dt_json_string_of(struct dt_json *t, const char *s, size_t n);

#endif
