// SPDX-License-Identifier: MIT OR GPL-2.0
/* Records switches, system calls, interrupts, events and tasks. */
#include "kernel/event.h"

#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/threads.h>
#include <linux/tracepoint.h>
#include <asm/syscall.h>

#include "core/ring.h"
#include "kernel/compat.h"
#include "kernel/hook.h"
#include "include/devtrace-kernel.h"

const char *const dt_source_name[DT_SOURCES] = {"switches", "syscalls", "interrupts", "follow"};
bool dt_source_on[DT_SOURCES];

static unsigned long *masked; /* one bit per subsystem: set if it is not recorded */

/* ---- triggers ---- */

static u32 arm_state = DT_ARM_NONE;
static struct dt_arm arm;
static struct hrtimer arm_timer;
static struct irq_work arm_work; /* starts arm_timer, which hooks and NMIs may not do */

static void on_arm_begin(struct irq_work *w)
{
	if (READ_ONCE(arm_state) == DT_ARM_RUNNING)
		hrtimer_start(&arm_timer, ns_to_ktime(arm.duration), HRTIMER_MODE_REL);
}

static enum hrtimer_restart on_arm_end(struct hrtimer *t)
{
	if (cmpxchg(&arm_state, DT_ARM_RUNNING, DT_ARM_DONE) == DT_ARM_RUNNING)
		dt_hooks_mode(DT_HALTED, 0);
	return HRTIMER_NORESTART;
}

/*
 * The event that begins recording is the first that is recorded, and the one that ends it the last.
 */
static void begin_armed(u64 body)
{
	if (READ_ONCE(arm_state) != DT_ARM_ARMED || !arm.has_start || body != arm.start ||
	    cmpxchg(&arm_state, DT_ARM_ARMED, DT_ARM_RUNNING) != DT_ARM_ARMED)
		return;
	dt_hooks_mode(0, DT_HALTED);
	if (arm.duration)
		irq_work_queue(&arm_work);
}

static void end_armed(u64 body)
{
	if (arm.has_stop && body == arm.stop &&
	    cmpxchg(&arm_state, DT_ARM_RUNNING, DT_ARM_DONE) == DT_ARM_RUNNING)
		dt_hooks_mode(DT_HALTED, 0);
}

bool dt_events_armed(void)
{
	u32 state = READ_ONCE(arm_state);

	return state == DT_ARM_ARMED || state == DT_ARM_RUNNING;
}

void dt_events_follow(const struct dt_device *d)
{
	bool same = d->arm.set == arm.set && !memcmp(&d->arm, &arm, sizeof(arm));

	if (d->mask_off)
		bitmap_fill(masked, 65536);
	else
		bitmap_zero(masked, 65536);
	for (size_t i = 0; i < d->masks; i++)
		__assign_bit(d->mask[i].number, masked, !d->mask[i].on);
	if (same)
		return;
	WRITE_ONCE(arm_state, DT_ARM_NONE);
	dt_settle(); /* no hook is beginning or ending it any more, or will start the timer */
	irq_work_sync(&arm_work);
	hrtimer_cancel(&arm_timer);
	arm = d->arm;
	if (!arm.set) {
		dt_hooks_mode(0, DT_HALTED);
	} else if (arm.has_start) {
		dt_hooks_mode(DT_HALTED, 0);
		smp_store_release(&arm_state, DT_ARM_ARMED);
	} else {
		smp_store_release(&arm_state, DT_ARM_RUNNING);
		if (arm.duration)
			hrtimer_start(&arm_timer, ns_to_ktime(arm.duration), HRTIMER_MODE_REL);
	}
}

/* ---- appending ---- */

static void append(u8 kind, u8 flags, u64 pc, u64 a, u64 b, u64 c, u64 d, bool anyhow)
{
	u32 mode = READ_ONCE(dt_mode);
	struct dt_core *core;

	if (!(mode & DT_ON) || (mode & DT_HALTED))
		return;
	preempt_disable_notrace();
	core = this_cpu_ptr(&dt_core);
	if (dt_begin(core)) {
		/* where it happens does not show whose switch or interrupt it is */
		u32 tid = dt_who();

		if ((anyhow || dt_wanted(mode, tid)) && (!(mode & DT_LOOKING) || dt_may_record()))
			dt_append_seldom(core, dt_number(mode, tid), pc, 0, kind, flags, a, b, c,
					 d);
		dt_end(core);
	}
	preempt_enable_notrace();
}

