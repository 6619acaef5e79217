/* SPDX-License-Identifier: MIT */
/* Checks before a program starts whether patterns can match anything of it. */
#ifndef DT_SESSION_PATTERN_CHECK_H
#define DT_SESSION_PATTERN_CHECK_H

#include "session/options.h"
#include "session/say.h"

/*
 * Looks for a match of each pattern in the program and in the libraries that it needs, and says
 * which patterns have none: they may match later, in a library that the program loads or a program
 * that it executes, or never. Returns false if no pattern that adds functions can ever match, so
 * that there is no reason to start the program. Marks in *o the patterns about which this was said.
 */
bool dt_pattern_check(struct dt_options *o, const char *program, const struct dt_say *say);

#endif
