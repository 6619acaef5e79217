/* SPDX-License-Identifier: MIT */
/*
 * The slow path: everything rare that an append can meet, and the messages to the controller. Runs
 * inside the traced process, at any instant a traced function can run at: in signal handlers, in a
 * forked child, with any lock held. So: no libc, no lock, no allocation, system calls only where
 * said, and never a wait for a controller that is not there.
 */
#include "arch/x86_64/area.h"
#include "core/ring.h"

#define SYS_RT_SIGPROCMASK 14
#define SYS_GETPID	39
#define SYS_GETPPID	110
#define SYS_ARCH_PRCTL	158
#define SYS_GETTID	186
#define SYS_FUTEX	202
#define SYS_RSEQ	334

#define FUTEX_WAIT	 0
#define FUTEX_WAKE	 1
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_TID_MASK	 0x3fffffffu
#define INT_MAX		 0x7fffffff

#define ARCH_GET_FS	 0x1003
#define CLONE_VM	 0x00000100u
#define CLONE_VFORK	 0x00004000u
#define CLONE_SETTLS	 0x00080000u

#define MS 1000000L /* ns */

/* hidden: addressed relative to the instruction, wherever the area is mapped */
#pragma GCC visibility push(hidden)
extern struct dt_blob blob;
extern struct dt_process_block process_block;
extern struct dt_kept_block kept_block;
extern struct dt_control session;

struct timespec64 {
	int64_t sec, nsec;
};

int dt_slow(struct dt_record *r);
void dt_modules_changed(void);
void dt_opt_out(void);
void dt_before_exec(uint64_t path);
void dt_before_execat(const uint64_t *argument);
void dt_after_exec(void);
void dt_after_vfork(void);
void dt_before_clone(uint64_t flags);
#pragma GCC visibility pop

static long call4(long nr, long a, long b, long c, long d)
{
	long ret;
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}

static uint64_t clock_and_core(uint32_t *core)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(*core));
	*core &= 0xfff; /* Linux keeps the node in the bits above */
	return (uint64_t)hi << 32 | lo;
}

/* Sleeps until *word is no longer value, somebody wakes it, or ns have passed (at most 1 s). */
static void futex_wait(uint32_t *word, uint32_t value, long ns)
{
	struct timespec64 t = {0, ns};

	call4(SYS_FUTEX, (long)word, FUTEX_WAIT, value, (long)&t);
}

static void futex_wake(uint32_t *word, long n)
{
	call4(SYS_FUTEX, (long)word, FUTEX_WAKE, n, 0);
}

static void ring_bell(void)
{
	__atomic_add_fetch(&session.bell, 1, __ATOMIC_SEQ_CST);
	if (!blob.confined) /* the reader looks from time to time anyway */
		futex_wake(&session.bell, INT_MAX);
}

/* The kernel sets FUTEX_OWNER_DIED in a robust futex when its owner ends, however it ends. */
static bool controller_gone(void)
{
	uint32_t owner = __atomic_load_n(&session.owner, __ATOMIC_ACQUIRE);

	return (owner & FUTEX_OWNER_DIED) || !(owner & FUTEX_TID_MASK);
}

static bool recording(void)
{
	return __atomic_load_n(&session.state, __ATOMIC_ACQUIRE) == DT_RECORDING;
}

/* --- messages */

