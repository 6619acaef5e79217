/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Which thread runs on which core, and who woke it: for the BPF programs. */
#ifndef DT_BPF_THREADS_H
#define DT_BPF_THREADS_H

#include "bpf/append.h"

#define PREEMPTED 0x40 /* DT_PREEMPTED of core/record.h */
#define TAKEN	  -17  /* EEXIST: another stack has the place */

/* The kernel's stacks. A place is never given to another one, so that the recorder can read it
 * later. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, DT_BPF_STACK_DEPTH * sizeof(__u64));
} stacks SEC(".maps");

/*
 * Returns the number of the kernel's stack at this place, plus one; 0: there is no room. Where the
 * place in the map is another stack's, less of this one has another place: what is left out are the
 * innermost functions, the programs of BPF themselves.
 */
static __always_inline __u32 stack_here(void *ctx)
{
	long id = bpf_get_stackid(ctx, &stacks, 0);

	if (id == TAKEN)
		id = bpf_get_stackid(ctx, &stacks, 1);
	if (id == TAKEN)
		id = bpf_get_stackid(ctx, &stacks, 2);
	if (id >= 0)
		return (__u32)id + 1;
	__sync_fetch_and_add(&state.unstacked, 1);
	return 0;
}

/* Returns the number of a thread if its process is recorded, else 0. */
static __always_inline __u32 recorded(struct task_struct *t)
{
	struct task_struct *leader = t->group_leader;

	return is_watched(number_of(leader, leader->pid), leader) ? number_of(t, t->pid) : 0;
}

/* Records that the running thread, or the interrupt that it is in, wakes p. The time is that before
 * the stack is looked at, which takes some. */
static __always_inline void wake(void *ctx, struct task_struct *p, __u64 how)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct dt_bpf_record *r;
	__u64 value[4] = {}, ids;
	__u32 tid;

	if (!state.on || !(tid = recorded(p)) || !(r = reserve()))
		return;
	ids = bpf_get_current_pid_tgid();
	if ((__u32)ids)
		value[0] = number_of(t, (__u32)ids) | (__u64)number_of(t->group_leader, ids >> 32)
							      << 32;
	value[1] = stack_here(ctx) | how;
	bpf_get_current_comm(&value[2], 16);
	publish(r, DT_BPF_WHO(tid, 'W', 4), 0, 0, value);
}

/* Records what a core runs from here on: as the kernel's perf events say it, first who leaves. */
static __always_inline void change(void *ctx, struct task_struct *prev, struct task_struct *next,
				   int could_run)
{
	__u32 core = bpf_get_smp_processor_id(), left = 0, comes;
	struct dt_bpf_head *h = bpf_map_lookup_elem(&heads, &core);
	struct dt_bpf_record *goes = NULL, *to = NULL;

	if (!h || !state.on)
		return;
	/* one that ends may have no number any more, but it was seen when it came */
	left = recorded(prev);
	if (!left)
		left = (__u32)h->runs;
	comes = recorded(next);
	h->runs = comes;
	if (left)
		goes = reserve();
	if (comes)
		to = reserve();
	if (to) {
		__u64 value[4] = {comes, 0, number_of(next->group_leader, next->tgid), 0xffffffff};

		publish(to, DT_BPF_WHO(comes, 'S', 4), 0, 0, value);
	}
	if (goes) {
		__u64 value[4] = {0xffffffff, stack_here(ctx), 0, left | (__u64) !!could_run << 32};

		publish(goes, DT_BPF_WHO(0xffffffff, 'S', could_run ? 4 | PREEMPTED : 4), 0, 0,
			value);
	}
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *p)
{
	wake(ctx, p, 0);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(born, struct task_struct *p)
{
	wake(ctx, p, DT_BPF_WAKE_NEW);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, _Bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int state_of_prev)
{
	change(ctx, prev, next, preempt || !state_of_prev);
	return 0;
}

#endif
