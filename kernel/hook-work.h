/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The hooks of functions. What each hit goes through is in hit.c, which is compiled to be fast; the
 * rest of it, which is small, in hook.c. Preemption is off in all of them.
 */
#ifndef DT_KERNEL_HOOK_WORK_H
#define DT_KERNEL_HOOK_WORK_H

#include "kernel/compat.h"
#include "kernel/hook.h"
#include "include/devtrace-ioctl.h"

/* What an entry leaves for its exit. The kernel frees it, by the address of its first member. */
struct dt_entered {
	struct rethook_node node;
	u64 pc, sp;
	u32 tid; /* whose it is, and was at its entry: what begins an interrupt returns in it */
};

extern struct rethook *dt_rethook;

#define DT_NOT_WANTED 0u /* no thread has that number */

/* Entries and exits but the usual ones. What the first gives is as for a usual one. */
u32 dt_hit_enter(struct dt_core *core, u64 ip, const struct pt_regs *regs, u32 mode);
void dt_hit_leave(struct dt_core *core, const struct dt_entered *n, const struct pt_regs *regs,
		  u32 mode);

/* A record of dt_hit_enter() and dt_hit_leave(), or none, by what is asked at pc. */
void dt_append_looking(struct dt_core *core, u32 tid, const struct pt_regs *regs, u64 pc, u64 sp,
		       u8 kind);
/* The entry of a function that dt_is_call(): its arguments are the caller's, if it is a call's. */
void dt_append_call(struct dt_core *core, u32 tid, const struct pt_regs *regs, u64 ip, u8 flags);
static __always_inline bool dt_is_call(const struct pt_regs *regs)
{
	return unlikely(regs->di == (unsigned long)task_pt_regs(current));
}

/* Freed behind dt_settle() only: hooks also run where RCU does not look. */
extern struct dt_actions *dt_actions_now;

/* What ftrace and rethook call. */
void dt_hit_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		  struct ftrace_regs *fregs);
void dt_hit_call(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		 struct ftrace_regs *fregs);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
void dt_hit_exit(struct rethook_node *node, void *data, struct pt_regs *regs);
#else
void dt_hit_exit(struct rethook_node *node, void *data, unsigned long to, struct pt_regs *regs);
#endif

/* ---- who is recorded ---- */

/* Has this process the log open? */
bool dt_is_reader(void);
extern pid_t dt_one_reader; /* who has, unless DT_MANY */

static __always_inline bool dt_is_watched(void)
{
	return test_bit(current->tgid, dt_watched) || test_bit(current->pid, dt_watched);
}

/* Is it in a system call of the tracer's own? rt_sigreturn may come back into one: that is not. */
static __always_inline bool dt_is_own_call(void)
{
	const struct pt_regs *r = task_pt_regs(current);

	return unlikely((r->r15 ^ r->ip) == DEVTRACE_OWN_CALL) && (long)r->orig_ax >= 0;
}

/*
 * Is the entry of a thread to be recorded, or, with `begun', the exit of one that was? An exit is
 * not asked whose call it is in: the registers may have become those of another call meanwhile.
 * False where more than these is asked: dt_hit_enter() and dt_hit_leave() look again.
 */
#define DT_PLAIN (DT_ON | DT_WATCHING | DT_READING | DT_OWNED)

static __always_inline bool dt_is_plain(u32 mode, bool begun)
{
	if (likely(mode == DT_ON))
		return true;
	return !(mode & ~DT_PLAIN) &&
	       !((mode & DT_READING) && current->tgid == READ_ONCE(dt_one_reader)) &&
	       (!(mode & DT_WATCHING) || dt_is_watched()) &&
	       (begun || !(mode & DT_OWNED) || !dt_is_own_call());
}

#endif
