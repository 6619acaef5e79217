/* SPDX-License-Identifier: MIT */
/* Code that makes system calls in another process: process/inject.h. */
#ifndef DT_ARCH_INJECTED_H
#define DT_ARCH_INJECTED_H

#include "arch/x86_64/regs.h"
#include "core/types.h"

/* An argument that stands for the result of the list's first openat or memfd_create. */
#define DT_INJECTED_FD 0x7fffffff5fd5fd5full

struct dt_injected_call {
	const char *what; /* for the error */
	uint64_t nr, arg[6];
	int64_t result;
	bool may_fail;
};

#define DT_INJECTED_ENTRY 8 /* where it begins: in front of that stands the signal mask */

/*
 * Writes code that will run at `code': it makes the calls, sets the signal mask, and goes on with
 * the registers r, where they say. Returns its length; room or more: it did not fit.
 */
size_t dt_injected_code(unsigned char *text, size_t room, uint64_t code, uint64_t mask,
			const struct dt_injected_call *call, size_t n, const struct dt_regs *r);

#endif
