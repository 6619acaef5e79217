/* SPDX-License-Identifier: MIT */
/* Stopping all threads of a process for a moment, by ptrace, and letting them go. */
#ifndef DT_PROCESS_THREADS_H
#define DT_PROCESS_THREADS_H

#include <sys/types.h>
#include "core/error.h"

struct dt_threads {
	pid_t pid;
	pid_t *tid;
	uint64_t *since; /* ticks at which each could not go on any more; 0: it waits in a system
			    call */
	size_t n, room;
	bool whole_process;   /* all threads, not one chosen thread */
	uint64_t stopped_at;  /* monotonic ns */
	uint64_t stopped_for; /* ns the first-stopped thread was stopped; set by the release */
};

/* Stops every thread of pid. On failure nothing is left stopped. */
int dt_threads_stop(pid_t pid, struct dt_threads *t, struct dt_error *e);
/* Stops the one thread tid. */
int dt_threads_stop_one(pid_t pid, pid_t tid, struct dt_threads *t, struct dt_error *e);
/*
 * As waitpid() with __WALL and WNOHANG, for a thread that is held: but the end of our own child is
 * left to who asks for its status; it is -1 here.
 */
pid_t dt_threads_wait(pid_t tid, int *status);
void dt_threads_child(pid_t pid); /* the one there is */
/* Lets go those that stopped too late to be waited for. To be called now and then. */
void dt_threads_late(void);
/* Lets all go on where they are. */
void dt_threads_release(struct dt_threads *t);

/* A time for which a thread that would have run was stopped by us. */
struct dt_stopped {
	pid_t tid;
	uint64_t begin, end; /* ticks */
};

/* Takes one of those that have not been taken; false: there is none. NULL: only looks. Any thread.
 */
bool dt_threads_stopped(struct dt_stopped *s);

/*
 * True when a thread's instruction pointer lies in [low, high), or will when a signal handler that
 * it runs returns: the code there must call nothing outside of it.
 */
bool dt_threads_inside(struct dt_threads *t, int mem, uint64_t low, uint64_t high);

/*
 * Calls fn for every place that a stopped thread will go on at: its instruction pointer, and where
 * signal handlers that it runs will return to (frame).
 */
void dt_threads_saved(const struct dt_threads *t, int mem,
		      void (*fn)(void *ctx, uint64_t ip, bool frame), void *ctx);

/* All those places, looked up once. dt_ips_free() frees them. */
struct dt_ips {
	uint64_t *ip;
	size_t n, room;
	bool failed; /* no memory: any place may be among them */
};

/* left_out, if not NULL: a thread's own instruction pointer is not among them when it says so. */
void dt_threads_ips(const struct dt_threads *t, int mem, bool (*left_out)(void *ctx, uint64_t ip),
		    void *ctx, struct dt_ips *ips);
void dt_ips_free(struct dt_ips *ips);
/* Is one of them in [low, high)? */
bool dt_ips_inside(const struct dt_ips *ips, uint64_t low, uint64_t high);

/* The thread pointer of a stopped thread; 0 when it has none. */
uint64_t dt_thread_pointer(pid_t tid);
/* The thread's rseq registration: pointer, size, signature; false when it has none. */
bool dt_thread_rseq(pid_t tid, uint64_t *address, uint32_t *size, uint32_t *signature);

uint64_t dt_now_ns(void); /* CLOCK_MONOTONIC */

#endif
