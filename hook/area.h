/* SPDX-License-Identifier: MIT */
/*
 * The area in a traced process (arch/x86_64/area.h): mapping it, connecting it to libc, taking it
 * away again. The thread given is ptrace-stopped; other threads may run.
 */
#ifndef DT_HOOK_AREA_H
#define DT_HOOK_AREA_H

#include <sys/types.h>
#include "arch/arch.h"
#include "core/error.h"
#include "process/maps.h"
#include "hook/shared.h"

/*
 * Maps the area into the process, and a page of jumps within reach of each of `near' (libc, the
 * program; 0: none). No hook is reachable yet. Sets *area to its address.
 */
int dt_area_install(pid_t pid, pid_t tid, int mem, const struct dt_shared *shared,
		    const uint64_t near[2], uint64_t *area, struct dt_error *e);

/* The same in this process itself: *bytes to unmap from *area on. */
int dt_area_map_self(int mem, const struct dt_shared *shared, uint64_t *area, size_t *bytes,
		     struct dt_error *e);

/* Unmaps it. No thread may be inside: see dt_threads_inside(). */
int dt_area_remove(pid_t pid, pid_t tid, int mem, uint64_t area, const struct dt_geometry *g,
		   struct dt_error *e);

/* Finds the area of a process that is or was traced, by its head; 0: there is none. */
uint64_t dt_area_find(int mem, const struct dt_maps *maps);

/* Makes the rseq hooks for this process. The slow ones need nothing. */
int dt_area_make_hooks(int mem, uint64_t area, const struct dt_geometry *g,
		       const struct dt_thread_offsets *o, struct dt_error *e);

/*
 * Gives the process the tag of its PID namespace, and its number here. What its hooks write is the
 * same otherwise, so that threads may be in them; one may have put its own number into a record
 * just now.
 */
int dt_area_tag(int mem, uint64_t area, const struct dt_geometry *g, pid_t pid, uint32_t tag);

/* Addresses of the hooks in this process, by enum dt_hook. -1: there are no fast ones yet. */
int dt_area_hooks(int mem, uint64_t area, bool fast, uint64_t hook[DT_HOOKS]);

/* Writes what the slow path is to do at which addresses: entries sorted, none overlapping. */
int dt_area_table(int mem, uint64_t area, const struct dt_table_entry *entry, size_t n,
		  struct dt_error *e);

/* The i-th stretch of code in the area, [*low, *high); false: there are no more. */
bool dt_area_code(const struct dt_geometry *g, uint64_t area, unsigned i, uint64_t *low,
		  uint64_t *high);

#endif
