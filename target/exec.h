/* SPDX-License-Identifier: MIT */
/* Programs that the process executes: called by hook.S from where libc is led through the area. */
#ifndef DT_TARGET_EXEC_H
#define DT_TARGET_EXEC_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
void dt_before_exec(uint64_t path);
void dt_before_execat(const uint64_t *argument); /* dirfd and path, as hook.S has pushed them */
void dt_after_exec(void);			 /* it has failed */
#pragma GCC visibility pop

#endif
