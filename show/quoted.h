/* SPDX-License-Identifier: MIT */
/* Texts of traced programs, which may be any bytes. */
#ifndef DT_SHOW_QUOTED_H
#define DT_SHOW_QUOTED_H

#include "show/out.h"

/* Writes n bytes between quotes; nothing of them that a terminal could understand is written as it
 * is. */
void dt_quoted_put(struct dt_out *o, const char *s, uint32_t n);

#endif
