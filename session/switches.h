/* SPDX-License-Identifier: MIT */
/*
 * Context switches: which thread ran on which core when. S records come from the kernel's perf
 * events, which need no root for one's own processes; R records name the threads that exist when a
 * process is first traced.
 *
 *	S  tid, value[0]: the thread that runs on this core from here on; DT_NO_TID: none that is
 *	   traced. value[2]: its process; value[3]: the thread that left, with bit 32 set when it
 *	   still wanted to run
 *	R  tid, value[0]: a thread that exists. value[1]: the first eight bytes of its name;
 *	   value[2]: its process; value[3]: 1 when it was running on this core
 *
 * Times are the kernel's CLOCK_MONOTONIC_RAW turned into ticks, accurate to some 100 ns.
 *
 * Each record costs a program some 0.25 us. Where nobody has asked for them they are followed only
 * within limits: once they come too often, are lost, or the kernel refuses something, they end for
 * good, and it is known when and why.
 *
 * The owner thread calls open, ready, add and close, the recorder thread keep, patience, written,
 * over and take; they have a lock of their own.
 */
#ifndef DT_SESSION_SWITCHES_H
#define DT_SESSION_SWITCHES_H

#include <stdbool.h>
#include <sys/types.h>
#include "core/error.h"
#include "core/record.h"

struct dt_switches;

enum dt_switches_how {
	DT_SWITCHES_ASKED, /* all of them are wanted */
	DT_SWITCHES_CHEAP, /* as long as they cost little */
	DT_SWITCHES_OTHERS /* the S records come from somebody else; only R records are made here */
};

/* Prepares for so many cores; nothing is followed yet. Returns NULL and an error when there is no
 * memory. */
struct dt_switches *dt_switches_open(unsigned cores, enum dt_switches_how how, struct dt_error *e);
/* Completes that, some ms later: it takes the kernel so long to begin. Cheap ones: returns -1 and
 * an error that says why there can be none. */
int dt_switches_ready(struct dt_switches *w, struct dt_error *e);
/* Stops following everything and frees w; NULL is allowed. */
void dt_switches_close(struct dt_switches *w);

/* Follows a process: its threads, and the threads and processes that these make from now on. has:
 * it is followed already, since it was made by one that is; only R records are made. Returns 0,
 * also when it has ended, or -1 and an error. Cheap ones end with what would be an error. */
int dt_switches_add(struct dt_switches *w, pid_t pid, bool has, struct dt_error *e);

/* A record, and how many records of its core before it the kernel had no room for. */
struct dt_switch {
	struct dt_record record;
	uint64_t lost;
};

/* Returns why cheap ones have ended, and from which tick on they are not known; NULL: they have
 * not.
 */
const char *dt_switches_over(struct dt_switches *w, uint64_t *ticks);

/* Says that the trace begins at that tick, with a record of others; to be called when there is one.
 * Until then no cheap ones are given out, and then one for each core, of what it did. */
void dt_switches_begin(struct dt_switches *w, uint64_t ticks);

/* Fetches the switches from the kernel, so that it has room again. Has to be called from time to
 * time when dt_switches_take() is not. */
void dt_switches_keep(struct dt_switches *w);

/* Returns how many ms to wait, at most ms, before the switches are fetched again: half of
 * what it was where a core's buffer was found more than a quarter full since then, twice as long
 * where all were nearly empty. */
int dt_switches_patience(struct dt_switches *w, int ms);

/* Tells how many records of a core there were in all, switches and threads found, and how many more
 * switches the kernel said that it had no room for. */
void dt_switches_written(struct dt_switches *w, unsigned core, uint64_t *records,
			 uint64_t *dropped);

/*
 * Returns for how many ns, of all of the machine's processors together, a hypervisor has let others
 * have them since dt_switches_open(). Threads are on a processor meanwhile, as far as switches
 * tell.
 */
uint64_t dt_switches_stolen(const struct dt_switches *w);

/*
 * Returns the records of one core up to a tick, in the order of time; *n is how many. They are
 * valid until the next call. *lost: how many are missing after the last one; only when nothing more
 * is to come (until is ~0).
 */
const struct dt_switch *dt_switches_take(struct dt_switches *w, unsigned core, uint64_t until,
					 size_t *n, uint64_t *lost);

#endif
