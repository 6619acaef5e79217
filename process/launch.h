/* SPDX-License-Identifier: MIT */
/* Starting a program under trace: stopped by ptrace before its first instruction. */
#ifndef DT_PROCESS_LAUNCH_H
#define DT_PROCESS_LAUNCH_H

#include <sys/types.h>
#include "core/error.h"

/* The file that execvp would run for this name, malloced; NULL: there is none. */
char *dt_launch_search(const char *name);

/*
 * What execvp would run for this name, checked: exists, may be executed, is a 64-bit x86 program
 * and not setuid. With scripts, a script is allowed too. *has_sleds: its own file has some.
 * Returns a malloced path or NULL.
 */
char *dt_launch_find(const char *name, bool scripts, bool *has_sleds, struct dt_error *e);

/*
 * A program that is going to be started: a process of its own, with all that devtrace has when it
 * is begun (limits, capabilities, handlers of signals), which waits. Ends by itself when devtrace
 * does.
 */
struct dt_launch {
	const char *path;
	pid_t pid; /* 0: it does not wait, or not any more */
	int go, failed;
	char variable[4096]; /* NAME=VALUE: is set in its environment, NAME: is taken out; "": none
			      */
};

/* path and argv must stay. To be followed by dt_launch() or dt_launch_cancel(). */
int dt_launch_begin(struct dt_launch *l, const char *path, char *const argv[], struct dt_error *e);
/* Of one that is not begun, nothing. */
void dt_launch_cancel(struct dt_launch *l);

/*
 * Lets it start. Returns its pid, stopped at the end of its execve, or -1. Killed meanwhile,
 * devtrace leaves it running, or not begun.
 */
pid_t dt_launch(struct dt_launch *l, struct dt_error *e);

/*
 * Has our child ended? It is left to be reaped. *status (may be NULL): as wait(2) gives it. To wait
 * for exits alone is not enough to ask: a child we hold by ptrace is reported when it stops, too.
 */
bool dt_has_ended(pid_t pid, int *status);

/*
 * Lets a stopped, statically linked program run its first system calls, up to its rseq
 * registration or the sign that it has none. Returns 1 when it is registered and the thread is
 * stopped just behind it, 0 when not (stopped too), -1 when the process ended.
 */
int dt_launch_until_rseq(pid_t pid);

#endif
