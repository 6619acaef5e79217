/* SPDX-License-Identifier: MIT */
/*
 * What several sources tell of one core, as one row of records in the order of time: the core's
 * ring, the kernel's word of context switches, the kernel's device. A source may tell of something
 * late: others' records are taken only up to a time before which nothing of the ring can come any
 * more.
 *
 * Recorder thread only.
 */
#ifndef DT_SESSION_MIX_H
#define DT_SESSION_MIX_H

#include "session/state.h"

enum dt_mix_source { DT_MIX_RING, DT_MIX_SWITCHES, DT_MIX_KERNEL, DT_MIX_SOURCES };

/* Records of one source are missing in front of record `at' of a mix, which is of the same source.
 */
struct dt_mix_gap {
	size_t at; /* the number of records: at the end, nothing has come after */
	uint64_t lost;
	uint64_t begin; /* ticks of the source's last record before, 0: none */
};

struct dt_mix_core {
	struct {
		uint64_t last; /* ticks of its newest record so far */
		uint64_t lost; /* behind that one, not told in a gap yet */
	} source[DT_MIX_SOURCES];
	uint64_t last; /* ticks of the newest record of all */
};

struct dt_mix {
	unsigned cores;		  /* of the machine */
	struct dt_mix_core *core; /* of each ring: of the first domain's cores, its shared ring, the
				     next domain's */
	struct dt_record *timed, *mixed; /* with the clock set right; all of them */
	size_t timed_room, mixed_room;
	/* what the last take has made; valid until the next one */
	const struct dt_record *record;
	size_t n;
	struct dt_mix_gap *gap; /* ascending */
	size_t gaps, gap_room;
	uint64_t lost;			/* told by the sources just now */
	uint64_t kernel_n, kernel_lost; /* by the kernel's device, in all */
};

int dt_mix_init(struct dt_mix *m, unsigned cores, unsigned domains, struct dt_error *e);
void dt_mix_free(struct dt_mix *m);

/*
 * Mixes n records that have just been taken from ring i of those, of which `lost' are missing in
 * front, with what the other sources tell: into the first domain's rings of cores. now: ticks
 * before the ring was read; of an empty ring nothing earlier will come. end: nothing more comes at
 * all; what is known is told.
 */
int dt_mix_take(struct dt_mix *m, struct dt_session *s, unsigned i, const struct dt_record *r,
		size_t n, uint64_t lost, uint64_t now, bool end, struct dt_error *e);

#endif
