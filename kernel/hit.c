// SPDX-License-Identifier: MIT OR GPL-2.0
/* Runs when a hooked function is entered and left. */
#include "kernel/hook-work.h"

#include <linux/kprobes.h>

/*
 * Makes the function return through rethook. For kernels that keep the nodes in a list, the work of
 * rethook_try_get() and rethook_hook() is done here: a call through a pointer for each would double
 * the cost. RCU need not watch, because nodes are freed when no hook is left; see dt_hooks_exit().
 */
static __always_inline struct dt_entered *hook_exit(struct pt_regs *regs)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	struct freelist_node *f = freelist_try_get(&dt_rethook->pool);
	unsigned long *stack = (unsigned long *)regs->sp;
	struct dt_entered *n;

	if (unlikely(!f))
		return NULL;
	n = container_of(f, struct dt_entered, node.freelist);
	n->node.ret_addr = stack[0];
	n->node.frame = regs->sp;
	stack[0] = dt_rethook_trampoline;
	__llist_add(&n->node.llist, &current->rethooks);
#else
	struct dt_entered *n;

	/* if an NMI interrupts a push to an object pool, it must not push to it as well */
	if (unlikely(in_nmi()))
		return NULL;
	n = (struct dt_entered *)static_call(dt_rethook_try_get)(dt_rethook);
	if (likely(n))
		static_call(dt_rethook_hook)(&n->node, regs, true);
#endif
	return n;
}

/* Records an entry. Returns the thread's number, also for the exit to come, or DT_NOT_WANTED. */
static __always_inline u32 enter(struct dt_core *core, u64 ip, struct pt_regs *regs, u32 mode)
{
	const struct task_struct *t = current;
	u32 pid = (u32)t->pid;

	dt_count(&core->in);
	if (!dt_is_plain(mode, false) || unlikely(dt_in_interrupt()) || unlikely(!pid) ||
	    unlikely(regs->di == (unsigned long)task_pt_regs(t)))
		return dt_hit_enter(core, ip, regs, mode);
	dt_append(core, pid, ip, regs->sp, DT_ENTRY, 4, regs->di, regs->si, regs->dx, regs->cx);
	return pid;
}

static __always_inline void leave(struct dt_core *core, const struct dt_entered *n,
				  struct pt_regs *regs, u32 mode)
{
	u32 tid = n->tid;

	dt_count(&core->out);
	if (!dt_is_plain(mode, true) || unlikely(tid == DT_NO_TID))
		dt_hit_leave(core, n, regs, mode);
	else
		dt_append(core, tid, n->pc, n->sp, DT_EXIT, 2, regs->ax, regs->dx, 0, 0);
}

/*
 * The functions below are not inlined, so that a hook that is off returns before it has saved a
 * register.
 */

static __always_inline void entered(u64 ip, struct pt_regs *regs, u32 mode, bool exits)
{
	struct dt_core *core;
	struct dt_entered *n;
	u32 tid;

	preempt_disable_notrace();
	core = this_cpu_ptr(&dt_core);
	if (dt_begin(core)) {
		tid = enter(core, ip, regs, mode);
		if (exits && tid != DT_NOT_WANTED) {
			n = hook_exit(regs);
			if (likely(n)) {
				n->pc = ip;
				n->sp = regs->sp;
				n->tid = tid;
			} else {
				dt_count(&core->lost_exits);
			}
		}
		dt_end(core);
	}
	preempt_enable_notrace();
}

static noinline void entered_only(u64 ip, struct pt_regs *regs, u32 mode)
{
	entered(ip, regs, mode, false);
}

static noinline void called(u64 ip, struct pt_regs *regs, u32 mode)
{
	entered(ip, regs, mode, true);
}

void notrace dt_hit_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			  struct ftrace_regs *fregs)
{
	u32 mode = READ_ONCE(dt_mode);

	if (mode & DT_ON)
		entered_only(ip, dt_regs(fregs), mode);
}

void notrace dt_hit_call(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			 struct ftrace_regs *fregs)
{
	u32 mode = READ_ONCE(dt_mode);

	if (mode & DT_ON)
		called(ip, dt_regs(fregs), mode);
}

static noinline void left(const struct dt_entered *n, struct pt_regs *regs, u32 mode)
{
	struct dt_core *core = this_cpu_ptr(&dt_core); /* rethook has preemption off */

	if (dt_begin(core)) {
		leave(core, n, regs, mode);
		dt_end(core);
	}
}
NOKPROBE_SYMBOL(left);

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
void notrace dt_hit_exit(struct rethook_node *node, void *data, struct pt_regs *regs)
#else
void notrace dt_hit_exit(struct rethook_node *node, void *data, unsigned long to,
			 struct pt_regs *regs)
#endif
{
	u32 mode = READ_ONCE(dt_mode);

	if (mode & DT_ON)
		left((const struct dt_entered *)node, regs, mode);
}
NOKPROBE_SYMBOL(dt_hit_exit);
