/* SPDX-License-Identifier: MIT */
/*
 * Which functions a program can afford to have recorded. It only computes: what was counted comes
 * in, which functions are to be off comes out. Times are in ns; a share is one of the processor
 * time that the program takes without being recorded.
 *
 * Each look compares what the records since the look before have cost with what the budget allows.
 * If that is too much, the functions that cost most go off until the rest fits. A function that
 * is off comes back after a while if the budget has room for what it cost before; or else as a
 * trial, for a short time, since it may be called less now. A trial is made when enough of the
 * budget has been left over for it. Each time that it fails, the next one is twice as far off.
 */
#ifndef DT_SESSION_BUDGET_H
#define DT_SESSION_BUDGET_H

#include "core/types.h"

#define DT_BUDGET_TURN	100000000ull   /* between two looks */
#define DT_BUDGET_TRIAL 20000000ull    /* the same while a function is tried */
#define DT_BUDGET_BACK	1000000000ull  /* for how long a function is off at least */
#define DT_BUDGET_LONG	64000000000ull /* before a trial, at most */

struct dt_budget_function {
	uint64_t calls, records; /* since the last look; the caller adds to them */
	bool off;
	double rate;	   /* calls in a ns of the program's own processor time, when last on */
	double old;	   /* the same as of the look before that */
	double cost;	   /* share that its records took then */
	uint64_t since;	   /* when it went off, or on */
	uint64_t wait;	   /* for how long it is off before it may be tried; 0: never was off */
	uint64_t off_time; /* processor time that the program has taken while it is off */
	bool fresh;	   /* it went off at the last look: rate may be put right at the next */
	uint64_t before;   /* its calls before that look, if it stayed on then */
	bool kept;	   /* by the caller: it must not be off */
	bool changed;	   /* result: the last look has switched it */
};

struct dt_budget {
	double share;	  /* what is allowed: 0.05 is 5 % */
	double hook_ns;	  /* what a record takes of the program's processor time */
	double taking_ns; /* what it takes of devtrace's own, to be read and written */
	double left;	  /* ns that were allowed and not taken, or (negative) were taken beyond */
	double allowed;	  /* ns, as of the last look... */
	double spent;	  /* ...and what records have cost */
	/* ns, all looks together: what records of functions that must not be off have cost, and the
	 * program's own processor time meanwhile */
	double kept_spent, kept_own;
	bool trying; /* a function is on as a trial */
	struct dt_budget_function *function;
	size_t n;
	uint64_t fixed;	  /* records since the last look of what can not be switched off */
	uint64_t between; /* records while functions were switched: in none of these times */
	/* of the time before the last look, if functions went off then (otherwise cut_ns is 0): the
	 * processor time, that of the program itself as far as is known, and of the hooks; ns */
	double cut_ns, cut_own, cut_hooks;
};

/*
 * Looks at what was counted since the last look: in cpu_ns of the program's processor time. Sets
 * off and changed of each function, and begins to count anew. Returns after how many ns to look
 * again. With too little processor time to tell anything, it goes on counting: *looked is false,
 * and only what is kept is switched on.
 */
uint64_t dt_budget_look(struct dt_budget *b, uint64_t now, uint64_t cpu_ns, bool *looked);

/* Returns how many calls of a function are thought to have been made in so much of the program's
 * own processor time, with so many in a ns before, and after (negative: not known): by their mean.
 */
uint64_t dt_budget_missed(double before, double after, uint64_t own_ns);

#endif
