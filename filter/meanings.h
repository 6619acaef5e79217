/* SPDX-License-Identifier: MIT */
/*
 * What the numbers in calls mean, for those who choose among calls by names: rows of a trace file
 * (analyse/meanings.h), or of one that is being recorded (session/sieve.h). What is returned
 * belongs to the source, and is valid until it is asked again.
 */
#ifndef DT_FILTER_MEANINGS_H
#define DT_FILTER_MEANINGS_H

#include "store/info.h"

/* A thread, with the names by which it and its process are known. */
struct dt_meanings_thread {
	uint32_t number, pid; /* as the kernel numbers the thread and its process */
	const char *name;     /* the thread's; "": none is known */
	const char *exe;      /* path of its process's program; NULL: not known */
};

struct dt_meanings {
	const void *ctx;
	double ns_per_tick;
	/* Returns what is known of a function; NULL: nothing. */
	const struct dt_function_info *(*function)(const void *ctx, uint32_t row);
	/* Returns the names of a module, as dt_module_info.called has them; "": none is known. */
	const char *(*module)(const void *ctx, uint32_t row);
	/* Fills in *t; what is not known is "", or the thread's own number. */
	void (*thread)(const void *ctx, uint32_t tid, struct dt_meanings_thread *t);
	/* Returns the names of the event with that body; NULL: it has none. */
	const struct dt_event_row *(*event)(const void *ctx, uint64_t body);
	/* Returns the description of a type that has names for values; NULL: it is another one. */
	const char *(*type)(const void *ctx, uint32_t row);
	bool requests; /* "request:" can be chosen by: the records of a call are held until its end
			*/
};

#endif
