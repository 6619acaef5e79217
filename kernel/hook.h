/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Hooks the entries and exits of functions by the kernel's own means: ftrace calls the hooks at
 * entries, and rethook, which keeps the unwinder correct, calls them at exits. What is to be done
 * at a hit is looked up only if some range asks for more than a record.
 */
#ifndef DT_KERNEL_HOOK_H
#define DT_KERNEL_HOOK_H

#include <linux/sched.h>
#include <asm/compat.h>
#include <asm/msr.h>
#include <asm/syscall.h>

#include "core/device.h"
#include "kernel/ring.h"

/* The word that every hook reads first. It has a cache line in which nothing else changes. */
enum {
	DT_ON = 1 << 0,	      /* recording is on */
	DT_ALL = 1 << 1,      /* every context is recorded, whatever is watched */
	DT_WATCHING = 1 << 2, /* only threads in dt_watched are recorded */
	DT_READING = 1 << 3,  /* a process has opened the log; it is not recorded */
	DT_MANY = 1 << 8,     /* more than one process has opened it */
	DT_LOOKING = 1 << 4,  /* dt_actions_now says what to do at each hit */
	DT_HALTED = 1 << 5,   /* recording is frozen: only UNFREEZE is obeyed */
	DT_OWNED = 1 << 6,  /* the device is owned by a session; what that does in traced processes
			       is not recorded */
	DT_INSIDE = 1 << 7, /* the owner is in a PID namespace: records have the numbers of that
			       namespace, and only threads that have one are recorded */
};
extern u32 dt_mode;

/* What happens at one hooked function or point. */
struct dt_act {
	u64 address;
	struct dt_action action;
};

/* All of them, sorted by address. */
struct dt_actions {
	size_t n;
	struct dt_act act[];
};

/*
 * One bit for each possible id of a process or thread: dt_watched has those that are watched,
 * dt_followed those of them that are watched only because their parent was.
 */
extern unsigned long *dt_watched, *dt_followed;

/* Is called for each symbol of the kernel before dt_hooks_init(), to find the functions of system
 * calls, whose arguments are those of another function. */
void dt_hooks_note(const char *name, unsigned long at);
/*
 * Checks whether `nodes' is a sensible number of calls under way at the same time, and whether
 * there is memory for them. Returns 0, or -1 with an error.
 */
int dt_nodes_check(unsigned int nodes, struct dt_error *e);
/*
 * Allocates what hooks need for `nodes' calls under way at the same time. Returns 0, or -1 with an
 * error.
 */
int dt_hooks_init(unsigned int nodes, struct dt_error *e);
/* Removes all hooks and frees everything; returns when no hook runs any more. */
void dt_hooks_exit(void);

/*
 * Hooks these functions and no others: n with entry and exit, and m with entry only, given by the
 * addresses at which ftrace can call. The arrays may be changed. actions: what is to happen at
 * each, owned by the hooks from here on; NULL: all of them are simply recorded. *gone is set to how
 * many no longer are functions because their module has gone; the others are hooked. Returns 0, or
 * -1 with an error.
 */
int dt_hooks_set(unsigned long *both, size_t n, unsigned long *entry, size_t m,
		 struct dt_actions *actions, size_t *gone, struct dt_error *e);

/*
 * Watches only these n ids, which are sorted, and the tasks followed because of them; n == 0: all.
 */
void dt_hooks_watch(const u32 *id, size_t n);
/* Sets and clears bits of dt_mode at the same moment. */
void dt_hooks_mode(u32 set, u32 clear);

/*
 * Watches this task until it is freed. The caller is in an RCU read section, so that it is not
 * freed yet.
 */
void dt_hooks_follow(const struct task_struct *t);
/* Notes that the device's owner is in this PID namespace; NULL: it has no owner any more. */
void dt_hooks_own(struct pid_namespace *of);

/*
 * Notes that this process has opened the log, so that it is not recorded; or that the process tgid
 * no longer has it open. Adding returns 0, or -1 with an error.
 */
int dt_reader_add(struct dt_error *e);
void dt_reader_remove(pid_t tgid);

/* Freeze recording: at once, or after so many more records; 0 records: let it go on. */
void dt_freeze(void);
void dt_freeze_behind(u64 records);
/* Cancels a freeze that was to come after some records. */
void dt_freeze_never(void);

/*
 * Reads the six arguments of the system call that this thread is in, from the registers with which
 * it entered the kernel.
 */
void dt_call_arguments(struct pt_regs *regs, unsigned long a[6]);

/* Is an event of thread tid, in this context, to be recorded? */
bool dt_wanted(u32 mode, u32 tid);
/* Counts a hit that is not recorded, after it has been counted as a hit. */
void dt_leave_out(struct dt_core *core, u32 mode);

/*
 * Return the number of a task and of its process as recorded: with DT_INSIDE those of the owner's
 * namespace. 0: it is an idle task, or has no number there.
 */
u32 dt_task_number(u32 mode, const struct task_struct *t);
u32 dt_task_group(u32 mode, const struct task_struct *t);
/* Returns the number that is recorded for tid, which is the running thread, or DT_NO_TID. */
static inline u32 dt_number(u32 mode, u32 tid)
{
	return likely(!(mode & DT_INSIDE)) || tid == DT_NO_TID ? tid
							       : dt_task_number(mode, current);
}

/*
 * Does what the action says for a record: adds flags to it, freezes, lets recording go on. Returns
 * false if there is to be no record.
 */
bool dt_obey(const struct dt_action *a, u8 kind, u8 *flags);
/*
 * Do `events' and freezing still allow this record? Must be asked exactly once for each record,
 * while DT_LOOKING is set.
 */
bool dt_may_record(void);

/* Is this an NMI, hardirq or softirq? */
static __always_inline bool dt_in_interrupt(void)
{
	return preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
}

/* Returns the thread that a record is of; DT_NO_TID in an interrupt or in a core's idle task. */
static __always_inline u32 dt_who(void)
{
	u32 pid = (u32)current->pid;

	return unlikely(dt_in_interrupt()) || unlikely(!pid) ? DT_NO_TID : pid;
}

/*
 * In dt_append()'s flags: which part of a tracepoint's records it is; see include/devtrace-ioctl.h.
 */
#define DT_PART(n) ((u32)(n) << 8)

/* Appends one record of a thread. Called between dt_begin() and dt_end(). */
static __always_inline void dt_append(struct dt_core *core, u32 tid, u64 pc, u64 sp, u8 kind,
				      u32 flags, u64 a, u64 b, u64 c, u64 d)
{
	struct dt_record *r;
	u64 ticks;

	if (unlikely(!dt_reserve(core, &r, &ticks)))
		return;
	r->pc = pc;
	r->tid = tid;
	*(u32 *)&r->kind = kind | flags << 8; /* also sets core, which in a ring holds the part */
	r->sp = sp;
	r->value[0] = a;
	r->value[1] = b;
	r->value[2] = c;
	r->value[3] = d;
	r->ticks = ticks;
}

/* As dt_append(), but out of line, for what happens less often. tid may be DT_NO_TID. */
void dt_append_seldom(struct dt_core *core, u32 tid, u64 pc, u64 sp, u8 kind, u32 flags, u64 a,
		      u64 b, u64 c, u64 d);

#endif
