// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Records calls of the kernel's functions where devtrace's module is not loaded. Compiled for BPF;
 * session/kernel-bpf.c loads it: `enter' and `leave' once for each function, if at all, everything
 * else once.
 * The layout of the kernel's structures is that of the running kernel: libbpf looks it up.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/record.h"
#include "include/devtrace-ioctl.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* ---- of the kernel's structures what is used here ---- */

#define KERNELS __attribute__((preserve_access_index))

struct ns_common {
	__u32 inum;
} KERNELS;

struct pid_namespace {
	struct ns_common ns;
} KERNELS;

struct upid {
	int nr;
	struct pid_namespace *ns;
} KERNELS;

struct pid {
	__u32 level;
	struct upid numbers[1];
} KERNELS;

struct thread_info {
	__u32 status;
} KERNELS;

struct task_struct {
	struct thread_info thread_info;
	int pid, tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_time;
} KERNELS;

struct pt_regs {
	unsigned long r15, r10, ax, cx, dx, si, di, orig_ax, ip, sp;
} KERNELS;

/* where the count of a core is: until 6.1, and from 6.2 on */
struct pcpu_hot {
	int preempt_count;
} KERNELS;
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

#define IN_INTERRUPT 0x00ff0100 /* an NMI, a hardirq, or serving a softirq */
#define STATUS_32    2		/* in thread_info: the thread is in a system call of 32 bits */
#define SIGRETURN    15		/* its return has no number: the registers are another time's */
#define CLONE	     56		/* from here to VFORK: clone, fork and vfork */
#define VFORK	     58
#define CLONE3	     435

/* ---- what is shared with the recorder ---- */

const volatile struct dt_bpf_settings settings;
struct dt_bpf_state state;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dt_bpf_head);
} heads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dt_bpf_record);
} records SEC(".maps");

/* The functions of the system calls, by their numbers; 0: it is not recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DT_BPF_CALLS);
	__type(key, __u32);
	__type(value, __u64);
} calls SEC(".maps");

/* The processes that are recorded, and when each was made (start_time; 0: it is not known yet), so
 * that one that gets the number later is not taken for it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DT_BPF_WATCHED);
	__type(key, __u32);
	__type(value, __u64);
} watched SEC(".maps");

/* ---- who ---- */

static __always_inline int in_interrupt(void)
{
	const struct pcpu_hot *hot;

	if (&pcpu_hot) {
		hot = bpf_this_cpu_ptr(&pcpu_hot);
		return hot->preempt_count & IN_INTERRUPT;
	}
	if (&__preempt_count)
		return *(const int *)bpf_this_cpu_ptr(&__preempt_count) & IN_INTERRUPT;
	return 0;
}

/* Returns the number of a task, or of the leader of a process, in the recorder's PID namespace; 0:
 * it has none. own: its number in the initial one. */
static __always_inline __u32 number_of(struct task_struct *t, __u32 own)
{
	struct upid *at;
	struct pid *p;

	if (!settings.inside)
		return own;
	/* read, not followed: to what is found by its index, a pointer that the kernel knows the
	 * type of may not lead */
	p = BPF_CORE_READ(t, thread_pid);
	if (!p || BPF_CORE_READ(p, level) < state.level)
		return 0;
	at = (void *)p + bpf_core_field_offset(p->numbers) +
	     state.level * bpf_core_type_size(struct upid);
	if (BPF_CORE_READ(at, ns, ns.inum) != settings.space)
		return 0;
	return (__u32)BPF_CORE_READ(at, nr);
}

/* Is the process of this leader recorded? */
static __always_inline int is_watched(__u32 number, struct task_struct *leader)
{
	__u64 *since;

	if (settings.everybody)
		return number && number != settings.self;
	since = bpf_map_lookup_elem(&watched, &number);
	if (!since)
		return 0;
	if (!*since)
		*since = leader->start_time;
	return *since == leader->start_time;
}

/* Is the thread in a system call that the tracer makes in it? */
static __always_inline int is_own_call(struct pt_regs *r)
{
	return (r->r15 ^ r->ip) == DEVTRACE_OWN_CALL && (long)r->orig_ax >= 0;
}

