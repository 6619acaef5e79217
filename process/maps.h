/* SPDX-License-Identifier: MIT */
/* The mappings of a process, from /proc/PID/maps, sorted by address as the kernel lists them. */
#ifndef DT_PROCESS_MAPS_H
#define DT_PROCESS_MAPS_H

#include <sys/types.h>
#include "core/error.h"

struct dt_mapping {
	uint64_t low, high; /* [low, high) */
	uint64_t offset;    /* in the file */
	uint64_t inode;	    /* 0: anonymous */
	unsigned dev_major, dev_minor;
	bool read, write, exec, shared;
	bool deleted;	  /* the file has been removed or replaced */
	const char *path; /* "" for anonymous ones; owned by the maps */
};

struct dt_maps {
	struct dt_mapping *map;
	size_t n;
	char *text;
};

int dt_maps_read(pid_t pid, struct dt_maps *m, struct dt_error *e);
void dt_maps_free(struct dt_maps *m);
const struct dt_mapping *dt_maps_at(const struct dt_maps *m, uint64_t address);

/*
 * Finds `size' bytes of free addresses, page aligned, as near below or above `near' as there are,
 * within `reach' bytes of it and ending below `top'. 0: none. Keeps clear of the heap's and the
 * stack's way to grow.
 */
uint64_t dt_maps_gap(const struct dt_maps *m, uint64_t near, uint64_t size, uint64_t reach,
		     uint64_t top);

#endif
