/* SPDX-License-Identifier: MIT */
/* The pieces of critical paths in words, and their sums. What is written may have any bytes that a
 * trace has. */
#ifndef DT_SHOW_PATH_H
#define DT_SHOW_PATH_H

#include "analyse/path.h"
#include "store/hosts.h"

/* Paths, and the machines that their trace is of. */
struct dt_path_said {
	struct dt_paths *paths;
	struct dt_hosts hosts;
};

#define DT_PATH_WORDS 1024 /* bytes that are enough for what is said of a piece */

/* Write what a piece is, in words; the thread's name and number (and machine); what joins it to the
 * next piece, "": nothing is to be said. Return `to'. */
const char *dt_path_words(const struct dt_path_said *s, const struct dt_path_piece *p,
			  uint32_t function, char to[DT_PATH_WORDS]);
const char *dt_path_who_text(const struct dt_path_said *s, uint32_t tid, bool number,
			     char to[DT_PATH_WORDS]);
const char *dt_path_link_text(const struct dt_path_said *s, const struct dt_path_piece *p,
			      const struct dt_path_piece *next, char to[DT_PATH_WORDS]);
/* Return the words of JSON for kinds and links. */
const char *dt_path_kind_word(enum dt_path_kind kind);
const char *dt_path_link_word(enum dt_path_link link);

/* Gives by how many ns the time of a machine may be wrong at a tick. False: it is exact, or there
 * is only one machine. *known false: nobody knows by how much. */
bool dt_path_error(const struct dt_path_said *s, uint32_t tid, uint64_t ticks, uint64_t *early,
		   uint64_t *late, bool *known);

/* A row of the sums: all that was alike. */
struct dt_path_sum {
	char *who, *what;
	uint64_t ticks, pieces, calls;
	size_t last; /* path that was counted last, plus one */
	enum dt_path_kind kind;
};
/* Sums up all pieces, the longest first. numbers: threads of one name are not alike. NULL: out of
 * memory. The caller frees it by dt_path_sums_free(). */
struct dt_path_sum *dt_path_sums(const struct dt_path_said *s, bool numbers, size_t *n);
void dt_path_sums_free(struct dt_path_sum *sum, size_t n);

#endif
