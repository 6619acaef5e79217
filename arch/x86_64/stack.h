/* SPDX-License-Identifier: MIT */
/*
 * What instructions do to the stack pointer, followed from a function's beginning on: where there
 * are no unwind tables, this says whether a function has given back its frame where it leaves.
 */
#ifndef DT_ARCH_STACK_H
#define DT_ARCH_STACK_H

#include "arch/x86_64/insn.h"

#define DT_STACK_UNKNOWN INT32_MIN

/* In bytes below where the stack pointer was when the function began; negative: above, in its
 * caller's frame. */
struct dt_stack {
	int32_t sp;
	int32_t fp; /* what the frame pointer holds, if that is an address in the stack */
};

/* What is known behind the instruction, of which code are the bytes. A call comes back as it
 * should. */
void dt_stack_step(struct dt_stack *s, const struct dt_insn *in, const uint8_t *code);
/* Of two ways to one place, what both agree in, to known; true: that has become less. */
bool dt_stack_merge(struct dt_stack *known, const struct dt_stack *more);

#endif
