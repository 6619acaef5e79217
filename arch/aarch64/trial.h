/* SPDX-License-Identifier: MIT */
/* Calling hooks in our own process to try them out: see hook/calibrate.h. Those of events are not
 * there yet (missing.c). */
#ifndef DT_ARCH_AARCH64_TRIAL_H
#define DT_ARCH_AARCH64_TRIAL_H

#include "core/types.h"

#define DT_TRIAL_REGISTERS 31

/* The general registers. */
struct dt_trial_registers {
	uint64_t r[DT_TRIAL_REGISTERS]; /* x0 to x30 */
};

/* The indices in r of an entry's first two arguments, and of a result's two words. */
#define DT_TRIAL_ARGUMENT(i) (i)
#define DT_TRIAL_RESULT(i)   (i)

/* As arch/x86_64/trial.h says. */
void dt_trial_call(uint64_t hook, const struct dt_trial_registers *in,
		   struct dt_trial_registers *out);
void dt_trial_event(uint64_t hook, uint64_t body, uint64_t more);
void dt_trial_bare(uint64_t code);

/* The number, as in instructions, of a callee-saved register; and the bytes of a return. */
#define DT_TRIAL_REGISTER 19
#define DT_TRIAL_RETURN	  "\xc0\x03\x5f\xd6"

#endif
