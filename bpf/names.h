/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What threads and processes are called of which only the kernel is recorded: for the BPF programs.
 * Many of them have ended before the recorder can look at them in /proc. */
#ifndef DT_BPF_NAMES_H
#define DT_BPF_NAMES_H

#include "bpf/append.h"

/* By thread: what was told of it last. The recorder takes entries out; where there are too many,
 * those that were told longest ago are gone. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dt_bpf_thread_name);
} thread_names SEC(".maps");

/* By process: the program that it has executed last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dt_bpf_program_name);
} program_names SEC(".maps");

/* Room for one, which a program's stack has not. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct dt_bpf_program_name);
} program_name SEC(".maps");

/* Tells of the running thread, if its process is recorded. name: NULL: as it is. */
static __always_inline void tell_thread(const char *name)
{
	struct task_struct *t = bpf_get_current_task_btf(), *leader = t->group_leader;
	struct task_struct *parent = BPF_CORE_READ(t, real_parent, group_leader);
	struct dt_bpf_thread_name n = {};
	__u32 tid;

	n.process = number_of(leader, leader->pid);
	if (!state.on || !is_watched(n.process, leader) || !(tid = number_of(t, t->pid)))
		return;
	n.began = leader->start_time;
	n.parent = number_of(parent, BPF_CORE_READ(parent, pid));
	if (name)
		bpf_probe_read_kernel_str(n.name, sizeof(n.name), name);
	else
		bpf_get_current_comm(n.name, sizeof(n.name));
	bpf_map_update_elem(&thread_names, &tid, &n, BPF_ANY);
}

SEC("tp_btf/task_rename")
int BPF_PROG(renamed, struct task_struct *t, const char *name)
{
	/* by /proc, a thread can change another one's: that one tells when it ends */
	if (t == bpf_get_current_task_btf())
		tell_thread(name);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ended, struct task_struct *t)
{
	tell_thread(NULL);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *t, int before, struct linux_binprm *b)
{
	struct task_struct *leader = t->group_leader;
	__u32 zero = 0, number = number_of(leader, leader->pid);
	struct dt_bpf_program_name *n = bpf_map_lookup_elem(&program_name, &zero);
	__u64 begin, size;

	if (!n || !state.on || !is_watched(number, leader))
		return 0;
	n->ns = bpf_ktime_get_ns();
	n->program[0] = 0;
	bpf_probe_read_kernel_str(n->program, sizeof(n->program), BPF_CORE_READ(b, filename));
	begin = BPF_CORE_READ(t, mm, arg_start);
	size = BPF_CORE_READ(t, mm, arg_end) - begin;
	if (size > sizeof(n->arguments))
		size = sizeof(n->arguments);
	n->size = (__u32)size;
	/* the program's own stack, which the kernel has just written */
	if (bpf_probe_read_user(n->arguments, size, (const void *)begin))
		n->size = 0;
	bpf_map_update_elem(&program_names, &number, n, BPF_ANY);
	return 0;
}

#endif
