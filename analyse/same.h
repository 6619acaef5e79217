/* SPDX-License-Identifier: MIT */
/*
 * Which rows of a trace's functions are one function: the same place of the same file in several
 * processes, and the parts a compiler split off ("f.cold").
 */
#ifndef DT_ANALYSE_SAME_H
#define DT_ANALYSE_SAME_H

#include "store/reader.h"

struct dt_same {
	uint32_t *first; /* function row -> the row that stands for it; [0] is 0 */
	uint32_t n;	 /* elements of first */
	uint32_t *table; /* open addressing of rows */
	uint32_t size;
};

/* Takes what the reader knows now. -1: out of memory. */
int dt_same_update(struct dt_same *s, const struct dt_reader *r);
void dt_same_free(struct dt_same *s);

#endif
