/* SPDX-License-Identifier: MIT */
/* What the pictures in SVG have in common. */
#ifndef DT_ANALYSE_SVG_H
#define DT_ANALYSE_SVG_H

#include <stdio.h>

/* Writes a text with the characters that have a meaning in XML quoted, as plain text
 * (core/plain.h). */
void dt_svg_text(FILE *f, const char *s);

#endif
