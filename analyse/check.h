/* SPDX-License-Identifier: MIT */
/*
 * Proving a trace: that its file is what it says, that its records make calls or it is known why
 * not, and that what is summed up is what there is. doc/analysis.md says what that shows and what
 * not.
 */
#ifndef DT_ANALYSE_CHECK_H
#define DT_ANALYSE_CHECK_H

#include "analyse/stats.h"
#include "store/check.h"

/* How calls began and ended: of those whose entry or exit is missing, why. */
struct dt_check_calls {
	uint64_t calls;			/* all */
	uint64_t entries, exits, other; /* records */
	uint64_t returned;		/* an entry and an exit */
	uint64_t unwound, tail, open;	/* an entry without an exit */
	uint64_t before; /* an exit without an entry: it began before the trace, or when nothing
			  * was recorded, or its function was not yet */
	uint64_t early;	 /* of these: in a file that was cut off, and the entry may have been on a
			  * core that had not been read as far */
	uint64_t lossy;	 /* records are missing meanwhile */
	uint64_t timed, ticks; /* whose times are known; those of all of them together */
};

struct dt_check {
	struct dt_faults faults;
	struct dt_check_chunks chunks;
	struct dt_check_calls calls;
	struct dt_stats stats;
	uint64_t pauses;
	bool cut_off;	/* its session goes on, or was: it says not how many records there were */
	uint64_t whole; /* ticks: until then records of all cores are there; UINT64_MAX: at all
			 * times, or not known */
	bool paired;	/* the calls were looked at */
	bool kept;	/* there is what view has summed up, and it was compared */
	bool remade;	/* it was made anew, and compared */
};

/*
 * Checks the file of r, which nobody writes meanwhile. again: also makes what `view' would show,
 * and compares. Faults are in c->faults. -1: it could not be done.
 */
int dt_check_trace(struct dt_reader *r, const char *path, bool again, struct dt_check *c,
		   bool (*watch)(void *ctx, uint64_t records), void *ctx, struct dt_error *e);
void dt_check_free(struct dt_check *c);

/* Compares what a pyramid has with the calls, for dt_check_trace(). path NULL: a new one is made.
 */
int dt_check_pyramid(struct dt_reader *r, const char *path, struct dt_check *c, struct dt_error *e);

#endif
