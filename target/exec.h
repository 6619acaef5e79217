/* SPDX-License-Identifier: MIT */
/* Programs that the process executes: called by hook.S from where libc is led through the area. */
#ifndef DT_TARGET_EXEC_H
#define DT_TARGET_EXEC_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/* A call of libc's execve, which is led through here from its first instruction on, as hook.S
 * pushes it. */
struct dt_exec_call {
	uint64_t path; /* when it has failed: the system call's result */
	uint64_t argv, envp, r10;
	uint64_t back; /* its return address, which is on the stack */
};

void dt_exec_entered(const struct dt_exec_call *c);
void dt_exec_failed(const struct dt_exec_call *c);
void dt_before_exec(uint64_t path);
void dt_before_execat(const uint64_t *argument); /* dirfd and path, as hook.S has pushed them */
void dt_after_exec(void);			 /* it has failed */
#pragma GCC visibility pop

#endif
