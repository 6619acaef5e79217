/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The hooks of functions. The code that each hit runs is in hit.c, which is compiled to be fast;
 * the rest is in hook.c, which is compiled to be small. Preemption is off in all hooks.
 */
#ifndef DT_KERNEL_HOOK_WORK_H
#define DT_KERNEL_HOOK_WORK_H

#include "kernel/compat.h"
#include "kernel/hook.h"
#include "include/devtrace-ioctl.h"

/*
 * What an entry leaves for its exit. The kernel frees it, by the address of its first member, so
 * that must stay first.
 */
struct dt_entered {
	struct rethook_node node;
	u64 pc, sp;
	u32 tid; /* the number recorded at the entry. The exit uses it again, because the context
		    may have changed: a function that begins an interrupt returns inside it */
};

/* Holds the nodes of all calls whose exits are hooked. */
extern struct rethook *dt_rethook;

#define DT_NOT_WANTED 0u /* the number of no thread */

/*
 * Record all entries and exits other than the usual ones. dt_hit_enter() returns the thread's
 * number or DT_NOT_WANTED, as for a usual entry.
 */
u32 dt_hit_enter(struct dt_core *core, u64 ip, const struct pt_regs *regs, u32 mode);
void dt_hit_leave(struct dt_core *core, const struct dt_entered *n, const struct pt_regs *regs,
		  u32 mode);

/*
 * Makes the record of dt_hit_enter() and dt_hit_leave(), or none, according to the actions for pc.
 */
void dt_append_looking(struct dt_core *core, u32 tid, const struct pt_regs *regs, u64 pc, u64 sp,
		       u8 kind);
/*
 * Records the entry of a function for which dt_is_call() is true. If it is the function of a system
 * call, the values are the arguments of that call.
 */
void dt_append_call(struct dt_core *core, u32 tid, const struct pt_regs *regs, u64 ip, u8 flags);
/* Is the first argument the registers with which the thread entered the kernel? */
static __always_inline bool dt_is_call(const struct pt_regs *regs)
{
	return unlikely(regs->di == (unsigned long)task_pt_regs(current));
}

/*
 * The actions now in force. They are freed only after dt_settle(), since hooks also run where RCU
 * does not watch.
 */
extern struct dt_actions *dt_actions_now;

/* The functions that ftrace and rethook call. */
void dt_hit_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		  struct ftrace_regs *fregs);
void dt_hit_call(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
		 struct ftrace_regs *fregs);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
void dt_hit_exit(struct rethook_node *node, void *data, struct pt_regs *regs);
#else
void dt_hit_exit(struct rethook_node *node, void *data, unsigned long to, struct pt_regs *regs);
#endif

/* ---- which threads are recorded ---- */

/* Has this process opened the log? */
bool dt_is_reader(void);
extern pid_t dt_one_reader; /* the process that has opened it, unless DT_MANY */

/* Is the running thread, or its process, watched? */
static __always_inline bool dt_is_watched(void)
{
	return test_bit(current->tgid, dt_watched) || test_bit(current->pid, dt_watched);
}

/*
 * Is the thread in a system call that the tracer makes in it? rt_sigreturn may return into such a
 * call, but is not one itself.
 */
static __always_inline bool dt_is_own_call(void)
{
	const struct pt_regs *r = task_pt_regs(current);

	return unlikely((r->r15 ^ r->ip) == DEVTRACE_OWN_CALL) && (long)r->orig_ax >= 0;
}

/*
 * Is the entry of a thread to be recorded or, with `begun', the exit of a call whose entry was? For
 * an exit it does not matter which system call the thread is in: the registers may have become
 * those of another call since. Returns false if more than these modes must be asked: dt_hit_enter()
 * and dt_hit_leave() then decide.
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
