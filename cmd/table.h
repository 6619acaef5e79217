/* SPDX-License-Identifier: MIT */
/* What the commands that print tables of functions have in common. All print on standard output. */
#ifndef DT_CMD_TABLE_H
#define DT_CMD_TABLE_H

#include "store/reader.h"

/* Print a blank and a time, 12 columns together: "    1.234 us". */
void dt_table_time(const struct dt_reader *r, uint64_t ticks);
void dt_table_ns(double ns);

/* Prints a text as a JSON string. */
void dt_table_json(const char *s);

/* Prints what --subtract took off, in a line for each kind of record. */
void dt_table_costs(const struct dt_reader *r);

/* Parses a number, at least 1, of `what' ("rows", "levels"). False: it is none, which has been
 * reported. */
bool dt_table_number(const char *text, const char *what, uint64_t *n);

/* The threads that options choose, by their ids and by those of their processes; none: all. */
struct dt_table_threads {
	const struct dt_reader *reader; /* the caller sets it before dt_table_wanted() */
	uint32_t *tid, *pid;
	size_t tids, pids;
};

/* Add the thread, or the process, whose id the text is. False: an error has been reported. */
bool dt_table_add_thread(struct dt_table_threads *t, const char *text);
bool dt_table_add_process(struct dt_table_threads *t, const char *text);
/* Says whether the thread is chosen; threads: a struct dt_table_threads. */
bool dt_table_wanted(void *threads, uint32_t tid);
void dt_table_threads_free(struct dt_table_threads *t);

#endif
