/* SPDX-License-Identifier: MIT */
/* The time that goes on evenly, for deadlines and for how long something took. */
#ifndef DT_PROCESS_NOW_H
#define DT_PROCESS_NOW_H

#include "core/types.h"

/* Return the time of CLOCK_MONOTONIC, in ns and in seconds. */
uint64_t dt_now_ns(void);
double dt_now_s(void);

#endif
