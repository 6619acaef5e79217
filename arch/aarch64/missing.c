/* SPDX-License-Identifier: MIT */
/*
 * What of the border is not there yet for aarch64: that which hooks single instructions, unwinds,
 * and finds functions without symbols. Nothing comes here: who asks for these is refused
 * (DT_POINTS), or they are not asked for (DT_SEARCH). If something comes
 * here all the same, the program ends and says so, rather than pretend. The headers are not
 * included, since all that the functions have in common is that they do not return.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noreturn)) static void missing(const char *name)
{
	fprintf(stderr, "devtrace: this is not there on aarch64 yet (%s)\n", name);
	exit(1);
}

#define MISSING(name)                                                                              \
	void name(void);                                                                           \
	void name(void)                                                                            \
	{                                                                                          \
		missing(#name);                                                                    \
	}

/* clang-format off */
/* capture.h */
MISSING(dt_capture_emit)
MISSING(dt_capture_has_fsbase)
/* jump-table.h */
MISSING(dt_jump_table_find)
MISSING(dt_jump_table_to)
/* stack.h */
MISSING(dt_stack_merge)
MISSING(dt_stack_step)
/* trial.h */
MISSING(dt_trial_event)
/* unwind.h */
MISSING(dt_unwind_begin)
MISSING(dt_unwind_step)
/* clang-format on */
