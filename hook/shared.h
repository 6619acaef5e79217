/* SPDX-License-Identifier: MIT */
/*
 * A session's shared memory, as the controller sees it. What a traced process may have written is
 * read here, each word once, and returned as a value. Of the controller's other files only
 * session/rings.c, which takes the records out, knows the memory's layout (core/control.h).
 */
#ifndef DT_HOOK_SHARED_H
#define DT_HOOK_SHARED_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "core/error.h"
#include "core/ring.h"
#include "process/maps.h"

/* Triggers: the events that begin and end the recording. */
struct dt_shared_arm {
	bool has_start, has_stop;
	uint64_t start, stop; /* value[0] of such an event's record */
};

/*
 * The memory, and the controller's own copy of what it has set: traced processes can write to
 * everything at `control'. Unless said otherwise, only the owner thread changes it.
 */
struct dt_shared {
	int fd; /* memfd of the memory */
	struct dt_control *control;
	struct dt_geometry geometry;
	enum dt_policy policy;
	enum dt_state state;
	bool careful;		     /* each event goes through the slow path, which looks at it */
	bool uniform, all, confined; /* as last set */
	struct dt_shared_arm arm;
	uint32_t watch[DT_WATCH_MAX];
	size_t watches;
	struct dt_owner *owner; /* one for all memories of a session */
	struct dt_shared
		*next; /* of the same session, for other credentials; stored with release */
};

/* Loops over all memories of a session; first is its first one. */
#define dt_shared_each(first, m)                                                                   \
	for (struct dt_shared *m = (first); m; m = __atomic_load_n(&m->next, __ATOMIC_ACQUIRE))

#define DT_SHARED_MAX 16u /* memories of one session */

/*
 * Makes the memory for `cores' rings of ring_size bytes and the shared ring. The calling thread is
 * the owner: when it ends, traced processes see that the session has no controller any more.
 */
int dt_shared_create(struct dt_shared *s, unsigned cores, uint64_t ring_size, enum dt_policy policy,
		     struct dt_error *e);
/*
 * Makes another memory with the geometry, policy and settings of the first; its rings are empty,
 * and the recording state and the triggers' state are not copied. dt_shared_join() then makes it
 * part of the session. Only the owner may call this.
 */
int dt_shared_create_like(struct dt_shared *s, const struct dt_shared *first, struct dt_error *e);
/* Appends s to the session's list of memories. */
void dt_shared_join(struct dt_shared *first, struct dt_shared *s);
/* Unmaps and closes a memory. A session's first one has to be destroyed last. */
void dt_shared_destroy(struct dt_shared *s);

/* Settings, which the following functions write to the memory for the processes, and to *s. */
void dt_shared_set_state(struct dt_shared *s, enum dt_state state);
void dt_shared_set_policy(struct dt_shared *s, enum dt_policy policy);
void dt_shared_set_careful(struct dt_shared *s, bool careful);

/* Sites that are not in the table are on, but not recorded. */
void dt_shared_set_uniform(struct dt_shared *s, bool uniform);
/* Every process is recorded, also those that are not watched. */
void dt_shared_set_all(struct dt_shared *s, bool all);
/* The processes and threads that are watched: ids in ascending order, at most DT_WATCH_MAX; none:
 * all are. */
void dt_shared_set_watch(struct dt_shared *s, const uint32_t *id, size_t n);
/* Notes that some process has confined itself by seccomp, so that it can not ring the bell. */
void dt_shared_set_confined(struct dt_shared *s);
/* Looks whether there is such a process; processes note it too. */
bool dt_shared_confined(const struct dt_shared *s);

/* The bells of all memories of a session. Each is a count that traced threads raise when they wake
 * the controller. */
struct dt_shared_bells {
	unsigned n;
	uint32_t count[DT_SHARED_MAX];
};

/* Reads the present counts. */
void dt_shared_bells(struct dt_shared *first, struct dt_shared_bells *b);
/* Waits until one of the counts is no longer as in *b, or the session has more memories than then,
 * but at most for the time at_most. */
void dt_shared_bells_wait(struct dt_shared *first, const struct dt_shared_bells *b,
			  const struct timespec *at_most);
/* Rings a memory's bell, for the controller itself; the first memory's is enough. */
void dt_shared_bell_ring(const struct dt_shared *s);

/* Sets the triggers. The state is set by dt_shared_arm_set(). */
void dt_shared_arm(struct dt_shared *s, const struct dt_shared_arm *a);
/* Returns the triggers' state; an invalid one is returned as DT_ARM_DONE. */
enum dt_arm_state dt_shared_arm_state(const struct dt_shared *s);
/* Sets the triggers' state. For DT_ARM_RUNNING, begin is the time of the start event in ticks. */
void dt_shared_arm_set(const struct dt_shared *s, enum dt_arm_state state, uint64_t begin);
/* Changes the triggers' state to `to' if it is `from', and else does nothing. */
void dt_shared_arm_move(const struct dt_shared *s, enum dt_arm_state from, enum dt_arm_state to);
/* Returns the time of the start event in ticks; 0: there has been none. */
uint64_t dt_shared_arm_begin(const struct dt_shared *s);

