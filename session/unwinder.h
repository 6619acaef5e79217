/* SPDX-License-Identifier: MIT */
/*
 * Finds out who called a call, from a copy of the stack (session/stack-points.h), and writes that
 * into the trace file (store/backtraces.h). What the program says is believed as far as it leads to
 * code of files that it has mapped; each stack takes bounded time. Files are read by who reads
 * their symbols (symbols/symtab-apart.h). All functions are called with the session's lock.
 */
#ifndef DT_SESSION_UNWINDER_H
#define DT_SESSION_UNWINDER_H

#include "arch/arch.h"
#include "core/error.h"
#include "store/backtraces.h"

struct dt_session;
struct dt_unwinder;

/* NULL: out of memory. */
struct dt_unwinder *dt_unwinder_new(struct dt_session *s);
void dt_unwinder_free(struct dt_unwinder *u);

/* A call of which the stack was copied where it ended. */
struct dt_unwinder_call {
	uint32_t tid, pid, function;
	uint64_t ticks; /* its end */
	uint64_t kept[DT_UNWIND_KEPT];
	struct dt_unwind_stack stack;
	bool cut; /* there is more of the stack */
};

/* Writes the call's stack. Returns -1 and an error if it can not be written. */
int dt_unwinder_keep(struct dt_unwinder *u, const struct dt_unwinder_call *c, struct dt_error *e);

#endif
