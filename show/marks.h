/* SPDX-License-Identifier: MIT */
/* What is remarkable about how calls began or ended, in words. */
#ifndef DT_SHOW_MARKS_H
#define DT_SHOW_MARKS_H

#include "analyse/stats.h"
#include "core/types.h"

/*
 * Gives the next mark of a call with these flags (DT_CALL_*): returns its flag, and its words in
 * *text. *at is where to go on; 0 at first. Returns 0 when there is no more.
 */
uint32_t dt_marks_next(unsigned *at, uint32_t flags, const char **text);

/* Writes how many calls of a function are remarkable, and how: "  (2 unwound, 1 tail)"; "": none
 * is. */
void dt_marks_of_function(const struct dt_function_stats *f, char *text, size_t size);

#endif
