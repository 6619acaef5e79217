/* SPDX-License-Identifier: MIT */
/* Giving another process a descriptor of ours, without a path that it would have to open. */
#ifndef DT_HOOK_HAND_OVER_H
#define DT_HOOK_HAND_OVER_H

#include <sys/types.h>
#include "core/error.h"
#include "process/maps.h"

/*
 * Gives the process pid, whose thread tid is stopped under ptrace, a descriptor of the open file
 * that our descriptor fd is of; it is closed by an execve. code: as for dt_inject(). scratch: the
 * address of a page of the process that it can write to and nothing else uses. The process may be
 * confined to files, as by Landlock: it opens none. Needs Linux 5.6. Returns the descriptor's
 * number there, or -1.
 */
int dt_hand_over(pid_t pid, pid_t tid, int mem, const struct dt_maps *maps, uint64_t code,
		 uint64_t scratch, int fd, struct dt_error *e);

#endif
