/* SPDX-License-Identifier: MIT */
/*
 * The slow path: everything rare that an append can meet, and the messages to the controller. It
 * runs inside the traced process, whenever a traced function can run: in signal handlers, in a
 * forked child, with any lock held. So it uses no libc, no lock and no allocation, makes system
 * calls only where said, and never waits for a controller that has gone.
 */
#include "arch/x86_64/area.h"
#include "arch/x86_64/capture.h"
#include "core/device.h"
#include "core/control.h"
#include "include/devtrace-ioctl.h"

#define SYS_RT_SIGPROCMASK   14
#define SYS_GETPID	     39
#define SYS_GETPPID	     110
#define SYS_PRCTL	     157
#define SYS_ARCH_PRCTL	     158
#define SYS_GETTID	     186
#define SYS_FUTEX	     202
#define SYS_PROCESS_VM_READV 310
#define SYS_SECCOMP	     317
#define SYS_RSEQ	     334

#define FUTEX_WAIT	 0
#define FUTEX_WAKE	 1
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_TID_MASK	 0x3fffffffu
#define INT_MAX		 0x7fffffff

#define ARCH_GET_FS  0x1003
#define CLONE_VM     0x00000100u
#define CLONE_VFORK  0x00004000u
#define CLONE_SETTLS 0x00080000u

#define PR_SET_SECCOMP 22
#define PR_GET_TSC     25
#define PR_SET_TSC     26
#define PR_TSC_ENABLE  1
#define SECCOMP_FILTER 2 /* prctl's number; 1: strict. seccomp()'s numbers are one less */

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

struct text;

int dt_slow(struct dt_record *r);
int dt_peek(uint64_t *x);
int dt_text(struct text *t);
void dt_modules_changed(void);
void dt_opt_out(void);
void dt_before_exec(uint64_t path);
void dt_before_execat(const uint64_t *argument);
void dt_after_exec(void);
void dt_after_vfork(void);
void dt_before_clone(uint64_t flags);
void dt_before_clone3(const uint64_t *args);
void dt_before_call(const uint64_t *argument);
#pragma GCC visibility pop

/*
 * A system call with the tracer's mark, by which the kernel's device knows that it is not the
 * program's. A signal handler that comes in between inherits the register, but its calls are at
 * other addresses.
 */
#define OWN_CALL                                                                                   \
	"lea 1f(%%rip), %%r15\n\t"                                                                 \
	"xor %[mark], %%r15\n\t"                                                                   \
	"syscall\n"                                                                                \
	"1:"

static long call4(long nr, long a, long b, long c, long d)
{
	long ret;
	register long r10 __asm__("r10") = d;

	__asm__ volatile(OWN_CALL
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), [mark] "i"(DEVTRACE_OWN_CALL)
			 : "rcx", "r11", "r15", "memory");
	return ret;
}

static uint64_t clock_and_core(uint32_t *core)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(*core));
	*core &= 0xfff; /* Linux keeps the node in the bits above */
	return (uint64_t)hi << 32 | lo;
}

/* Sleeps until *word is no longer value, it is woken, or ns (less than 1 s) have passed. */
static void futex_wait(uint32_t *word, uint32_t value, long ns)
{
	struct timespec64 t = {0, ns};

	call4(SYS_FUTEX, (long)word, FUTEX_WAIT, value, (long)&t);
}

static void futex_wake(uint32_t *word, long n)
{
	call4(SYS_FUTEX, (long)word, FUTEX_WAKE, n, 0);
}

/*
 * Looks whether the process allows itself so few system calls that we make none. Another thread may
 * bring that about at any time; it then waits for threads that were counted in
 * process_block.calling before they asked here.
 */
static bool confined(void)
{
	return blob.confined || __atomic_load_n(&kept_block.confined, __ATOMIC_SEQ_CST);
}

/* Counts this thread as one that may make system calls, unless the process is confined: then
 * another thread may be waiting until none is counted. Returns whether it was counted. */
static bool begin_calling(void)
{
	if (confined())
		return false;
	__atomic_add_fetch(&process_block.calling, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void end_calling(bool counted)
{
	if (counted)
		__atomic_sub_fetch(&process_block.calling, 1, __ATOMIC_SEQ_CST);
}

static uint64_t thread_pointer(void)
{
	uint64_t fs;

	__asm__("mov %%fs:0, %0" : "=r"(fs));
	return fs;
}

/* Looks whether this thread is in strict seccomp, and so can make no system call for us at all. */
static bool is_strict(void)
{
	uint32_t n = __atomic_load_n(&kept_block.strict, __ATOMIC_SEQ_CST);
	uint64_t fs;

	if (!n || n > DT_STRICT_MAX)
		return n != 0;
	fs = thread_pointer();
	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&kept_block.strict_fs[i], __ATOMIC_SEQ_CST) == fs)
			return true;
	return false;
}

/* Looks whether this thread may read the clock. One that can not ask is taken for one that may not.
 */
static bool may_read_clock(void)
{
	uint32_t how = 0;

	if (!__atomic_load_n(&kept_block.asks_clock, __ATOMIC_SEQ_CST))
		return true;
	if (is_strict() || confined())
		return false;
	return call4(SYS_PRCTL, PR_GET_TSC, (long)&how, 0, 0) == 0 && how == PR_TSC_ENABLE;
}

static void ring_bell(void)
{
	__atomic_add_fetch(&session.bell, 1, __ATOMIC_SEQ_CST);
	if (!confined()) /* without the call: the reader looks from time to time anyway */
		futex_wake(&session.bell, INT_MAX);
}

