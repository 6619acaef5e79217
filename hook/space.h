/* SPDX-License-Identifier: MIT */
/*
 * Room for trampolines: which addresses are free, and taking pieces of them. Whoever begins it says
 * what is free; it only keeps count.
 */
#ifndef DT_HOOK_SPACE_H
#define DT_HOOK_SPACE_H

#include "core/error.h"

struct dt_extent {
	uint64_t low, high; /* [low, high) */
};

struct dt_space {
	struct dt_extent *free; /* sorted, with gaps between */
	size_t n, room;
};

/* Adds free addresses, which must lie above all those added before. -1: no memory. */
int dt_space_add(struct dt_space *s, uint64_t low, uint64_t high, struct dt_error *e);
void dt_space_free(struct dt_space *s);

/*
 * Takes size bytes that begin in [low, high]: the lowest there are. true, and *at is where. Of the
 * type of dt_plan_claim, with the space as ctx.
 */
bool dt_space_claim(void *space, uint64_t low, uint64_t high, size_t size, uint64_t *at);

#endif
