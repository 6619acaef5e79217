/* SPDX-License-Identifier: MIT */
/* Code that makes system calls in another process: process/inject.h. */
#ifndef DT_ARCH_INJECTED_H
#define DT_ARCH_INJECTED_H

#include "core/types.h"

struct dt_regs;

/* An argument that stands for the result of the list's first openat or memfd_create. */
#define DT_INJECTED_FD 0x7fffffff5fd5fd5full

/* A system call to be made in another process. */
struct dt_injected_call {
	const char *what; /* for the error's text: "mapping the rings" */
	uint64_t nr, arg[6];
	int64_t result; /* set when it has been made; negative: -errno */
	bool may_fail;	/* its failure is no error */
};

#define DT_INJECTED_ENTRY 8 /* offset of the code's first instruction, after the signal mask */

/*
 * Writes code that will run at `code': it makes the n calls, sets the signal mask, and goes on with
 * the registers *r at their instruction pointer. Returns its length; if that is `room', it did not
 * fit.
 */
size_t dt_injected_code(unsigned char *text, size_t room, uint64_t code, uint64_t mask,
			const struct dt_injected_call *call, size_t n, const struct dt_regs *r);

#endif
