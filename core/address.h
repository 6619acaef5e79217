/* SPDX-License-Identifier: MIT */
/*
 * Address expressions: symbols and hexadecimal numbers, joined with '+'. A word is first looked up
 * as a symbol, and read as a number only if there is no such symbol; 0x forces a number. A sum that
 * contains no symbol and lies below the text counts from the beginning of the text.
 */
#ifndef DT_CORE_ADDRESS_H
#define DT_CORE_ADDRESS_H

#include "core/device.h"

/* Reads an address expression into *place. role ("start", "end") is what the error text calls the
 * address. If the word is the name of a function, place->end is the end of that function. Returns
 * 0, or -1 with an error. */
int dt_address(struct dt_device *d, const char *word, struct dt_place *place, const char *role,
	       struct dt_error *e);

#endif
