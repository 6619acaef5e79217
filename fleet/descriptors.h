/* SPDX-License-Identifier: MIT */
/* Which connection a descriptor of a process means, and when it did. */
#ifndef DT_FLEET_DESCRIPTORS_H
#define DT_FLEET_DESCRIPTORS_H

#include "core/types.h"

#define DT_NO_CONNECTION UINT32_MAX

/* A descriptor of a process from one time to another. */
struct dt_descriptor {
	uint32_t pid;
	int32_t fd;
	uint32_t connection; /* index; DT_NO_CONNECTION: none */
	bool other;	     /* it is known to be no socket of TCP */
	uint64_t from, to;   /* ticks; to UINT64_MAX: it is open */
	uint32_t before;     /* index + 1 of the same number's use before; 0: none */
	uint32_t next;	     /* index + 1 of another one of the process */
};

/* All zero at first. */
struct dt_descriptors {
	struct dt_descriptor *p;
	size_t n, room;
	uint64_t *key; /* open addressing; size is a power of two */
	uint32_t *last;
	size_t size, used;
};

/* Returns the last use of a number; NULL: none is known. Valid until the next one is added. */
struct dt_descriptor *dt_descriptors_find(struct dt_descriptors *d, uint32_t pid, int32_t fd);
/* Returns the use of a number that goes from before one time to after another; NULL: none does. */
struct dt_descriptor *dt_descriptors_at(struct dt_descriptors *d, uint32_t pid, int32_t fd,
					uint64_t begin, uint64_t end);
/* Adds a use. -1: out of memory, or there are 2^24. */
int dt_descriptors_add(struct dt_descriptors *d, const struct dt_descriptor *x);
/* Calls fn for each open descriptor of a process; -1: fn returned that. fn may add some. */
int dt_descriptors_each(struct dt_descriptors *d, uint32_t pid,
			int (*fn)(void *ctx, uint32_t index), void *ctx);
void dt_descriptors_free(struct dt_descriptors *d);

#endif
