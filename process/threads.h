/* SPDX-License-Identifier: MIT */
/* Stopping all threads of a process for a moment, by ptrace, and letting them go. */
#ifndef DT_PROCESS_THREADS_H
#define DT_PROCESS_THREADS_H

#include <sys/types.h>
#include "core/error.h"

/* Threads that are stopped. Only the owner thread, which is their tracer, may use the functions for
 * this; ptrace demands that. */
struct dt_threads {
	pid_t pid;
	pid_t *tid;
	uint64_t *since; /* ticks from which on each was kept from running; 0: it waited in a system
			    call */
	size_t n, room;
	bool whole_process;   /* these are all threads, not one chosen thread */
	uint64_t stopped_at;  /* when stopping began, monotonic ns */
	uint64_t stopped_for; /* ns from then to the release, which sets it */
};

/* Stops every thread of pid. On failure (-1 and the reason) nothing is left stopped. */
int dt_threads_stop(pid_t pid, struct dt_threads *t, struct dt_error *e);
/* Stops the one thread tid. On failure nothing is left stopped either: a thread that cannot stop
 * now is let go when it does. */
int dt_threads_stop_one(pid_t pid, pid_t tid, struct dt_threads *t, struct dt_error *e);
/*
 * Waits as waitpid() with __WALL and WNOHANG does, for a thread that is held. But when our own
 * child ends, it returns -1 and does not reap it: its status is left to dt_has_ended() and the
 * like.
 */
pid_t dt_threads_wait(pid_t tid, int *status);
/* Says which process our own child is. There is one at most. */
void dt_threads_child(pid_t pid);
/* Lets a thread go on that is held, with a signal (0: none). If it has been killed meanwhile, or
 * does not stop yet, dt_threads_late() does it. */
void dt_threads_let_go(pid_t tid, int signal);
/* Lets threads go that stopped too late to be waited for, and tells the parents of those that were
 * killed while they were held. To be called now and then. Returns whether there are more. */
bool dt_threads_late(void);
/* Lets all threads go on where they are, and frees the lists. */
void dt_threads_release(struct dt_threads *t);

/* A time for which we have stopped a thread that would have run. */
struct dt_stopped {
	pid_t tid;
	uint64_t begin, end; /* ticks */
};

/* Takes a time that has not been taken yet; false: there is none. s NULL: only looks. Any thread
 * may call this. */
bool dt_threads_stopped(struct dt_stopped *s);

/*
 * Looks whether a thread's instruction pointer is in [low, high), or will be there when a signal
 * handler that it runs returns. That suffices only if the code there calls nothing outside of it.
 */
bool dt_threads_inside(struct dt_threads *t, int mem, uint64_t low, uint64_t high);

/*
 * Calls fn for each address at which a stopped thread will go on: its instruction pointer, and
 * (frame) the addresses to which signal handlers that it runs will return.
 */
void dt_threads_saved(const struct dt_threads *t, int mem,
		      void (*fn)(void *ctx, uint64_t ip, uint64_t frame), void *ctx);

/* All those addresses, collected once. */
struct dt_ips {
	uint64_t *ip;
	size_t n, room;
	bool failed; /* no memory: any address may be missing */
};

/* Collects them, to be freed by dt_ips_free(). Those are left out of which left_out, unless it is
 * NULL, returns true. */
void dt_threads_ips(const struct dt_threads *t, int mem, bool (*left_out)(void *ctx, uint64_t ip),
		    void *ctx, struct dt_ips *ips);
/* Frees the list. */
void dt_ips_free(struct dt_ips *ips);
/* Looks whether one of them is in [low, high); also true if the list is not complete. */
bool dt_ips_inside(const struct dt_ips *ips, uint64_t low, uint64_t high);

/* Returns the thread pointer of a stopped thread; 0: it has none. */
uint64_t dt_thread_pointer(pid_t tid);
/* Reads a stopped thread's rseq registration: pointer, size, signature. False: it has none, or the
 * kernel does not tell (before 5.13). */
bool dt_thread_rseq(pid_t tid, uint64_t *address, uint32_t *size, uint32_t *signature);

#endif
