// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Records calls of the kernel's functions where devtrace's module is not loaded. Compiled for BPF;
 * session/kernel-bpf.c loads it: `enter' and `leave' once for each function, if at all, everything
 * else once.
 * The layout of the kernel's structures is that of the running kernel: libbpf looks it up.
 */
#include "bpf/append.h"
#include "bpf/call.h"
#include "bpf/choose.h"
#include "bpf/names.h"
#include "bpf/threads.h"
#include "bpf/tracepoint.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define STATUS_32    2		/* in thread_info: the thread is in a system call of 32 bits */
#define X32	     0x40000000 /* in a number: the caller has pointers of 32 bits */
#define SIGRETURN    15		/* its return has no number: the registers are another time's */
#define SIGRETURN_32 173
#define CLONE3	     435

/* Is it clone, fork, vfork or clone3? */
static __always_inline int makes_thread(__u32 i)
{
	__u32 nr = i & (DT_BPF_CALLS - 1);

	if (i / DT_BPF_CALLS == 1)
		return nr == 2 || nr == 120 || nr == 190 || nr == CLONE3;
	return (nr >= 56 && nr <= 58) || nr == CLONE3;
}

/* ---- functions ---- */

/* These two are loaded anew for each function: they do not choose among calls (bpf/choose.h), which
 * the verifier would take seconds for each time. */

SEC("fentry/vfs_read")
int enter(__u64 *ctx)
{
	__u64 value[4] = {}, n;
	__u32 tid = who();

	if (!tid)
		return 0;
	n = bpf_get_func_arg_cnt(ctx);
	bpf_get_func_arg(ctx, 0, &value[0]);
	bpf_get_func_arg(ctx, 1, &value[1]);
	bpf_get_func_arg(ctx, 2, &value[2]);
	bpf_get_func_arg(ctx, 3, &value[3]);
	/* where the arguments are, in the frame that is above the function's: for all programs of a
	 * call the same place */
	append(DT_BPF_WHO(tid, 'E', n < 4 ? n : 4), bpf_get_func_ip(ctx), (__u64)ctx, value);
	return 0;
}

SEC("fexit/vfs_read")
int leave(__u64 *ctx)
{
	__u64 value[4] = {};
	__u32 tid = who();

	if (!tid)
		return 0;
	bpf_get_func_ret(ctx, &value[0]);
	append(DT_BPF_WHO(tid, 'X', 1), bpf_get_func_ip(ctx), (__u64)ctx, value);
	return 0;
}

/* The same, where the kernel has kprobes of many functions at once (kprobe.multi). */

SEC("kprobe.multi")
int entered(struct pt_regs *regs)
{
	__u32 tid = who();

	if (tid) {
		__u64 value[4] = {regs->di, regs->si, regs->dx, regs->cx};

		enter_function(DT_BPF_WHO(tid, 'E', 4), bpf_get_func_ip(regs), regs->sp, value, 0);
	}
	return 0;
}

SEC("kretprobe.multi")
int left(struct pt_regs *regs)
{
	__u32 tid = who();

	if (tid) {
		__u64 value[4] = {regs->ax};

		/* the return address is off the stack already */
		leave_function(DT_BPF_WHO(tid, 'X', 1), bpf_get_func_ip(regs), regs->sp - 8, value);
	}
	return 0;
}

/* ---- system calls ---- */

/* Returns the number of a system call, by kind of caller, in `calls' and `full'. */
static __always_inline __u32 index_of(long nr)
{
	struct task_struct *t = bpf_get_current_task_btf();

	if (t->thread_info.status & STATUS_32)
		return DT_BPF_CALLS + ((__u32)nr & (DT_BPF_CALLS - 1));
	if (nr & X32)
		return 2 * DT_BPF_CALLS + ((__u32)nr & (DT_BPF_CALLS - 1));
	return (__u32)nr & (DT_BPF_CALLS - 1);
}

/* Returns the function of a system call; 0: it is not recorded. */
static __always_inline __u64 function_of(__u32 i)
{
	__u64 *f = bpf_map_lookup_elem(&calls, &i);

	return f ? *f : 0;
}

/* Gives the arguments of the call. */
static __always_inline void arguments_of(const struct pt_regs *r, __u32 i, __u64 value[6])
{
	if (i / DT_BPF_CALLS == 1) {
		value[0] = (__u32)r->bx;
		value[1] = (__u32)r->cx;
		value[2] = (__u32)r->dx;
		value[3] = (__u32)r->si;
		value[4] = (__u32)r->di;
		value[5] = (__u32)r->bp;
	} else {
		value[0] = r->di;
		value[1] = r->si;
		value[2] = r->dx;
		value[3] = r->r10;
		value[4] = r->r8;
		value[5] = r->r9;
	}
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call, struct pt_regs *regs, long nr)
{
	__u32 tid = who_calls(), i;
	__u64 f, value[6];

	if (!tid)
		return 0;
	i = index_of(nr);
	arguments_of(regs, i, value);
	if (settings.full && call_begins(tid, i, (__u64)regs, value))
		return 0;
	f = function_of(i);
	if (f)
		enter_function(DT_BPF_WHO(tid, 'E', 4), f, (__u64)regs, value, 1);
	return 0;
}

