/* SPDX-License-Identifier: MIT */
/* What a wait was for, in words. */
#ifndef DT_ANALYSE_REASON_H
#define DT_ANALYSE_REASON_H

#include "store/reader.h"

/* Returns what was seen (""; nothing was), or what the name of the function that waited tells.
 * Waits of one function for the same words are alike, however the words came to be known. */
const char *dt_wait_reason(const struct dt_reader *r, uint32_t function, bool preempted,
			   const char *seen);

/* Returns whether a function is one of libc's, whose names tell what they do. */
bool dt_reason_is_libc(const struct dt_reader *r, uint32_t function);

#endif
