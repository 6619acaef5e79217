/* SPDX-License-Identifier: MIT */
/*
 * Calls put into groups by what they have in common - the function, its caller, the thread, ... -
 * for sums over each group. In a group's total a call within another one of the same group and
 * thread does not count, as a recursive call does not in its function's.
 */
#ifndef DT_ANALYSE_GROUPS_H
#define DT_ANALYSE_GROUPS_H

#include "analyse/first.h"
#include "analyse/pair.h"
#include "store/hosts.h"

enum dt_group_key {
	DT_GROUP_FUNCTION,
	DT_GROUP_CALLER,
	DT_GROUP_THREAD,
	DT_GROUP_PROCESS,
	DT_GROUP_MODULE,
	DT_GROUP_HOST, /* the trace's, if it says where it was recorded; of a fleet, the thread's */
	DT_GROUP_KEYS
};

/* So many groups there can be; calls that would need more are in the last one together. */
#define DT_GROUPS_MOST (1u << 16)

/* A group: for each key that it is made by, what its calls have there, others 0. Caller: a function
 * row, 0: no caller is known; module: dt_reader_module(), of those with one path the first; host:
 * 0, or its index in hosts plus one. */
struct dt_group {
	uint32_t part[DT_GROUP_KEYS];
};

/* All zero but for keys and key; then dt_groups_free(). */
struct dt_groups {
	uint8_t key[DT_GROUP_KEYS];   /* enum dt_group_key */
	unsigned keys;		      /* 0: calls are in no groups */
	const struct dt_hosts *hosts; /* those of the trace; NULL: it is of one machine */
	struct dt_group *group;	      /* [0] is unused: a group's number is its index */
	uint32_t n, room;
	uint64_t crowded; /* calls that found no group of their own */
	bool no_memory;
	/* of this file only */
	struct dt_reader *reader;
	struct dt_first first, paths, opens; /* groups, modules by path, open calls */
	uint32_t *module;		     /* by module, the first one with its path */
	uint32_t modules;
	struct dt_group_open *open; /* [0] is unused */
	uint32_t open_n, open_room;
};

/* A call begins, in a dt_pair_events.begin of that pairing. Its group is kept in its note, in the
 * bits below DT_CHOSEN_SHIFT. */
void dt_groups_begin(struct dt_groups *g, struct dt_pair *p, const struct dt_call *c);

/* A call ends. Makes of it the call that sums are to take, whose function is the number of its
 * group, and which is recursive if it is in another call of the group. */
struct dt_call dt_groups_end(struct dt_groups *g, struct dt_pair *p, const struct dt_call *c);

void dt_groups_free(struct dt_groups *g);

#endif
