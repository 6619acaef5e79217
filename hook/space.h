/* SPDX-License-Identifier: MIT */
/*
 * Room for trampolines: keeps account of which addresses are free, and takes pieces of them. The
 * caller says what is free at the beginning.
 */
#ifndef DT_HOOK_SPACE_H
#define DT_HOOK_SPACE_H

#include "core/error.h"

/* A range of addresses. */
struct dt_extent {
	uint64_t low, high; /* [low, high) */
};

/* Free addresses; all zero: none. */
struct dt_space {
	struct dt_extent *free; /* sorted, with gaps between */
	size_t n, room;
};

/* Adds free addresses, which must lie above all those added before. -1: no memory. */
int dt_space_add(struct dt_space *s, uint64_t low, uint64_t high, struct dt_error *e);
/* Frees the memory, leaving the space empty. */
void dt_space_free(struct dt_space *s);

/*
 * Takes the lowest free `size' bytes that begin in [low, high], and sets *at to their address;
 * false: there are none, or no memory. It has the type dt_plan_claim, with the space as ctx.
 */
bool dt_space_claim(void *space, uint64_t low, uint64_t high, size_t size, uint64_t *at);

#endif
