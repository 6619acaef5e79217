/* SPDX-License-Identifier: MIT */
/* The results of a session: what it recorded, and what it could not record. */
#ifndef DT_SESSION_RESULTS_H
#define DT_SESSION_RESULTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"
#include "session/options.h"
#include "session/say.h"

struct dt_results {
	uint64_t taken, lost; /* records; valid when the recorder has ended */
	uint64_t shared;      /* how many of them were made by threads without rseq */
	char slow[192];	      /* the first process known to have such threads, and why; "": none */
	/* what the session's filter has left out: calls, and records; and how many calls were
	 * written undecided, because they were held for too long */
	uint64_t left_out, left_records, kept_undecided;
	/* of --backtrace: calls with and without a stack; functions whose calls may have one */
	uint64_t stacks, stackless, stack_functions;
	char until[200];       /* the call that ended the recording; "": none did */
	char snapshots[2048];  /* a line for each, without the last newline */
	char unsignalled[160]; /* why a signal could not be sent; "": none was to be, or it was */
	/* of --budget: how many functions were off for a time, how often all of them together, how
	 * many calls they are thought to have made then, and the one with most of these */
	uint64_t off_functions, off_times, off_calls;
	char off_most[128];
	double kept_share; /* what triggers wait for has taken so much, more than the budget; or 0
			    */
	bool off_all; /* in the end, all that was called was off: the budget is too small for any */
	uint64_t stalls;     /* how often a thread waited for room in a ring */
	bool left_as_it_was; /* there was no record, so the trace file is the one from before */
	uint64_t stop_ns;    /* the longest time for which a process's threads were stopped, ns */
	/* the most sites that were switched in one process, and the time that this took, ns */
	uint64_t switched, switch_ns;
	char note[512];	     /* something the user should know */
	char broken[256];    /* numbers of the rings whose positions a program has overwritten */
	char domains[192];   /* user ids of the domains, in order, if there were several */
	unsigned cores;	     /* of the machine */
	size_t unknown_tids; /* threads of other PID namespaces that had ended when they were looked
				for */
	uint32_t births_missed; /* threads that began when births could not be told */
	size_t jit_unread; /* lines and records about code made at run time that were not read */
	/* clockless: calls of threads that had forbidden themselves to read the clock; unsent:
	 * messages that processes which had confined themselves could not send */
	uint64_t clockless, unsent;
	/* the first users whose processes have shared one memory, each once; users: how many, 0 if
	 * each user's processes had their own */
	uid_t user[8];
	unsigned users;
	/* how many children could not be opened, and why: their calls are recorded, but what they
	 * load and execute is not known */
	uint64_t unopened;
	struct dt_error unopened_why;
	/* how many executed programs could not be traced, the first process with one, and why */
	uint64_t unfollowed;
	pid_t unfollowed_pid;
	struct dt_error unfollowed_why;
	/* how many programs the children of the processes that were named have executed, which
	 * without --follow are not meant by patterns without a module, nor by -l; the first one */
	uint64_t executed;
	pid_t executed_pid;
	char executed_path[256];
};

/* Says what is missing from the trace and why, and how many records are lost; says nothing if all
 * is there. o: the options of that session. */
void dt_results_say(const struct dt_results *r, const struct dt_options *o,
		    const struct dt_say *say);

#endif
