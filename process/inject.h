/* SPDX-License-Identifier: MIT */
/*
 * Having a stopped thread of another process make system calls for us. The code that it runs ends
 * by restoring every register and jumping back to where the thread was: if the controller is killed
 * at any instant, the thread goes on as if nothing had happened.
 */
#ifndef DT_PROCESS_INJECT_H
#define DT_PROCESS_INJECT_H

#include <sys/types.h>
#include "arch/arch.h"
#include "core/error.h"
#include "process/maps.h"

#define DT_CALL_MAX 12 /* most calls at once */

/*
 * Runs the calls in the ptrace-stopped thread tid, from `code': the address of 1 KiB of executable
 * memory that nothing else uses. 0: unused bytes at the end of one of the process's text segments
 * are used, which suffice for one call, and restored afterwards. Stops at the first call that
 * fails, unless it has may_fail: -1 and the reason. The thread is left stopped with the registers
 * it had.
 */
int dt_inject(pid_t tid, int mem, const struct dt_maps *maps, uint64_t code,
	      struct dt_injected_call *call, size_t n, struct dt_error *e);

#endif
