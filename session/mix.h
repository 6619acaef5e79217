/* SPDX-License-Identifier: MIT */
/*
 * Merges the records that several sources have of one core into one sequence in the order of time:
 * the core's ring, context switches from the kernel, and the kernel's device. A source may report
 * something late; so records of the other sources are taken only up to a time before which nothing
 * more can come from the ring.
 */
#ifndef DT_SESSION_MIX_H
#define DT_SESSION_MIX_H

#include "session/state.h"

enum dt_mix_source { DT_MIX_RING, DT_MIX_SWITCHES, DT_MIX_KERNEL, DT_MIX_SOURCES };

/*
 * A loss: records of one source are missing before record `at' of a mix, which is of that source.
 */
struct dt_mix_gap {
	size_t at; /* index in the mix; equal to the number of records when nothing has come after
		      the loss */
	uint64_t lost;
	uint64_t begin; /* ticks of the source's last record before the loss; 0: there is none */
	enum dt_mix_source source;
	bool switches; /* there may be switches among them */
};

/* Returns how many of a gap's records are switches, as dt_store_lose() has it. */
static inline uint64_t dt_mix_lost_switches(const struct dt_mix_gap *g)
{
	return !g->switches ? 0 : g->source == DT_MIX_SWITCHES ? g->lost : DT_NOT_KNOWN;
}

/* What is remembered of one ring from one take to the next. */
struct dt_mix_core {
	struct {
		uint64_t last; /* ticks of the source's newest record so far */
		uint64_t lost; /* records missing after that one, not in a gap yet */
	} source[DT_MIX_SOURCES];
	uint64_t last; /* ticks of the newest record of all sources */
};

/* A mixer for all rings of a session. */
struct dt_mix {
	unsigned cores;		  /* of the machine */
	struct dt_mix_core *core; /* one for each ring: the first domain's cores, its shared ring,
				     then the next domain's */
	/* buffers: the ring's records on the corrected clock; the merged records */
	struct dt_record *timed, *mixed;
	size_t timed_room, mixed_room; /* records allocated */
	/* The result of the last dt_mix_take(), valid until the next one. */
	const struct dt_record *record;
	size_t n;
	struct dt_mix_gap *gap; /* in ascending order */
	size_t gaps, gap_room;
	size_t *change; /* where the context switches are among the records, in ascending order */
	size_t changes, change_room;
	uint64_t lost;			/* records that the sources reported lost in this take */
	uint64_t kernel_n, kernel_lost; /* of the kernel's device, since the beginning */
	bool kernel_switches;		/* switches are among its records */
	bool begun;			/* there has been a record of a ring */
};

/* Initialises m for so many cores and domains. Returns 0, or -1 and an error. */
int dt_mix_init(struct dt_mix *m, unsigned cores, unsigned domains, struct dt_error *e);
/* Frees what m holds. */
void dt_mix_free(struct dt_mix *m);

/*
 * Merges n records just taken from ring i (numbered as in dt_mix.core), before which `lost' are
 * missing, with what the other sources have; only the rings of the first domain's cores have other
 * sources. now: ticks read before the ring was; an empty ring will bring nothing earlier. end:
 * nothing more comes from anywhere, so everything known is given out. Returns 0, or -1 and an
 * error.
 */
int dt_mix_take(struct dt_mix *m, struct dt_session *s, unsigned i, const struct dt_record *r,
		size_t n, uint64_t lost, uint64_t now, bool end, struct dt_error *e);

#endif
