/* SPDX-License-Identifier: MIT */
/*
 * Which thread ran on which core when: S records from the kernel's perf events, without root for
 * one's own processes, and R records of the threads there are when a process is first traced.
 *
 *	S  tid, value[0]: the thread that runs on this core from here on; DT_NO_TID: none that is
 *	   traced. value[2]: its process; value[3]: the thread that left, and bit 32 set when it
 *	   still wanted to run
 *	R  tid, value[0]: a thread that exists. value[1]: the first eight bytes of its name;
 *	   value[2]: its process; value[3]: 1 when it was running on this core
 *
 * Times are the kernel's CLOCK_MONOTONIC_RAW made ticks: to within some 100 ns.
 *
 * Owner thread: open, add, close. Recorder thread: keep, take. `lock' is inside.
 */
#ifndef DT_SESSION_SWITCHES_H
#define DT_SESSION_SWITCHES_H

#include <sys/types.h>
#include "core/error.h"
#include "core/record.h"

struct dt_switches;

struct dt_switches *dt_switches_open(unsigned cores, struct dt_error *e);
void dt_switches_close(struct dt_switches *w);

/* Follows a process, its threads, and what they make from here on. An ended one is no error. */
int dt_switches_add(struct dt_switches *w, pid_t pid, struct dt_error *e);

/* A record, and how many of this core's the kernel had no room for in front of it. */
struct dt_switch {
	struct dt_record record;
	uint64_t lost;
};

/* Takes what the kernel has to tell, so that it has room again. For who does not take for long. */
void dt_switches_keep(struct dt_switches *w);

/* How many there were of a core in all, as the kernel told them and threads were found; and of how
 * many more it said that it had no room. */
void dt_switches_written(struct dt_switches *w, unsigned core, uint64_t *records,
			 uint64_t *dropped);

/*
 * The records of one core up to a tick, in the order of time; valid until the next call. *lost: how
 * many are missing behind them, when nothing is to come any more (until is ~0).
 */
const struct dt_switch *dt_switches_take(struct dt_switches *w, unsigned core, uint64_t until,
					 size_t *n, uint64_t *lost);

#endif
