// SPDX-License-Identifier: MIT OR GPL-2.0
/* Hooks entries and exits of functions. */
#include "kernel/hook.h"

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/threads.h>
#include <linux/uaccess.h>

#include "kernel/compat.h"
#include "kernel/hook-work.h"
#include "include/devtrace-ioctl.h"

u32 dt_mode __read_mostly;

#define READERS 64u

/* freed only after dt_settle(), since hooks also run where RCU does not watch */
struct dt_actions *dt_actions_now;
unsigned long *dt_watched, *dt_followed;
static struct pid_namespace *inside; /* with DT_INSIDE, the owner's namespace */
static pid_t reader[READERS]; /* tgids of processes that have opened the log; 0: free. Written under
				 reader_lock; hooks read it */
pid_t dt_one_reader;
static unsigned int readers; /* reader[] is in use below this index */
static unsigned int reader_uses[READERS];
static DEFINE_MUTEX(reader_lock);

struct rethook *dt_rethook;

void dt_hooks_mode(u32 set, u32 clear)
{
	u32 old = READ_ONCE(dt_mode);

	while (!try_cmpxchg(&dt_mode, &old, (old & ~clear) | set))
		;
}

noinline void dt_append_seldom(struct dt_core *core, u32 tid, u64 pc, u64 sp, u8 kind, u32 flags,
			       u64 a, u64 b, u64 c, u64 d)
{
	dt_append(core, tid, pc, sp, kind, flags | (tid == DT_NO_TID ? DT_INTERRUPT : 0), a, b, c,
		  d);
}

/* ---- which threads are recorded ---- */

bool dt_is_reader(void)
{
	pid_t tgid = current->tgid;

	for (unsigned int i = 0; i < READ_ONCE(readers); i++)
		if (READ_ONCE(reader[i]) == tgid)
			return true;
	return false;
}

/* Returns the number that pid has in the owner's namespace; 0 if it has none. */
static u32 inner_of(const struct pid *pid)
{
	const struct pid_namespace *ns = READ_ONCE(inside);

	if (!pid || !ns || pid->level < ns->level || pid->numbers[ns->level].ns != ns)
		return 0;
	return (u32)pid->numbers[ns->level].nr;
}

u32 __cold dt_task_number(u32 mode, const struct task_struct *t)
{
	return mode & DT_INSIDE ? inner_of(READ_ONCE(t->thread_pid)) : (u32)t->pid;
}

u32 __cold dt_task_group(u32 mode, const struct task_struct *t)
{
	const struct signal_struct *s = READ_ONCE(t->signal);

	if (!(mode & DT_INSIDE))
		return (u32)t->tgid;
	return s ? inner_of(READ_ONCE(s->pids[PIDTYPE_TGID])) : 0;
}

void __cold dt_leave_out(struct dt_core *core, u32 mode)
{
	if ((mode & DT_OWNED) && !dt_in_interrupt() && dt_is_own_call())
		asm volatile("decq %0" : "+m"(core->in)); /* it is not even to be counted */
	else
		dt_count(&core->left);
}

bool dt_wanted(u32 mode, u32 tid)
{
	bool nobody = tid == DT_NO_TID;

	if ((mode & DT_READING) && !nobody && dt_is_reader())
		return false;
	if ((mode & DT_INSIDE) && !nobody && !dt_task_number(mode, current))
		return false;
	if ((mode & DT_OWNED) && !nobody && dt_is_own_call())
		return false;
	if (mode & DT_ALL)
		return true;
	if (nobody)
		return false;
	return !(mode & DT_WATCHING) || dt_is_watched();
}

/*
 * Updates the modes that hooks read first. dt_one_reader is set before DT_MANY is cleared, and
 * stays as it is while DT_MANY is set.
 */
static void tell_readers(void)
{
	unsigned int n = 0;
	pid_t one = 0;

	for (unsigned int i = 0; i < readers; i++)
		if (reader[i]) {
			one = reader[i];
			n++;
		}
	if (n > 1)
		dt_hooks_mode(DT_READING | DT_MANY, 0);
	else
		WRITE_ONCE(dt_one_reader, one);
	if (n <= 1)
		dt_hooks_mode(n ? DT_READING : 0, DT_MANY | (n ? 0 : DT_READING));
}