/* When and where a thread was stopped by us from going on. */
struct since {
	uint64_t ticks;
	uint32_t core;
};

static struct since since_now(void)
{
	struct since s;

	s.ticks = clock_and_core(&s.core);
	return s;
}

/* Tells the controller that the thread was held until now, so that the time is not taken for its
 * own. */
static void tell_held(uint32_t tid, const struct since *since, uint32_t why)
{
	uint32_t core, at = __atomic_load_n(&session.helds, __ATOMIC_RELAXED);
	uint64_t now = clock_and_core(&core);

	for (uint32_t i = 0; tid != DT_NO_TID && i < DT_HELDS; i++) {
		struct dt_held *h = &session.held[(at + i) % DT_HELDS];
		uint32_t expect = DT_REQUEST_FREE;

		if (__atomic_load_n(&h->state, __ATOMIC_RELAXED) != DT_REQUEST_FREE ||
		    !__atomic_compare_exchange_n(&h->state, &expect, DT_REQUEST_FILLING, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		h->tid = tid;
		h->why = why;
		h->core_begin = (uint16_t)since->core;
		h->core_end = (uint16_t)core;
		h->begin = since->ticks;
		h->end = now;
		__atomic_store_n(&h->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
		__atomic_add_fetch(&session.helds, 1, __ATOMIC_RELEASE);
		return;
	}
	__atomic_add_fetch(&session.held_missed_ticks, now - since->ticks, __ATOMIC_RELAXED);
	__atomic_add_fetch(&session.held_missed, 1, __ATOMIC_RELAXED);
}

/* The kernel sets FUTEX_OWNER_DIED in a robust futex when its owner ends, however it ends. */
static bool controller_gone(void)
{
	uint32_t owner = __atomic_load_n(&session.owner, __ATOMIC_ACQUIRE);

	return (owner & FUTEX_OWNER_DIED) || !(owner & FUTEX_TID_MASK);
}

/* Looks whether the controller still follows processes and modules. */
static bool followed(void)
{
	return __atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != DT_STOPPED;
}

/* --- memory that may not be mapped */

struct iovec64 {
	uint64_t base, length;
};

static long call6(long nr, long a, long b, long c, long d, long x, long y)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = x;
	register long r9 __asm__("r9") = y;

	__asm__ volatile(OWN_CALL
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9), [mark] "i"(DEVTRACE_OWN_CALL)
			 : "rcx", "r11", "r15", "memory");
	return ret;
}

/*
 * Copies n bytes from any address, and returns how many could be read; negative: none. The kernel
 * copies them, by the id of this thread, which always belongs to this memory. Nothing is copied
 * when system calls are forbidden.
 */
static long read_own(uint64_t address, void *to, uint64_t n)
{
	struct iovec64 local = {(uint64_t)to, n}, remote = {address, n};
	bool counted = begin_calling();
	long got = -1;

	if (!confined() && !is_strict())
		got = call6(SYS_PROCESS_VM_READV, call4(SYS_GETTID, 0, 0, 0, 0), (long)&local, 1,
			    (long)&remote, 1, 0);
	end_calling(counted);
	return got;
}

/* Reads a value. x[0]: its address, and then the value; x[1]: its size, plus 256 if it is signed.
 * Returns 1 if it could be read. */
int dt_peek(uint64_t *x)
{
	uint64_t value = 0, size = x[1] & 255;
	unsigned shift = (unsigned)(64 - 8 * size);
	bool there = read_own(x[0], &value, size) == (long)size;

	if (x[1] & 256)
		value = (uint64_t)((int64_t)(value << shift) >> shift);
	x[0] = there ? value : DT_CAPTURE_BAD;
	return there;
}

/* --- texts */

#define PAGE	   4096u
#define PIECE	   32u	   /* bytes of a text that are read at a time */
#define FRAME	   192u	   /* bytes of stack that a point's code takes: arch/x86_64/capture.c */
#define NEVER_READ 0x10000 /* below this address nothing is read directly: it may be NULL */
#define USER_END   0x800000000000u

typedef uint64_t __attribute__((aligned(1), may_alias)) any_u64;

/* Returns where it is kept whether a page was there, and in *as how that is written. */
static uint32_t *seen_at(uint64_t address, uint32_t *as)
{
	uint64_t n = address / PAGE;

	*as = (uint32_t)(n / DT_PAGES) | 0x80000000u;
	return &process_block.page[n % DT_PAGES];
}

static bool was_there(uint64_t address)
{
	uint32_t as, *at = seen_at(address, &as);

	return address >= NEVER_READ && address < USER_END &&
	       __atomic_load_n(at, __ATOMIC_RELAXED) == as;
}

static void note_there(uint64_t address)
{
	uint32_t as, *at = seen_at(address, &as);

	if (address < USER_END)
		__atomic_store_n(at, as, __ATOMIC_RELAXED);
}

/* A text that is being read; hook.S knows where these are. */
struct text {
	uint64_t piece[4];	 /* its next bytes */
	uint64_t address;	 /* where they are; then where it goes on, 0: it does not */
	uint64_t left;		 /* bytes that it has at most */
	uint64_t how;		 /* DT_TEXT_... */
	uint64_t saved[2], back; /* what hook.S has pushed before; the point's code begins here */
};

/* The stack from this text to the function's return address is certainly there, and so are the
 * pages that these lie in. */
static bool is_stack(const struct text *t, uint64_t address)
{
	uint64_t low = (uint64_t)t & -(uint64_t)PAGE, high = (uint64_t)(t + 1) + FRAME;

	return address >= low && address <= (high | (PAGE - 1));
}

/* Reads n bytes, at most PIECE, that all lie in one page which is there. */
static void read_there(struct text *t, uint64_t n)
{
	const volatile uint8_t *from = (const volatile uint8_t *)t->address;
	uint64_t word = 0;

	if (n == PIECE) {
		for (unsigned i = 0; i < 4; i++)
			((volatile uint64_t *)t->piece)[i] = ((const any_u64 *)t->address)[i];
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		word |= (uint64_t)from[i] << i % 8 * 8;
		if (i % 8 == 7 || i + 1 == n) {
			t->piece[i / 8] = word;
			word = 0;
		}
	}
}

/* Puts zeros behind the first n bytes, and behind a NUL. Returns how many bytes are left. */
static uint64_t cut(struct text *t, uint64_t n)
{
	const uint64_t low = t->how & DT_TEXT_BUFFER ? 0 : 0x0101010101010101u;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t w = t->piece[i], zeros, k = 8 * i;

		if (n <= k) {
			t->piece[i] = 0;
			continue;
		}
		zeros = (w - low) & ~w & low << 7;
		if (zeros && k + (uint64_t)__builtin_ctzll(zeros) / 8 < n)
			n = k + (uint64_t)__builtin_ctzll(zeros) / 8;
		if (n < k + 8)
			t->piece[i] = n == k ? 0 : w & ((1ull << 8 * (n - k)) - 1);
	}
	return n;
}

