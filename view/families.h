/* SPDX-License-Identifier: MIT */
/* The threads of a picture by process, and which processes are so short-lived, or so many, that
 * they are packed: drawn as bars in a few rows together, not as threads with their calls. */
#ifndef DT_VIEW_FAMILIES_H
#define DT_VIEW_FAMILIES_H

#include "view/asked.h"

struct dt_family {
	uint32_t pid;		 /* of a thread whose process is not known, its own number */
	uint32_t first, threads; /* in dt_families.track */
	uint64_t count;		 /* calls */
	uint64_t begin, end;	 /* ticks: of the first call, of the last one */
	bool packed;
};

struct dt_families {
	struct dt_family *group; /* by pid */
	uint32_t *track;	 /* threads: by group, then as the pyramid has them */
	uint32_t n, packed, packed_threads;
};

/* Finds the groups; the processes of the request's `take', numbers with commas between, are not
 * packed. False: the request has been refused. */
bool dt_families_find(struct dt_asked *a, struct dt_families *g);
void dt_families_free(struct dt_families *g);
/* Returns the group of a process; NULL: there is none. */
const struct dt_family *dt_families_of(const struct dt_families *g, uint32_t pid);

/* Returns the process of a track of a thread, as groups have it. */
static inline uint32_t dt_family_pid(const struct dt_track *t)
{
	return t->pid ? t->pid : t->id;
}

#endif
