/* SPDX-License-Identifier: MIT */
/* Whether patterns can match anything of a program, before it starts. */
#ifndef DT_CMD_PATTERNS_H
#define DT_CMD_PATTERNS_H

#include "session/session.h"

/*
 * Looks for each pattern that adds in the program and in the libraries that it needs. One that
 * matches nothing there is said: it may do so later, in a library that the program loads or a
 * program that it runs, or it never will. false: none of them ever will, so there is nothing to run
 * the program for.
 */
bool dt_patterns_check(const char *name, struct dt_options *o, const char *program);

#endif