/* Reads up to n bytes; negative: none can be read. */
static long read_piece(struct text *t, uint64_t n)
{
	uint64_t page = PAGE - t->address % PAGE, there = 0;
	long got;

	if (is_stack(t, t->address) ||
	    ((t->how & DT_TEXT_SURE) && !(t->how & DT_TEXT_BAD) && was_there(t->address))) {
		there = n < page ? n : page;
		/* what lies behind the text in its page is there, too: reading it is quicker */
		read_there(t, page < PIECE ? there : PIECE);
		if (there == n || cut(t, there) < there)
			return (long)n;
	}
	got = read_own(t->address + there, (char *)t->piece + there, n - there);
	if (got > 0) {
		note_there(t->address + there);
		note_there(t->address + there + (uint64_t)got - 1);
	}
	return there ? (long)there + (got > 0 ? got : 0) : got;
}

/* Puts in front of a buffer's first bytes how many of it are recorded, and how many it has. */
static void put_head(struct text *t)
{
	uint64_t has = t->how >> DT_TEXT_LENGTH;

	t->piece[3] = t->piece[2];
	t->piece[2] = t->piece[1];
	t->piece[1] = t->piece[0];
	t->piece[0] = t->left | (has > UINT32_MAX ? UINT32_MAX : has) << 32;
	t->how &= ~(uint64_t)DT_TEXT_HEAD;
}

/* Reads the next bytes of a text, with zeros after its end. -1: nothing can be read there; of a
 * buffer, not all that there should be. */
int dt_text(struct text *t)
{
	uint64_t room = t->how & DT_TEXT_HEAD ? PIECE - 8 : PIECE, from = t->address;
	uint64_t n = t->left < room ? t->left : room, next = from + n;
	long got = 0;

	for (unsigned i = 0; i < 4; i++)
		((volatile uint64_t *)t->piece)[i] = 0;
	if (n)
		got = read_piece(t, n);
	t->address = 0;
	if (n && (got <= 0 || ((t->how & DT_TEXT_BUFFER) && (uint64_t)got < n))) {
		cut(t, 0);
		t->how |= DT_TEXT_BAD;
		return -1;
	}
	n = cut(t, (uint64_t)got);
	if (t->how & DT_TEXT_HEAD)
		put_head(t);
	t->left -= next - from;
	if (t->how & DT_TEXT_BUFFER ? !t->left
				    : n < PIECE || (!t->left && !(t->how & DT_TEXT_BOUND)))
		return 0;
	/* the function may not look at the next page */
	if (next / PAGE != from / PAGE && (t->how & DT_TEXT_SURE) == DT_SURE_FIRST)
		t->how &= ~(uint64_t)DT_TEXT_SURE;
	t->address = next;
	return 0;
}

/* --- messages */

/* Returns a free slot for a message, now being filled; NULL: all are taken. */
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

/* Returns what claim_request() does; with wait, if all are taken, waits until one is free. */
static struct dt_request *find_request(bool wait)
{
	struct dt_request *q = claim_request();

	while (!q && wait && !controller_gone() && followed()) {
		ring_bell();
		futex_wait(&session.request[0].state, session.request[0].state, MS);
		q = claim_request();
	}
	return q;
}

/*
 * Sends a message to the controller. With wait, it returns when the controller has dealt with that,
 * or has gone, however long it takes: planning a library of a hundred thousand functions takes
 * seconds, and what ran meanwhile would not be recorded. A process that wants nothing recorded
 * waits three seconds at most.
 */
#define PATIENCE 60 /* rounds of 50 ms */

