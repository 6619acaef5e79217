/* SPDX-License-Identifier: MIT */
/* Whether patterns can match anything of a program, before it starts. */
#ifndef DT_SESSION_PATTERN_CHECK_H
#define DT_SESSION_PATTERN_CHECK_H

#include "session/options.h"
#include "session/say.h"

/*
 * Looks for each pattern that adds in the program and in the libraries that it needs. One that
 * matches nothing there is said: it may do so later, in a library that the program loads or a
 * program that it runs, or it never will. false: none of them ever will, so there is nothing to run
 * the program for.
 */
bool dt_pattern_check(struct dt_options *o, const char *program, const struct dt_say *say);

#endif
