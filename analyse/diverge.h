/* SPDX-License-Identifier: MIT */
/*
 * Finds where two runs of one program diverge: in each thread, the first call that is not of the
 * same function, at the same depth, in both.
 *
 * Which threads belong together: processes by their programs, in the order of creation; within a
 * process the first threads, and the others by name, in the order of creation. If the name of one
 * is not known, because it was gone too soon, those of its process go by the order alone. The order
 * of creation is taken to be that of the ids.
 *
 * The files are not read in step, because a thread may be far ahead in one of them. Each is read
 * three times: for fingerprints of each thread's calls (some thousand at most), which tell in which
 * part the threads diverge; for all calls of that part; and for what the two calls are. Memory is
 * bounded by the number of threads, except for that part: it is a 2048th of a thread's calls at
 * most.
 */
#ifndef DT_ANALYSE_DIVERGE_H
#define DT_ANALYSE_DIVERGE_H

#include "analyse/chosen.h"
#include "analyse/match.h"
#include "analyse/pair.h"

struct dt_diverge_options {
	bool arguments, results; /* these must be the same, too... */
	bool pointers;		 /* ...including pointers, and values that no signature describes */
	const bool *shown[2]; /* functions that are compared, by row of each trace; others are as if
				 they were not traced. NULL: all are */
	const struct dt_chosen_calls *chosen[2]; /* the calls that are compared, in the same way;
						    NULL: all */
	struct dt_reader_range range[2];	 /* of each trace; only from and to are used */
};

/* A call, or the end of one. Its values are meaningful as far as its function's signature says. */
struct dt_diverge_call {
	uint32_t function; /* row in its trace */
	uint64_t ticks;
	bool has_argument, has_result;
	bool end; /* this is the end of the call */
	uint64_t argument[4], result[4];
};

/* What a thread did in one of the traces where the two diverge. */
struct dt_diverge_point {
	bool none;			   /* the thread's calls end here */
	struct dt_diverge_call call, last; /* last: the last step that is the same in both */
	bool has_last;
	struct dt_diverge_call *caller; /* the open calls around it, the outermost first */
	size_t callers, room;
};

/* A thread of one of the traces. */
struct dt_diverge_thread {
	uint32_t tid;
	uint32_t pid;	   /* 0: not known */
	char process[288]; /* its program, and its number among the processes with that program, in
			      the order of creation */
	char name[24];	   /* "": not known, or threads go by the order alone */
	bool first;	   /* it is the first thread of its process */
	uint32_t
		order; /* its place in the order of creation, among those of one process and name */
	uint64_t steps; /* calls that were compared; with `results' their ends count, too */
	uint64_t calls; /* how many of the steps are calls */
	/* the fingerprints: a check after each 2^shift steps */
	uint64_t hash, *check;
	size_t checks;
	unsigned shift;
	uint64_t *step; /* a hash of each step in the part from `low' to `high' */
	uint64_t low, high;
	uint64_t same_calls; /* calls before the one at which the two diverge */
	struct dt_diverge_point point;
};

/* A thread of one trace and its counterpart in the other; NULL: there is none. */
struct dt_diverge_pair {
	struct dt_diverge_thread *in[2];
	bool diverges;
	uint64_t at; /* number of the first step that differs */
};

/* The result. Zero it before dt_diverge_read(). */
struct dt_diverge {
	struct dt_match match;
	struct dt_diverge_thread *thread[2];
	size_t threads[2];
	struct dt_diverge_pair *pair; /* pairs that diverge come first, in the order of their
					 divergence in trace 0 */
	size_t pairs;
	uint64_t cut[2]; /* ticks up to which they are compared, because records were lost then;
			    UINT64_MAX: to the end */
};

/* Compares two traces. Returns -1 on error; the caller calls dt_diverge_free() in any case. */
int dt_diverge_read(struct dt_diverge *d, struct dt_reader *const r[2],
		    const struct dt_diverge_options *o, struct dt_error *e);
void dt_diverge_free(struct dt_diverge *d);

#endif