/* Has the call executed another program? Then the registers are as that begins: empty. */
static __always_inline int has_executed(const struct pt_regs *r)
{
	return !(r->bx | r->cx | r->dx | r->si | r->di | r->bp | r->r8 | r->r9 | r->r10);
}

/* Returns which call a program has returned from by executing one of the other kind. */
static __always_inline __u32 of_other_kind(__u32 i)
{
	switch (i) {
	case DT_BPF_CALLS + 59: /* execve of 64 bits, into a program of 32 bits */
		return 59;
	case DT_BPF_CALLS + 322:
		return 322;
	case 11: /* the other way round */
		return DT_BPF_CALLS + 11;
	case 358:
		return DT_BPF_CALLS + 358;
	default:
		return i;
	}
}

SEC("tp_btf/sys_exit")
int BPF_PROG(called, struct pt_regs *regs, long result)
{
	__u32 tid = who_calls(), i;
	__u64 f, value[6];
	long nr;

	if (!tid)
		return 0;
	nr = (long)regs->orig_ax;
	i = index_of(nr);
	/* the return of sigreturn: the registers are another time's */
	if (nr < 0)
		i = i / DT_BPF_CALLS == 1 ? DT_BPF_CALLS + SIGRETURN_32 : SIGRETURN;
	if (!result && has_executed(regs))
		i = of_other_kind(i);
	/* a new thread has not called what it returns from */
	if (!result && makes_thread(i))
		return 0;
	if (settings.full) {
		arguments_of(regs, i, value);
		if (call_ends(tid, i, (__u64)regs, value, (__u64)result))
			return 0;
	}
	f = function_of(i);
	if (f) {
		__u64 first[4] = {(__u64)result};

		leave_function(DT_BPF_WHO(tid, 'X', 1), f, (__u64)regs, first);
	}
	return 0;
}

/* A signal is delivered to the running thread: what strace shows between the calls. */
SEC("raw_tp/signal_deliver")
int signalled(struct bpf_raw_tracepoint_args *ctx)
{
	const struct kernel_siginfo *info = (const void *)ctx->args[1];
	__u64 value[4] = {(__u32)ctx->args[0]};
	__u32 tid = who_calls();

	if (!tid)
		return 0;
	/* SEND_SIG_NOINFO and its like are small numbers */
	if (ctx->args[1] > 4096) {
		value[1] = (__u32)BPF_CORE_READ(info, si_code);
		value[2] = (__u32)BPF_CORE_READ(info, _sifields._kill._pid);
		value[3] = (__u32)BPF_CORE_READ(info, _sifields._sigchld._status);
	}
	append(DT_BPF_WHO(tid, 'P', 4), DT_BPF_CALL_PC(0, DT_BPF_SIGNALS), (__u64)ctx, value);
	return 0;
}

/* ---- processes ---- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct task_struct *leader = parent->group_leader;
	__u32 number;
	__u64 since;

	if (settings.everybody || child->pid != child->tgid ||
	    !is_watched(number_of(leader, leader->pid), leader))
		return 0;
	number = number_of(child, child->pid);
	since = child->start_time;
	if (number && bpf_map_update_elem(&watched, &number, &since, BPF_ANY))
		__sync_fetch_and_add(&state.unwatched, 1);
	return 0;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(freed, struct task_struct *t)
{
	__u32 number = t->tgid;
	__u64 *since;

	if (settings.chooses)
		end_thread(t->pid);
	/* a freed task has no number in a namespace any more: those stay until others get theirs */
	if (settings.inside || t->pid != t->tgid)
		return 0;
	since = bpf_map_lookup_elem(&watched, &number);
	if (since && *since == t->start_time)
		bpf_map_delete_elem(&watched, &number);
	return 0;
}

/* ---- once, by the recorder itself: where the kernel's system calls are (the table's address is
 * the argument), and how deep its PID namespace is ---- */

SEC("raw_tp/sys_enter")
int survey(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *t = bpf_get_current_task_btf();
	const __u64 *table = (const __u64 *)ctx->args[0];

	state.level = t->thread_pid->level;
	for (__u32 i = 0; table && i < 512; i++) {
		__u32 key = i;
		__u64 f = 0, *to = bpf_map_lookup_elem(&calls, &key);

		if (to && !bpf_probe_read_kernel(&f, sizeof(f), table + i))
			*to = f;
	}
	return 0;
}
