/* SPDX-License-Identifier: MIT */
/* The program in which a person turns the pages of a listing, found as git finds it. */
#ifndef DT_CMD_PAGER_H
#define DT_CMD_PAGER_H

/*
 * Starts the pager that DEVTRACE_PAGER or PAGER names, or else less, and lets standard output lead
 * to it, and standard error if that is a terminal. The command goes on in a child process; the
 * process that called this waits for both, and ends as the child has. That a person leaves the
 * pager before all has been written is no failure. If there is no pager, all stays as it is.
 *
 * To be called before this process confines itself, while it has no other thread of its own.
 */
void dt_pager_begin(void);

/*
 * A pager is executed when there is something to show: until then the terminal is the command's.
 * Returns the terminal while that is so, to say there how far something has come; -1: there is no
 * pager, or it has begun. What the caller writes to it is in nobody's way as long as this thread is
 * the one that prints.
 */
int dt_pager_terminal(void);

#endif
