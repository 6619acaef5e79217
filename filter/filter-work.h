/* SPDX-License-Identifier: MIT */
/* The insides of a filter, for filter*.c and conditions.c only. */
#ifndef DT_FILTER_FILTER_WORK_H
#define DT_FILTER_FILTER_WORK_H

#include "filter/failures.h"
#include "filter/filter.h"
#include "filter/names.h"
#include "filter/operand.h"
#include "symbols/pattern.h"

#define TEXT_MAX  4096
#define TERMS	  16	   /* most conditions */
#define RANGES	  64	   /* most ranges of cores */
#define THREAD_OF 4194304u /* the kernel gives no higher number: PID_MAX_LIMIT */

enum what { ARGUMENT, NAMED, RESULT, VALUE, TIME, FAILED, ERROR, TEXT, DEPTH, CODE };

/* A condition: "len>9". */
struct term {
	enum what what;
	char op;	/* '=', '!', '<', '>'; FAILED: '!' wants calls that have not failed */
	unsigned index; /* ARGUMENT */
	char name[64];	/* NAMED */
	int64_t number; /* ERROR: an errno; TIME: unused */
	uint64_t unsigned_number;
	bool above;    /* the number is greater than an int64_t can hold */
	bool fraction; /* of a number with a fraction `number' is the whole one beside it */
	int beyond;    /* -1, 1: the number is less, greater than all whole values */
	double real;   /* TIME: ticks */
	/* TEXT: in the filter's text; ARGUMENT, RESULT: the names of constants that are wanted,
	 * NULL: a number is */
	const char *pattern;
};

/* What is known of a function; verdict 0: not judged yet, 1: wanted, 2: not wanted. */
struct function {
	uint8_t verdict;
	bool around_known;
	uint8_t around;	 /* DT_AROUND_*: what it is for the calls in it */
	uint8_t request; /* 0: not judged yet, 1: it is one of `requests', 2: it is none */
	struct dt_call_operand_place where[TERMS];
};

/* Patterns of processes or threads, by number and by name; of source files. */
struct who {
	char *pattern[32];
	bool remove[32];
	unsigned n;
};

struct dt_filter {
	struct dt_meanings meanings;
	char text[TEXT_MAX];
	double ticks_per_ns;
	struct term term[TERMS];
	unsigned terms;
	/* by bits: the condition has met a value that has names, and one of which it says such a
	 * name */
	uint32_t met_names, met_named;
	uint16_t core[RANGES][2];
	unsigned cores;
	struct who process, thread, file;
	struct dt_selection functions, events;
	/* of the calls around a call: one of them matches `inside', none matches `outside', and the
	 * innermost matches `caller' */
	struct dt_selection inside, outside, caller;
	struct dt_selection requests;
	bool looks_around; /* at least one of these three has a pattern */
	bool judges;	   /* there are words about functions */
	bool asks_texts;   /* there are conditions on texts, */
	bool asks_values;  /* on arguments, */
	bool asks_depth;   /* on depth, */
	bool asks_results; /* on results and failures, */
	bool asks_times;   /* and on times */
	/* ticks: calls that took from `least' to `most' fit the conditions on times, unless there
	 * are others, which each call is compared with */
	uint64_t least, most;
	bool other_times;
	struct function *function; /* by row */
	uint32_t known;		   /* elements of function */
	uint8_t *of_thread; /* by tid: verdict, as of a function; the last one: of `beyond' */
	uint32_t beyond;    /* the last thread with a higher number (session/lives.h) */
	struct dt_failures failures;
	struct dt_filter_texts texts;
	bool no_memory;
};

/* Cuts the filter's text into words, and adds what they mean. Returns -1 on error. */
int dt_filter_parse(struct dt_filter *f, struct dt_error *e);

/* Notes what one of its conditions is about. */
void dt_filter_note(struct dt_filter *f, const struct term *t);

/* Finds where a condition's value is in the records of a function; NULL: out of memory. */
const struct dt_call_operand_place *dt_filter_where(struct dt_filter *f, uint32_t row,
						    const struct term *t);

#endif
