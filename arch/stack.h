/* SPDX-License-Identifier: MIT */
/*
 * What instructions do to the stack pointer, followed from a function's beginning. Where there are
 * no unwind tables, this tells whether a function has given back its frame where it leaves.
 */
#ifndef DT_ARCH_STACK_H
#define DT_ARCH_STACK_H

#include "core/types.h"

struct dt_insn;

#define DT_STACK_UNKNOWN INT32_MIN

/* Addresses as distances: bytes below the stack pointer at the function's beginning; negative:
 * above, in its caller's frame; or DT_STACK_UNKNOWN. */
struct dt_stack {
	int32_t sp; /* the stack pointer */
	int32_t fp; /* the frame pointer, if it holds an address in the stack */
};

/* Changes *s from what is known before the instruction to what is known after it. code: the
 * instruction's bytes. A call is taken to return with the stack as it was. */
void dt_stack_step(struct dt_stack *s, const struct dt_insn *in, const uint8_t *code);
/* Reduces *known to that in which two ways to one place agree. True: something was known before and
 * is not any more. */
bool dt_stack_merge(struct dt_stack *known, const struct dt_stack *more);

#endif
