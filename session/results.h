/* SPDX-License-Identifier: MIT */
/* What has become of a session: what it recorded, and what it could not. */
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
	uint64_t stalls;      /* how often one waited for room */
	bool left_as_it_was;  /* no record came, so the file is the one from before */
	uint64_t stop_ns;     /* the longest that a process's threads stood still */
	/* of the process of which most sites were switched: how many, how long that took */
	uint64_t switched, switch_ns;
	char note[256];	   /* something the user should know */
	char broken[256];  /* rings whose positions somebody has written to, by core */
	char domains[192]; /* users of the domains, in order, when there were several */
	unsigned cores;
	size_t unknown_tids; /* threads of other PID namespaces that were gone when looked for */
	/* calls of threads that had forbidden themselves to read the clock; what processes that had
	 * confined themselves could not tell us */
	uint64_t clockless, unsent;
	uid_t user[8]; /* whose processes have had a memory together, each once; the first ones. 0:
			  each its own */
	unsigned users;
	/* children that could not be opened: what they load and execute is not known. Their calls
	 * are recorded */
	uint64_t unopened;
	struct dt_error unopened_why;
	/* executed, but could not be traced: how many, the first of them and why */
	uint64_t unfollowed;
	pid_t unfollowed_pid;
	struct dt_error unfollowed_why;
};

/* Says what is missing and why, and records lost; nothing when all is there. */
void dt_results_say(const struct dt_results *r, const struct dt_options *o,
		    const struct dt_say *say);

#endif
