/* SPDX-License-Identifier: MIT */
/* Calling hooks in our own process, to try them out: hook/calibrate.h. */
#ifndef DT_ARCH_TRIAL_H
#define DT_ARCH_TRIAL_H

#include "core/types.h"

#define DT_TRIAL_REGISTERS 15

struct dt_trial_registers {
	uint64_t r[DT_TRIAL_REGISTERS]; /* rax rbx rcx rdx rsi rdi rbp r8-r15, in this order */
};

/* Which of them are an entry's first two arguments, and a result's two words. */
#define DT_TRIAL_ARGUMENT(i) ((i) ? 4 : 5)
#define DT_TRIAL_RESULT(i)   ((i) ? 3 : 0)

/* Calls hook with every register set from *in and stores all of them to *out afterwards. */
void dt_trial_call(uint64_t hook, const struct dt_trial_registers *in,
		   struct dt_trial_registers *out);

/* Calls a hook of events as the stub of a site does, with what is meant behind the call: the body,
 * and more, more + 1 and ~more. */
void dt_trial_event(uint64_t hook, uint64_t body, uint64_t more);

/* Calls code, a hook or what calls some, with nothing around it. */
static inline void dt_trial_bare(uint64_t code)
{
	__asm__ volatile("sub $136, %%rsp\n\tcall *%0\n\tadd $136, %%rsp"
			 :
			 : "b"(code)
			 : "memory", "cc");
}

/* A register that keeps its value across calls, as instructions number it; and a return, as bytes.
 */
#define DT_TRIAL_REGISTER 3
#define DT_TRIAL_RETURN	  "\xc3"

#endif
