/* SPDX-License-Identifier: MIT */
/*
 * What a list of patterns chooses, whatever their order: everything that one of the adding patterns
 * matches (or simply everything if no pattern adds), except what one of the removing patterns
 * matches. Everything that is chosen by patterns is decided here: -F and -N of every command, and
 * the sets of the device, in the kernel too.
 */
#ifndef DT_CORE_CHOICE_H
#define DT_CORE_CHOICE_H

#include "core/types.h"

/*
 * The patterns that one name has been compared with. Zero-initialised: no pattern yet, so
 * everything is chosen.
 */
struct dt_choice {
	bool adds;	     /* there is a pattern that adds */
	bool added, removed; /* a pattern that adds, or removes, has matched */
};

/* Notes one more pattern: whether it removes, and whether it matches the name. */
static inline void dt_choice_note(struct dt_choice *c, bool remove, bool matches)
{
	c->adds |= !remove;
	c->added |= matches && !remove;
	c->removed |= matches && remove;
}

/* Is the name chosen by the patterns that have been noted? */
static inline bool dt_choice_made(const struct dt_choice *c)
{
	return !c->removed && (c->added || !c->adds);
}

#endif
