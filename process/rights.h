/* SPDX-License-Identifier: MIT */
/*
 * Rights of processes. Root's controller needs few of its capabilities: it gives up the others
 * before it looks at anything that it does not trust. doc/security.md says what each is for.
 */
#ifndef DT_PROCESS_RIGHTS_H
#define DT_PROCESS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/error.h"

/*
 * Gives up the capabilities that the controller does not need, for good: of this thread, of those
 * that it makes, and of programs that it executes. Processes forked before keep theirs. switches,
 * kernel: thread switches and the kernel are recorded too, for which more are kept. -1 and the
 * reason.
 */
int dt_rights_limit(bool switches, bool kernel, struct dt_error *e);

/* Gives up in the same way all capabilities but those set in keep (bit n: capability n). */
int dt_rights_only(uint64_t keep, struct dt_error *e);

/* Looks whether fits() returns false while the capabilities `all' are not effective. False if this
 * thread has none of them; true if its capabilities can not be read. */
bool dt_rights_needs(bool (*fits)(const void *ctx), const void *ctx, uint64_t all);

/*
 * The rights with which a process acts: user and group, each real, effective, saved and for files,
 * and the capabilities that it may have here (none, if it is in another user namespace). Padding is
 * zero.
 */
struct dt_rights {
	uint64_t capabilities;
	uid_t user[4];
	gid_t group[4];
};

/* Reads the rights of a process's first thread. They are not taken from the owner of its /proc
 * entry, which can be another user. False: it has gone. */
bool dt_rights_of(pid_t pid, struct dt_rights *r);

#endif
