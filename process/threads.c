/* SPDX-License-Identifier: MIT */
/* Stopping threads. */
#include "process/threads.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/maps.h"
#include "process/memory.h"
#include "process/now.h"

#define STOP_NS	  100000000ull	/* a thread that has not stopped by then can not be stopped */
#define STOPS_MAX 65536		/* most times that are remembered while nobody takes them */
#define BUSY_NS	  3000000000ull /* as STOP_NS, for a thread that could run */
#define CHILD_NS  2000000ull	/* between looks whether it waits for a child of vfork */

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

/* ---- what stopping took ---- */

/* Times for which threads were stopped, until they are taken. The owner thread adds to them, any
 * thread takes. */
static struct {
	pthread_mutex_t lock;
	struct dt_stopped *stop;
	size_t n, room;
	atomic_size_t waiting; /* n, to be read without the lock */
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Adds a time for which a thread was stopped. */
static void tell(pid_t tid, uint64_t begin, uint64_t end)
{
	pthread_mutex_lock(&told.lock);
	if (told.n == told.room && told.room < STOPS_MAX) {
		size_t room = told.room ? 2 * told.room : 64;
		struct dt_stopped *more = realloc(told.stop, room * sizeof(*more));

		if (more) {
			told.stop = more;
			told.room = room;
		}
	}
	if (told.n < told.room)
		told.stop[told.n++] = (struct dt_stopped){tid, begin, end};
	atomic_store(&told.waiting, told.n);
	pthread_mutex_unlock(&told.lock);
}

bool dt_threads_stopped(struct dt_stopped *s)
{
	bool any;

	if (!atomic_load(&told.waiting))
		return false;
	pthread_mutex_lock(&told.lock);
	any = told.n != 0;
	if (any && s)
		*s = told.stop[--told.n];
	atomic_store(&told.waiting, told.n);
	pthread_mutex_unlock(&told.lock);
	return any;
}

/* ---- stopping ---- */

/* Looks whether tid is in the list already. */
static bool known(const struct dt_threads *t, pid_t tid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->tid[i] == tid)
			return true;
	return false;
}

/* Adds a thread to the list. since: ticks from which on it was kept from running; 0: it waited in a
 * system call, and still does. */
static int add(struct dt_threads *t, pid_t tid, uint64_t since, struct dt_error *e)
{
	if (t->n == t->room) {
		size_t room = t->room ? t->room * 2 : 64;
		pid_t *more = realloc(t->tid, room * sizeof(*more));
		uint64_t *times = more ? realloc(t->since, room * sizeof(*times)) : NULL;

		if (more)
			t->tid = more;
		if (!times)
			return dt_fail(e, "out of memory");
		t->since = times;
		t->room = room;
	}
	t->since[t->n] = since;
	t->tid[t->n++] = tid;
	return 0;
}

/* Returns the thread's state, a letter of /proc/PID/task/TID/stat; 0: it is not known; 'X': there
 * is no such thread. */
static char state_of(pid_t pid, pid_t tid)
{
	char path[64], line[256], letter = 0;
	const char *state;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 'X';
	if (fgets(line, sizeof(line), f) && (state = strrchr(line, ')')) != NULL && state[1] == ' ')
		letter = state[2];
	fclose(f);
	return letter;
}

/* Looks whether a thread has ended. A first thread that has stays in the list of threads, as a
 * zombie, until the others have ended. */
static bool has_exited(pid_t pid, pid_t tid)
{
	char state = state_of(pid, tid);

	return state == 'Z' || state == 'X';
}

/* The system call that a thread waits in. */
struct waiting {
	int64_t call; /* its number; -1: in none, or it is not known */
	uint64_t first, sp, ip;
};

/* Reads what call a thread waits in, if that will not be told when it is stopped. */
static struct waiting waiting_in(pid_t pid, pid_t tid)
{
	struct waiting w = {.call = -1};
	char path[64], line[256];
	long call;
	FILE *f;

