/* SPDX-License-Identifier: MIT */
/*
 * The area in a traced process (arch/x86_64/area.h): mapping it, connecting it to libc, taking it
 * away again. The thread given is ptrace-stopped; other threads may run.
 */
#ifndef DT_PROCESS_AREA_H
#define DT_PROCESS_AREA_H

#include <sys/types.h>
#include "arch/x86_64/area.h"
#include "core/error.h"
#include "core/ring.h"
#include "process/maps.h"

/* The session's memory as the controller has it. */
struct dt_shared {
	int fd;
	struct dt_control *control;
};

/*
 * Maps the area into the process, within 2 GiB of `near' when near is not 0. No hook is reachable
 * yet. Sets *area to its address.
 */
int dt_area_install(pid_t pid, pid_t tid, int mem, const struct dt_shared *shared, uint64_t near,
		    uint64_t *area, struct dt_error *e);

/* Unmaps it. No thread may be inside: see dt_threads_inside(). */
int dt_area_remove(pid_t pid, pid_t tid, int mem, uint64_t area, struct dt_error *e);

/* Finds the area of a process that is or was traced, by its head; 0: there is none. */
uint64_t dt_area_find(int mem, const struct dt_maps *maps);

/*
 * Tells the hooks where a thread's rseq block and its thread id are, relative to %fs. After this
 * the rseq hooks (not the slow ones) may be used.
 */
int dt_area_set_thread_offsets(int mem, uint64_t area, int64_t rseq, uint32_t rseq_size,
			       uint32_t signature, int64_t tid, struct dt_error *e);

/* Address of a blob entry point in this process. */
uint64_t dt_area_entry(uint64_t area, bool fast);
uint64_t dt_area_exit(uint64_t area, bool fast);
bool dt_area_has_code(uint64_t area, uint64_t ip);

/* The head of the blob as it was built. */
const struct dt_blob *dt_blob_head(void);

#endif
