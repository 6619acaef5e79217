/* SPDX-License-Identifier: MIT */
/* The hooks tried out in the controller itself, before they are put into anybody else's process. */
#ifndef DT_PROCESS_CALIBRATE_H
#define DT_PROCESS_CALIBRATE_H

#include "process/area.h"

/*
 * Makes an area in this process over scratch rings (mapped by the caller, recording, of 64 KiB
 * each), lets both hooks append, and checks what they wrote and that they kept every register.
 * *ticks: what one record costs here, in ticks, without the call and the return; 0: this process has
 * no rseq. -1 when the hooks do not work on this machine, which must not go on then.
 */
int dt_calibrate(const struct dt_shared *scratch, double *ticks, struct dt_error *e);

#endif
