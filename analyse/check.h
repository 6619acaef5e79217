/* SPDX-License-Identifier: MIT */
/*
 * Proving a trace: that its file is what it says, that its records make calls or it is known why
 * not, and that the sums are those of what there is. doc/analysis.md says what that shows and what
 * it does not.
 */
#ifndef DT_ANALYSE_CHECK_H
#define DT_ANALYSE_CHECK_H

#include "analyse/stats.h"
#include "store/check.h"

/* How many calls began and ended in which way; and why the entry or exit of some is missing. */
struct dt_check_calls {
	uint64_t calls;			/* all calls */
	uint64_t entries, exits, other; /* records */
	uint64_t returned;		/* calls with an entry and an exit */
	uint64_t unwound, tail, open;	/* calls with an entry but no exit */
	uint64_t before; /* calls with an exit but no entry: they began before the trace, or while
			    nothing was recorded, or before their function was */
	uint64_t early;	 /* how many of these may have their entry on a core that had not been read
			    as far, in a file that was cut off */
	uint64_t lossy;	 /* calls during which records are missing */
	uint64_t timed,
		ticks; /* calls whose times are known, and the ticks of all of them together */
};

struct dt_check {
	struct dt_faults faults;
	struct dt_check_chunks chunks;
	struct dt_check_calls calls;
	/* calls as commands show them: without those that are a part of others (dt_pair_unfold())
	 */
	struct dt_check_calls shown;
	struct dt_stats stats; /* of these */
	uint64_t pauses;       /* stretches of time in which nothing was recorded */
	bool cut_off; /* its session is still running or was killed: the file does not say how many
			 records there were */
	uint64_t whole; /* ticks until which the records of all cores are there; UINT64_MAX: of the
			   whole trace, or not known */
	bool paired;	/* the calls were looked at */
	bool kept;	/* the file has the sums of `view', and they were compared */
	bool remade;	/* these sums were made anew, and compared */
};

/* How a trace is checked. */
struct dt_check_how {
	bool again; /* also makes what `view' would show, and compares it */
	unsigned
		threads; /* more than 1: the calls are read by these while the chunks are checked */
	/* as for dt_reader_watch() */
	bool (*watch)(void *ctx, uint64_t records);
	void *ctx;
};

/* Checks the file of r, at path; nobody may write to it meanwhile. Faults are counted in c->faults.
 * Returns -1 if the check could not be done; the caller calls dt_check_free() in any case. */
int dt_check_trace(struct dt_reader *r, const char *path, const struct dt_check_how *how,
		   struct dt_check *c, struct dt_error *e);
void dt_check_free(struct dt_check *c);

/* Compares the sums of a pyramid with the calls, for dt_check_trace(): of the one in the file at
 * path or, if path is NULL, of a new one. Returns -1 if that could not be done. */
int dt_check_pyramid(struct dt_reader *r, const char *path, struct dt_check *c, struct dt_error *e);

/* Looks whether the sums that were made while recording (store/sums.h) add up, for
 * dt_check_trace(). Returns -1 if that could not be done. */
int dt_check_sums(struct dt_reader *r, struct dt_check *c, struct dt_error *e);

#endif
