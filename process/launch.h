/* SPDX-License-Identifier: MIT */
/* Starting a program under trace: stopped by ptrace before its first instruction. */
#ifndef DT_PROCESS_LAUNCH_H
#define DT_PROCESS_LAUNCH_H

#include <sys/types.h>
#include "core/error.h"

/* Returns the path of the file that execvp would run for this name, for the caller to free; NULL:
 * there is none. */
char *dt_launch_search(const char *name);

/*
 * Returns what dt_launch_search() does, after checking the file: that it exists, may be executed,
 * is a 64-bit x86 program (or, with `scripts', a script), and is not setuid. *has_sleds: the file
 * has sleds or events. NULL and the reason: it can not be traced.
 */
char *dt_launch_find(const char *name, bool scripts, bool *has_sleds, struct dt_error *e);

/*
 * A program that is going to be started: a waiting child process, with all that devtrace has at the
 * time it is forked (limits, capabilities, signal handlers). It ends by itself when devtrace does.
 */
struct dt_launch {
	const char *path;
	pid_t pid;	/* 0: there is no waiting process */
	int go, failed; /* pipes: one that lets it go on, one that says why its execve failed */
	char variable[4096]; /* NAME=VALUE to be set in its environment, or NAME to be taken out;
			      * "": none */
};

/* Looks whether programs can be traced on this processor; -1: not yet. All that traces asks this
 * before it does anything. */
int dt_launch_can_trace(struct dt_error *e);

/* Forks the process that waits. path and argv must stay until dt_launch() or dt_launch_cancel(),
 * one of which must follow. -1 and the reason. */
int dt_launch_begin(struct dt_launch *l, const char *path, char *const argv[], struct dt_error *e);
/* Ends the process that waits. Does nothing if there is none. */
void dt_launch_cancel(struct dt_launch *l);

/*
 * Lets the process execute its program. Returns its pid, stopped by ptrace at the end of its
 * execve, or -1 and the reason. If devtrace is killed meanwhile, the program runs untraced, or not
 * at all.
 */
pid_t dt_launch(struct dt_launch *l, struct dt_error *e);

/*
 * Looks whether our child has ended, without reaping it. *status (status may be NULL) is as wait(2)
 * gives it. Calling waitid() with WEXITED alone is not enough: a child that we hold by ptrace is
 * reported when it stops, too.
 */
bool dt_has_ended(pid_t pid, int *status);

/* What the caller knows of a system call from ip. */
enum dt_launch_call {
	DT_LAUNCH_CALL,	 /* it is the program's */
	DT_LAUNCH_HOOK,	 /* it is a hook's */
	DT_LAUNCH_READY, /* it need not be waited any longer */
};
typedef enum dt_launch_call dt_launch_fn(void *ctx, uint64_t ip);

/*
 * Lets a stopped, statically linked program that we trace run its first system calls, up to its
 * registration of rseq, or to a call that shows that it will not register any. fn is asked at each
 * call. Returns 1 when it has registered it, and 0 when not, when fn says so, or when `patience' ns
 * have passed; its thread is stopped in both cases. -1: the process has ended, and can be waited
 * for.
 */
int dt_launch_until_rseq(pid_t pid, uint64_t patience, dt_launch_fn *fn, void *ctx);

#endif
