/* SPDX-License-Identifier: MIT */
/*
 * The functions that two traces have in common: by their names and their files' names, whatever
 * their addresses, so that different builds and runs can be compared. The program itself counts as
 * the same file in both, whatever it is called; what comes after ".so" in a library's name does not
 * matter. If a file has several functions of one name, those of the same source file belong
 * together.
 */
#ifndef DT_ANALYSE_MATCH_H
#define DT_ANALYSE_MATCH_H

#include "store/reader.h"

struct dt_match_function {
	uint32_t row[2]; /* in each trace, one of its rows; 0: it is not there */
};

struct dt_match {
	struct dt_match_function *function; /* [0] stands for functions that are not known */
	uint32_t n;
	uint32_t *of[2]; /* by row of each trace: index into function; `rows' of them */
	uint32_t rows[2];
};

/* Matches the functions of two traces; the readers must live as long. Returns -1 when out of
 * memory. */
int dt_match_read(struct dt_match *m, const struct dt_reader *const r[2]);
void dt_match_free(struct dt_match *m);

/* Returns the process from which the others come: the first one whose parent is not traced; NULL:
 * none is known. */
const struct dt_process_info *dt_match_root(const struct dt_reader *r);

/* Returns the last part of a path. */
const char *dt_match_base(const char *path);

#endif
