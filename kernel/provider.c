// SPDX-License-Identifier: MIT OR GPL-2.0
/* Does what the commands of the device language mean for the kernel. */
#include "kernel/provider.h"

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/sort.h>
#include <linux/threads.h>
#include <linux/workqueue.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "core/device-ranges.h"
#include "core/ring.h"
#include "core/words.h"
#include "kernel/compat.h"
#include "kernel/event.h"
#include "kernel/hook.h"
#include "kernel/point.h"
#include "kernel/ring.h"
#include "kernel/symbol.h"

static DEFINE_MUTEX(lock); /* protects the device, and is held by everything that changes hooks */
static struct dt_device device;
static const void *owner;
static struct pid_namespace *owner_inside; /* the owner's PID namespace, while there is an owner */
/*
 * the owner is leaving the device. It may have been killed, but its traces must be undone all the
 * same
 */
static bool leaving;
static bool stale; /* ranges have been switched since the hooks were set; they are set again when a
		      write ends */

/* As realloc(). The size is stored before the memory. */
static void *on_resize(void *ctx, void *p, size_t bytes)
{
	size_t *old = p ? (size_t *)p - 2 : NULL, *new;

	if (!bytes) {
		kvfree(old);
		return NULL;
	}
	new = kvmalloc(bytes + 2 * sizeof(*new), GFP_KERNEL);
	if (!new)
		return NULL;
	*new = bytes;
	if (old)
		memcpy(new + 2, old + 2, min(*old, bytes));
	kvfree(old);
	return new + 2;
}

static int on_place(void *ctx, const char *text, struct dt_place *place, struct dt_error *e)
{
	return dt_symbol_place(text, place);
}

static void on_text(void *ctx, uint64_t *base, uint64_t *end)
{
	u64 b, f;

	dt_symbol_text(&b, &f);
	*base = b;
	*end = f;
}

/* Returns the PID namespace whose numbers commands use: the owner's, or the initial one. */
static struct pid_namespace *numbers(void)
{
	return owner ? owner_inside : &init_pid_ns;
}

static int check_number(struct dt_error *e)
{
	if (leaving || task_active_pid_ns(current) == numbers())
		return 0;
	return dt_fail(
		e, "devtrace: watch and ONLYPID mean other processes than yours by these numbers: "
		   "they are not those of your PID namespace. 'devtrace record -k' and 'attach "
		   "-k' know which are");
}

static int on_check(void *ctx, struct dt_range *r, struct dt_error *e)
{
	long n;

	if (r->action.what & DT_DO_ARGS)
		return dt_fail(e, "devtrace: ARGS is for programs: an entry in the kernel has four "
				  "arguments");
	if ((r->action.what & DT_DO_ONLYPID) && check_number(e) < 0)
		return -1;
	if (r->kind == DT_RANGE_POINT)
		return dt_point_make(r, e);
	if (r->kind == DT_RANGE_ADDRESS) {
		if (static_call(dt_ftrace_location_range)(r->start, r->end))
			return 0;
		return dt_fail(
			e,
			"devtrace: there is no function that can be traced from %lx to %lx: "
			"assembly, inlined, or one that the kernel excludes (notrace, noinstr)",
			(unsigned long)r->start, (unsigned long)r->end);
	}
	n = dt_functions_find(r, e);
	/* functions of a module may come when it is loaded */
	if (n == 0 && !strchr(r->what, ':'))
		return dt_fail(e,
			       "devtrace: no function that can be traced matches '%s'; "
			       "/sys/kernel/debug/tracing/available_filter_functions lists them",
			       r->what);
	return n < 0 ? -1 : 0;
}

static void on_forget(void *ctx, struct dt_range *r)
{
	if (r->kind == DT_RANGE_POINT)
		dt_point_forget(r);
	else
		dt_functions_forget(r);
}

static int on_update(void *ctx, struct dt_range *before, struct dt_range *r, struct dt_error *e)
{
	stale = true;
	return dt_point_update(before, r, e);
}

static size_t functions_gone; /* how many of the functions that were to be hooked last had gone */

