/* SPDX-License-Identifier: MIT */
/* The bytes of a text that one record has. */
#ifndef DT_STORE_TEXT_PIECE_H
#define DT_STORE_TEXT_PIECE_H

#include "store/store.h"

/*
 * Returns the bytes of a text, or of a buffer, in a record of such a place, and in *n how many they
 * are. *full: as many as a record has that is not the text's last one. A NUL among them ends a
 * text, but not a buffer. NULL: it is no such record.
 */
static inline const char *dt_text_bytes(uint8_t place, const uint64_t *value, size_t *n,
					size_t *full)
{
	const char *bytes = (const char *)value;

	*full = place == DT_SITE_POINT_BUFFER ? 24 : 32;
	*n = place == DT_SITE_POINT_BUFFER && (uint32_t)value[0] < *full ? (uint32_t)value[0]
									 : *full;
	if (place == DT_SITE_POINT_BUFFER)
		return bytes + 8;
	return place == DT_SITE_POINT_TEXT ? bytes : NULL;
}

#endif