static struct dt_request *claim_request(void)
{
	for (unsigned i = 0; i < DT_REQUESTS; i++) {
		struct dt_request *q = &session.request[i];
		uint32_t expect = DT_REQUEST_FREE;

		if (__atomic_compare_exchange_n(&q->state, &expect, DT_REQUEST_FILLING, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return q;
	}
	__atomic_add_fetch(&session.requests_full, 1, __ATOMIC_RELAXED);
	return 0;
}

/* Tells the controller something; with wait, returns when it has dealt with it, is gone, or 3 s on. */
static void tell_of(uint32_t kind, bool wait, uint64_t path, int dirfd)
{
	struct dt_request *q;

	if (controller_gone() || blob.confined || !recording())
		return;
	q = claim_request();
	if (!q) {
		ring_bell();
		return;
	}
	q->kind = kind;
	q->pid = (uint32_t)call4(SYS_GETPID, 0, 0, 0, 0);
	q->tid = (uint32_t)call4(SYS_GETTID, 0, 0, 0, 0);
	q->ppid = (uint32_t)call4(SYS_GETPPID, 0, 0, 0, 0);
	q->waited = wait;
	q->area = (uint64_t)&blob;
	q->path = path;
	q->dirfd = dirfd;
	q->fs = 0;
	call4(SYS_ARCH_PRCTL, ARCH_GET_FS, (long)&q->fs, 0, 0);
	__atomic_store_n(&q->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
	ring_bell();
	if (!wait)
		return; /* the controller frees the slot */
	for (int i = 0; i < 60; i++) {
		uint32_t state = __atomic_load_n(&q->state, __ATOMIC_ACQUIRE);

		if (state == DT_REQUEST_DONE || controller_gone() || !recording())
			break;
		futex_wait(&q->state, state, 50 * MS);
	}
	__atomic_store_n(&q->state, DT_REQUEST_FREE, __ATOMIC_RELEASE);
}

static void tell(uint32_t kind, bool wait)
{
	tell_of(kind, wait, 0, -1);
}

void dt_modules_changed(void)
{
	tell(DT_REQUEST_MODULES, true);
}

void dt_before_exec(uint64_t path)
{
	tell_of(DT_REQUEST_EXEC, true, path, -1);
}

/*
 * The process wants nothing recorded any more. From here on its hooks end in the slow path and leave
 * nothing; the controller, which is waited for, switches its sites off. Children inherit both.
 */
void dt_opt_out(void)
{
	__atomic_store_n(&kept_block.opted_out, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
	tell(DT_REQUEST_OPT_OUT, true);
}

/* argument: dirfd and path, as they were pushed */
void dt_before_execat(const uint64_t *argument)
{
	tell_of(DT_REQUEST_EXEC, true, argument[1], (int)argument[0]);
}

void dt_after_exec(void)
{
	tell(DT_REQUEST_EXEC_FAILED, true);
}

/* The parent's rseq block still has the child's mark: register anew, which stores the core. */
void dt_after_vfork(void)
{
	uint64_t fs;

	if (!blob.rseq_offset)
		return;
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	fs += (uint64_t)blob.rseq_offset;
	call4(SYS_RSEQ, (long)fs, blob.rseq_size, 1, blob.rseq_signature);
	call4(SYS_RSEQ, (long)fs, blob.rseq_size, 0, blob.rseq_signature);
}

/*
 * A clone without a thread block of its own appends with its maker's rseq block, which does not
 * protect it. A maker that sleeps meanwhile (as in vfork) gets its block back from the kernel when it
 * goes on; where both run, nobody in the process can append by rseq any more.
 */
void dt_before_clone(uint64_t flags)
{
	uint64_t fs;

	if (!(flags & CLONE_VM) || (flags & CLONE_SETTLS))
		return;
	if (!(flags & CLONE_VFORK)) {
		__atomic_store_n(&process_block.shared_only, 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
	} else if (blob.rseq_offset) {
		__asm__("mov %%fs:0, %0" : "=r"(fs));
		__atomic_store_n((uint32_t *)(fs + (uint64_t)blob.rseq_offset + 4), ~0u,
				 __ATOMIC_SEQ_CST);
	}
}

/* --- appending */

/* A forked child finds its process block wiped: it fills it, and makes itself known. */
static void begin_process(void)
{
	process_block.pid = blob.confined ? 0 : (uint32_t)call4(SYS_GETPID, 0, 0, 0, 0);
	__atomic_store_n(&process_block.cores, (uint32_t)blob.cores, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&kept_block.opted_out, __ATOMIC_SEQ_CST)) /* by another thread, just now */
		__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
	tell(DT_REQUEST_PROCESS, false);
}

/*
 * The ring has no room at pos. Returns true when it may have some now, false when this record is
 * not to be kept (it has been counted where it counts as lost).
 */
static bool make_room(struct dt_ring *r, uint64_t pos)
{
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
	uint64_t hard = __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE);
	uint32_t wake;

	if (pos < limit)
		return true;
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != DT_RECORDING)
		return false;
	if (pos < hard) {
		/* only the soft limit: ask for the reader, and go on to the hard one */
		if (__atomic_compare_exchange_n(&r->limit, &limit, hard, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			ring_bell();
		return true;
	}
	if (session.policy != DT_WAIT || controller_gone()) {
		__atomic_add_fetch(&r->lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_add_fetch(&r->stalls, 1, __ATOMIC_RELAXED);
	if (blob.confined) {
		ring_bell();
		for (int i = 0; i < 1000; i++)
			__builtin_ia32_pause();
		return true;
	}
	wake = __atomic_load_n(&r->wake, __ATOMIC_ACQUIRE);
	__atomic_add_fetch(&r->waiters, 1, __ATOMIC_SEQ_CST);
	/* pairs with the controller's order: hard, limit, wake + 1, then waiters */
	if (pos >= __atomic_load_n(&r->hard, __ATOMIC_SEQ_CST)) {
		ring_bell();
		futex_wait(&r->wake, wake, 20 * MS);
	}
	__atomic_sub_fetch(&r->waiters, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void copy_record(struct dt_record *to, const struct dt_record *from)
{
	const uint64_t *f = (const uint64_t *)from;
	uint64_t *t = (uint64_t *)to;

	for (int i = 0; i < 8; i++)
		((volatile uint64_t *)t)[i] = f[i];
}

/* Blocks all signals; *old: what was blocked before. */
static void block_signals(uint64_t *old)
{
	uint64_t all = ~0ull;

	call4(SYS_RT_SIGPROCMASK, 2, (long)&all, (long)old, sizeof(all));
}

static void restore_signals(const uint64_t *old)
{
	call4(SYS_RT_SIGPROCMASK, 2, (long)old, 0, sizeof(*old));
}

/* Takes the place at pos in the shared ring's slot for it, and fills it. */
static void fill_shared(struct dt_ring *r, uint64_t pos, const struct dt_record *rec)
{
	uint64_t index = pos / 64, mark;
	uint64_t *m = dt_ring_marks(r, blob.mask + 1) + (index & blob.mask / 64);

	mark = __atomic_load_n(m, __ATOMIC_ACQUIRE);
	if (mark & 1) /* its writer of a lap ago has not come back: this place stays empty */
		return;
	if (!__atomic_compare_exchange_n(m, &mark, DT_MARK_BUSY(index, rec->tid), false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	copy_record((struct dt_record *)((char *)r + DT_RING_HEAD + (pos & blob.mask)), rec);
	__atomic_store_n(m, DT_MARK_DONE(index), __ATOMIC_RELEASE);
}

/*
 * Appends to the shared ring: a place is taken by compare-and-swap on pos, its slot by another on
 * the slot's mark, so that a writer stopped or killed half way costs its own record and no other
 * one waits for it. The reader counts a place that never gets committed as lost. Where writers wait
 * for room, a signal handler must not come in between: it would wait for the place below it.
 */
static bool append_shared(struct dt_record *rec)
{
	struct dt_ring *r = (struct dt_ring *)((char *)&session + DT_CONTROL_SIZE +
					       blob.cores * blob.stride);
	bool waits = session.policy == DT_WAIT && !blob.confined;
	uint64_t pos, signals;
	uint32_t core;
	bool again = false;

	rec->tid = blob.confined ? DT_NO_TID : (uint32_t)call4(SYS_GETTID, 0, 0, 0, 0);
	if (waits)
		block_signals(&signals);
	pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
	do {
		again = pos >= __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
		if (again)
			break;
		rec->ticks = clock_and_core(&core);
	} while (!__atomic_compare_exchange_n(&r->pos, &pos, pos + 64, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	if (!again) {
		rec->core = (uint16_t)core;
		fill_shared(r, pos, rec);
	}
	if (waits)
		restore_signals(&signals);
	return again && make_room(r, pos);
}

/*
 * A hook could not append r by rseq. Returns 1 when the hook is to try again, 0 when r is done with:
 * appended, counted as lost, or not wanted.
 */
int dt_slow(struct dt_record *rec)
{
	struct dt_ring *r;
	uint32_t core;
	uint64_t pos;

	if (__atomic_load_n(&kept_block.opted_out, __ATOMIC_ACQUIRE))
		return 0;
	if (!process_block.cores && !process_block.shared_only) {
		begin_process();
		return 1;
	}
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != DT_RECORDING)
		return 0;
	/* not from a hook that knows no rseq */
	if (rec->core != DT_SHARED_CORE && !process_block.shared_only) {
		uint64_t fs;

		__asm__("mov %%fs:0, %0" : "=r"(fs));
		core = __atomic_load_n((uint32_t *)(fs + (uint64_t)blob.rseq_offset + 4),
				       __ATOMIC_RELAXED);
		if (core < process_block.cores) {
			r = dt_ring_at(&session, core);
			pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
			return make_room(r, pos);
		}
	}
	return append_shared(rec);
}