static void event(u64 pc, u64 body, u8 values, u64 a, u64 b, u64 c)
{
	if (test_bit(body >> 48, masked))
		return;
	preempt_disable_notrace(); /* dt_settle() also waits for code that uses arm */
	if (unlikely(READ_ONCE(arm_state) == DT_ARM_ARMED))
		begin_armed(body);
	append(DT_EVENT, values, pc, body, a, b, c, false);
	if (unlikely(READ_ONCE(arm_state) == DT_ARM_RUNNING))
		end_armed(body);
	preempt_enable_notrace();
}

void devtrace_event(u64 body, unsigned int n, u64 a, u64 b, u64 c)
{
	event(_RET_IP_, body, 1 + min(n, 3u), a, b, c);
}
EXPORT_SYMBOL_GPL(devtrace_event);

static u64 body_of(u64 subsystem, u64 event, u64 argument)
{
	return subsystem << 48 | event << 32 | (argument & 0xffffffff);
}

static u64 name_of(const struct task_struct *t)
{
	u64 name = 0;

	memcpy(&name, t->comm, sizeof(name));
	return name;
}

/* ---- what the kernel's tracepoints call ---- */

static void on_switch(void *ctx, bool preempted, struct task_struct *from, struct task_struct *to,
		      unsigned int state)
{
	u32 mode = READ_ONCE(dt_mode);
	struct dt_core *core;
	struct dt_record *r;
	u64 ticks;

	if (!(mode & DT_ON) || (mode & DT_HALTED))
		return;
	preempt_disable_notrace();
	core = this_cpu_ptr(&dt_core);
	if (dt_begin(core)) {
		u32 number = dt_task_number(mode, to), tid = number ? number : DT_NO_TID;

		if (dt_reserve(core, &r, &ticks))
			*r = (struct dt_record){
				.tid = tid,
				.kind = DT_SWITCH,
				.flags = preempted ? 4 | DT_PREEMPTED : 4,
				.value = {tid, number || !to->pid ? name_of(to) : 0,
					  dt_task_group(mode, to),
					  (u64)dt_task_number(mode, from) | (u64)preempted << 32},
				.ticks = ticks};
		dt_end(core);
	}
	preempt_enable_notrace();
}

/* Returns the body of a system call's event. Calls of 32-bit programs, and those by int $0x80, have
 * numbers of their own, and therefore events of their own. */
static u64 call_body(u64 event, u64 number)
{
	return body_of(DT_SYSCALL, event + (in_ia32_syscall() ? 2 : 0), number);
}

static void on_sys_enter(void *ctx, struct pt_regs *regs, long id)
{
	unsigned long a[6];

	dt_call_arguments(regs, a);
	event(0, call_body(0, (u64)id), 4, a[0], a[1], a[2]);
}

static void on_sys_exit(void *ctx, struct pt_regs *regs, long result)
{
	event(0, call_body(1, regs->orig_ax), 2, (u64)result, 0, 0);
}

static void interrupt(u64 subsystem, u64 event, u64 number)
{
	if (!test_bit(subsystem, masked))
		append(DT_EVENT, 1, 0, body_of(subsystem, event, number), 0, 0, 0, true);
}

static void on_irq_enter(void *ctx, int irq, struct irqaction *action)
{
	interrupt(DT_INTERRUPT_OF, 0, (u64)irq);
}

static void on_irq_exit(void *ctx, int irq, struct irqaction *action, int result)
{
	interrupt(DT_INTERRUPT_OF, 1, (u64)irq);
}

static void on_vector_enter(void *ctx, int vector)
{
	interrupt(DT_INTERRUPT_OF, 0, (u64)vector);
}

static void on_vector_exit(void *ctx, int vector)
{
	interrupt(DT_INTERRUPT_OF, 1, (u64)vector);
}

static void on_softirq_enter(void *ctx, unsigned int vector)
{
	interrupt(DT_SOFTIRQ, 0, vector);
}

static void on_softirq_exit(void *ctx, unsigned int vector)
{
	interrupt(DT_SOFTIRQ, 1, vector);
}

/* ---- children of watched tasks ---- */

static void on_fork(void *ctx, struct task_struct *parent, struct task_struct *child)
{
	if (!(READ_ONCE(dt_mode) & DT_WATCHING) ||
	    !(test_bit(parent->tgid, dt_watched) || test_bit(parent->pid, dt_watched)) ||
	    test_bit(child->pid, dt_watched))
		return;
	set_bit(child->pid, dt_followed);
	set_bit(child->pid, dt_watched);
}

static void on_free(void *ctx, struct task_struct *t)
{
	if (test_and_clear_bit(t->pid, dt_followed))
		clear_bit(t->pid, dt_watched);
}

