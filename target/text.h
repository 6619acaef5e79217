/* SPDX-License-Identifier: MIT */
/* Reading texts and buffers of the process, piece by piece. */
#ifndef DT_TARGET_TEXT_H
#define DT_TARGET_TEXT_H

#include "target/parts.h"

struct text;

#pragma GCC visibility push(hidden)
/* Called by hook.S. Reads the next bytes of a text, with zeros after its end. -1: nothing can be
 * read there; of a buffer, not all that there should be. */
int dt_text(struct text *t);
#pragma GCC visibility pop

#endif
