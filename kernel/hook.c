// SPDX-License-Identifier: MIT OR GPL-2.0
/* Entries and exits of functions. */
#include "kernel/hook.h"

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/threads.h>
#include <linux/uaccess.h>

#include "kernel/compat.h"
#include "include/devtrace-ioctl.h"

u32 dt_mode __read_mostly;

#define READERS 64u

/* freed behind dt_settle() only: hooks also run where RCU does not look */
static struct dt_actions *actions;
unsigned long *dt_watched, *dt_followed;
static pid_t reader[READERS]; /* tgids; 0: free. Under reader_lock; looked at by hooks */
static unsigned int reader_uses[READERS];
static DEFINE_MUTEX(reader_lock);

/* Records that may still be made before it freezes; 0: it is frozen. Below: as many as come. */
#define NO_END (-1)
static atomic64_t remaining = ATOMIC64_INIT(NO_END);

static struct rethook *rethook;

/* What an entry leaves for its exit. The kernel frees it, by the address of its first member. */
struct call {
	struct rethook_node node;
	u64 pc, sp;
};

void dt_hooks_mode(u32 set, u32 clear)
{
	u32 old = READ_ONCE(dt_mode);

	while (!try_cmpxchg(&dt_mode, &old, (old & ~clear) | set))
		;
}

noinline void dt_append_seldom(struct dt_core *core, u32 tid, u64 pc, u64 sp, u8 kind, u32 flags,
			       u64 a, u64 b, u64 c, u64 d)
{
	dt_append(core, tid, pc, sp, kind, flags, a, b, c, d);
}

/* ---- who is recorded ---- */

static bool is_reader(void)
{
	pid_t tgid = current->tgid;

	for (unsigned int i = 0; i < READERS; i++)
		if (READ_ONCE(reader[i]) == tgid)
			return true;
	return false;
}

static bool is_watched(void)
{
	return test_bit(current->tgid, dt_watched) || test_bit(current->pid, dt_watched);
}

bool dt_wanted(u32 mode, u32 tid)
{
	bool nobody = tid == DT_NO_TID;

	if ((mode & DT_READING) && !nobody && is_reader())
		return false;
	if (mode & DT_ALL)
		return true;
	if (nobody)
		return false;
	return !(mode & DT_WATCHING) || is_watched();
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
		rc = dt_fail(e, "devtrace: the log is open in %u processes already", READERS);
	} else {
		reader_uses[i]++;
		WRITE_ONCE(reader[i], current->tgid);
		dt_hooks_mode(DT_READING, 0);
	}
	mutex_unlock(&reader_lock);
	return rc;
}

void __cold dt_reader_remove(pid_t tgid)
{
	bool any = false;

	mutex_lock(&reader_lock);
	for (unsigned int i = 0; i < READERS; i++) {
		if (reader[i] == tgid && --reader_uses[i] == 0)
			WRITE_ONCE(reader[i], 0);
		any = any || reader[i];
	}
	if (!any)
		dt_hooks_mode(0, DT_READING);
	mutex_unlock(&reader_lock);
}

