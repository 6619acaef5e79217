/* SPDX-License-Identifier: MIT */
/* The bytes of a text that one record has. */
#ifndef DT_STORE_TEXT_PIECE_H
#define DT_STORE_TEXT_PIECE_H

#include "store/layout.h"
#include "store/store.h"

/* Returns the mask of a site as a chunk's dictionary has it (store/layout.h), given the values that
 * its records have: the 32 bytes of texts and of buffers are stored as pieces. */
static inline uint8_t dt_text_mask(uint8_t place, uint8_t mask)
{
	bool text = place == DT_SITE_POINT_TEXT || place == DT_SITE_POINT_BUFFER ||
		    place == DT_SITE_MORE;

	return text && mask == 0xf ? mask | DT_LOCAL_PIECE : mask;
}

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