/* Returns the state of a slot for messages of traced processes. If it is DT_REQUEST_POSTED, *copy
 * is a copy of the message. */
enum dt_request_state dt_shared_request(const struct dt_shared *s, unsigned slot,
					struct dt_request *copy);
/* Marks a posted message as dealt with, and wakes its poster. waited: the poster waits for that and
 * frees the slot; else the slot is freed here. */
void dt_shared_request_done(const struct dt_shared *s, unsigned slot, bool waited);
/* Frees a slot that is marked as dealt with, and whose poster has died before freeing it. */
void dt_shared_request_free(const struct dt_shared *s, unsigned slot);

/* Returns how many times of a thread's being held have been posted since the session began. */
uint32_t dt_shared_helds(const struct dt_shared *s);
/* Takes the time of holding out of a slot; false: the slot has none. */
bool dt_shared_held_take(const struct dt_shared *s, unsigned slot, struct dt_held *copy);
/* Returns how many births of threads have been posted since the session began. */
uint32_t dt_shared_births(const struct dt_shared *s);
/* Copies the birth in a slot and frees the slot; false: there is none. */
bool dt_shared_birth_take(const struct dt_shared *s, unsigned slot, struct dt_birth *copy);
/* Tells whether a birth of the thread tid, as in records, has been posted and not taken. */
bool dt_shared_birth_told(const struct dt_shared *s, uint32_t tid);

/* Returns how often recording went on after it had been frozen. */
uint32_t dt_shared_thaws(const struct dt_shared *s);
/* Copies the thaw with that number; copy->pos is the position of the first record after it. False:
 * its place has been reused, or is just being written. */
bool dt_shared_thaw(const struct dt_shared *s, uint32_t number, struct dt_thaw *copy);
/* Notes that recording goes on with the record at pos of the shared ring. */
void dt_shared_thaw_note(const struct dt_shared *s, uint64_t pos);
/* Returns the ticks at which the controller froze the recording; 0: it did not. */
uint64_t dt_shared_frozen_at(const struct dt_shared *s);
/* Notes the present time as that. */
void dt_shared_frozen_set(const struct dt_shared *s);

/* Copies of what the processes count. A process can write any value to them. */
struct dt_shared_counts {
	uint64_t filtered_in, filtered_out; /* entries and exits that were left out as requested */
	uint64_t clockless_in, clockless_out; /* those of threads that may not read the clock */
	uint64_t unsent;	    /* messages of processes that allow themselves no system call */
	uint64_t missed;	    /* events while recording was frozen */
	uint32_t held_missed;	    /* times of holding for which there was no slot, and */
	uint64_t held_missed_ticks; /* their sum */
	uint32_t births_missed;	    /* threads that have begun unseen */
};

/* Returns the present counts. */
struct dt_shared_counts dt_shared_counts(const struct dt_shared *s);
/* Counts one more message as unsent. */
void dt_shared_count_unsent(const struct dt_shared *s);

/* What the writers of a ring have counted. */
struct dt_shared_ring_counts {
	uint64_t pos;		    /* bytes written since the session began */
	uint64_t dropped;	    /* records for which there was no room, since it began */
	uint64_t lost_in, lost_out; /* entries and exits among these */
	uint64_t stalls;	    /* how often a writer had to wait for room */
};

/* Returns the counts of a ring. In this function and the next two, ring is a core's number;
 * geometry.cores is the shared ring. */
struct dt_shared_ring_counts dt_shared_ring_counts(const struct dt_shared *s, unsigned ring);
/* Returns how many bytes have been written to the ring since the session began. */
uint64_t dt_shared_ring_pos(const struct dt_shared *s, unsigned ring);
/* Returns a copy of the record that begins at pos. */
struct dt_record dt_shared_ring_record(const struct dt_shared *s, unsigned ring, uint64_t pos);

/* Looks whether a process with these mappings has this memory mapped. */
bool dt_shared_mapped(const struct dt_shared *s, const struct dt_maps *maps);

/* A session whose memory a process has mapped; its controller may have died. */
struct dt_shared_old {
	bool lives;		     /* its controller is alive */
	uint32_t controller;	     /* process id of its controller */
	bool fits;		     /* it is of this version, and its geometry is a valid one */
	struct dt_geometry geometry; /* only if it fits */
};

/* Reads the session's memory at that address of a process (mem: its /proc/PID/mem); false: there is
 * none. */
bool dt_shared_old(int mem, uint64_t address, struct dt_shared_old *old);

#endif