int __cold dt_reader_add(struct dt_error *e)
{
	unsigned int i, free = READERS;
	int rc = 0;

	mutex_lock(&reader_lock);
	for (i = 0; i < READERS && reader[i] != current->tgid; i++)
		if (!reader[i] && free == READERS)
			free = i;
	if (i == READERS)
		i = free;
	if (i == READERS) {
		rc = dt_fail(
			e,
			"devtrace: /dev/trace is open in %u processes already: no more can have "
			"it, until one of them closes it",
			READERS);
	} else {
		reader_uses[i]++;
		WRITE_ONCE(reader[i], current->tgid);
		smp_store_release(&readers, max(readers, i + 1));
		tell_readers();
	}
	mutex_unlock(&reader_lock);
	return rc;
}

void __cold dt_reader_remove(pid_t tgid)
{
	mutex_lock(&reader_lock);
	for (unsigned int i = 0; i < readers; i++)
		if (reader[i] == tgid && --reader_uses[i] == 0)
			WRITE_ONCE(reader[i], 0);
	while (readers && !reader[readers - 1])
		WRITE_ONCE(readers, readers - 1);
	tell_readers();
	mutex_unlock(&reader_lock);
}

void __cold dt_hooks_follow(const struct task_struct *t)
{
	set_bit(t->pid, dt_followed);
	set_bit(t->pid, dt_watched);
}

void __cold dt_hooks_own(struct pid_namespace *of)
{
	struct pid_namespace *old = inside;

	if (!of) {
		dt_hooks_mode(0, DT_OWNED | DT_INSIDE);
		dt_settle(); /* no hook looks at it any more */
		inside = NULL;
		if (old)
			put_pid_ns(old);
		return;
	}
	if (of != &init_pid_ns)
		inside = get_pid_ns(of);
	dt_hooks_mode(DT_OWNED | (inside ? DT_INSIDE : 0), 0);
}

void __cold dt_hooks_watch(const u32 *id, size_t n)
{
	size_t i = 0;

	if (!n) {
		if (!(READ_ONCE(dt_mode) & DT_WATCHING))
			return; /* then no bit is set either */
		dt_hooks_mode(0, DT_WATCHING);
		dt_settle();
		bitmap_zero(dt_followed, PID_MAX_LIMIT);
	}
	/* a task that stays watched is never unwatched in between */
	for (i = 0; i < n && id[i] < PID_MAX_LIMIT; i++) {
		set_bit(id[i], dt_watched);
		clear_bit(id[i], dt_followed);
	}
	i = 0;
	for (size_t b = 0; (b = find_next_bit(dt_watched, PID_MAX_LIMIT, b)) < PID_MAX_LIMIT; b++) {
		while (i < n && id[i] < b)
			i++;
		if ((i == n || id[i] != b) && !test_bit(b, dt_followed))
			clear_bit(b, dt_watched);
	}
	if (n)
		dt_hooks_mode(DT_WATCHING, 0);
}

/* ---- system calls ---- */

/* The addresses at which the functions of system calls are hooked, sorted. */
static unsigned long *call_ip;
static size_t call_ips;

