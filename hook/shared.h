/* SPDX-License-Identifier: MIT */
/*
 * A session's shared memory, as the controller sees it. What a traced process may have written is
 * read here, each word once, and given as a value; nobody else in the controller has the memory's
 * layout (core/control.h), but session/rings.c, which takes the records out.
 */
#ifndef DT_HOOK_SHARED_H
#define DT_HOOK_SHARED_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "core/error.h"
#include "core/ring.h"
#include "process/maps.h"

/* Triggers: what is to begin the recording, and what to end it. */
struct dt_shared_arm {
	bool has_start, has_stop;
	uint64_t start, stop;
};

/*
 * The memory, and what the controller itself knows of it: the traced processes can write to all
 * that is at control.
 */
struct dt_shared {
	int fd;
	struct dt_control *control;
	struct dt_geometry geometry;
	enum dt_policy policy;
	enum dt_state state;
	bool careful;		     /* each event is looked at */
	bool uniform, all, confined; /* as last set */
	struct dt_shared_arm arm;
	uint32_t watch[DT_WATCH_MAX];
	size_t watches;
	struct dt_owner *owner; /* the first one's: all have one owner */
	struct dt_shared
		*next; /* of the same session, for other credentials; stored with release */
};

/* Each memory of a session whose first one that is. */
#define dt_shared_each(first, m)                                                                   \
	for (struct dt_shared *m = (first); m; m = __atomic_load_n(&m->next, __ATOMIC_ACQUIRE))

#define DT_SHARED_MAX 16u /* of one session */

/*
 * Makes the memory for `cores' rings of ring_size bytes and the shared ring. The calling thread is
 * the owner: when it ends, traced processes see that the session has no controller any more.
 */
int dt_shared_create(struct dt_shared *s, unsigned cores, uint64_t ring_size, enum dt_policy policy,
		     struct dt_error *e);
/*
 * Makes another one, as the first is and as that is set, but for its rings and the triggers' state.
 * The session has it when dt_shared_join() has put it behind the others. Only by the owner.
 */
int dt_shared_create_like(struct dt_shared *s, const struct dt_shared *first, struct dt_error *e);
void dt_shared_join(struct dt_shared *first, struct dt_shared *s);
/* The first one last. */
void dt_shared_destroy(struct dt_shared *s);

/* What the controller tells the processes, and keeps for itself. */
void dt_shared_set_state(struct dt_shared *s, enum dt_state state);
void dt_shared_set_policy(struct dt_shared *s, enum dt_policy policy);
void dt_shared_set_careful(struct dt_shared *s, bool careful);

/* Sites that are not in the table are on, but not recorded. */
void dt_shared_set_uniform(struct dt_shared *s, bool uniform);
/* Whatever process is recorded, also one that is not watched. */
void dt_shared_set_all(struct dt_shared *s, bool all);
/* Processes and threads that are, in ascending order, at most DT_WATCH_MAX; none: all. */
void dt_shared_set_watch(struct dt_shared *s, const uint32_t *id, size_t n);
/* There is a process that has confined itself: its bell is not heard. */
void dt_shared_set_confined(struct dt_shared *s);
bool dt_shared_confined(const struct dt_shared *s);

/* The bells of all memories of a session: each is a count that traced threads add to, and wake the
 * controller by. */
struct dt_shared_bells {
	unsigned n;
	uint32_t count[DT_SHARED_MAX];
};

void dt_shared_bells(struct dt_shared *first, struct dt_shared_bells *b);
/* Until one of them is not as it was any more, or there is another memory; at most so long. */
void dt_shared_bells_wait(struct dt_shared *first, const struct dt_shared_bells *b,
			  const struct timespec *at_most);
/* By the controller itself: the first one is enough. */
void dt_shared_bell_ring(const struct dt_shared *s);

