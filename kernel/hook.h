/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Entries and exits of functions, by the kernel's own means: ftrace calls us at entries, and at
 * exits rethook does, which keeps the unwinder right. What is to be recorded there is looked up
 * only when something asks for it.
 */
#ifndef DT_KERNEL_HOOK_H
#define DT_KERNEL_HOOK_H

#include <linux/sched.h>
#include <asm/compat.h>
#include <asm/msr.h>
#include <asm/syscall.h>

#include "core/device.h"
#include "kernel/ring.h"

/* What every hook looks at first. A word of its own: nothing else changes in its cache line. */
enum {
	DT_ON = 1 << 0,	      /* recording */
	DT_ALL = 1 << 1,      /* in every context, whatever is watched */
	DT_WATCHING = 1 << 2, /* only who is in dt_watched */
	DT_READING = 1 << 3,  /* somebody has the log open: he is not recorded */
	DT_MANY = 1 << 8,     /* more than one has */
	DT_LOOKING = 1 << 4,  /* dt_actions says what to do */
	DT_HALTED = 1 << 5,   /* frozen: only UNFREEZE is obeyed */
	DT_OWNED = 1 << 6,    /* by a session: what it does in traced processes is not recorded */
	DT_INSIDE = 1 << 7, /* the owner is in a PID namespace: its numbers, and only who has one */
};
extern u32 dt_mode;

/* One function that is hooked, or the point at one address; sorted by address. */
struct dt_act {
	u64 address;
	struct dt_action action;
};

struct dt_actions {
	size_t n;
	struct dt_act act[];
};

/*
 * Who is watched, processes and threads alike: a bit for each id that there can be; and who of them
 * only because its parent was.
 */
extern unsigned long *dt_watched, *dt_followed;

/* Each symbol of the kernel, before dt_hooks_init(): those of system calls have another's
 * arguments. */
void dt_hooks_note(const char *name, unsigned long at);
/* So many calls under way at once: is that a number, and is there memory for it? */
int dt_nodes_check(unsigned int nodes, struct dt_error *e);
int dt_hooks_init(unsigned int nodes, struct dt_error *e);
void dt_hooks_exit(void);

/*
 * These functions, by the addresses at which ftrace can call, and no others: n with entry and exit,
 * and m with entry only. actions: what is to happen at each, or NULL: all of them are recorded;
 * owned from here on. *gone: so many are no functions any more, since their module has gone; the
 * others are hooked.
 */
int dt_hooks_set(unsigned long *both, size_t n, unsigned long *entry, size_t m,
		 struct dt_actions *actions, size_t *gone, struct dt_error *e);

/* Only these n, sorted, and who is followed because of them; 0: everybody. */
void dt_hooks_watch(const u32 *id, size_t n);
/* Bits of dt_mode set and cleared, in one moment. */
void dt_hooks_mode(u32 set, u32 clear);

/* Watches this task, and is no longer when it is freed. Under RCU, so that it is not freed yet. */
void dt_hooks_follow(const struct task_struct *t);
/* The device is somebody's who is in this PID namespace; NULL: nobody's any more. */
void dt_hooks_own(struct pid_namespace *of);

/* This process has the log open, and is not recorded; or no longer. */
int dt_reader_add(struct dt_error *e);
void dt_reader_remove(pid_t tgid);

/* Freezing: now; or behind n more records; 0: thaws. */
void dt_freeze(void);
void dt_freeze_behind(u64 records);
/* No record is the last one. */
void dt_freeze_never(void);

/* Of the system call that this thread is in, which has come with these registers: six arguments. */
void dt_call_arguments(struct pt_regs *regs, unsigned long a[6]);

/* Is this event, in this context, to be recorded? */
bool dt_wanted(u32 mode, u32 tid);
/* A hit that is not, and has been counted as one. */
void dt_leave_out(struct dt_core *core, u32 mode);

/*
 * The number of a task, and of its process, as they are to stand in records: where DT_INSIDE, those
 * of the owner's namespace. 0: it is an idle task, or has none there.
 */
u32 dt_task_number(u32 mode, const struct task_struct *t);
u32 dt_task_group(u32 mode, const struct task_struct *t);
/* The same of tid, which is the thread that is running, or DT_NO_TID. */
static inline u32 dt_number(u32 mode, u32 tid)
{
	return likely(!(mode & DT_INSIDE)) || tid == DT_NO_TID ? tid
							       : dt_task_number(mode, current);
}

/* Obeys what a says of a record: adds flags to it, freezes, thaws. False: it is not recorded. */
bool dt_obey(const struct dt_action *a, u8 kind, u8 *flags);
/* Has `events' or a trigger left room for this record? Asked once for each, while DT_LOOKING. */
bool dt_may_record(void);

static __always_inline bool dt_in_interrupt(void)
{
	return preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET);
}

/* Whose record it is; DT_NO_TID: nobody's, in an interrupt or a core's idle task. */
static __always_inline u32 dt_who(void)
{
	u32 pid = (u32)current->pid;

	return unlikely(dt_in_interrupt()) || unlikely(!pid) ? DT_NO_TID : pid;
}

/* Which part of its tracepoint's a record is, beside its flags: include/devtrace-ioctl.h */
#define DT_PART(n) ((u32)(n) << 8)

/* One record of a thread, between dt_begin() and dt_end(). */
static __always_inline void dt_append(struct dt_core *core, u32 tid, u64 pc, u64 sp, u8 kind,
				      u32 flags, u64 a, u64 b, u64 c, u64 d)
{
	struct dt_record *r;
	u64 ticks;

	if (unlikely(!dt_reserve(core, &r, &ticks)))
		return;
	r->pc = pc;
	r->tid = tid;
	*(u32 *)&r->kind = kind | flags << 8; /* and core: the part, in a ring */
	r->sp = sp;
	r->value[0] = a;
	r->value[1] = b;
	r->value[2] = c;
	r->value[3] = d;
	r->ticks = ticks;
}

/* The same out of line, for what happens less often; the record may be nobody's, too. */
void dt_append_seldom(struct dt_core *core, u32 tid, u64 pc, u64 sp, u8 kind, u32 flags, u64 a,
		      u64 b, u64 c, u64 d);

#endif
