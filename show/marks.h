/* SPDX-License-Identifier: MIT */
/* What is remarkable about how a call began or ended, in words. */
#ifndef DT_SHOW_MARKS_H
#define DT_SHOW_MARKS_H

#include "core/types.h"

/*
 * Gives the next mark of a call with these flags (DT_CALL_*): returns its flag, and its words in
 * *text. *at is where to go on; 0 at first. Returns 0 when there is no more.
 */
uint32_t dt_marks_next(unsigned *at, uint32_t flags, const char **text);

#endif
