/* SPDX-License-Identifier: MIT */
/* What the files cmd/path*.c have in common. */
#ifndef DT_CMD_PATH_WORK_H
#define DT_CMD_PATH_WORK_H

#include "analyse/path.h"
#include "cmd/open.h"
#include "store/hosts.h"

/* One of the calls, or ranges, whose paths are wanted. */
struct dt_path_call {
	uint64_t begin, end; /* ticks */
	uint32_t tid;
	uint32_t function; /* 0: it is a range */
};

struct dt_path_shown {
	struct dt_reader *reader;
	struct dt_paths *paths;
	const struct dt_path_call *call; /* as many as there are paths */
	struct dt_hosts hosts;
	uint64_t first; /* ticks: the trace's first record */
	uint64_t rows;	/* at most; 0: all */
	uint64_t of;	/* so many calls there were */
	bool slowest;	/* these are the slowest of them */
};

#define DT_PATH_WORDS 1024 /* bytes that are enough for what is said of a piece */

/* Write what a piece is, in words; the thread's name and number (and machine); what joins it to the
 * next piece, "": nothing is to be said. Return `to'. */
const char *dt_path_words(struct dt_path_shown *s, const struct dt_path_piece *p, uint32_t function,
			  char to[DT_PATH_WORDS]);
const char *dt_path_who_text(struct dt_path_shown *s, uint32_t tid, bool number,
			     char to[DT_PATH_WORDS]);
const char *dt_path_link_text(struct dt_path_shown *s, const struct dt_path_piece *p,
			      const struct dt_path_piece *next, char to[DT_PATH_WORDS]);
/* Return the words of JSON for kinds and links. */
const char *dt_path_kind_word(enum dt_path_kind kind);
const char *dt_path_link_word(enum dt_path_link link);

/* Gives by how many ns the time of a machine may be wrong at a tick. False: it is exact, or there
 * is only one machine. *known false: nobody knows by how much. */
bool dt_path_error(struct dt_path_shown *s, uint32_t tid, uint64_t ticks, uint64_t *early,
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
struct dt_path_sum *dt_path_sums(struct dt_path_shown *s, bool numbers, size_t *n);
void dt_path_sums_free(struct dt_path_sum *sum, size_t n);

/* Print them; return the exit status. */
int dt_path_print_text(struct dt_path_shown *s);
int dt_path_print_json(struct dt_path_shown *s);

#endif