	if (!DT_REGS_FIRST_LOST)
		return w;
	dt_format(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return w;
	if (fgets(line, sizeof(line), f) &&
	    sscanf(line, "%ld 0x%" SCNx64 " %*s %*s %*s %*s %*s 0x%" SCNx64 " 0x%" SCNx64, &call,
		   &w.first, &w.sp, &w.ip) == 4)
		w.call = call;
	fclose(f);
	return w;
}

/* Returns the number of the call in which a thread is stopped, of which is known what it waited in
 * before; negative: in none. */
static int64_t interrupted(const struct dt_regs *r, const struct waiting *w)
{
	bool same = w->call >= 0 && w->sp == dt_regs_sp(r) && w->ip == dt_regs_ip(r);

	return dt_regs_call(r) < 0 && same ? w->call : dt_regs_call(r);
}

/*
 * Has a thread repeat the system call that our stop has interrupted, which must not be noticed. The
 * calls in the list end with EINTR on any stop, and are not restarted by the kernel, though no
 * signal came (signal(7), "Interruption of system calls by stop signals"). A signal that did come
 * interrupts the call again. *waits: the thread was waiting in a system call.
 */
static void restart_call(pid_t tid, const struct waiting *before, bool *waits)
{
	struct dt_regs r;
	int64_t result, call;

	*waits = false;
	if (dt_regs_get(tid, &r) < 0)
		return;
	/* results of a call that was interrupted while it slept: EINTR, or the kernel's
	 * ERESTART...; what it waits for goes on meanwhile */
	result = dt_regs_result(&r);
	call = interrupted(&r, before);
	*waits = call >= 0 && (result == -EINTR || (result <= -512 && result >= -516));
	if (result != -EINTR)
		return;
	switch (call) {
#ifdef SYS_epoll_wait /* some processors have no number for it */
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		dt_regs_again(&r, before->first);
		dt_regs_set(tid, &r);
	}
}

static pid_t child; /* see dt_threads_child() */

void dt_threads_child(pid_t pid)
{
	child = pid;
}

pid_t dt_threads_wait(pid_t tid, int *status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WNOHANG | __WALL) == 0 && info.si_pid) {
		*status = info.si_status << 8 | 0x7f;
		return tid;
	}
	if (tid != child)
		return waitpid(tid, status, __WALL | WNOHANG);
	info.si_pid = 0;
	if (waitid(P_PID, (id_t)tid, &info, WEXITED | WNOWAIT | WNOHANG | __WALL) < 0)
		return -1;
	/* a stop that has come just now is reported, too, whatever is asked for */
	errno = ECHILD;
	return info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED ? -1 : 0;
}

/* Looks whether a thread waits for its child of vfork to execute a program or to end. */
static bool waits_for_child(pid_t pid, pid_t tid)
{
	char path[64], line[32] = "";
	long call = -1;
	FILE *f;

	if (state_of(pid, tid) != 'D')
		return false;
	dt_format(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(line, sizeof(line), f))
		sscanf(line, "%ld", &call);
	fclose(f);
	return call == SYS_clone || call == SYS_clone3
#ifdef SYS_vfork
	       || call == SYS_vfork
#endif
		;
}

/*
 * Waits for a thread that should stop at once; 0: it does not. One that is seen to wait for a child
 * of vfork twice, some time apart, will not: the child may be waiting for us to answer it.
 */
static pid_t wait_stop(pid_t pid, pid_t tid, int *status)
{
	uint64_t begin = dt_now_ns(), until = STOP_NS, look = CHILD_NS;
	bool waits = false;

	for (;;) {
		pid_t got = dt_threads_wait(tid, status);

		if (got != 0 && !(got < 0 && errno == EINTR))
			return got;
		if (dt_now_ns() - begin > look) {
			if (!waits_for_child(pid, tid))
				waits = false;
			else if (waits)
				return dt_threads_wait(tid, status);
			else
				waits = true;
			look += CHILD_NS;
		}
		/* a thread that only waits for a core will get one, on a busy machine a little
		 * later; there it can also be we who had none, and it has stopped meanwhile */
		while (dt_now_ns() - begin > until) {
			if (until >= BUSY_NS || !strchr("Rt", state_of(pid, tid)))
				return dt_threads_wait(tid, status);
			until += STOP_NS;
		}
		usleep(20);
	}
}

/* Threads of which we are still the tracer: they did not stop in time, or were killed while they
 * were held. Who waits for a process that has been killed is told of its end only when its tracer
 * has been. For the owner thread only, as is all of ptrace. */
static pid_t *late;
static size_t lates, late_room;

static void add_late(pid_t tid)
{
	if (lates == late_room) {
		size_t room = late_room ? 2 * late_room : 64;
		pid_t *more = realloc(late, room * sizeof(*more));

		if (!more)
			return;
		late = more;
		late_room = room;
	}
	late[lates++] = tid;
}

/* Takes tid off that list, if it is there: we are its tracer, and have asked it to stop. */
static bool was_late(pid_t tid)
{
	for (size_t i = 0; i < lates; i++)
		if (late[i] == tid) {
			late[i] = late[--lates];
			return true;
		}
	return false;
}

