/* SPDX-License-Identifier: MIT */
/*
 * The functions that two traces have in common: by their names and their files' names, whatever
 * their addresses, so that different builds and runs can be compared. The program itself is the
 * same file in both, whatever it is called; of a library's name what stands behind ".so" does not
 * matter. Of several functions of one name in a file, those of the same source file are the same.
 */
#ifndef DT_ANALYSE_MATCH_H
#define DT_ANALYSE_MATCH_H

#include "store/reader.h"

struct dt_match_function {
	uint32_t row[2]; /* in each trace, one of those that are it; 0: it is not there */
};

struct dt_match {
	struct dt_match_function *function; /* [0] is for what is not known */
	uint32_t n;
	uint32_t *of[2]; /* by row of each trace: index into function; `rows' of them */
	uint32_t rows[2];
};

/* -1: out of memory. Rows stay the readers'. */
int dt_match_read(struct dt_match *m, const struct dt_reader *const r[2]);
void dt_match_free(struct dt_match *m);

/* The process that the others come from: the first one whose parent is not traced; NULL: none
 * known. */
const struct dt_process_info *dt_match_root(const struct dt_reader *r);

/* What a path ends in. */
const char *dt_match_base(const char *path);

#endif
