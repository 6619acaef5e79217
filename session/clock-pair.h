/* SPDX-License-Identifier: MIT */
/* Two clocks at the same moment: the processor's ticks and one of the kernel's clocks. */
#ifndef DT_SESSION_CLOCK_PAIR_H
#define DT_SESSION_CLOCK_PAIR_H

#include <stdint.h>
#include <time.h>

/* Reads both; ns are the kernel clock's, such as CLOCK_MONOTONIC's. A thread can lose its core
 * between two readings for milliseconds: of several tries the shortest counts. Returns by how many
 * ticks *ticks may be wrong. */
uint64_t dt_clock_pair(clockid_t clock, uint64_t *ticks, uint64_t *ns);

#endif
