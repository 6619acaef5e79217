/* SPDX-License-Identifier: MIT */
/* What pictures as SVG have in common. */
#ifndef DT_ANALYSE_SVG_H
#define DT_ANALYSE_SVG_H

#include <stdio.h>

/* A text with what XML gives a meaning to quoted, without control characters. */
void dt_svg_text(FILE *f, const char *s);

#endif
