/* SPDX-License-Identifier: MIT */
/*
 * The capabilities that a controller keeps. As root it has all, and needs few of them; the others
 * are given up before it looks at anything that it does not trust. doc/security.md has which are
 * for what.
 */
#ifndef DT_PROCESS_RIGHTS_H
#define DT_PROCESS_RIGHTS_H

#include <stdbool.h>

#include "core/error.h"

/*
 * Gives up what is not needed, of this thread and of those that it makes, for good; no program that
 * it executes has more. What was forked before keeps what it had. switches, kernel: these are
 * recorded too.
 */
int dt_rights_limit(bool switches, bool kernel, struct dt_error *e);

#endif
