/* SPDX-License-Identifier: MIT */
/*
 * Which rows of a trace's functions are one function: the same place in the same file, in several
 * processes; and the parts that a compiler split off ("f.cold"). Of two traces beside each other
 * (store/twins.h) each has functions of its own.
 */
#ifndef DT_ANALYSE_SAME_H
#define DT_ANALYSE_SAME_H

#include "analyse/first.h"
#include "store/reader.h"

struct dt_same {
	uint32_t *first;       /* by function row: the row that stands for it; [0] is 0 */
	uint32_t n;	       /* elements of first */
	struct dt_first place; /* rows by their place and name */
	struct dt_first name;  /* rows by module and name, filled when there are split-off parts;
				  rows below `named' are in it */
	uint32_t named;
	uint32_t second; /* the second trace's first row; 0: there is one trace */
};

/* Brings it up to date with the reader. Returns -1 when out of memory. */
int dt_same_update(struct dt_same *s, const struct dt_reader *r);
void dt_same_free(struct dt_same *s);

#endif
