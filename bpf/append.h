/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Who is recorded, and the append to the rings: for the BPF programs. */
#ifndef DT_BPF_APPEND_H
#define DT_BPF_APPEND_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/kernel.h"
#include "bpf/record.h"
#include "include/devtrace-ioctl.h"

#define NO_THREAD    0xffffffffu /* DT_NO_TID of core/record.h */
#define IN_INTERRUPT 0x00ff0100	 /* an NMI, a hardirq, or serving a softirq */

/* ---- what is shared with the recorder ---- */

const volatile struct dt_bpf_settings settings SEC(".rodata.settings");
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

/* The functions of the system calls, by kind of caller and number; 0: it is not recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DT_BPF_KINDS *DT_BPF_CALLS);
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

/* Returns the number of the running process there; 0: it has none. */
static __always_inline __u32 process_number(void)
{
	struct task_struct *leader = bpf_get_current_task_btf()->group_leader;

	return number_of(leader, bpf_get_current_pid_tgid() >> 32);
}

/* Is this group, or the one above it at that level, the one that is recorded? */
static __always_inline int is_group(struct cgroup *c, __u32 level)
{
	struct cgroup *above = NULL;

	/* read, not followed: as in number_of() */
	bpf_probe_read_kernel(&above, sizeof(above),
			      (void *)c + bpf_core_field_offset(struct cgroup, ancestors) +
				      level * sizeof(above));
	return above && BPF_CORE_READ(above, kn, id) == settings.cgroup;
}

/* Is the process of this leader in the control group that is recorded? How deep that is, the first
 * process in it tells. */
static __noinline int in_cgroup(struct task_struct *leader)
{
	struct cgroup *c = BPF_CORE_READ(leader, cgroups, dfl_cgrp);
	__u32 level, known = state.cgroup_level;

	if (!c)
		return 0;
	level = (__u32)BPF_CORE_READ(c, level);
	if (known)
		return level + 1 >= known && is_group(c, known - 1);
	for (__u32 i = 0; i < 64 && i <= level; i++)
		if (is_group(c, i)) {
			state.cgroup_level = i + 1;
			return 1;
		}
	return 0;
}

/* Is the process of this leader recorded? */
static __always_inline int is_watched(__u32 number, struct task_struct *leader)
{
	__u64 *since;

	if (settings.everybody)
		return number && number != settings.self && (!settings.cgroup || in_cgroup(leader));
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

/* Returns the number of the running thread if it is to be recorded, else 0. It is in no interrupt:
 * not all kernels tell that. */
static __always_inline __u32 who_calls(void)
{
	struct task_struct *t, *leader;
	__u64 ids;

	if (!state.on)
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

/* The same, wherever it is. */
static __always_inline __u32 who(void)
{
	return !state.on || in_interrupt() ? 0 : who_calls();
}

/* Returns the number of the running thread, whatever it or an interrupt in its time does, if it is
 * to be recorded, else 0. A core's idle thread has none: NO_THREAD, where everybody is recorded. */
static __always_inline __u32 who_runs(void)
{
	if (!(__u32)bpf_get_current_pid_tgid())
		return state.on && settings.everybody && !settings.inside && !settings.cgroup
			       ? NO_THREAD
			       : 0;
	return who_calls();
}

/* ---- the append ---- */

/*
 * Takes the next place in the ring of that number, and notes the time in it; NULL: there is no
 * room, which is counted. The recorder waits until publish() has been called for it.
 *
 * The clock is read between reading the position and taking it, and again if somebody else on this
 * core has taken it meanwhile: so the records of a core are in the order of their times. Programs
 * stay on their core.
 */
static __always_inline struct dt_bpf_record *reserve_in(__u32 core)
{
	struct dt_bpf_head *h = bpf_map_lookup_elem(&heads, &core);
	struct dt_bpf_record *r;

	if (!h)
		return NULL;
	for (int i = 0; i < 16; i++) {
		__u64 end = *(volatile __u64 *)&h->end, ns = bpf_ktime_get_ns();
		__u32 at;

		if ((end - *(volatile __u64 *)&h->begin) >> settings.shift)
			break;
		if (__sync_val_compare_and_swap(&h->end, end, end + 1) != end)
			continue;
		at = core << settings.shift | (end & ((1u << settings.shift) - 1));
		r = bpf_map_lookup_elem(&records, &at);
		if (r)
			r->ns = ns;
		return r;
	}
	__sync_fetch_and_add(&h->lost, 1);
	return NULL;
}

/* The same in this core's ring. */
static __always_inline struct dt_bpf_record *reserve(void)
{
	return reserve_in(bpf_get_smp_processor_id());
}

/* Fills in a record, and gives it to the recorder. */
static __always_inline void publish(struct dt_bpf_record *r, __u64 who, __u64 pc, __u64 sp,
				    const __u64 value[4])
{
	r->pc = pc;
	r->sp = sp;
	r->value[0] = value[0];
	r->value[1] = value[1];
	r->value[2] = value[2];
	r->value[3] = value[3];
	barrier();
	*(volatile __u64 *)&r->who = who;
}

static __always_inline void append(__u64 who, __u64 pc, __u64 sp, const __u64 value[4])
{
	struct dt_bpf_record *r = reserve();

	if (r)
		publish(r, who, pc, sp, value);
}

#endif
