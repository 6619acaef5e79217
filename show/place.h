/* SPDX-License-Identifier: MIT */
/* Where in the code a caller is, as text. */
#ifndef DT_SHOW_PLACE_H
#define DT_SHOW_PLACE_H

#include "store/backtraces.h"

/* Bytes that dt_place_put() writes at most, with a NUL. */
#define DT_PLACE_TEXT 2048

/* Writes "main+0x1c (git, main.c:12)", "git+0x2044" if no name is known, or the address alone if
 * no file is. Returns the end, where it has put a NUL. */
char *dt_place_put(char *p, const struct dt_reader *r, const struct dt_backtrace_frame *f);

#endif