static int by_address(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

/*
 * Notes the symbols of system calls' functions. If there is no memory for one, its only argument is
 * recorded as it is.
 */
void __init dt_hooks_note(const char *name, unsigned long at)
{
	static size_t room;

	if (!strstarts(name, "__x64_sys_") && !strstarts(name, "__ia32_sys_") &&
	    !strstarts(name, "__ia32_compat_sys_") && !strstarts(name, "__x64_compat_sys_"))
		return;
	if (call_ips == room) {
		size_t more = room ? 2 * room : 1024;
		unsigned long *ip = kvmalloc_array(more, sizeof(*ip), GFP_KERNEL);

		if (!ip)
			return;
		if (call_ips)
			memcpy(ip, call_ip, call_ips * sizeof(*ip));
		kvfree(call_ip);
		call_ip = ip;
		room = more;
	}
	call_ip[call_ips++] = at;
}

/* Keeps those noted symbols that can be hooked. */
static __init void find_calls(void)
{
	size_t n = 0;

	for (size_t i = 0; i < call_ips; i++) {
		unsigned long at = static_call(dt_ftrace_location)(call_ip[i]);

		if (at)
			call_ip[n++] = at;
	}
	call_ips = n;
	sort(call_ip, call_ips, sizeof(*call_ip), by_address, NULL);
}

static bool is_call_function(u64 ip)
{
	for (size_t low = 0, high = call_ips; low < high;) {
		size_t mid = (low + high) / 2;

		if (call_ip[mid] == ip)
			return true;
		if (call_ip[mid] < ip)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

void dt_call_arguments(struct pt_regs *regs, unsigned long a[6])
{
	syscall_get_arguments(current, regs, a);
	for (int i = 0; i < 6 && in_ia32_syscall(); i++)
		a[i] = (u32)a[i];
}

/*
 * Records the entry of a function whose first argument is the registers with which its thread
 * entered the kernel. If it is the function of a system call, that is its only argument, and these
 * registers hold the call's arguments; other registers hold them for a call of a 32-bit program, or
 * by int $0x80.
 */
void dt_append_call(struct dt_core *core, u32 tid, const struct pt_regs *regs, u64 ip, u8 flags)
{
	unsigned long a[6] = {regs->di, regs->si, regs->dx, regs->cx};

	if (is_call_function(ip))
		dt_call_arguments((struct pt_regs *)regs->di, a);
	dt_append_seldom(core, tid, ip, regs->sp, DT_ENTRY, flags, a[0], a[1], a[2], a[3]);
}

/* Handles all entries other than the usual ones. */
u32 dt_hit_enter(struct dt_core *core, u64 ip, const struct pt_regs *regs, u32 mode)
{
	u32 tid = dt_who();

	if (!dt_wanted(mode, tid)) {
		dt_leave_out(core, mode);
		return DT_NOT_WANTED;
	}
	tid = dt_number(mode, tid);
	if (mode & (DT_LOOKING | DT_HALTED))
		dt_append_looking(core, tid, regs, ip, regs->sp, DT_ENTRY);
	else if (dt_is_call(regs))
		dt_append_call(core, tid, regs, ip, 4);
	else
		dt_append_seldom(core, tid, ip, regs->sp, DT_ENTRY, 4, regs->di, regs->si, regs->dx,
				 regs->cx);
	return tid;
}

/* Handles all exits other than the usual ones. */
void dt_hit_leave(struct dt_core *core, const struct dt_entered *n, const struct pt_regs *regs,
		  u32 mode)
{
	u32 tid = n->tid;

	if (!dt_wanted(mode & ~DT_OWNED, tid))
		dt_count(&core->left);
	else if (mode & (DT_LOOKING | DT_HALTED))
		dt_append_looking(core, tid, regs, n->pc, n->sp, DT_EXIT);
	else
		dt_append_seldom(core, tid, n->pc, n->sp, DT_EXIT, 2, regs->ax, regs->dx, 0, 0);
}

static struct ftrace_ops call_ops = {.func = dt_hit_call}, entry_ops = {.func = dt_hit_entry};
static bool call_registered, entry_registered;

/* ---- setting ---- */

/* Removes from n addresses those that are no longer functions; returns how many are left. */
static __cold size_t drop_gone(unsigned long *ip, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (static_call(dt_ftrace_location)(ip[i]) == ip[i])
			ip[left++] = ip[i];
	return left;
}

/*
 * Sets the functions of an ops. ftrace keeps the addresses that were set last; as no addresses
 * would mean all functions, an ops is never left registered with none.
 */
static __cold int set_ops(struct ftrace_ops *ops, bool *registered, unsigned long *ip, size_t n,
			  size_t *gone, struct dt_error *e)
{
	size_t left;
	int rc;

	if (!n) {
		if (*registered)
			unregister_ftrace_function(ops);
		*registered = false;
		return 0;
	}
	rc = ftrace_set_filter_ips(ops, ip, (unsigned int)n, 0, 1);
	/* a module has gone since they were looked for, and others may go while this loop runs */
	while (rc == -EINVAL && (left = drop_gone(ip, n)) < n) {
		*gone += n - left;
		n = left;
		if (!n)
			return set_ops(ops, registered, ip, 0, gone, e);
		rc = ftrace_set_filter_ips(ops, ip, (unsigned int)n, 0, 1);
	}
	if (rc < 0)
		return dt_fail(
			e, "devtrace: the kernel refuses to trace these %lu functions: error %d",
			(unsigned long)n, -rc);
	if (*registered)
		return 0;
	rc = register_ftrace_function(ops);
	if (rc < 0)
		return dt_fail(e, "devtrace: the kernel refuses the hook: error %d%s", -rc,
			       rc == -ENODEV ? "; see /proc/sys/kernel/ftrace_enabled" : "");
	*registered = true;
	return 0;
}

int __cold dt_hooks_set(unsigned long *both, size_t n, unsigned long *entry, size_t m,
			struct dt_actions *fresh, size_t *gone, struct dt_error *e)
{
	struct dt_actions *old = dt_actions_now;
	int rc;

	/*
	 * first the actions are set, then the hooks; when something is taken away, it is the other
	 * way round
	 */
	if (fresh) {
		bool looked = READ_ONCE(dt_mode) & DT_LOOKING;

		smp_store_release(&dt_actions_now, fresh);
		dt_hooks_mode(DT_LOOKING, 0);
		if (!looked)
			dt_settle(); /* from here on no hook records without looking */
	}
	*gone = 0;
	rc = set_ops(&call_ops, &call_registered, both, n, gone, e);
	if (rc == 0)
		rc = set_ops(&entry_ops, &entry_registered, entry, m, gone, e);
	if (!fresh) { /* no hook can freeze, or wait for a freeze */
		dt_freeze_never();
		dt_hooks_mode(0, DT_LOOKING);
		WRITE_ONCE(dt_actions_now, NULL);
	}
	if (old) {
		dt_settle();
		kvfree(old);
	}
	return rc;
}

/* No more calls can be under way, since each is on the stack of a task, which has 16 KiB. */
#define NODES_MAX (1u << 20)

/*
 * Checks the memory beforehand: if it were taken piece by piece, it would be taken away from
 * everything else.
 */
int __init dt_nodes_check(unsigned int nodes, struct dt_error *e)
{
	u64 free = (u64)si_mem_available() << PAGE_SHIFT;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	/* each core has room for all of them */
	u64 each = sizeof(struct dt_entered) + 2 * sizeof(void *) * num_possible_cpus();
#else
	u64 each = kmalloc_size_roundup(sizeof(struct dt_entered));
#endif

	if (!nodes || nodes > NODES_MAX)
		return dt_fail(e, "nodes=%u: it can be from 1 to %u", nodes, NODES_MAX);
	if (nodes * each > free / 2)
		return dt_fail(e, "nodes=%u takes %lu MiB, of %lu MiB that are free: at most half",
			       nodes, (unsigned long)(nodes * each >> 20),
			       (unsigned long)(free >> 20));
	return 0;
}

/*
 * Allocates the nodes: so many calls can be under way at the same time and have their exits
 * recorded.
 */
int __init dt_hooks_init(unsigned int nodes, struct dt_error *e)
{
	/* dt_followed is the second half */
	dt_watched = kvzalloc(PID_MAX_LIMIT / 4, GFP_KERNEL);
	if (!dt_watched)
		return dt_fail(e, "out of memory");
	dt_followed = dt_watched + PID_MAX_LIMIT / BITS_PER_LONG;
	find_calls();
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	dt_rethook = static_call(dt_rethook_alloc)(NULL, dt_hit_exit);
	if (!dt_rethook) {
		kvfree(dt_watched);
		kvfree(call_ip);
		return dt_fail(e, "out of memory");
	}
	for (unsigned int i = 0; i < nodes; i++) {
		struct dt_entered *n = kzalloc(sizeof(*n), GFP_KERNEL);

		if (!n) {
			dt_hooks_exit();
			return dt_fail(e, "out of memory for %u nodes", nodes);
		}
		static_call(dt_rethook_add_node)(dt_rethook, &n->node);
	}
#else
	dt_rethook = static_call(dt_rethook_alloc)(NULL, dt_hit_exit, sizeof(struct dt_entered),
						   (int)nodes);
	if (IS_ERR_OR_NULL(dt_rethook)) {
		dt_rethook = NULL;
		kvfree(dt_watched);
		kvfree(call_ip);
		return dt_fail(e, "out of memory for %u nodes", nodes);
	}
#endif
	return 0;
}

/*
 * Removes the hooks. Tasks may sleep in hooked functions: rethook keeps what they need until they
 * return.
 */
void __cold dt_hooks_exit(void)
{
	struct dt_error e;
	size_t gone;

	dt_hooks_mode(0, ~0u);
	dt_hooks_set(NULL, 0, NULL, 0, NULL, &gone, &e);
	ftrace_free_filter(&call_ops);
	ftrace_free_filter(&entry_ops);
	if (dt_rethook)
		static_call(dt_rethook_free)(dt_rethook);
	dt_settle(); /* no exit hook runs any more */
	kvfree(dt_watched);
	kvfree(call_ip);
}
