/* SPDX-License-Identifier: MIT */
/* How long a thread was kept from going on by us, so that the time is not taken for its own. */
#ifndef DT_TARGET_HELD_H
#define DT_TARGET_HELD_H

#include "target/parts.h"

/* When and where a thread was stopped by us from going on. */
struct dt_since {
	uint64_t ticks;
	uint32_t core;
};

#pragma GCC visibility push(hidden)
struct dt_since dt_since_now(void);

/* Tells the controller that the thread tid was held from `since' until now. why: DT_HELD_... */
void dt_held_tell(uint32_t tid, const struct dt_since *since, uint32_t why);
#pragma GCC visibility pop

#endif
