/* SPDX-License-Identifier: MIT */
/* What alignment is made of, and what it finds: align/align.h. */
#ifndef DT_ALIGN_EVIDENCE_H
#define DT_ALIGN_EVIDENCE_H

#include "core/types.h"

#define DT_ALIGN_NS	16 /* units in a ns */
#define DT_ALIGN_LIMIT	(1ll << 58)
#define DT_ALIGN_CLOCKS 4096 /* the most clocks */

/* What evidence is of; of two that contradict each other, the one with the lower number is not
 * believed, if it is a marker or a real time. */
enum dt_evidence_kind {
	DT_EVIDENCE_MARKER,   /* somebody said so */
	DT_EVIDENCE_REALTIME, /* two machines' real times, with bounds of their errors */
	DT_EVIDENCE_MESSAGE,  /* of the traced programs */
	DT_EVIDENCE_STREAM,   /* bytes of a TCP connection of the traced programs */
	DT_EVIDENCE_PING,     /* an exchange for this purpose */
};

/* The event at time xa of clock a was not later than that at time xb of clock b, plus the slack. */
struct dt_evidence {
	uint32_t a, b;
	int64_t xa, xb, slack;
	uint32_t
		item; /* the caller's number; those that are true or false together have the same */
	uint8_t kind; /* enum dt_evidence_kind */
};

/* A clock, and the times of it (x) between which the alignment is wanted. hint: reference time
 * minus the clock's own, where nothing else says so: it is drawn there, without bounds. */
struct dt_align_clock {
	int64_t begin, end, hint;
};

/* What is assumed: the most by which rates of two clocks differ, and the most by which this
 * difference varies about its mean, both as parts of 1. */
struct dt_align_assumed {
	double rate, wander;
};

/* Two crystals of 100 ppm each, and what the nominal rates may be wrong by. */
#define DT_ALIGN_RATE	250e-6
#define DT_ALIGN_WANDER 0.5e-6

#define DT_UNKNOWN_EARLY INT64_MIN
#define DT_UNKNOWN_LATE	 INT64_MAX

/* The reference times of one time of a clock: between two knots they are on straight lines. */
struct dt_knot {
	int64_t x;
	int64_t t;	     /* what is drawn; no paired message arrives before it was sent */
	int64_t early, late; /* guaranteed, if what is assumed and the evidence are true */
	/* by how much less, on both sides, it is likely to be wrong: every message takes at least a
	 * third of the quickest way there and back */
	int64_t likely;
};

/* Evidence that contradicts the rest. */
enum dt_contradiction_kind {
	DT_CONTRADICTION_STEP,	  /* the clock stepped between two of its times */
	DT_CONTRADICTION_PERHAPS, /* it did, or another clock */
	DT_CONTRADICTION_FALSE,	  /* the evidence is not believed, and not used */
};

#define DT_CONTRADICTION_MOST 8

struct dt_contradiction {
	enum dt_contradiction_kind kind;
	uint32_t clock;	  /* of a step */
	int64_t from, to; /* x between which it stepped */
	int64_t step;	  /* by which it was further ahead of the reference afterwards, as drawn */
	int64_t by;	  /* the evidence is impossible by so much */
	uint32_t evidence[DT_CONTRADICTION_MOST]; /* indices: what contradicts each other */
	uint32_t n;				  /* how many, of which the first are there */
};

struct dt_aligned_clock {
	struct dt_knot *knot; /* by x, each greater than the one before */
	size_t knots;
	uint64_t used;	  /* pieces of evidence about this clock */
	uint64_t decided; /* those of them that are not implied by others */
	bool known;	  /* there are bounds, somewhere */
};

#endif
