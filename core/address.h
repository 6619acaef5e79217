/* SPDX-License-Identifier: MIT */
/*
 * Address expressions: symbols and hexadecimal numbers, joined with '+'. A word is looked up as a
 * symbol first and read as a number then; 0x forces a number. A sum without a symbol that lies
 * below the text is added to where the text begins.
 */
#ifndef DT_CORE_ADDRESS_H
#define DT_CORE_ADDRESS_H

#include "core/device.h"

/* role: "start", "end": what the error calls it. place->end is the function's when the word is one.
 */
int dt_address(struct dt_device *d, const char *word, struct dt_place *place, const char *role,
	       struct dt_error *e);

#endif