static void post(uint32_t kind, bool wait, uint64_t path, int dirfd)
{
	uint32_t why = kind == DT_REQUEST_MODULES   ? DT_HELD_MODULES
		       : kind == DT_REQUEST_PROCESS ? DT_HELD_FORK
		       : kind == DT_REQUEST_OPT_OUT ? DT_HELD_STOP
						    : DT_HELD_EXEC;
	struct since since = {0, 0};
	struct dt_request *q;
	bool timed;

	if (controller_gone() || !followed())
		return;
	if (confined() || is_strict()) {
		__atomic_add_fetch(&session.unsent, 1, __ATOMIC_RELAXED);
		return;
	}
	timed = may_read_clock();
	if (timed)
		since = since_now();
	q = find_request(wait);
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
	q->proof = __atomic_add_fetch(&session.proofs, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&process_block.proof[q - session.request], q->proof, __ATOMIC_RELAXED);
	__atomic_store_n(&q->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
	ring_bell();
	if (!wait)
		return; /* the controller frees the slot */
	for (unsigned rounds = 0;; rounds++) {
		uint32_t state = __atomic_load_n(&q->state, __ATOMIC_ACQUIRE);

		if (state == DT_REQUEST_DONE || controller_gone() || !followed())
			break;
		if (rounds >= PATIENCE && __atomic_load_n(&kept_block.opted_out, __ATOMIC_ACQUIRE))
			break;
		futex_wait(&q->state, state, 50 * MS);
	}
	if (timed)
		tell_held(q->tid | kept_block.tag, &since, why);
	__atomic_store_n(&q->state, DT_REQUEST_FREE, __ATOMIC_RELEASE);
}

static void tell_of(uint32_t kind, bool wait, uint64_t path, int dirfd)
{
	bool counted = begin_calling();

	post(kind, wait, path, dirfd);
	end_calling(counted);
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
 * Called when the process wants nothing recorded any more. From here on its hooks take the slow
 * path, which records nothing; the controller, for which this waits, switches its sites off.
 * Children inherit both.
 */
void dt_opt_out(void)
{
	__atomic_store_n(&kept_block.opted_out, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
	tell(DT_REQUEST_OPT_OUT, true);
}

/* argument: dirfd and path, as hook.S has pushed them */
void dt_before_execat(const uint64_t *argument)
{
	tell_of(DT_REQUEST_EXEC, true, argument[1], (int)argument[0]);
}

void dt_after_exec(void)
{
	tell(DT_REQUEST_EXEC_FAILED, true);
}

/* The parent's rseq block still has the child's mark. Registering it anew stores the core. */
void dt_after_vfork(void)
{
	uint64_t fs;
	bool counted;

	if (!blob.rseq_offset)
		return;
	fs = thread_pointer() + (uint64_t)blob.rseq_offset;
	counted = begin_calling();
	if (!confined()) { /* else the kernel stores it when another thread runs in between */
		call4(SYS_RSEQ, (long)fs, blob.rseq_size, 1, blob.rseq_signature);
		call4(SYS_RSEQ, (long)fs, blob.rseq_size, 0, blob.rseq_signature);
	}
	end_calling(counted);
}

/* Ends appending by rseq: each record goes through the slow path from here on, which looks first.
 */
static void leave_fast_path(void)
{
	__atomic_store_n(&process_block.shared_only, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
}

/*
 * A clone without a thread block of its own would append with its maker's rseq block, which does
 * not protect it. If the maker sleeps meanwhile (as in vfork) the child marks the block: see clone
 * in hook.S. If both run, no thread of the process can append by rseq any more.
 */
void dt_before_clone(uint64_t flags)
{
	if (!(flags & CLONE_VM) || (flags & (CLONE_SETTLS | CLONE_VFORK)))
		return;
	leave_fast_path();
}

/* args: struct clone_args, made by libc itself; its flags come first. */
void dt_before_clone3(const uint64_t *args)
{
	dt_before_clone(args[0]);
}

/* --- what the program is about to forbid itself */

/*
 * Waits until no thread makes a system call for us; it sleeps by system calls if they are allowed.
 * It waits a minute at most: a thread may have left the slow path by longjmp from a signal handler.
 */
static void wait_for_calls(bool allowed)
{
	for (int i = 0; i < 60000 && !controller_gone(); i++) {
		uint32_t n = __atomic_load_n(&process_block.calling, __ATOMIC_SEQ_CST);

		/* negative: a signal handler has forked in the middle of a call, and its child has
		 * gone on */
		if ((int32_t)n <= 0)
			return;
		if (allowed)
			futex_wait(&process_block.calling, n, MS);
		else
			for (int k = 0; k < 10000; k++) /* some 0.1 ms or more */
				__builtin_ia32_pause();
	}
}

/* Notes that this thread, and no other, is about to be allowed read, write and exit only, and not
 * to read the clock. */
static void become_strict(void)
{
	uint64_t fs = 0;
	uint32_t i;

	/* a thread without a thread block can not be told from others: then none records any more
	 */
	if (confined() || call4(SYS_ARCH_PRCTL, ARCH_GET_FS, (long)&fs, 0, 0) < 0 || !fs)
		__atomic_store_n(&kept_block.strict, DT_STRICT_MAX + 1, __ATOMIC_SEQ_CST);
	i = __atomic_fetch_add(&kept_block.strict, 1, __ATOMIC_SEQ_CST);
	if (i < DT_STRICT_MAX)
		__atomic_store_n(&kept_block.strict_fs[i], thread_pointer(), __ATOMIC_SEQ_CST);
	__atomic_store_n(&kept_block.asks_clock, 1, __ATOMIC_SEQ_CST);
	leave_fast_path();
}

/* Notes that a seccomp filter is about to be installed, and waits for calls that are under way. */
static void become_confined(void)
{
	bool allowed = !confined();

	__atomic_store_n(&session.confined, 1, __ATOMIC_RELAXED);
	if (allowed) /* the controller, which sleeps for long, sleeps only shortly from then on */
		ring_bell();
	__atomic_store_n(&kept_block.confined, 1, __ATOMIC_SEQ_CST);
	wait_for_calls(allowed);
}

/* Looks at a call of prctl or seccomp that is about to be made. argument: the number of the system
 * call and its first three arguments. */
void dt_before_call(const uint64_t *argument)
{
	uint64_t mode = 0;

	if (argument[0] == SYS_SECCOMP && argument[1] <= 1)
		mode = argument[1] + 1;
	else if (argument[0] == SYS_PRCTL && (int)argument[1] == PR_SET_SECCOMP)
		mode = argument[2];
	if (mode == 1)
		become_strict();
	else if (mode == SECCOMP_FILTER)
		become_confined();
	if (argument[0] == SYS_PRCTL && (int)argument[1] == PR_SET_TSC &&
	    (uint32_t)argument[2] != PR_TSC_ENABLE) {
		__atomic_store_n(&kept_block.asks_clock, 1, __ATOMIC_SEQ_CST);
		leave_fast_path();
	}
}

static void count_clockless(const struct dt_record *rec)
{
	if (rec->kind == DT_EXIT)
		__atomic_add_fetch(&session.clockless_out, 1, __ATOMIC_RELAXED);
	else if (rec->kind != DT_MORE) /* that belongs to the record before it */
		__atomic_add_fetch(&session.clockless_in, 1, __ATOMIC_RELAXED);
}

/* --- appending */

static bool watched(uint32_t id)
{
	uint32_t low = 0, high = session.watches;

	if (high > DT_WATCH_MAX)
		high = DT_WATCH_MAX;
	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (session.watch[mid] == id)
			return true;
		if (session.watch[mid] < id)
			low = mid + 1;
		else
			high = mid;
	}
	return false;
}

/*
 * Called in a forked child, which finds its process block wiped: fills the block, and makes the
 * process known to the controller. The first process of a PID namespace, or one put into another
 * namespace, does not see its parent (getppid() is 0). Such a process, and one whose parent is
 * number 1, waits until the controller has given it a tag that tells its numbers from others'.
 */
static void begin_process(void)
{
	bool strange = !confined() && call4(SYS_GETPPID, 0, 0, 0, 0) <= 1;

	process_block.pid = confined() ? 0 : (uint32_t)call4(SYS_GETPID, 0, 0, 0, 0);
	if (strange)
		tell(DT_REQUEST_PROCESS, true);
	__atomic_store_n(&process_block.cores, (uint32_t)blob.cores, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&kept_block.opted_out,
			    __ATOMIC_SEQ_CST)) /* another thread may have done so just now */
		__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&kept_block.asks_clock, __ATOMIC_SEQ_CST))
		leave_fast_path();
	if (strange)
		return;
	/* a child of a watched process is not watched: it waits until its sites are switched off */
	tell(DT_REQUEST_PROCESS, session.watches && !session.all && !watched(process_block.pid));
}

