/* SPDX-License-Identifier: MIT */
/* A call, as pairing tells of it. */
#ifndef DT_ANALYSE_CALL_H
#define DT_ANALYSE_CALL_H

#include "core/types.h"

enum {
	/* how it ended */
	DT_CALL_UNWOUND =
		1, /* without an exit: longjmp, an exception, an exit, an execve; end: seen gone */
	/* by a jump to another function, which returned in its place: that one is in this call, and
	 * its end, exit and result are this one's too */
	DT_CALL_TAIL = 2,
	DT_CALL_INFERRED =
		4, /* with TAIL: no record tells of its end, which is where it was seen gone */
	DT_CALL_OPEN = 8, /* not yet, when the trace ended */
	/* how it began */
	DT_CALL_NO_ENTRY =
		16,	     /* before the trace, or where records were lost: begin is not known */
	DT_CALL_TAILED = 32, /* by a tail jump from the call that it is in */
	/* records were lost meanwhile: begin and end may belong to different calls */
	DT_CALL_LOSS = 64,
	DT_CALL_RECURSIVE = 128, /* within another call of the same function in the same thread */
	/* the first one known on its stack, while calls on another stack of the thread are open
	 * (a coroutine, a signal handler with its own stack) */
	DT_CALL_OTHER_STACK = 256,
	/* with TAIL: when what it jumped to returned is not known, since that is not recorded, or
	 * is one of a long chain of jumps: end is the jump, and there is no result */
	DT_CALL_LEFT = 512,
	/* it may have been made by what a call before it jumped to, rather than by the one it is in
	 */
	DT_CALL_DOUBTFUL = 1024,
	/* its function's exits are not recorded: end is begin, and nothing is in it */
	DT_CALL_NO_EXIT = 2048,
	/* it seems to end before it begins, so its end is its begin: records that are not in order,
	 * or cores whose clocks differ */
	DT_CALL_BACKWARD = 4096,
	/* recording was stopped or frozen meanwhile: as with LOSS */
	DT_CALL_PAUSED = 8192,
};

/*
 * So many calls that end in a tail call are held open at a time, one in the other, until the last
 * one returns; a chain that goes on ends those behind at their jumps (DT_CALL_LEFT), so a loop made
 * of tail calls takes no memory.
 */
#define DT_CALL_CHAIN 16

/* Calls whose duration is not to be trusted. */
#define DT_CALL_UNKNOWN                                                                            \
	(DT_CALL_NO_ENTRY | DT_CALL_LOSS | DT_CALL_BACKWARD | DT_CALL_PAUSED | DT_CALL_NO_EXIT)
#define DT_CALL_UNTIMED (DT_CALL_OPEN | DT_CALL_UNKNOWN)

struct dt_call {
	uint64_t id;	 /* counts entries from 1, in the order they were met; 0: NO_ENTRY */
	uint64_t parent; /* its id; 0: none known */
	uint32_t tid;
	uint32_t function; /* 0: not known */
	uint32_t entry,
		exit;	/* sites; 0: no such record; exit: of what returned in its place, too */
	uint32_t depth; /* 0: outermost known */
	uint32_t flags; /* DT_CALL_* */
	uint64_t begin, end, sp; /* ticks */
	uint64_t held; /* ticks of these in which the tracer held the thread; of no call's time */
	uint64_t children; /* ticks in calls made from it; self time is the rest */
	uint64_t inner; /* ticks in calls of the same function from it, each once: what is known of
			 * the function's time when its own is not */
	const uint64_t *argument; /* four values of the entry; NULL when they were not read */
	const uint64_t *result;	  /* four values of the return; NULL: none, or not read */
	uint32_t *note; /* a word of the user's, kept with the call; 0 at first. NULL: NO_ENTRY */
};

/* What it took: without what the tracer took meanwhile. */
static inline uint64_t dt_call_ticks(const struct dt_call *c)
{
	return c->end - c->begin - c->held;
}

/* How it ended, in the word that tables of calls have for it: doc/sql.md. */
const char *dt_call_ended(const struct dt_call *c);

#endif
