/* SPDX-License-Identifier: MIT */
/* Reading /proc/PID/status of processes and threads. */
#ifndef DT_PROCESS_STATUS_H
#define DT_PROCESS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Reads the first number after NAME and a colon, of a process or a thread; false: it has gone, or
 * there is no such line. */
bool dt_status_number(pid_t tid, const char *name, unsigned *n);

/* Returns a process's present parent; 0: the process has ended. */
pid_t dt_status_parent(pid_t pid);

#endif