/* Changes *word and the word after it, if they are *first and *second; else sets these to what they
 * are. word is aligned to 16 bytes. */
static bool change_both(uint64_t *word, uint64_t *first, uint64_t *second, uint64_t new_first,
			uint64_t new_second)
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %0"
			 : "+m"(word[0]), "+m"(word[1]), "=@ccz"(done), "+a"(*first), "+d"(*second)
			 : "b"(new_first), "c"(new_second)
			 : "memory");
	return done;
}

/*
 * Counts a record as lost because the ring is full up to `hard'. Returns false when the ring is not
 * full any more: the record is to be tried again.
 */
static bool count_lost(struct dt_ring *r, uint64_t hard)
{
	uint64_t lost =
		__atomic_load_n(&r->lost, __ATOMIC_ACQUIRE); /* read after hard: never older */
	uint64_t dropped = __atomic_load_n(&r->dropped, __ATOMIC_RELAXED);

	do {
		uint64_t ahead = DT_LOST_AHEAD(lost, hard);

		if (ahead) {
			__atomic_compare_exchange_n(&r->hard, &hard, hard + ahead, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
			return false;
		}
		if (DT_LOST_COUNT(lost) == DT_LOST_MAX)
			return true;
	} while (!change_both(&r->lost, &lost, &dropped, lost + 1, dropped + 1));
	return true;
}

static struct dt_ring *shared_ring(void)
{
	return dt_ring_at(&session, blob.stride, (unsigned)blob.cores);
}

static uint32_t thread_id(void);

/* Waits for room at pos in the ring, for a short time at most. */
static void wait_for_room(struct dt_ring *r, uint64_t pos)
{
	uint32_t wake;

	__atomic_add_fetch(&r->stalls, 1, __ATOMIC_RELAXED);
	if (confined()) {
		ring_bell();
		for (int i = 0; i < 1000; i++)
			__builtin_ia32_pause();
		return;
	}
	wake = __atomic_load_n(&r->wake, __ATOMIC_ACQUIRE);
	__atomic_add_fetch(&r->waiters, 1, __ATOMIC_SEQ_CST);
	/* pairs with the controller, which writes hard and limit, adds 1 to wake, then reads
	 * waiters */
	if (pos >= __atomic_load_n(&r->hard, __ATOMIC_SEQ_CST)) {
		ring_bell();
		futex_wait(&r->wake, wake, 20 * MS);
	}
	__atomic_sub_fetch(&r->waiters, 1, __ATOMIC_SEQ_CST);
}

/*
 * Called when the ring has no room at pos. Returns true when it may have room after this, false
 * when the record is not to be kept (if it counts as lost, it has been counted). The time that it
 * took to make room is told to the controller.
 */
static bool make_room(struct dt_ring *r, uint64_t pos, const struct dt_record *rec)
{
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
	uint64_t hard = __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE);
	struct since since;

	if (pos < limit && pos < hard) /* recording may be set to freeze after the hard limit */
		return true;
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != DT_RECORDING)
		return false;
	/*
	 * `careful' is set before the limits of the cores' rings are set to 0: leave these limits
	 * as they are. The shared ring's limit may be 0 in a careful session, too: dt_rings_alert()
	 * makes it so before the first record.
	 */
	if (!limit && r != shared_ring() && __atomic_load_n(&session.careful, __ATOMIC_ACQUIRE))
		return true;
	since = since_now();
	if (pos < hard) {
		/* the place where recording freezes is not moved to make room */
		if (r == shared_ring() && (limit & DT_FROZEN))
			return true;
		/* only the soft limit is reached: wake the reader, and go on up to the hard one */
		if (!__atomic_compare_exchange_n(&r->limit, &limit, hard, false, __ATOMIC_SEQ_CST,
						 __ATOMIC_RELAXED))
			return true;
		/* a limit of 0 that dt_rings_alert() has set may be that of a careful session by
		 * now: dt_rings_careful() writes `careful' before the limits */
		if (!limit && r != shared_ring() &&
		    __atomic_load_n(&session.careful, __ATOMIC_SEQ_CST)) {
			__atomic_compare_exchange_n(&r->limit, &hard, 0, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED);
			return true;
		}
		ring_bell();
	} else if (session.policy != DT_WAIT || controller_gone()) {
		if (!count_lost(r, hard))
			return true;
		if (rec->kind == DT_ENTRY || rec->kind == DT_POINT)
			__atomic_add_fetch(&r->lost_in, 1, __ATOMIC_RELAXED);
		else if (rec->kind == DT_EXIT)
			__atomic_add_fetch(&r->lost_out, 1, __ATOMIC_RELAXED);
		return false;
	} else {
		wait_for_room(r, pos);
	}
	/* of the shared ring: the thread block may be another thread's, or not there (append()) */
	tell_held(r == shared_ring() ? rec->tid : thread_id(), &since, DT_HELD_ROOM);
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

