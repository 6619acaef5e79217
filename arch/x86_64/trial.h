/* SPDX-License-Identifier: MIT */
/* Calling hooks in our own process to try them out: see hook/calibrate.h. */
#ifndef DT_ARCH_TRIAL_H
#define DT_ARCH_TRIAL_H

#include "core/types.h"

#define DT_TRIAL_REGISTERS 15

/* The general registers but rsp. */
struct dt_trial_registers {
	uint64_t r[DT_TRIAL_REGISTERS]; /* rax rbx rcx rdx rsi rdi rbp r8-r15, in this order */
};

/* The indices in r of an entry's first two arguments, and of a result's two words. */
#define DT_TRIAL_ARGUMENT(i) ((i) ? 4 : 5)
#define DT_TRIAL_RESULT(i)   ((i) ? 3 : 0)

/* Calls hook with every register set from *in, and stores all of them to *out afterwards. */
void dt_trial_call(uint64_t hook, const struct dt_trial_registers *in,
		   struct dt_trial_registers *out);

/* Calls a hook of events as the stub of a site does, with the event's kind and count of values
 * after the call. The values are body, more, more + 1 and ~more. */
void dt_trial_event(uint64_t hook, uint64_t body, uint64_t more);

/* Calls code, which is a hook or calls hooks, with as little as possible around it. */
static inline void dt_trial_bare(uint64_t code)
{
	__asm__ volatile("sub $136, %%rsp\n\tcall *%0\n\tadd $136, %%rsp"
			 :
			 : "b"(code)
			 : "memory", "cc");
}

/* The number, as in instructions, of a callee-saved register; and the bytes of a return. */
#define DT_TRIAL_REGISTER 3
#define DT_TRIAL_RETURN	  "\xc3"

#endif