void __cold dt_hooks_watch(const u32 *id, size_t n)
{
	size_t i = 0;

	if (!n) {
		if (!(READ_ONCE(dt_mode) & DT_WATCHING))
			return; /* nor does anybody have a bit */
		dt_hooks_mode(0, DT_WATCHING);
		dt_settle();
		bitmap_zero(dt_followed, PID_MAX_LIMIT);
	}
	/* who stays is never out meanwhile */
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

/* ---- what is to happen ---- */

static const struct dt_act *act_at(u64 address)
{
	const struct dt_actions *a = READ_ONCE(actions);

	for (size_t low = 0, high = a ? a->n : 0; low < high;) {
		size_t mid = (low + high) / 2;

		if (a->act[mid].address == address)
			return &a->act[mid];
		if (a->act[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

void dt_freeze_behind(u64 records)
{
	/* that each record is looked at comes with the actions: dt_hooks_set() */
	atomic64_set(&remaining, records ? (s64)min_t(u64, records, S64_MAX) : NO_END);
	if (!records)
		dt_hooks_mode(0, DT_HALTED);
}

void dt_freeze(void)
{
	atomic64_set(&remaining, 0);
	dt_hooks_mode(DT_HALTED, 0);
}

/* The last record has been taken leave for; but who thaws may have come in between. */
static void last_taken(void)
{
	dt_hooks_mode(DT_HALTED, 0);
	if (atomic64_read(&remaining))
		dt_hooks_mode(0, DT_HALTED);
}

/*
 * Leave to make a record is taken before it is made, by all cores from the one word: so never one
 * more is made than may be, wherever the others are.
 */
bool dt_may_record(void)
{
	s64 n = atomic64_read(&remaining);

	do {
		if (likely(n < 0))
			return true;
		if (!n)
			return false;
	} while (!atomic64_try_cmpxchg(&remaining, &n, n - 1));
	if (n == 1)
		last_taken();
	return true;
}

/* This record, and `more' behind it. False: another one was the last. */
static bool may_freeze(u64 more)
{
	s64 n = atomic64_read(&remaining);

	do {
		if (!n)
			return false;
		if (n > 0 && more) /* it is going to freeze already */
			return dt_may_record();
	} while (!atomic64_try_cmpxchg(&remaining, &n, (s64)min_t(u64, more, S64_MAX)));
	if (!more)
		last_taken();
	return true;
}

bool dt_obey(const struct dt_action *a, u8 kind, u8 *flags)
{
	u32 what = a->what;

	if ((kind == DT_ENTRY && !(what & DT_DO_ENTRY)) ||
	    (kind == DT_EXIT && !(what & DT_DO_EXIT)))
		return false;
	if ((what & DT_DO_ONLYPID) && a->pid != (u32)current->tgid)
		return false;
	if (what & DT_DO_COUNT)
		return false;
	/* what a function's options do, they do at its entry, if that is recorded */
	if (kind == DT_EXIT && (what & DT_DO_ENTRY))
		what = 0;
	if ((READ_ONCE(dt_mode) & DT_HALTED) || !atomic64_read(&remaining)) {
		if (!(what & DT_DO_UNFREEZE))
			return false;
		atomic64_set(&remaining, NO_END);
		dt_hooks_mode(0, DT_HALTED);
	}
	if (!(what & (DT_DO_FREEZE | DT_DO_LATEFREEZE))
		    ? !dt_may_record()
		    : !may_freeze(what & DT_DO_FREEZE ? 0 : a->late))
		return false;
	*flags |= (what & DT_DO_FREEZE ? DT_FREEZE : 0) |
		  (what & DT_DO_UNFREEZE ? DT_UNFREEZE : 0) |
		  (what & DT_DO_LATEFREEZE ? DT_LATEFREEZE : 0) |
		  (what & DT_DO_BASE ? DT_BASE : 0) | (what & DT_DO_ADJACENT ? DT_ADJACENT : 0);
	return true;
}

/* ---- system calls ---- */

/* Where the functions of system calls are hooked, sorted. */
static unsigned long *call_ip;
static size_t call_ips;

static int by_address(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

/* A kernel without the table, or without memory, has their one argument recorded as it is. */
static __init void find_calls(void)
{
	unsigned long table = static_call(dt_kallsyms_lookup_name)("sys_call_table"), size, offset;
	size_t n;

	if (!table || !static_call(dt_kallsyms_lookup_size_offset)(table, &size, &offset))
		return;
	n = size / sizeof(unsigned long);
	call_ip = kvmalloc_array(n, sizeof(*call_ip), GFP_KERNEL);
	for (size_t i = 0; call_ip && i < n; i++) {
		unsigned long at;

		if (copy_from_kernel_nofault(&at, (unsigned long *)table + i, sizeof(at)) < 0)
			break;
		at = static_call(dt_ftrace_location)(at);
		if (at)
			call_ip[call_ips++] = at;
	}
	sort(call_ip, call_ips, sizeof(*call_ip), by_address, NULL);
}

/*
 * What the arguments of a function are read from. A system call's only one is what its thread has
 * come into the kernel with: its arguments are there.
 */
static noinline const struct pt_regs *callers(u64 ip, const struct pt_regs *regs)
{
	for (size_t low = 0, high = call_ips; low < high;) {
		size_t mid = (low + high) / 2;

		if (call_ip[mid] == ip)
			return (const struct pt_regs *)regs->di;
		if (call_ip[mid] < ip)
			low = mid + 1;
		else
			high = mid;
	}
	return regs;
}

static __always_inline bool is_call(const struct pt_regs *regs)
{
	return unlikely(regs->di == (unsigned long)task_pt_regs(current));
}

static noinline void append_looking(struct dt_core *core, u32 tid, const struct pt_regs *regs,
				    u64 pc, u64 sp, u8 kind)
{
	const struct dt_act *act = act_at(pc);
	u8 flags = 0;

	/* one that is hooked and not asked for is there for uniform's sake */
	if (!act || !dt_obey(&act->action, kind, &flags)) {
		dt_count(&core->left);
		return;
	}
	if ((flags & DT_NARGS) != DT_ADJACENT)
		flags |= kind == DT_ENTRY ? 4 : 2;
	if (kind == DT_ENTRY) {
		const struct pt_regs *r = is_call(regs) ? callers(pc, regs) : regs;

		dt_append_seldom(core, tid, pc, sp, kind, flags, r->di, r->si, r->dx,
				 r == regs ? r->cx : r->r10);
	} else
		dt_append_seldom(core, tid, pc, sp, kind, flags, regs->ax, regs->dx, 0, 0);
	if ((act->action.what & DT_DO_CONST) && kind == DT_ENTRY)
		dt_append_seldom(core, tid, pc, sp, DT_MORE, 1 | DT_PART(DEVTRACE_CONST),
				 act->action.constant, 0, 0, 0);
}

/* ---- the hooks; preemption is off in all of them ---- */

/*
 * Has the function return through rethook. On kernels that keep the nodes in a list, what
 * rethook_try_get() and rethook_hook() do is done here: a call through a pointer for each would
 * cost as much again. RCU need not watch: nodes are freed when no hook is left, see
 * dt_hooks_exit().
 */
static __always_inline struct call *hook_exit(struct pt_regs *regs)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	struct freelist_node *f = freelist_try_get(&rethook->pool);
	unsigned long *stack = (unsigned long *)regs->sp;
	struct call *n;

	if (unlikely(!f))
		return NULL;
	n = container_of(f, struct call, node.freelist);
	n->node.ret_addr = stack[0];
	n->node.frame = regs->sp;
	stack[0] = dt_rethook_trampoline;
	__llist_add(&n->node.llist, &current->rethooks);
#else
	struct call *n;

	/* a push to an object pool that an NMI comes in between may not be followed by another */
	if (unlikely(in_nmi()))
		return NULL;
	n = (struct call *)static_call(dt_rethook_try_get)(rethook);
	if (likely(n))
		static_call(dt_rethook_hook)(&n->node, regs, true);
#endif
	return n;
}

static __always_inline bool enter(struct dt_core *core, u64 ip, struct pt_regs *regs, u32 mode)
{
	u32 tid = dt_who();

	dt_count(&core->in);
	if (unlikely(mode & ~DT_ON) || unlikely(tid == DT_NO_TID)) {
		if (!dt_wanted(mode, tid)) {
			dt_count(&core->left);
			return false;
		}
		if (mode & (DT_LOOKING | DT_HALTED)) {
			append_looking(core, tid, regs, ip, regs->sp, DT_ENTRY);
			return true;
		}
	}
	if (is_call(regs)) {
		const struct pt_regs *r = callers(ip, regs);

		dt_append(core, tid, ip, regs->sp, DT_ENTRY, 4, r->di, r->si, r->dx,
			  r == regs ? r->cx : r->r10);
		return true;
	}
	dt_append(core, tid, ip, regs->sp, DT_ENTRY, 4, regs->di, regs->si, regs->dx, regs->cx);
	return true;
}

static __always_inline void leave(struct dt_core *core, const struct call *n, struct pt_regs *regs,
				  u32 mode)
{
	u32 tid = dt_who();

	dt_count(&core->out);
	if (unlikely(mode & ~DT_ON)) {
		if (!dt_wanted(mode, tid)) {
			dt_count(&core->left);
			return;
		}
		if (mode & (DT_LOOKING | DT_HALTED)) {
			append_looking(core, tid, regs, n->pc, n->sp, DT_EXIT);
			return;
		}
	}
	dt_append(core, tid, n->pc, n->sp, DT_EXIT, 2, regs->ax, regs->dx, 0, 0);
}

static void notrace on_entry(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			     struct ftrace_regs *fregs)
{
	u32 mode = READ_ONCE(dt_mode);
	struct dt_core *core;

	if (!(mode & DT_ON))
		return;
	preempt_disable_notrace();
	core = this_cpu_ptr(&dt_core);
	if (dt_begin(core)) {
		enter(core, ip, dt_regs(fregs), mode);
		dt_end(core);
	}
	preempt_enable_notrace();
}

static void notrace on_call(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	struct pt_regs *regs = dt_regs(fregs);
	u32 mode = READ_ONCE(dt_mode);
	struct dt_core *core;
	struct call *n;

	if (!(mode & DT_ON))
		return;
	preempt_disable_notrace();
	core = this_cpu_ptr(&dt_core);
	if (dt_begin(core)) {
		if (enter(core, ip, regs, mode)) {
			n = hook_exit(regs);
			if (likely(n)) {
				n->pc = ip;
				n->sp = regs->sp;
			} else {
				dt_count(&core->lost_exits);
			}
		}
		dt_end(core);
	}
	preempt_enable_notrace();
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
static void notrace on_exit(struct rethook_node *node, void *data, struct pt_regs *regs)
#else
static void notrace on_exit(struct rethook_node *node, void *data, unsigned long to,
			    struct pt_regs *regs)
#endif
{
	const struct call *n = (const struct call *)node;
	u32 mode = READ_ONCE(dt_mode);
	struct dt_core *core;

	if (!(mode & DT_ON))
		return;
	core = this_cpu_ptr(&dt_core); /* rethook has preemption off */
	if (dt_begin(core)) {
		leave(core, n, regs, mode);
		dt_end(core);
	}
}
NOKPROBE_SYMBOL(on_exit);

static struct ftrace_ops call_ops = {.func = on_call}, entry_ops = {.func = on_entry};
static bool call_registered, entry_registered;

/* ---- setting ---- */

/* ftrace's own hash of an ops is what was set last: empty means all, so that is never left. */
static __cold int set_ops(struct ftrace_ops *ops, bool *registered, unsigned long *ip, size_t n,
			  struct dt_error *e)
{
	int rc;

	if (!n) {
		if (*registered)
			unregister_ftrace_function(ops);
		*registered = false;
		return 0;
	}
	rc = ftrace_set_filter_ips(ops, ip, (unsigned int)n, 0, 1);
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
			struct dt_actions *fresh, struct dt_error *e)
{
	struct dt_actions *old = actions;
	int rc;

	/* first what is to happen, then that it can; what is taken away the other way round */
	if (fresh) {
		bool looked = READ_ONCE(dt_mode) & DT_LOOKING;

		smp_store_release(&actions, fresh);
		dt_hooks_mode(DT_LOOKING, 0);
		if (!looked)
			dt_settle(); /* nobody records any more without looking */
	}
	rc = set_ops(&call_ops, &call_registered, both, n, e);
	if (rc == 0)
		rc = set_ops(&entry_ops, &entry_registered, entry, m, e);
	if (!fresh) { /* nobody can freeze, nor wait for it */
		atomic64_set(&remaining, NO_END);
		dt_hooks_mode(0, DT_LOOKING);
		WRITE_ONCE(actions, NULL);
	}
	if (old) {
		dt_settle();
		kvfree(old);
	}
	return rc;
}

/* As many calls as there are nodes can be under way at once, and have their exits seen. */
int __init dt_hooks_init(unsigned int nodes, struct dt_error *e)
{
	/* the followed ones behind them */
	dt_watched = kvzalloc(PID_MAX_LIMIT / 4, GFP_KERNEL);
	if (!dt_watched)
		return dt_fail(e, "out of memory");
	dt_followed = dt_watched + PID_MAX_LIMIT / BITS_PER_LONG;
	find_calls();
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	rethook = static_call(dt_rethook_alloc)(NULL, on_exit);
	if (!rethook) {
		kvfree(dt_watched);
		kvfree(call_ip);
		return dt_fail(e, "out of memory");
	}
	for (unsigned int i = 0; i < nodes; i++) {
		struct call *n = kzalloc(sizeof(*n), GFP_KERNEL);

		if (!n) {
			dt_hooks_exit();
			return dt_fail(e, "out of memory for %u nodes", nodes);
		}
		static_call(dt_rethook_add_node)(rethook, &n->node);
	}
#else
	rethook = static_call(dt_rethook_alloc)(NULL, on_exit, sizeof(struct call), (int)nodes);
	if (IS_ERR_OR_NULL(rethook)) {
		rethook = NULL;
		kvfree(dt_watched);
		kvfree(call_ip);
		return dt_fail(e, "out of memory for %u nodes", nodes);
	}
#endif
	return 0;
}

/* Tasks may sleep in functions that are hooked: rethook keeps what they need until they return. */
void __cold dt_hooks_exit(void)
{
	struct dt_error e;

	dt_hooks_mode(0, ~0u);
	dt_hooks_set(NULL, 0, NULL, 0, NULL, &e);
	ftrace_free_filter(&call_ops);
	ftrace_free_filter(&entry_ops);
	if (rethook)
		static_call(dt_rethook_free)(rethook);
	dt_settle(); /* no exit hook runs any more */
	kvfree(dt_watched);
	kvfree(call_ip);
}