/* Takes the shared ring's slot for the place at pos, and writes the record there. */
static void fill_shared(struct dt_ring *r, uint64_t pos, const struct dt_record *rec)
{
	uint64_t index = pos / 64, mark;
	uint64_t *m = dt_ring_marks(r, blob.mask + 1) + (index & blob.mask / 64);

	mark = __atomic_load_n(m, __ATOMIC_ACQUIRE);
	/* the slot's writer of a lap ago has not finished, or one of a later lap has taken it: the
	 * place stays empty */
	if ((mark & 1) || DT_MARK_AHEAD(mark, index))
		return;
	if (!__atomic_compare_exchange_n(m, &mark, DT_MARK_BUSY(index, rec->tid), false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	copy_record((struct dt_record *)((char *)r + DT_RING_HEAD + (pos & blob.mask)), rec);
	__atomic_store_n(m, DT_MARK_DONE(index), __ATOMIC_RELEASE);
}

static bool is_frozen_at(uint64_t limit, uint64_t pos)
{
	return (limit & DT_FROZEN) && pos >= (limit & ~DT_FROZEN);
}

/*
 * Appends to the shared ring. A place is taken by compare-and-swap on pos, its slot by another on
 * the slot's mark. So a writer that is stopped or killed half way loses its own record, and no
 * other one waits for it. The reader counts a place that is never committed as lost. Where writers
 * wait for room, no signal handler may come in between: it would wait for the place of the thread
 * that it has interrupted.
 *
 * The caller has seen that the session is not careful. That may have changed since, and recording
 * may have frozen. A record whose place is after that point all the same was begun before it, so
 * its time is set to that of the freezing. (Not every processor can change pos and limit together,
 * which careful sessions need.)
 */
static bool append_shared(struct dt_record *rec)
{
	struct dt_ring *r = shared_ring();
	bool waits = session.policy == DT_WAIT && !confined();
	uint64_t pos, limit, signals;
	uint32_t core = 0;
	bool full, frozen;

	if (waits)
		block_signals(&signals);
	pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
	do {
		limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
		frozen = is_frozen_at(limit, pos);
		full = pos >= limit ||
		       ((limit & DT_FROZEN) && pos >= __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE));
		if (frozen || full)
			break;
		rec->ticks = clock_and_core(&core);
	} while (!__atomic_compare_exchange_n(&r->pos, &pos, pos + 64, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_ACQUIRE));
	if (frozen) { /* nothing is recorded, nothing is lost */
		__atomic_add_fetch(&session.missed, 1, __ATOMIC_RELAXED);
	} else if (!full) {
		uint64_t since = __atomic_load_n(&session.frozen, __ATOMIC_RELAXED);

		if (is_frozen_at(__atomic_load_n(&r->limit, __ATOMIC_ACQUIRE), pos) && since &&
		    rec->ticks > since)
			rec->ticks = since;
		rec->core = (uint16_t)core;
		fill_shared(r, pos, rec);
	}
	if (waits)
		restore_signals(&signals);
	return full && !frozen && make_room(r, pos, rec);
}

/* ---- sessions that look at each event */

/* Copies what the table says about pc. False: nothing; then the record is kept, or, in uniform
 * mode, not kept. */
static bool look_up(uint64_t pc, struct dt_table_entry *found)
{
	struct dt_table *t = (struct dt_table *)blob.table;
	uint32_t seq;
	bool is;

	do {
		size_t low = 0, high;

		while ((seq = __atomic_load_n(&t->seq, __ATOMIC_ACQUIRE)) & 1)
			__builtin_ia32_pause();
		high = t->n;
		if (high > DT_TABLE_MAX)
			high = 0;
		while (low < high) {
			size_t mid = (low + high) / 2;

			if (t->entry[mid].start <= pc)
				low = mid + 1;
			else
				high = mid;
		}
		is = low && t->entry[low - 1].end >= pc;
		if (is)
			*found = t->entry[low - 1];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&t->seq, __ATOMIC_RELAXED) != seq);
	return is;
}

