/* SPDX-License-Identifier: MIT */
/* What /proc/PID/status says of processes and threads. */
#ifndef DT_PROCESS_STATUS_H
#define DT_PROCESS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The first number behind NAME and a colon, of a process or a thread; false: it has gone, or there
 * is none. */
bool dt_status_number(pid_t tid, const char *name, unsigned *n);

/* Whose child a process is now; 0: it has ended. */
pid_t dt_status_parent(pid_t pid);

#endif
