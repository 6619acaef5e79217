/* SPDX-License-Identifier: MIT */
/*
 * What patterns choose, in whatever order they are given: what one of those that add matches, or
 * everything where none adds, but nothing that one of those that take away matches. All that
 * choose by patterns ask here: -F and -N of every command, sets of the device, the kernel's, too.
 */
#ifndef DT_CORE_CHOICE_H
#define DT_CORE_CHOICE_H

#include "core/types.h"

/* Zero-initialised: no pattern yet, so everything is chosen. */
struct dt_choice {
	bool adds; /* some pattern does */
	bool added, removed;
};

static inline void dt_choice_note(struct dt_choice *c, bool remove, bool matches)
{
	c->adds |= !remove;
	c->added |= matches && !remove;
	c->removed |= matches && remove;
}

static inline bool dt_choice_made(const struct dt_choice *c)
{
	return !c->removed && (c->added || !c->adds);
}

#endif
