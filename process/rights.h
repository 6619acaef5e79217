/* SPDX-License-Identifier: MIT */
/*
 * Who may what. Of the capabilities that root's controller has it needs few: the others are given
 * up before it looks at anything that it does not trust. doc/security.md has which are for what.
 */
#ifndef DT_PROCESS_RIGHTS_H
#define DT_PROCESS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"

/*
 * Gives up what is not needed, of this thread and of those that it makes, for good; no program that
 * it executes has more. What was forked before keeps what it had. switches, kernel: these are
 * recorded too.
 */
int dt_rights_limit(bool switches, bool kernel, struct dt_error *e);

/* The same, but for those that are set in keep. */
int dt_rights_only(uint64_t keep, struct dt_error *e);

/* Does fits() say no when these capabilities are not effective? False where this thread has none of
 * them. */
bool dt_rights_needs(bool (*fits)(const void *ctx), const void *ctx, uint64_t all);

/*
 * As whom a process acts: user and group, each real, effective, saved and for files, and the
 * capabilities that it may have here (in a user namespace of its own it has none here). All 0 bytes
 * beside these.
 */
struct dt_rights {
	uint64_t capabilities;
	uid_t user[4];
	gid_t group[4];
};

/* Of a process's first thread, whoever its /proc entry belongs to. False: it has gone. */
bool dt_rights_of(pid_t pid, struct dt_rights *r);

#endif
