/* SPDX-License-Identifier: MIT */
/*
 * The files in which a process says for perf what code it makes at run time: /tmp/perf-PID.map, and
 * a jitdump file that it has mapped, jit-PID.dump. They are opened as the process sees them (its
 * root folder, its own number), and only if they are regular files that belong to the process's
 * user or to root.
 */
#ifndef DT_PROCESS_RUN_TIME_H
#define DT_PROCESS_RUN_TIME_H

#include <sys/types.h>

#include "process/maps.h"

/* Returns a descriptor of the process's map file; -1: it has none. */
int dt_run_time_map(pid_t pid);

/* Returns a descriptor of the jitdump file that the process has mapped; -1: it has none. */
int dt_run_time_dump(pid_t pid, const struct dt_maps *maps);

#endif
