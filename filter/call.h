/* SPDX-License-Identifier: MIT */
/* A call, as pairing passes it on. */
#ifndef DT_FILTER_CALL_H
#define DT_FILTER_CALL_H

#include "core/types.h"

enum {
	/* how it ended */
	DT_CALL_UNWOUND = 1, /* it ended without an exit (longjmp, an exception, an exit, an
				execve); end is when it was seen to be gone */
	/* it ended by a jump to another function, which returned in its place: that function is in
	 * this call, and its end, exit and result are this call's, too */
	DT_CALL_TAIL = 2,
	DT_CALL_INFERRED = 4, /* with TAIL: no record tells when it ended; end is when it was seen
				 to be gone */
	DT_CALL_OPEN = 8,     /* it had not ended when the trace ended */
	/* how it began */
	DT_CALL_NO_ENTRY =
		16, /* it began before the trace, or where records were lost: begin is not known */
	DT_CALL_TAILED = 32, /* it began by a tail jump from the call that it is in */
	/* records were lost while it was open: begin and end may belong to different calls */
	DT_CALL_LOSS = 64,
	DT_CALL_RECURSIVE =
		128, /* it is within another call of the same function in the same thread */
	/* it is the first call known on its stack, while calls on another stack of the thread are
	 * open (a coroutine, a signal handler with its own stack) */
	DT_CALL_OTHER_STACK = 256,
	/*
	 * with TAIL: it is not known when the function that it jumped to returned, because that is
	 * not recorded, or is one of a long chain of jumps: end is the jump, and there is no result
	 */
	DT_CALL_LEFT = 512,
	/* it may have been made by the function that an earlier call jumped to, rather than by the
	 * call that it is in */
	DT_CALL_DOUBTFUL = 1024,
	/* its function's exits are not recorded: end is begin, and no call is in it */
	DT_CALL_NO_EXIT = 2048,
	/* it seemed to end before it began, so end is set to begin: records were not in order, or
	 * the clocks of cores differ */
	DT_CALL_BACKWARD = 4096,
	/* recording was stopped or frozen while it was open, or its function was off because of the
	 * budget: begin and end may belong to different calls */
	DT_CALL_PAUSED = 8192,
	/* its thread was on no processor for a time: `waited' may be more than 0 */
	DT_CALL_WAITED = 16384,
	/* context switches were lost while it was open: `unseen' is more than 0 */
	DT_CALL_UNSEEN = 32768,
	/*
	 * It has made a call by a jump which is a part of it, and not passed on: both functions are
	 * recorded only where the program calls them (malloc in realloc; analyse/pair.h)
	 */
	DT_CALL_FOLDS = 65536,
	DT_CALL_FOLDED = 131072, /* pairing's own: it is such a part */
};

/*
 * Up to this many calls that end in a tail call are held open at a time, one in the other, until
 * the last one returns. In a longer chain the later ones end at their jumps (DT_CALL_LEFT), so a
 * loop made of tail calls takes no memory.
 */
#define DT_CALL_CHAIN 16

/* Calls whose duration is not known, or not to be trusted. */
#define DT_CALL_UNKNOWN                                                                            \
	(DT_CALL_NO_ENTRY | DT_CALL_LOSS | DT_CALL_BACKWARD | DT_CALL_PAUSED | DT_CALL_NO_EXIT)
#define DT_CALL_UNTIMED (DT_CALL_OPEN | DT_CALL_UNKNOWN)

struct dt_call {
	uint64_t id;	 /* number of its entry, from 1, in the order in which they were met; 0:
			    NO_ENTRY */
	uint64_t parent; /* the caller's id; 0: none known */
	uint32_t tid;
	uint32_t function;	 /* 0: not known */
	uint32_t entry, exit;	 /* sites; 0: no such record; exit may be that of a function that
				    returned in its place */
	uint32_t depth;		 /* 0: the outermost known */
	uint32_t folded;	 /* with FOLDS: the function that it jumped to */
	uint32_t flags;		 /* DT_CALL_* */
	uint64_t begin, end, sp; /* ticks */
	uint64_t held;	   /* ticks between begin and end in which the tracer held the thread; they
			      count for no call */
	uint64_t children; /* ticks in calls made from it; the rest is its self time */
	uint64_t inner; /* ticks in calls of the same function within it, each counted once: this is
			   what is known of the function's time if that of this call is not */
	/*
	 * Ticks in which the thread was on no processor, as switches tell (analyse/waits.c): in the
	 * call; in the call itself, not in calls made from it; how many of `waited' it could have
	 * gone on in, had a processor been free; and those of `inner'. All 0 without switches.
	 */
	uint64_t waited, waited_self, preempted, inner_waited;
	/* ticks between begin and end in which switches are missing: in these it may have waited,
	 * too, which is in none of the above */
	uint64_t unseen;
	/* of the waits of which it is known what for, or who ended them, the longest one: ticks,
	 * and the number that dt_pair_waited_for() knows, 0: it is not known; [1]: in the call
	 * itself, [0]: also in calls made from it */
	uint64_t longest[2];
	uint32_t waited_for[2];
	/* who ended that wait, as dt_pair_waker() knows, 0: that is not known; and how many ticks
	 * later the thread ran */
	uint32_t woken[2];
	uint64_t queued[2];
	const uint64_t *argument; /* the entry's four values; NULL: they were not read */
	const uint64_t
		*result; /* the exit's four values; NULL: there are none, or they were not read */
	uint32_t *note;	 /* two words for the user of pairing, kept with the call; 0 at first. NULL:
			    NO_ENTRY */
};

/* Returns how long the call took, without the time in which the tracer held the thread. */
static inline uint64_t dt_call_ticks(const struct dt_call *c)
{
	return c->end - c->begin - c->held;
}

/* Returns how the call ended, in the word that tables of calls have for it: doc/sql.md. */
const char *dt_call_ended(const struct dt_call *c);

#endif
