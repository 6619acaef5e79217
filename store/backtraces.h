/* SPDX-License-Identifier: MIT */
/* Who called the calls that a session was asked to keep the stacks of (--backtrace), in a trace
 * file: also functions of which nothing else is recorded. */
#ifndef DT_STORE_BACKTRACES_H
#define DT_STORE_BACKTRACES_H

#include "store/reader.h"
#include "store/store.h"

#define DT_STACK_FRAMES 256u /* of a stack, at most */

/* One caller. */
struct dt_backtrace_frame {
	uint64_t address;  /* where it goes on when what it called returns */
	uint32_t function; /* row of table function; 0: it is not known */
	uint32_t line;	   /* of the call; 0: not known */
	const char *file;  /* its source file, "": not known */
};

/* Writes a stack, the innermost caller first, and returns its number. ended: why it is not known
 * how it goes on; "": it is complete. Returns -1 on error. */
int64_t dt_store_stack(struct dt_store *s, const struct dt_backtrace_frame *frame, size_t n,
		       const char *ended, struct dt_error *e);

/* That a call had that stack: the call of the function in this thread that ended at that tick. */
struct dt_backtrace_row {
	uint32_t tid, function;
	uint64_t ticks;
	int64_t stack;
};
int dt_store_backtrace(struct dt_store *s, const struct dt_backtrace_row *row, struct dt_error *e);

/* ---- reading ---- */

struct dt_stack_read {
	int64_t id;
	struct dt_backtrace_frame *frame;
	size_t n;
	const char *ended;
};

/* All of a file. */
struct dt_backtraces {
	struct dt_backtrace_row *row; /* by thread, ticks, function */
	size_t n;
	struct dt_stack_read *stack; /* by id */
	size_t stacks;
	struct dt_backtrace_text *text; /* owned */
};

/* Reads them; of a file without any there are none. Rows that come later are not read. Returns -1
 * on error, and nothing is to be freed. */
int dt_backtraces_load(struct dt_backtraces *b, struct dt_reader *r, struct dt_error *e);
void dt_backtraces_free(struct dt_backtraces *b);

/* Returns the stack of a call; NULL: none was kept. */
const struct dt_stack_read *dt_backtraces_of(const struct dt_backtraces *b, uint32_t tid,
					     uint64_t ticks, uint32_t function);
/* Returns the stack with that number; NULL: there is none. */
const struct dt_stack_read *dt_backtraces_stack(const struct dt_backtraces *b, int64_t id);

#endif
