/* SPDX-License-Identifier: MIT */
/*
 * Where two runs of one program diverge: in each thread, the first call that is not the same
 * function, called at the same depth, in both.
 *
 * Which threads are the same: processes by their programs, in the order of creation; in them the
 * first threads, and the others by name, in the order of creation. Where the name of one is not
 * known (it had gone too soon), those of its process go by the order alone. The order is that of
 * the ids.
 *
 * The files are not read in step: a thread may be far ahead in one of them. Each is read three
 * times: for fingerprints of each thread's calls, at most some thousand, from which the part
 * follows in which the threads diverge; for all calls of that part; and for what the two calls are.
 * Memory is bounded by the number of threads, but for that part: a 2048th of a thread's calls at
 * most.
 */
#ifndef DT_ANALYSE_DIVERGE_H
#define DT_ANALYSE_DIVERGE_H

#include "analyse/match.h"
#include "analyse/pair.h"

struct dt_diverge_options {
	bool arguments, results; /* must be the same, too... */
	bool pointers;		 /* ...also pointers and what no signature describes */
	const bool *shown[2];	 /* by row of each trace; others are as if they were not traced */
	struct dt_reader_range range[2]; /* from and to */
};

/* A call, or its end. Values are meant as far as its function's signature says. */
struct dt_diverge_call {
	uint32_t function; /* row of its trace */
	uint64_t ticks;
	bool has_argument, has_result;
	bool end; /* it is about the end of the call */
	uint64_t argument[4], result[4];
};

/* What a thread did where the two diverge, in one of the traces. */
struct dt_diverge_point {
	bool none;			   /* nothing more: the thread's calls end there */
	struct dt_diverge_call call, last; /* last: the last call that is the same in both */
	bool has_last;
	struct dt_diverge_call *caller; /* the outermost first */
	size_t callers, room;
};

struct dt_diverge_thread {
	uint32_t tid;
	uint32_t pid;	   /* 0: not known */
	char process[288]; /* its program, and which of the processes with it, in the order of
			      creation */
	char name[24];	   /* "": not known, or by the order alone */
	bool first;	   /* of its process */
	uint32_t order;	   /* when it was made, among those of one process and name */
	uint64_t steps;	   /* that were compared: calls, with `results' also ends */
	uint64_t calls;	   /* of them: calls */
	/* fingerprints */
	uint64_t hash, *check;
	size_t checks;
	unsigned shift;
	uint64_t *step; /* of each step in the part from `low' on */
	uint64_t low, high;
	uint64_t same_calls; /* calls before the one at which they diverge */
	struct dt_diverge_point point;
};

/* A thread of one trace and that of the other; NULL: there is none. */
struct dt_diverge_pair {
	struct dt_diverge_thread *in[2];
	bool diverges;
	uint64_t at; /* the step */
};

struct dt_diverge {
	struct dt_match match;
	struct dt_diverge_thread *thread[2];
	size_t threads[2];
	struct dt_diverge_pair *pair; /* that diverge first, those earlier in A before others */
	size_t pairs;
	uint64_t cut[2]; /* ticks up to which they are compared: records were lost then; UINT64_MAX:
			    to the end */
};

int dt_diverge_read(struct dt_diverge *d, struct dt_reader *const r[2],
		    const struct dt_diverge_options *o, struct dt_error *e);
void dt_diverge_free(struct dt_diverge *d);

#endif