void dt_threads_let_go(pid_t tid, int signal)
{
	if (ptrace(PTRACE_DETACH, tid, 0, signal) < 0 && errno == ESRCH)
		add_late(tid);
}

bool dt_threads_late(void)
{
	for (size_t i = 0; i < lates;) {
		int status, signal;
		pid_t got = dt_threads_wait(late[i], &status);

		if (got > 0 && WIFSTOPPED(status)) {
			signal = status >> 16 ? 0 : WSTOPSIG(status);
			if (ptrace(PTRACE_DETACH, late[i], 0, signal) < 0 && errno == ESRCH)
				got = 0; /* it has been killed: its end follows */
		}
		if (got == 0)
			i++;
		else
			late[i] = late[--lates];
	}
	return lates;
}

/* Seizes and interrupts one thread, waits for its stop, and adds it to the list. 1: it has ended
 * meanwhile. */
static int stop_one(struct dt_threads *t, pid_t tid, struct dt_error *e)
{
	bool ours = was_late(tid), waits;
	struct waiting before;
	uint64_t since;
	int status;

	if (!ours && ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) < 0) {
		if (errno == ESRCH || (errno == EPERM && has_exited(t->pid, tid)))
			return 1;
		return dt_memory_refused(t->pid, errno, e);
	}
	before = waiting_in(t->pid, tid);
	since = dt_ticks();
	if (!ours && ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0) {
		dt_threads_let_go(tid, 0);
		return 1;
	}
	for (;;) {
		pid_t got = wait_stop(t->pid, tid, &status);

		if (got == 0) {
			/* we are its tracer until it stops; if it does in time, it is released with
			 * the others */
			add(t, tid, 0, NULL);
			return dt_fail(
				e,
				"thread %d of process %d can not be stopped (it may wait for a "
				"vfork child or a device); try again",
				tid, t->pid);
		}
		if (got < 0 || !WIFSTOPPED(status))
			return 1;
		if (status >> 16 == PTRACE_EVENT_STOP) {
			restart_call(tid, &before, &waits);
			break;
		}
		/* a signal came first: it is delivered, and the interrupt follows */
		if (ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status)) < 0) {
			dt_threads_let_go(tid, 0);
			return 1;
		}
	}
	if (add(t, tid, waits ? 0 : since, e) == 0)
		return 0;
	dt_threads_let_go(tid, 0); /* it is in no list of those to be released */
	return -1;
}

int dt_threads_stop_one(pid_t pid, pid_t tid, struct dt_threads *t, struct dt_error *e)
{
	int rc;

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->stopped_at = dt_now_ns();
	rc = stop_one(t, tid, e);
	if (rc == 1)
		rc = dt_fail(e, "thread %d of process %d has ended", tid, pid);
	if (rc < 0)
		dt_threads_release(t);
	return rc;
}

int dt_threads_stop(pid_t pid, struct dt_threads *t, struct dt_error *e)
{
	char path[64];
	bool more = true;

	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->whole_process = true;
	t->stopped_at = dt_now_ns();
	dt_format(path, sizeof(path), "/proc/%d/task", pid);
	/* threads may be made while we go through the list: repeat that until none is new */
	while (more) {
		DIR *d = opendir(path);
		struct dirent *entry;

		if (!d) {
			dt_threads_release(t);
			return dt_memory_refused(pid, errno == ENOENT ? ESRCH : errno, e);
		}
		more = false;
		while ((entry = readdir(d)) != NULL) {
			pid_t tid = (pid_t)atoi(entry->d_name);
			int rc;

			if (tid <= 0 || known(t, tid))
				continue;
			rc = stop_one(t, tid, e);
			if (rc < 0) {
				closedir(d);
				dt_threads_release(t);
				return -1;
			}
			more = more || rc == 0;
		}
		closedir(d);
	}
	if (t->n == 0) {
		dt_threads_release(t);
		return dt_fail(e, "process %d has ended (it may be a zombie)", pid);
	}
	return 0;
}

void dt_threads_release(struct dt_threads *t)
{
	for (size_t i = 0; i < t->n; i++) {
		/* told before the thread goes on, so that it is known before its next record */
		if (t->since[i])
			tell(t->tid[i], t->since[i], dt_ticks());
		/* a thread that has not stopped can be let go only when it has */
		dt_threads_let_go(t->tid[i], 0);
	}
	t->stopped_for = dt_now_ns() - t->stopped_at;
	free(t->tid);
	free(t->since);
	t->tid = NULL;
	t->since = NULL;
	t->n = t->room = 0;
}

