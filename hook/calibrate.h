/* SPDX-License-Identifier: MIT */
/* The hooks tried out in the controller itself, before they are put into anybody else's process. */
#ifndef DT_HOOK_CALIBRATE_H
#define DT_HOOK_CALIBRATE_H

#include "hook/area.h"

/*
 * What a record costs by itself, in ticks: the time from one record to the next when there is
 * nothing between them but the hook (Kitrace's method of consecutive instructions).
 */
struct dt_cost {
	double median, mean, deviation;
	double interval; /* the mean is within so much, with 99 % of certainty */
	uint32_t n;	 /* measured; 0: it could not be */
};

struct dt_costs {
	double ticks; /* what one record of a function takes at best, without call and return */
	struct dt_cost entry, exit;
	struct dt_cost point; /* with one register captured */
};

/*
 * Makes an area in this process over scratch rings (mapped by the caller, recording, of 64 KiB
 * each), lets both hooks append, and checks what they wrote and that they kept every register.
 * *costs is what records cost here; zeros: this process has no rseq. -1 when the hooks do not work
 * on this machine, which must not go on then.
 */
int dt_calibrate(const struct dt_shared *scratch, struct dt_costs *costs, struct dt_error *e);

#endif
