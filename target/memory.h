/* SPDX-License-Identifier: MIT */
/* Reading memory of the process that may not be mapped. */
#ifndef DT_TARGET_MEMORY_H
#define DT_TARGET_MEMORY_H

#include "target/parts.h"

#pragma GCC visibility push(hidden)
/*
 * Copies n bytes from any address, and returns how many could be read; negative: none. The kernel
 * copies them, by the id of this thread, which always belongs to this memory. Nothing is copied
 * when system calls are forbidden.
 */
long dt_own_memory_read(uint64_t address, void *to, uint64_t n);

/* Called by hook.S. Reads a value. x[0]: its address, and then the value; x[1]: its size, plus 256
 * if it is signed. Returns 1 if it could be read. */
int dt_peek(uint64_t *x);
#pragma GCC visibility pop

#endif