static bool is_restorer(int mem, uint64_t address)
{
	unsigned char text[DT_RESTORER];

	return dt_memory_read(mem, address, text, sizeof(text)) == 0 && dt_frame_restorer(text);
}

/* Calls fn for each address to which a signal frame between sp and end returns. */
static void frames(int mem, uint64_t sp, uint64_t end,
		   void (*fn)(void *ctx, uint64_t ip, uint64_t frame), void *ctx)
{
	enum { KEEP = DT_FRAME_BEFORE, MORE = DT_FRAME_AFTER, WORDS = 4096 };
	uint64_t word[KEEP + WORDS + MORE], restorer;

	for (sp &= ~7ull; sp < end; sp += 8 * WORDS) {
		/* the last words are read again with the next piece, since a frame may span both */
		size_t n = end - sp < sizeof(word) ? (end - sp) / 8 : sizeof(word) / 8;

		if (dt_memory_read(mem, sp, word, 8 * n) < 0)
			return;
		for (size_t i = KEEP; i + MORE < n; i++)
			if (dt_frame_may_be(word + i, &restorer) &&
			    (!restorer || is_restorer(mem, restorer)))
				fn(ctx, word[i], sp + 8 * i);
	}
}

void dt_threads_saved(const struct dt_threads *t, int mem,
		      void (*fn)(void *ctx, uint64_t ip, uint64_t frame), void *ctx)
{
	struct dt_maps maps;

	if (dt_maps_read(t->pid, &maps, NULL) < 0)
		return;
	for (size_t i = 0; i < t->n; i++) {
		const struct dt_mapping *stack;
		struct dt_regs r;

		if (dt_regs_get(t->tid[i], &r) < 0)
			continue;
		fn(ctx, dt_regs_ip(&r), 0);
		stack = dt_maps_at(&maps, dt_regs_sp(&r));
		if (stack)
			frames(mem, dt_regs_sp(&r), stack->high, fn, ctx);
	}
	dt_maps_free(&maps);
}

/* The context of note_ip(). */
struct noting {
	struct dt_ips *ips;
	bool (*left_out)(void *ctx, uint64_t ip);
	void *ctx;
};

static void note_ip(void *ctx, uint64_t ip, uint64_t frame)
{
	const struct noting *n = ctx;
	struct dt_ips *ips = n->ips;

	if (n->left_out && n->left_out(n->ctx, ip))
		return;
	if (ips->n == ips->room) {
		size_t room = ips->room ? 2 * ips->room : 64;
		uint64_t *more = realloc(ips->ip, room * sizeof(*more));

		if (!more) {
			ips->failed = true;
			return;
		}
		ips->ip = more;
		ips->room = room;
	}
	ips->ip[ips->n++] = ip;
}

void dt_threads_ips(const struct dt_threads *t, int mem, bool (*left_out)(void *ctx, uint64_t ip),
		    void *ctx, struct dt_ips *ips)
{
	struct noting n = {ips, left_out, ctx};

	*ips = (struct dt_ips){0};
	dt_threads_saved(t, mem, note_ip, &n);
}

void dt_ips_free(struct dt_ips *ips)
{
	free(ips->ip);
	*ips = (struct dt_ips){0};
}

bool dt_ips_inside(const struct dt_ips *ips, uint64_t low, uint64_t high)
{
	for (size_t i = 0; i < ips->n; i++)
		if (ips->ip[i] >= low && ips->ip[i] < high)
			return true;
	return ips->failed;
}

bool dt_threads_inside(struct dt_threads *t, int mem, uint64_t low, uint64_t high)
{
	struct dt_ips ips;
	bool inside;

	dt_threads_ips(t, mem, NULL, NULL, &ips);
	inside = dt_ips_inside(&ips, low, high);
	dt_ips_free(&ips);
	return inside;
}

uint64_t dt_thread_pointer(pid_t tid)
{
	struct dt_regs r;

	return dt_regs_get(tid, &r) < 0 ? 0 : dt_regs_tp(&r);
}

bool dt_thread_rseq(pid_t tid, uint64_t *address, uint32_t *size, uint32_t *signature)
{
	struct {
		uint64_t pointer;
		uint32_t size, signature, flags, pad;
	} c = {0};

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(c), &c) < 0 || !c.pointer)
		return false;
	*address = c.pointer, *size = c.size, *signature = c.signature;
	return true;
}
