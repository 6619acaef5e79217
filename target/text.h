/* SPDX-License-Identifier: MIT */
/* Reading texts and buffers of the process, piece by piece. */
#ifndef DT_TARGET_TEXT_H
#define DT_TARGET_TEXT_H

#include "target/parts.h"

#define DT_PIECE 32u /* bytes that are read at a time */

/* A text, or a stream, that is being read; hook.S knows where these are. */
struct text {
	uint64_t piece[4];	 /* its next bytes */
	uint64_t address;	 /* where they are; then where it goes on, 0: it does not */
	uint64_t left;		 /* bytes that it has at most */
	uint64_t how;		 /* DT_TEXT_... */
	uint64_t saved[2], back; /* what hook.S has pushed before; the point's code begins here */
};

#pragma GCC visibility push(hidden)
/* Reads the next bytes of a text, with zeros after its end. -1: nothing can be read there; of a
 * buffer, not all that there should be. */
int dt_text(struct text *t);

/* Called by hook.S. Does the same for whatever t is: a text, or a stream (target/stream.c). */
int dt_piece(struct text *t);
#pragma GCC visibility pop

#endif
