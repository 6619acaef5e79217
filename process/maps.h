/* SPDX-License-Identifier: MIT */
/* The mappings of a process, from /proc/PID/maps, sorted by address as the kernel lists them. */
#ifndef DT_PROCESS_MAPS_H
#define DT_PROCESS_MAPS_H

#include <sys/types.h>
#include "core/error.h"

/* One mapping. */
struct dt_mapping {
	uint64_t low, high; /* [low, high) */
	uint64_t offset;    /* in the file */
	uint64_t inode;	    /* 0: anonymous */
	unsigned dev_major, dev_minor;
	bool read, write, exec, shared;
	bool deleted;	  /* the file has been removed or replaced */
	const char *path; /* "" for anonymous ones; owned by the maps */
};

/* All mappings of a process. */
struct dt_maps {
	struct dt_mapping *map;
	size_t n;
	char *text; /* the file's text, which paths point into */
};

/* Reads the mappings of a process, to be freed by dt_maps_free(). -1 and the reason. */
int dt_maps_read(pid_t pid, struct dt_maps *m, struct dt_error *e);
/* Frees what m holds, and empties it. */
void dt_maps_free(struct dt_maps *m);
/* Returns the mapping that address is in; NULL: none. */
const struct dt_mapping *dt_maps_at(const struct dt_maps *m, uint64_t address);

/*
 * Returns the address of `size' bytes of free addresses, page aligned, as near below or above
 * `near' as possible, within `reach' bytes of it and ending below `top'; 0: there are none. Room
 * for the heap and the stack to grow is left free.
 */
uint64_t dt_maps_gap(const struct dt_maps *m, uint64_t near, uint64_t size, uint64_t reach,
		     uint64_t top);

#endif