/* A state that there is not is told as DT_ARM_DONE. */
void dt_shared_arm(struct dt_shared *s, const struct dt_shared_arm *a);
enum dt_arm_state dt_shared_arm_state(const struct dt_shared *s);
/* running: the start event was at `begin', ticks. */
void dt_shared_arm_set(const struct dt_shared *s, enum dt_arm_state state, uint64_t begin);
/* From one state to the next; nothing where it is another one. */
void dt_shared_arm_move(const struct dt_shared *s, enum dt_arm_state from, enum dt_arm_state to);
/* Ticks of the start event, 0: there has been none. */
uint64_t dt_shared_arm_begin(const struct dt_shared *s);

/* A message of a traced process: a copy, with the state in which it was. */
enum dt_request_state dt_shared_request(const struct dt_shared *s, unsigned slot,
					struct dt_request *copy);
/* A posted one has been dealt with: whoever waits for that is woken. */
void dt_shared_request_done(const struct dt_shared *s, unsigned slot, bool waited);
/* Its poster, who should free the slot, has died. */
void dt_shared_request_free(const struct dt_shared *s, unsigned slot);

/* How many times in which a thread was held have been posted, ever. */
uint32_t dt_shared_helds(const struct dt_shared *s);
/* Takes the one in that slot out; false: there is none. */
bool dt_shared_held_take(const struct dt_shared *s, unsigned slot, struct dt_held *copy);

/* How often recording went on after it was frozen. */
uint32_t dt_shared_thaws(const struct dt_shared *s);
/* That time, with the record's position itself; false: its place has been used again, or is being
 * written. */
bool dt_shared_thaw(const struct dt_shared *s, uint32_t number, struct dt_thaw *copy);
/* Recording goes on behind pos of the shared ring. */
void dt_shared_thaw_note(const struct dt_shared *s, uint64_t pos);
/* Ticks at which the controller froze it; 0: it did not. */
uint64_t dt_shared_frozen_at(const struct dt_shared *s);
void dt_shared_frozen_set(const struct dt_shared *s);

/* What the processes count: a copy of each. Any of them may be what a process liked to write. */
struct dt_shared_counts {
	uint64_t filtered_in,
		filtered_out; /* entries and exits that were not recorded, as was asked */
	uint64_t clockless_in, clockless_out; /* of threads that may not read the clock */
	uint64_t unsent;	    /* messages of processes that allow themselves no system call */
	uint64_t missed;	    /* events while recording was frozen */
	uint32_t held_missed;	    /* times for which there was no slot; */
	uint64_t held_missed_ticks; /* all of them together */
};

struct dt_shared_counts dt_shared_counts(const struct dt_shared *s);
void dt_shared_count_unsent(const struct dt_shared *s);

/* What a ring's writers say of it. */
struct dt_shared_ring_counts {
	uint64_t pos;		    /* bytes written since the session began */
	uint64_t dropped;	    /* records for which there was no room, all of them */
	uint64_t lost_in, lost_out; /* entries and exits among these */
	uint64_t stalls;	    /* how often a writer had to wait for room */
};

/* Ring geometry.cores is the shared one. */
struct dt_shared_ring_counts dt_shared_ring_counts(const struct dt_shared *s, unsigned ring);
uint64_t dt_shared_ring_pos(const struct dt_shared *s, unsigned ring);
/* A copy of the record that begins at pos. */
struct dt_record dt_shared_ring_record(const struct dt_shared *s, unsigned ring, uint64_t pos);

/* Has a process with these mappings this memory? */
bool dt_shared_mapped(const struct dt_shared *s, const struct dt_maps *maps);

/* A session whose memory a process has at that address, maybe of a controller that has died. */
struct dt_shared_old {
	bool lives;	     /* its controller does */
	uint32_t controller; /* that one's process id */
	bool fits;	     /* it is of this version, and its geometry is one that can be */
	struct dt_geometry geometry;
};

/* False: there is none. */
bool dt_shared_old(int mem, uint64_t address, struct dt_shared_old *old);

#endif