static bool is_watched(const struct dt_record *rec)
{
	return !session.watches || session.all || watched(process_block.pid) || watched(rec->tid);
}

static bool is_event(const struct dt_record *rec)
{
	return rec->kind == DT_EVENT || rec->kind == DT_SEND || rec->kind == DT_RECEIVE;
}

/* Looks whether the record is the start or stop event, and adds UNFREEZE or FREEZE to what is to be
 * done. */
static void trigger(const struct dt_record *rec, uint32_t *what)
{
	uint32_t core;
	uint32_t state = __atomic_load_n(&session.arm_state, __ATOMIC_ACQUIRE);

	if (state == DT_ARM_ARMED && is_event(rec) && (session.arm_has & 1) &&
	    rec->value[0] == session.arm_start &&
	    __atomic_compare_exchange_n(&session.arm_state, &state, DT_ARM_STARTING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		__atomic_store_n(&session.arm_begin, clock_and_core(&core), __ATOMIC_RELEASE);
		*what |= DT_DO_UNFREEZE;
		return;
	}
	/* the start event is tried again, since there was no room */
	if (state == DT_ARM_STARTING && is_event(rec) && rec->value[0] == session.arm_start)
		*what |= DT_DO_UNFREEZE;
	if ((state == DT_ARM_STARTING || state == DT_ARM_RUNNING) && is_event(rec) &&
	    (session.arm_has & 2) && rec->value[0] == session.arm_stop)
		*what |= DT_DO_FREEZE;
}

/*
 * Appends rec, and after it the constant that goes with it, to the shared ring, and freezes or
 * thaws the recording. The place where recording freezes is changed in the same moment as the
 * record's place is taken, so the freezing record is the last one, whatever other threads append.
 * Returns true when it is to be tried again.
 */
static bool append_careful(struct dt_record *rec, const struct dt_table_entry *t, uint32_t what)
{
	struct dt_ring *r = shared_ring();
	uint64_t bytes = what & DT_DO_CONST ? 128 : 64, pos, limit, end, now, half;
	uint32_t core;
	bool thaws;

	pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
	limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
	do {
		uint64_t at = limit & ~DT_FROZEN, hard;

		end = limit;
		thaws = pos >= at && (limit & DT_FROZEN);
		if (thaws) {
			if (!(what & DT_DO_UNFREEZE)) {
				/* nothing is recorded, nothing is lost */
				__atomic_add_fetch(&session.missed, 1, __ATOMIC_RELAXED);
				return false;
			}
			end = DT_NO_LIMIT;
			at = DT_NO_LIMIT;
		}
		hard = __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE);
		if (pos >= at || pos + bytes > hard)
			return make_room(r, pos >= at ? pos : hard, rec);
		now = clock_and_core(&core);
		if ((end & DT_FROZEN) && bytes > 64)
			end += bytes - 64; /* a constant is no record of its own */
		if (what & DT_DO_FREEZE)
			end = (pos + bytes) | DT_FROZEN;
		else if ((what & DT_DO_LATEFREEZE) && !(end & DT_FROZEN))
			end = (pos + bytes + 64 * t->late) | DT_FROZEN;
	} while (!change_both(&r->pos, &pos, &limit, pos + bytes, end));
	rec->ticks = now;
	rec->core = (uint16_t)core;
	if (thaws)
		dt_ring_note_thaw(&session, pos, now);
	fill_shared(r, pos, rec);
	if (what & DT_DO_CONST) {
		struct dt_record more = {.ticks = now,
					 .pc = rec->pc,
					 .tid = rec->tid,
					 .kind = DT_MORE,
					 .flags = 1,
					 .core = rec->core,
					 .sp = rec->sp,
					 .value = {t->constant}};

		fill_shared(r, pos + 64, &more);
	}
	half = r->read + (blob.mask + 1) / 2;
	if (((end & DT_FROZEN) && pos + bytes >= (end & ~DT_FROZEN)) ||
	    (pos < half && pos + bytes >= half))
		ring_bell();
	return false;
}

static void count_filtered(const struct dt_record *rec)
{
	if (rec->kind == DT_ENTRY || rec->kind == DT_POINT)
		__atomic_add_fetch(&session.filtered_in, 1, __ATOMIC_RELAXED);
	else if (rec->kind == DT_EXIT)
		__atomic_add_fetch(&session.filtered_out, 1, __ATOMIC_RELAXED);
}

static bool is_frozen(void)
{
	struct dt_ring *r = shared_ring();
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

	return is_frozen_at(limit, __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE));
}

/* Called when the start event has been recorded and thawed the recording: the controller may read
 * its time from here on. */
