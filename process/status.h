/* SPDX-License-Identifier: MIT */
/* Reading /proc/PID/status of processes and threads. */
#ifndef DT_PROCESS_STATUS_H
#define DT_PROCESS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads the first number after NAME and a colon, of a process or a thread; false: it has gone, or
 * there is no such line. */
bool dt_status_number(pid_t tid, const char *name, unsigned *n);

/* Returns when a process was made, in ticks of sysconf(_SC_CLK_TCK) since the machine was started;
 * 0: it has gone. Executing a program does not change it. */
uint64_t dt_status_made(pid_t pid);
/* Returns where the stack of a process's first thread ended when its program began; 0: it is not
 * known. */
uint64_t dt_status_stack(pid_t pid);
/* Returns whether a process's program began with more rights than who executed it had (AT_SECURE);
 * -1: it is not known. */
int dt_status_secure(pid_t pid);
/* The same as dt_status_made(), of now. */
uint64_t dt_status_now(void);

/* Returns the processor time that a process has taken, ns. 0: it has gone. */
uint64_t dt_status_own(pid_t pid);
/* Reads how many bytes of memory a process has, of its own and of files. Shared memory is left out:
 * devtrace's rings are in that. False: it has gone, or has none any more. */
bool dt_status_memory(pid_t pid, uint64_t *bytes);

/* Returns the processor time that a process has taken, and those of its children that have ended
 * and been waited for, with theirs; ns. 0: it has gone. */
uint64_t dt_status_taken(pid_t pid);

/* Looks whether a process is stopped by a signal (SIGSTOP, SIGTSTP, ...). False also when it has
 * gone. */
bool dt_status_stopped(pid_t pid);

/* Returns a process's present parent; 0: the process has ended. */
pid_t dt_status_parent(pid_t pid);

#endif
