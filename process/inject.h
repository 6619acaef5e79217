/* SPDX-License-Identifier: MIT */
/*
 * System calls made by a stopped thread of another process on our behalf. The code it runs ends by
 * restoring every register and jumping to where the thread was: should the controller be killed at
 * any instant, the thread goes on as if nothing had happened.
 */
#ifndef DT_PROCESS_INJECT_H
#define DT_PROCESS_INJECT_H

#include <sys/types.h>
#include "arch/arch.h"
#include "core/error.h"
#include "process/maps.h"

#define DT_CALL_MAX 12

/*
 * Runs the calls in the ptrace-stopped thread tid, from `code': 1 KiB of executable memory nobody
 * else uses, or 0: a place at the end of one of the process's text segments is found, which is
 * enough for one call, and is put back afterwards. Stops at the first call that fails, unless it
 * may. The thread is left stopped with the registers it had.
 */
int dt_inject(pid_t tid, int mem, const struct dt_maps *maps, uint64_t code,
	      struct dt_injected_call *call, size_t n, struct dt_error *e);

#endif
