/* SPDX-License-Identifier: MIT */
/*
 * Processes aside: helpers of a command that do one thing for it, over a channel, and end when the
 * command does. Such a process is no child of the command's, which waits for all its children, and
 * has none of its descriptors.
 */
#ifndef DT_PROCESS_ASIDE_H
#define DT_PROCESS_ASIDE_H

#include "core/error.h"

/*
 * Forks a process that calls run(channel, ctx), and ends. name: for ps, also in place of its
 * command line. The channel is a socket of messages (SOCK_SEQPACKET); the terminal's signals INT
 * and QUIT are ignored. Returns the command's end of the channel, or -1 with the reason. To be
 * called before there are other threads.
 */
int dt_aside_begin(const char *name, void (*run)(int channel, void *ctx), void *ctx,
		   struct dt_error *e);

/* Closes all descriptors but `channel', those of the parent too: 0, 1 and 2 are /dev/null then, and
 * the channel is 3, which is returned. */
int dt_aside_leave_all(int channel);

/*
 * Becomes a user to whom no file and no other process belongs. In a user namespace that may not be
 * possible: then it becomes nobody. folder: an open folder that is given to that user; -1: none.
 * False: it stays the user it was.
 */
bool dt_aside_become_nobody(int folder);

#endif
