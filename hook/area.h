/* SPDX-License-Identifier: MIT */
/*
 * The area in a traced process (arch/area.h): mapping it, writing its hooks and tables, and
 * taking it away again. mem is a descriptor of the process's /proc/PID/mem. Where a thread tid is
 * given, it is ptrace-stopped; other threads may run. Functions that return int return 0, or -1 and
 * the reason in *e.
 */
#ifndef DT_HOOK_AREA_H
#define DT_HOOK_AREA_H

#include <sys/types.h>
#include "arch/arch.h"
#include "core/error.h"
#include "process/maps.h"
#include "hook/shared.h"

/*
 * Maps the area into the process, and a page of jumps within reach of each address in `near' (of
 * libc and of the program; 0: none). No hook is reachable yet. Sets *area to the area's address.
 */
int dt_area_install(pid_t pid, pid_t tid, int mem, const struct dt_shared *shared,
		    const uint64_t near[2], uint64_t *area, struct dt_error *e);

/* Maps the area into this process itself. The caller unmaps it: *bytes from *area on. */
int dt_area_map_self(int mem, const struct dt_shared *shared, uint64_t *area, size_t *bytes,
		     struct dt_error *e);

/* Unmaps the area and its pages of jumps. No thread may be inside: see dt_threads_inside().
 * threads_stay: what is at DT_AREA_THREADS stays mapped. */
int dt_area_remove(pid_t pid, pid_t tid, int mem, uint64_t area, const struct dt_geometry *g,
		   bool threads_stay, struct dt_error *e);

/* Returns the address of the area in a process that is or was traced, which is recognised by its
 * head; 0: there is none. */
uint64_t dt_area_find(int mem, const struct dt_maps *maps);

/* Returns where the head of an area says that the session's memory is; 0: it can not be read. */
uint64_t dt_area_session_of(int mem, uint64_t area);

/* Writes the rseq hooks into the area, for threads with the offsets *o. The slow hooks need no such
 * step. */
int dt_area_make_hooks(int mem, uint64_t area, const struct dt_geometry *g,
		       const struct dt_thread_offsets *o, struct dt_error *e);

/*
 * Notes that threads may have blocks that can not be looked into, and leads fast hooks to the slow
 * ones, now and when they are made anew. All threads are stopped.
 */
int dt_area_note_strange(int mem, uint64_t area, struct dt_error *e);

/*
 * Writes the tag of the process's PID namespace, and its process id in our namespace, into the
 * area. Hooks that have been made already are made again; nothing else changes in them, so threads
 * may be running them. A thread that just ran one may have recorded its id without the tag.
 */
int dt_area_tag(int mem, uint64_t area, const struct dt_geometry *g, pid_t pid, uint32_t tag);

/* When a forked child was born, by the clock of a core. */
struct dt_area_birth {
	uint64_t ticks;
	uint32_t core;
};

/*
 * Sets *b to the birth that a forked child has told, or is about to tell. If it has not come so far
 * it will tell of *b as it was given. -1: the area can not be read or written, or the process is
 * none that has been forked.
 */
int dt_area_birth(int mem, uint64_t area, struct dt_area_birth *b);

/* Reads the addresses of the fast (rseq) or slow hooks in this process, by enum dt_hook. -1: the
 * area can not be read, or there are no fast hooks yet. */
int dt_area_hooks(int mem, uint64_t area, bool fast, uint64_t hook[DT_HOOKS]);

/* Writes the table that tells the slow path what to do at which addresses. The n entries are
 * sorted, and none overlap. -1: there are too many, or the area can not be written. */
int dt_area_table(int mem, uint64_t area, const struct dt_table_entry *entry, size_t n,
		  struct dt_error *e);

/* Sets [*low, *high) to the i-th stretch of code in the area; false: there are no more. */
bool dt_area_code(const struct dt_geometry *g, uint64_t area, unsigned i, uint64_t *low,
		  uint64_t *high);

#endif