static int set_hooks(struct dt_error *e)
{
	struct dt_chosen p;
	size_t gone;
	int rc;

	if (dt_chosen_make(&p, &device, e) < 0)
		return -1;
	rc = dt_hooks_set(p.both, p.boths, p.entry, p.entries, p.actions, &gone, e);
	p.actions = NULL; /* the hooks own them now */
	dt_chosen_free(&p);
	functions_gone = gone;
	if (gone) {
		pr_info("devtrace: %lu functions have gone with their modules since they were "
			"looked "
			"for: the others are traced\n",
			(unsigned long)gone);
		dt_functions_changed(); /* the remembered lists still have them */
	}
	stale = rc < 0;
	return rc;
}

static int by_number(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : *(const u32 *)a > *(const u32 *)b;
}

/*
 * Watches the tasks that now have these numbers in the owner's namespace. A number that no task has
 * is ignored.
 */
static int apply_watch(struct dt_error *e)
{
	u32 *id;

	if (numbers() == &init_pid_ns || !device.watches) {
		dt_hooks_watch(device.watch, device.watches);
		return 0;
	}
	id = kvmalloc_array(device.watches, sizeof(*id), GFP_KERNEL);
	if (!id)
		return dt_fail(e, "out of memory");
	rcu_read_lock();
	for (size_t i = 0; i < device.watches; i++) {
		const struct pid *pid = find_pid_ns((int)device.watch[i], numbers());

		id[i] = pid ? (u32)pid->numbers[0].nr : PID_MAX_LIMIT - 1;
	}
	rcu_read_unlock();
	sort(id, device.watches, sizeof(*id), by_number, NULL);
	dt_hooks_watch(id, device.watches);
	kvfree(id);
	return 0;
}

static int on_apply(void *ctx, struct dt_range *r, struct dt_error *e)
{
	static u64 events;
	static size_t watches;

	stale = true;
	if (r)
		return r->kind == DT_RANGE_POINT ? dt_point_switch(r, r->on, e) : 0;
	if (device.policy == DT_WAIT)
		return dt_fail(
			e,
			"devtrace: the kernel can not wait for a reader: policy drop or overwrite");
	if (device.watches > watches && check_number(e) < 0)
		return -1;
	if (apply_watch(e) < 0)
		return -1;
	watches = device.watches;
	dt_rings_policy(device.policy == DT_OVERWRITE);
	dt_events_follow(&device);
	if (device.events != events) {
		dt_freeze_behind(device.events);
		events = device.events;
	}
	return 0;
}

static int on_start(void *ctx, bool active, bool all, struct dt_error *e)
{
	bool begins = active && !device.active;

	/*
	 * when recording begins, all hooks asked for are set, and it begins on every core at the
	 * same moment
	 */
	if (active && stale && set_hooks(e) < 0)
		return -1;
	dt_hooks_mode((active ? DT_ON : 0) | (all ? DT_ALL : 0),
		      (active ? 0 : DT_ON) | (all ? 0 : DT_ALL));
	if (!active)
		dt_settle(); /* no record comes after the command */
	if (begins && dt_source_on[DT_SWITCHES])
		dt_events_rundown();
	return 0;
}

static int on_freeze(void *ctx, bool frozen, struct dt_error *e)
{
	if (!frozen) {
		dt_freeze_behind(0);
		return 0;
	}
	dt_freeze();
	dt_settle(); /* no record comes after the command */
	return 0;
}

static int on_size(void *ctx, uint64_t records, struct dt_error *e)
{
	return dt_rings_make(records, e);
}

static int on_reset(void *ctx, struct dt_error *e)
{
	dt_rings_reset();
	return 0;
}

static int on_inject(void *ctx, const struct dt_asker *who, uint64_t pc, const uint64_t value[4],
		     struct dt_error *e)
{
	struct dt_core *core;

	preempt_disable_notrace();
	core = this_cpu_ptr(&dt_core);
	if (dt_begin(core)) {
		dt_count(&core->in);
		dt_append_seldom(core, (u32)current->pid, pc, 0, DT_ENTRY, 4, value[0], value[1],
				 value[2], value[3]);
		dt_end(core);
	}
	preempt_enable_notrace();
	return 0;
}

