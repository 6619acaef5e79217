/* SPDX-License-Identifier: MIT */
/*
 * Points that copy the stack (--backtrace): where calls end that the words may mean, the hooks
 * record the registers that unwinding needs, and a piece of the stack from the return address on.
 * What the words say of a call's function, and whether it has failed, is looked at here and in the
 * hook; the sieve looks at the rest, has those calls unwound that fit (session/unwinder.h), and
 * puts none of these records into the file.
 */
#ifndef DT_SESSION_STACK_POINTS_H
#define DT_SESSION_STACK_POINTS_H

#include "hook/module.h"
#include "session/options.h"

/* What the words say of functions. */
struct dt_stack_points {
	const char *words;
	uint32_t size;	    /* bytes of a stack */
	uint64_t functions; /* how many have been found that the words may mean */
};

/* What a record of such a point has. */
enum dt_stack_record {
	DT_STACK_LEAVING = 1, /* nothing: others follow */
	DT_STACK_REGISTERS,   /* the first four that are kept... */
	DT_STACK_FURTHER,     /* ...and the other two */
	DT_STACK_HEAD,	      /* how many bytes there may be, 8 bytes; then the first of them */
	DT_STACK_PIECE,
};

/* Makes the point for an exit at that address of a file, for calls with these results
 * (arch/capture.h, DT_RESULT_...). It is the caller's. Returns -1: no memory. */
int dt_stack_point(const struct dt_stack_points *s, uint64_t exit, uint8_t results,
		   struct dt_point *point);

/* Returns with which results the calls of a function may be meant, which is known by its symbol; 0:
 * none are. */
struct dt_filter;
struct dt_stack_asking {
	struct dt_file *file;
	struct dt_filter *filter;
	struct dt_stack_function *now;
	bool meant;
	bool by_source; /* the words may say something of source files */
};
int dt_stack_asking_begin(struct dt_stack_asking *a, const struct dt_stack_points *s,
			  struct dt_file *f, struct dt_error *e);
uint8_t dt_stack_results(struct dt_stack_asking *a, const struct dt_function *function);
void dt_stack_asking_end(struct dt_stack_asking *a);

#endif
