/* SPDX-License-Identifier: MIT */
/* Copying the thread's stack, piece by piece. */
#ifndef DT_TARGET_STACK_H
#define DT_TARGET_STACK_H

#include "target/text.h"

#pragma GCC visibility push(hidden)
/*
 * Does the work of dt_piece() for a stack, of which t->left bytes are wanted from the stack pointer
 * on. What certainly is the stack is read directly; everything else by the kernel, a block at a
 * time, which is kept behind the point's frame (arch/capture.h, DT_STACK_BLOCK).
 */
int dt_stack_piece(struct text *t);

/* Do n bytes from an address on lie in the first thread's stack, between what is in use now and its
 * end, so that they are certainly there? False, too, where that is not known. */
bool dt_stack_is_first(const struct text *t, uint64_t address, uint64_t n);
#pragma GCC visibility pop

#endif
