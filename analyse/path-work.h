/* SPDX-License-Identifier: MIT */
/* What is known of the threads in a range of time, for the files path*.c only. */
#ifndef DT_ANALYSE_PATH_WORK_H
#define DT_ANALYSE_PATH_WORK_H

#include "analyse/path.h"
#include "filter/call.h"
#include "store/backtraces.h"
#include "store/hosts.h"
#include "store/lost-switches.h"
#include "store/waited.h"

#define DT_PATH_WAITS_MOST 8000000u /* waits in a range: 320 MB */
#define DT_PATH_FOR_EVER   UINT64_MAX

/* A wait: the thread was on no processor. By thread and end. */
struct dt_path_wait {
	uint64_t begin, end; /* ticks; end DT_PATH_FOR_EVER: it is not over in the range */
	uint64_t woken;	     /* when it was ended, if waker */
	uint32_t tid;
	uint32_t waker; /* row; 0: not known */
	bool preempted;
	bool open;	    /* it began before the range */
	uint64_t object[2]; /* addresses of what it waited for, as a function of libc was told: a
			       lock, a condition variable and its lock; 0: none */
};

/* A call of libc by which a thread lets others go on that wait for the object at that address. */
struct dt_path_release {
	uint64_t object, ticks;
	uint32_t pid, tid;
	uint8_t link; /* enum dt_path_link */
};

/* What is known of a thread in the range. */
struct dt_path_thread {
	uint32_t tid; /* 0: the place is free */
	uint32_t pid; /* 0: not known */
	uint64_t first,
		last;	/* ticks of records that it made, or of its being switched to; 0: none */
	bool came;	/* the first one is a switch to it */
	bool made;	/* it was made in the range, at woken */
	uint32_t waker; /* who woke it before the first one; 0: not known */
	uint64_t woken;
	size_t wait, waits; /* its waits */
	size_t edge, edges; /* what it received */
};

struct dt_path_texts {
	struct dt_waited waited;
	struct dt_wakers wakers;
};

struct dt_path_window {
	struct dt_reader *reader;
	struct dt_path_texts *texts;
	uint64_t from, to; /* what is read */
	struct dt_path_wait *wait;
	size_t waits, waits_room;
	struct dt_path_edge *edge; /* by receiver and time of receipt */
	size_t edges, edges_room;
	struct dt_path_release *release; /* by process, object and time */
	size_t releases, releases_room;
	struct dt_path_thread *thread; /* open addressing */
	size_t threads, threads_room;
	uint32_t (*number)[2]; /* of the kernel, and the thread: sorted */
	size_t numbers;
	struct dt_lost_switches lost;
	struct dt_backtraces stacks;
	bool has_stacks;
	struct dt_hosts hosts;
	bool no_memory, too_many;
};

/* Reads the range. -1 on error; dt_path_window_free() in any case. edge: known before, copied. */
int dt_path_window_read(struct dt_path_window *w, const struct dt_path_edge *edge, size_t edges,
			struct dt_error *e);
void dt_path_window_free(struct dt_path_window *w);

/* Returns what is known of a thread; NULL: nothing. */
struct dt_path_thread *dt_path_thread(const struct dt_path_window *w, uint32_t tid);
/* Returns the wait of a thread that it is in just before a time; NULL: none. */
const struct dt_path_wait *dt_path_wait_at(const struct dt_path_window *w,
					   const struct dt_path_thread *t, uint64_t at);
/* Returns when the thread came back last before that time; 0: not in the range. */
uint64_t dt_path_back(const struct dt_path_window *w, const struct dt_path_thread *t, uint64_t at);

/* ---- path-others.c: who ended a wait ---- */

/* Where the path goes on. */
struct dt_path_other {
	uint32_t tid;
	uint64_t at;	/* not after the wait's end */
	uint64_t ready; /* from then on the thread that waited only waited for a processor */
	enum dt_path_link link;
};

/* Finds who ended a wait, which the thread is in just before `at'. False: nobody is known whose
 * time is recorded; ready is set in any case. */
bool dt_path_who(struct dt_path_window *w, const struct dt_path_thread *t,
		 const struct dt_path_wait *wait, uint64_t at, struct dt_path_other *to);
/* Finds who made a thread that begins at `at'. False: it is not known. */
bool dt_path_maker(struct dt_path_window *w, const struct dt_path_thread *t, uint64_t at,
		   struct dt_path_other *to);

/* ---- path-objects.c: what functions of libc wait for, and let go ---- */

struct dt_path_objects {
	uint8_t *role; /* by row of the function */
	uint32_t n;
};

/* Return the addresses of what a call waits for, in object; how a call lets others go on that wait
 * for its first argument, DT_PATH_SAME: it does not. */
void dt_path_objects_waited(struct dt_path_objects *o, const struct dt_reader *r,
			    const struct dt_call *c, uint64_t object[2]);
enum dt_path_link dt_path_objects_released(struct dt_path_objects *o, const struct dt_reader *r,
					   const struct dt_call *c);

/* ---- path-functions.c ---- */

/* Finds in which functions the pieces are. -1 on error. */
int dt_path_functions(struct dt_paths *p, uint64_t from, uint64_t to, struct dt_error *e);

#endif