static void started(uint32_t what)
{
	uint32_t starting = DT_ARM_STARTING;

	if ((what & DT_DO_UNFREEZE) &&
	    __atomic_compare_exchange_n(&session.arm_state, &starting, DT_ARM_RUNNING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		ring_bell();
}

/*
 * Uniform mode: what is not traced must cost as much as what is. This does all that append_careful
 * does, but leaves the ring's place and limit as they are, and writes the record to no ring.
 */
static void append_nowhere(struct dt_record *rec)
{
	struct dt_ring *r = shared_ring();
	uint64_t pos, limit, mark = 0;
	uint32_t core;

	if (is_frozen())
		return;
	pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
	limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
	do {
		rec->ticks = clock_and_core(&core);
	} while (!change_both(&r->pos, &pos, &limit, pos, limit));
	rec->core = (uint16_t)core;
	/* in place of taking a slot's mark */
	__atomic_compare_exchange_n(&process_block.nowhere[0], &mark, mark, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	copy_record((struct dt_record *)process_block.nowhere, rec);
}

/* Does the same around append_nowhere() as careful() does around append_careful(). */
static bool pretend(struct dt_record *rec)
{
	uint64_t signals;

	if (session.policy != DT_WAIT || confined()) {
		append_nowhere(rec);
		return false;
	}
	block_signals(&signals);
	append_nowhere(rec);
	restore_signals(&signals);
	return false;
}

/* Handles a record of a careful session. Returns true when it is to be tried again. */
static bool careful(struct dt_record *rec)
{
	struct dt_table_entry t = {.what = DT_DO_ENTRY | DT_DO_EXIT};
	uint64_t signals;
	uint32_t what;
	bool again;

	if (!look_up(rec->pc, &t) && session.uniform && !is_event(rec))
		return pretend(rec);
	what = t.what;
	if ((rec->kind == DT_ENTRY && !(what & DT_DO_ENTRY)) ||
	    (rec->kind == DT_EXIT && !(what & DT_DO_EXIT)))
		return false;
	if (rec->kind == DT_EXIT) /* options are for entries, and a point counts as one */
		what &= what & DT_DO_ENTRY ? (DT_DO_COUNT | DT_DO_ONLYPID) : ~0u;
	if (!is_watched(rec) || ((what & DT_DO_ONLYPID) && t.pid != process_block.pid) ||
	    (what & DT_DO_COUNT)) {
		if (!is_frozen())
			count_filtered(rec);
		return false;
	}
	if (__atomic_load_n(&session.arm_state, __ATOMIC_RELAXED) != DT_ARM_NONE)
		trigger(rec, &what);
	rec->flags |= (what & DT_DO_FREEZE ? DT_FREEZE : 0) |
		      (what & DT_DO_UNFREEZE ? DT_UNFREEZE : 0) |
		      (what & DT_DO_LATEFREEZE ? DT_LATEFREEZE : 0) |
		      (what & DT_DO_BASE ? DT_BASE : 0) | (what & DT_DO_ADJACENT ? DT_ADJACENT : 0);
	if (session.policy != DT_WAIT || confined()) {
		again = append_careful(rec, &t, what);
		started(what);
		return again;
	}
	/* a signal handler must not wait for the place of the thread that it has interrupted */
	block_signals(&signals);
	again = append_careful(rec, &t, what);
	restore_signals(&signals);
	started(what);
	return again;
}

/* Asks the kernel for the thread's id, and returns it with its PID namespace's tag, as in records.
 */
static uint32_t asked_thread_id(void)
{
	return confined() ? DT_NO_TID : (uint32_t)call4(SYS_GETTID, 0, 0, 0, 0) | kept_block.tag;
}

/* Returns the same, but from the thread's block if the offset there is known. */
static uint32_t thread_id(void)
{
	uint64_t fs;

	if (blob.tid_offset) {
		__asm__("mov %%fs:0, %0" : "=r"(fs));
		return *(uint32_t *)(fs + (uint64_t)blob.tid_offset) | kept_block.tag;
	}
	return asked_thread_id();
}

/* Does the work of dt_slow(). */
static int append(struct dt_record *rec)
{
	struct dt_ring *r;
	uint32_t core;
	uint64_t pos;

	if (!process_block.cores && !process_block.shared_only && !is_strict()) {
		begin_process();
		if (!session.watches || session.all || watched(process_block.pid))
			return 1;
		count_filtered(rec);
		return 0;
	}
	if (__atomic_load_n(&session.state, __ATOMIC_ACQUIRE) != DT_RECORDING)
		return 0;
	if (!may_read_clock()) {
		count_clockless(rec);
		return 0;
	}
	if (__atomic_load_n(&session.careful, __ATOMIC_ACQUIRE)) {
		rec->tid = thread_id();
		return careful(rec);
	}
	/* unless the hook is one without rseq */
	if (rec->core != DT_SHARED_CORE && !process_block.shared_only) {
		uint64_t fs;

		__asm__("mov %%fs:0, %0" : "=r"(fs));
		core = __atomic_load_n((uint32_t *)(fs + (uint64_t)blob.rseq_offset + 4),
				       __ATOMIC_RELAXED);
		if (core < process_block.cores) {
			r = dt_ring_at(&session, blob.stride, core);
			pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
			return make_room(r, pos, rec);
		}
	}
	/* here the thread block may be another thread's: see dt_before_clone() */
	rec->tid = asked_thread_id();
	return append_shared(rec);
}

/*
 * Called by a hook that could not append rec by rseq. Returns 1 when the hook is to try again, 0
 * when rec is done with: appended, counted as lost, or not wanted.
 */
int dt_slow(struct dt_record *rec)
{
	bool counted;
	int again;

	if (__atomic_load_n(&kept_block.opted_out, __ATOMIC_ACQUIRE))
		return 0;
	counted = begin_calling();
	again = append(rec);
	end_calling(counted);
	return again;
}
