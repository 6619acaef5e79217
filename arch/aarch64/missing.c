/* SPDX-License-Identifier: MIT */
/*
 * What of the border is not there yet for aarch64: that which hooks functions without sleds, and
 * instructions. Nothing comes here: who asks for these is refused (DT_PROBES). If something comes
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
/* emit.h */
MISSING(dt_fix_apply)
/* hook-call.h */
MISSING(dt_hook_call_aim)
MISSING(dt_hook_call_emit)
MISSING(dt_hook_call_pop)
MISSING(dt_hook_call_target)
MISSING(dt_hook_way_emit)
MISSING(dt_hook_way_size)
/* insn.h */
MISSING(dt_insn_absolute)
MISSING(dt_insn_below_sp)
MISSING(dt_insn_derive)
MISSING(dt_insn_looks)
MISSING(dt_insn_numbers)
MISSING(dt_insn_pads)
MISSING(dt_insn_points)
MISSING(dt_insn_reads)
MISSING(dt_insn_registers)
/* jump-table.h */
MISSING(dt_jump_table_find)
MISSING(dt_jump_table_to)
/* plan.h */
MISSING(dt_patch_board)
MISSING(dt_plan_back)
MISSING(dt_plan_begin)
MISSING(dt_plan_copy)
MISSING(dt_plan_drop_points)
MISSING(dt_plan_emit)
MISSING(dt_plan_end)
MISSING(dt_plan_function)
MISSING(dt_plan_function_among)
MISSING(dt_plan_mark)
MISSING(dt_plan_point)
MISSING(dt_plan_restore)
MISSING(dt_tactic_name)
/* relocate.h */
MISSING(dt_relocate_push)
/* stack.h */
MISSING(dt_stack_merge)
MISSING(dt_stack_step)
/* trial.h */
MISSING(dt_trial_event)
/* unwind.h */
MISSING(dt_unwind_begin)
MISSING(dt_unwind_step)
/* clang-format on */
