/* SPDX-License-Identifier: MIT */
/* Trying out the hooks in the controller itself, before they are put into another process. */
#ifndef DT_HOOK_CALIBRATE_H
#define DT_HOOK_CALIBRATE_H

#include "hook/area.h"

/*
 * What one record costs, in ticks: the time from one record to the next when nothing runs between
 * them but the hook (Kitrace's method of consecutive instructions).
 */
struct dt_cost {
	double median, mean, deviation;
	double interval; /* the true mean is within this distance, with 99 % certainty */
	uint32_t n;	 /* samples measured; 0: nothing could be measured */
};

/* What records of each kind cost. */
struct dt_costs {
	double ticks; /* of one record of a function at best: mean of an entry's and an exit's */
	struct dt_cost entry, exit;
	struct dt_cost point; /* of a point that captures one register */
};

/*
 * Makes an area in this process over scratch rings (mapped by the caller, recording, of 64 KiB
 * each), calls each fast hook once, and checks what it wrote and that it kept every register.
 * *costs is what records cost on this machine; all zero: there is no rseq, or nothing could be
 * tried. Returns -1 when the hooks do not work here: the caller must not trace then.
 */
int dt_calibrate(const struct dt_shared *scratch, struct dt_costs *costs, struct dt_error *e);

#endif