static void on_counters(void *ctx, struct dt_counters *c)
{
	struct dt_ring_counts n;

	dt_rings_count(-1, &n);
	*c = (struct dt_counters){.hits = n.written + n.lost + n.lost_exits,
				  .queued = n.written - n.read,
				  .lost = n.lost + n.lost_exits,
				  .in = n.in,
				  .out = n.out,
				  .log = (unsigned long)per_cpu(dt_core, 0).records,
				  .frozen = READ_ONCE(dt_mode) & DT_HALTED,
				  .armed = dt_events_armed()};
}

static int on_subsystem(void *ctx, const char *name, uint16_t *number)
{
	static const struct {
		const char *name;
		u16 number;
	} known[] = {
		{"syscall", DT_SYSCALL}, {"interrupt", DT_INTERRUPT_OF}, {"softirq", DT_SOFTIRQ}};

	for (unsigned int i = 0; i < ARRAY_SIZE(known); i++)
		if (dt_word_is(name, known[i].name)) {
			*number = known[i].number;
			return 1;
		}
	return 0;
}

static int on_other(void *ctx, const struct dt_asker *who, char *const *word, unsigned n,
		    struct dt_error *e)
{
	for (unsigned int s = 0; s < DT_SOURCES; s++) {
		if (!dt_word_is(word[0], dt_source_name[s]))
			continue;
		if (n != 2 || !(dt_word_is(word[1], "on") || dt_word_is(word[1], "off")))
			return dt_fail(e, "usage: %s on|off", word[0]);
		return dt_source_switch(s, dt_word_is(word[1], "on"), e);
	}
	if (dt_word_is(word[0], "counts") && n == 1) {
		struct dt_ring_counts c;

		dt_rings_count(-1, &c);
		return dt_device_answer(who,
					"written %lu read %lu overrun %lu lost %lu exits without a "
					"node %lu too deep %lu left out %lu",
					(unsigned long)c.written, (unsigned long)c.read,
					(unsigned long)c.overrun, (unsigned long)c.lost,
					(unsigned long)c.lost_exits, (unsigned long)c.lost_nest,
					(unsigned long)c.left);
	}
	return 1;
}

/*
 * Is asked during a long write whether its process is to be killed; also lets others use the core.
 */
static bool on_interrupted(void *ctx)
{
	cond_resched();
	return !leaving && fatal_signal_pending(current);
}

static void on_state(void *ctx, void (*line)(void *to, const char *text, size_t n), void *to)
{
	char text[32];

	for (unsigned int s = 0; s < DT_SOURCES; s++)
		if (dt_source_on[s])
			line(to, text, dt_format(text, sizeof(text), "%s on\n", dt_source_name[s]));
	if (functions_gone)
		line(to, text,
		     dt_format(text, sizeof(text), "#gone %lu\n", (unsigned long)functions_gone));
}

static const struct dt_device_ops ops = {
	.resize = on_resize,
	.place = on_place,
	.text = on_text,
	.check = on_check,
	.forget = on_forget,
	.update = on_update,
	.apply = on_apply,
	.start = on_start,
	.freeze = on_freeze,
	.size = on_size,
	.reset = on_reset,
	.inject = on_inject,
	.counters = on_counters,
	.subsystem = on_subsystem,
	.other = on_other,
	.other_help =
		"switches    switches on|off: which thread runs on each core, and who there is at "
		"the start\n"
		"syscalls    syscalls on|off: system calls, as events\n"
		"interrupts  interrupts on|off: interrupts and softirqs, as events\n"
		"follow      follow on|off: the children of what is watched are watched, too\n"
		"counts      records written, read and lost, on all cores\n",
	.interrupted = on_interrupted,
	.state = on_state,
};

int dt_provider_write(const char *text, size_t n,
		      void (*answer)(void *ctx, const char *line, size_t n), void *ctx,
		      struct dt_error *e)
{
	const struct dt_asker who = {(uint32_t)current->tgid, answer, ctx};
	struct dt_error own;
	int rc;

