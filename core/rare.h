/* SPDX-License-Identifier: MIT */
/* Searching megabytes of code for a few bytes. */
#ifndef DT_CORE_RARE_H
#define DT_CORE_RARE_H

#include <stddef.h>
#include <string.h>

/* Returns the index of a byte of the needle that is rare in code: the first that is none of the
 * most frequent ones. */
static inline size_t dt_rare_of(const unsigned char *needle, size_t n)
{
	static const unsigned char frequent[] = {0,    0x48, 0x89, 0x8b, 0x0f, 0xff, 0x49, 0x85, 0xc0,
						 0x4c, 0x24, 0x83, 0x8d, 0xe8, 0x41, 0x44, 0x01, 0x5a};

	for (size_t i = 0; i < n; i++)
		if (!memchr(frequent, needle[i], sizeof(frequent)))
			return i;
	return 0;
}

/* Returns the first place of the needle's n bytes, at least one, among `size' bytes; NULL: there is
 * none. memmem() does the same, in code at a tenth of the speed. */
static inline const unsigned char *dt_rare_find(const unsigned char *bytes, size_t size,
						const unsigned char *needle, size_t n)
{
	size_t rare = dt_rare_of(needle, n);
	const unsigned char *at = bytes + rare, *end;

	if (!n || n > size)
		return NULL;
	end = at + size - n + 1;
	while (at < end && (at = memchr(at, needle[rare], (size_t)(end - at)))) {
		if (memcmp(at - rare, needle, n) == 0)
			return at - rare;
		at++;
	}
	return NULL;
}

#endif