/* Stops following all tasks that are followed. */
static void unfollow(void)
{
	for (size_t b = 0; (b = find_next_bit(dt_followed, PID_MAX_LIMIT, b)) < PID_MAX_LIMIT; b++)
		if (test_and_clear_bit(b, dt_followed))
			clear_bit(b, dt_watched);
}

static struct {
	const char *name;
	void *probe;
	enum dt_source source;
	struct tracepoint *at; /* NULL: this kernel does not have it */
} hook[] = {
	{"sched_switch", on_switch, DT_SWITCHES},
	{"sys_enter", on_sys_enter, DT_SYSCALLS},
	{"sys_exit", on_sys_exit, DT_SYSCALLS},
	{"irq_handler_entry", on_irq_enter, DT_INTERRUPTS},
	{"irq_handler_exit", on_irq_exit, DT_INTERRUPTS},
	{"softirq_entry", on_softirq_enter, DT_INTERRUPTS},
	{"softirq_exit", on_softirq_exit, DT_INTERRUPTS},
	{"local_timer_entry", on_vector_enter, DT_INTERRUPTS},
	{"local_timer_exit", on_vector_exit, DT_INTERRUPTS},
	{"reschedule_entry", on_vector_enter, DT_INTERRUPTS},
	{"reschedule_exit", on_vector_exit, DT_INTERRUPTS},
	{"call_function_single_entry", on_vector_enter, DT_INTERRUPTS},
	{"call_function_single_exit", on_vector_exit, DT_INTERRUPTS},
	{"sched_process_fork", on_fork, DT_FORKS},
	{"sched_process_free", on_free, DT_FORKS},
};

static __init void note(struct tracepoint *t, void *ctx)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(hook); i++)
		if (!strcmp(t->name, hook[i].name))
			hook[i].at = t;
}

static void unhook(enum dt_source s, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (hook[i].source == s && hook[i].at)
			tracepoint_probe_unregister(hook[i].at, hook[i].probe, NULL);
	tracepoint_synchronize_unregister();
}

int dt_source_switch(enum dt_source s, bool on, struct dt_error *e)
{
	if (on == dt_source_on[s])
		return 0;
	if (!on)
		unhook(s, ARRAY_SIZE(hook));
	for (unsigned int i = 0; on && i < ARRAY_SIZE(hook); i++) {
		int rc;

		if (hook[i].source != s || !hook[i].at)
			continue;
		rc = tracepoint_probe_register(hook[i].at, hook[i].probe, NULL);
		if (rc < 0) {
			unhook(s, i);
			return dt_fail(e,
				       "devtrace: the kernel refuses its tracepoint %s: error %d",
				       hook[i].name, -rc);
		}
	}
	dt_source_on[s] = on;
	if (!on && s == DT_FORKS)
		unfollow();
	return 0;
}

/* ---- tasks ---- */

void dt_events_rundown(void)
{
	u32 mode = READ_ONCE(dt_mode);
	struct task_struct *p, *t;

	rcu_read_lock();
	for_each_process_thread(p, t)
	{
		u32 running = READ_ONCE(t->__state) == TASK_RUNNING;
		struct dt_core *core;
		struct dt_record *r;
		u64 ticks;

		preempt_disable_notrace();
		core = this_cpu_ptr(&dt_core);
		if (dt_task_number(mode, t) && dt_begin(core)) {
			if (dt_reserve(core, &r, &ticks))
				*r = (struct dt_record){.tid = dt_task_number(mode, t),
							.kind = DT_RUNDOWN,
							.flags = 4,
							.value = {dt_task_number(mode, t),
								  name_of(t),
								  dt_task_group(mode, t), running},
							.ticks = ticks};
			dt_end(core);
		}
		preempt_enable_notrace();
	}
	rcu_read_unlock();
}

int __init dt_events_init(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	hrtimer_init(&arm_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	arm_timer.function = on_arm_end;
#else
	hrtimer_setup(&arm_timer, on_arm_end, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#endif
	init_irq_work(&arm_work, on_arm_begin);
	masked = kvzalloc(65536 / 8, GFP_KERNEL);
	if (!masked)
		return -ENOMEM;
	for_each_kernel_tracepoint(note, NULL);
	return 0;
}

void dt_events_exit(void)
{
	for (unsigned int s = 0; s < DT_SOURCES; s++)
		dt_source_switch(s, false, NULL);
	irq_work_sync(&arm_work);
	hrtimer_cancel(&arm_timer);
	kvfree(masked);
}
