/* SPDX-License-Identifier: MIT */
/* What the commands that print tables of functions have in common. All print on standard output. */
#ifndef DT_CMD_TABLE_H
#define DT_CMD_TABLE_H

#include "store/reader.h"

/* A blank and a time, 12 columns: "    1.234 us". */
void dt_table_time(const struct dt_reader *r, uint64_t ticks);
void dt_table_ns(double ns);

/* A text in quotes. */
void dt_table_json(const char *s);

/* What --subtract took off: a line for each kind of record. */
void dt_table_costs(const struct dt_reader *r);

/* A number of rows, levels: at least 1. False and an error said: it is none. */
bool dt_table_number(const char *text, const char *what, uint64_t *n);

/* Options that choose threads, by their ids and those of their processes; none: every thread. */
struct dt_table_threads {
	const struct dt_reader *reader; /* given, before dt_table_wanted() */
	uint32_t *tid, *pid;
	size_t tids, pids;
};

/* False and an error said: the text is no number. */
bool dt_table_add_thread(struct dt_table_threads *t, const char *text);
bool dt_table_add_process(struct dt_table_threads *t, const char *text);
bool dt_table_wanted(void *threads, uint32_t tid);
void dt_table_threads_free(struct dt_table_threads *t);

#endif
