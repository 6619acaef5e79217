/* SPDX-License-Identifier: MIT */
/* Printing streams of values (core/stream.h). */
#ifndef DT_SHOW_STREAM_H
#define DT_SHOW_STREAM_H

#include "show/out.h"

/* Is it a stream, by the description of its type, "g:list;" or "g:array;"? NULL is none. */
bool dt_stream_is(const char *described);

/*
 * Writes the values of a stream of n bytes: 5, "abc", 1.5; of an array, between brackets. whole:
 * it has no more bytes than these. What is not understood, and what is missing, is "...".
 */
void dt_stream_put(struct dt_out *o, const char *described, const char *bytes, uint32_t n,
		   bool whole);

#endif