	mutex_lock(&lock);
	rc = dt_device_write(&device, &who, text, n, e);
	/* once for all of its lines, because the kernel's text is changed each time */
	if (stale && set_hooks(rc < 0 ? &own : e) < 0)
		rc = -1;
	mutex_unlock(&lock);
	return rc;
}

int dt_provider_own(const void *who)
{
	int rc = 0;

	mutex_lock(&lock);
	if ((owner && owner != who) || device.n || device.active)
		rc = -EBUSY;
	else if (!owner) {
		owner = who;
		owner_inside = task_active_pid_ns(current);
		dt_hooks_own(owner_inside);
	}
	mutex_unlock(&lock);
	return rc;
}

int dt_provider_watch(const void *who, int number)
{
	struct task_struct *t;
	int rc = -EPERM;

	mutex_lock(&lock);
	if (owner == who && (!dt_source_on[DT_FORKS] || !(READ_ONCE(dt_mode) & DT_WATCHING))) {
		rc = -EINVAL; /* the end of the process would not be noticed */
	} else if (owner == who) {
		rcu_read_lock();
		t = pid_task(find_pid_ns(number, owner_inside), PIDTYPE_PID);
		if (t)
			dt_hooks_follow(t);
		rcu_read_unlock();
		rc = t ? 0 : -ESRCH;
	}
	mutex_unlock(&lock);
	return rc;
}

void dt_provider_leave(const void *who)
{
	/* commands that can not fail */
	static const char first[] = "stop\nwatch 0\ndisarm\nevents 0\nuniform off\nunfreeze\n"
				    "follow off\nswitches off\nsyscalls off\ninterrupts off\n"
				    "subsystem all on\npolicy overwrite\nreset";
	char size[32];
	struct dt_error e;

	mutex_lock(&lock);
	if (owner != who) {
		mutex_unlock(&lock);
		return;
	}
	leaving = true;
	dt_device_write(&device, NULL, first, sizeof(first) - 1, &e);
	while (device.n) {
		struct dt_range *r = &device.range[device.n - 1];

		if (r->on)
			dt_range_switch(&device, r, false, &e);
		dt_device_remove(&device, r);
	}
	if (stale)
		set_hooks(&e);
	dt_format(size, sizeof(size), "logsize %u", DT_LOG_DEFAULT);
	dt_device_write(&device, NULL, size, strlen(size), &e);
	owner = NULL;
	owner_inside = NULL;
	dt_hooks_own(NULL);
	leaving = false;
	mutex_unlock(&lock);
}

void dt_provider_read(void (*line)(void *ctx, const char *text, size_t n), void *ctx)
{
	mutex_lock(&lock);
	dt_device_read(&device, line, ctx);
	mutex_unlock(&lock);
}

/* ---- modules that are loaded: patterns also choose their functions ---- */

static void on_work(struct work_struct *w)
{
	struct dt_error e;

	mutex_lock(&lock);
	if (device.n && set_hooks(&e) < 0)
		pr_info("devtrace: a module that was loaded is not traced: %s\n", e.text);
	mutex_unlock(&lock);
}

static DECLARE_WORK(work, on_work);

/* While a module is being loaded, ftrace must not be asked about it; a little later it may. */
static int on_module(struct notifier_block *b, unsigned long state, void *module)
{
	dt_functions_changed();
	if (state == MODULE_STATE_LIVE)
		schedule_work(&work);
	return NOTIFY_DONE;
}

static struct notifier_block module_notifier = {.notifier_call = on_module};

int __init dt_provider_init(struct dt_error *e)
{
	dt_device_init(&device, &ops, NULL);
	if (dt_rings_make(device.logsize, e) < 0)
		return -1;
	register_module_notifier(&module_notifier);
	return 0;
}

/* Returns when nothing can change hooks any more. */
void dt_provider_stop(void)
{
	unregister_module_notifier(&module_notifier);
	cancel_work_sync(&work);
}

void dt_provider_exit(void)
{
	dt_device_free(&device);
	dt_rings_free();
}
