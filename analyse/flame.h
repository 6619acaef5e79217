/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as one SVG file that needs nothing else: a box for each stack, as wide as the time
 * in it, below the box of its caller. Boxes tell their times, a click widens one, and functions can
 * be searched for.
 */
#ifndef DT_ANALYSE_FLAME_H
#define DT_ANALYSE_FLAME_H

#include <stdio.h>
#include "analyse/stacks.h"

/* Writes the graph to f; width is in pixels. Returns -1 on error, but write errors stay in f. */
int dt_flame_write(const struct dt_stacks *s, struct dt_reader *r, FILE *f, unsigned width,
		   const char *title, struct dt_error *e);

#endif