/* Returns the number of the running thread if it is to be recorded, else 0. */
static __always_inline __u32 who(void)
{
	struct task_struct *t, *leader;
	__u64 ids;

	if (!state.on || in_interrupt())
		return 0;
	ids = bpf_get_current_pid_tgid();
	if (!(__u32)ids)
		return 0;
	t = bpf_get_current_task_btf();
	leader = t->group_leader;
	if (!is_watched(number_of(leader, ids >> 32), leader) ||
	    is_own_call((struct pt_regs *)bpf_task_pt_regs(t)))
		return 0;
	return number_of(t, (__u32)ids);
}

/* ---- the append ---- */

/*
 * The clock is read between reading the position and taking it, and again if somebody else on this
 * core has taken it meanwhile: so the records of a core are in the order of their times. Programs
 * stay on their core.
 */
static __always_inline void append(__u64 who, __u64 pc, __u64 sp, const __u64 value[4])
{
	__u32 core = bpf_get_smp_processor_id();
	struct dt_bpf_head *h = bpf_map_lookup_elem(&heads, &core);
	struct dt_bpf_record *r;

	if (!h)
		return;
	for (int i = 0; i < 16; i++) {
		__u64 end = *(volatile __u64 *)&h->end, ns = bpf_ktime_get_ns();
		__u32 at;

		if ((end - *(volatile __u64 *)&h->begin) >> settings.shift)
			break;
		if (__sync_val_compare_and_swap(&h->end, end, end + 1) != end)
			continue;
		at = core << settings.shift | (end & ((1u << settings.shift) - 1));
		r = bpf_map_lookup_elem(&records, &at);
		if (!r)
			return;
		r->ns = ns;
		r->pc = pc;
		r->sp = sp;
		r->value[0] = value[0];
		r->value[1] = value[1];
		r->value[2] = value[2];
		r->value[3] = value[3];
		barrier();
		*(volatile __u64 *)&r->who = who;
		return;
	}
	__sync_fetch_and_add(&h->lost, 1);
}

/* ---- functions ---- */

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

		append(DT_BPF_WHO(tid, 'E', 4), bpf_get_func_ip(regs), regs->sp, value);
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
		append(DT_BPF_WHO(tid, 'X', 1), bpf_get_func_ip(regs), regs->sp - 8, value);
	}
	return 0;
}

/* ---- system calls ---- */

/* Returns the function of a system call; 0: it is not recorded. */
static __always_inline __u64 function_of(long nr)
{
	struct task_struct *t = bpf_get_current_task_btf();
	__u32 i = (__u32)nr;
	__u64 *f;

	if (t->thread_info.status & STATUS_32) {
		__sync_fetch_and_add(&state.small_calls, 1);
		return 0;
	}
	f = bpf_map_lookup_elem(&calls, &i);
	return f ? *f : 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(call, struct pt_regs *regs, long nr)
{
	__u32 tid = who();
	__u64 f;

	if (!tid)
		return 0;
	f = function_of(nr);
	if (f) {
		__u64 value[4] = {regs->di, regs->si, regs->dx, regs->r10};

		append(DT_BPF_WHO(tid, 'E', 4), f, (__u64)regs, value);
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(called, struct pt_regs *regs, long result)
{
	__u32 tid = who();
	long nr;
	__u64 f;

	if (!tid)
		return 0;
	nr = (long)regs->orig_ax;
	/* a new thread has not called what it returns from */
	if (!result && ((nr >= CLONE && nr <= VFORK) || nr == CLONE3))
		return 0;
	f = function_of(nr < 0 ? SIGRETURN : nr);
	if (f) {
		__u64 value[4] = {(__u64)result};

		append(DT_BPF_WHO(tid, 'X', 1), f, (__u64)regs, value);
	}
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
	for (__u32 i = 0; table && i < DT_BPF_CALLS; i++) {
		__u32 key = i;
		__u64 f = 0, *to = bpf_map_lookup_elem(&calls, &key);

		if (to && !bpf_probe_read_kernel(&f, sizeof(f), table + i))
			*to = f;
	}
	return 0;
}
