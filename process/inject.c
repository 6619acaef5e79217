/* SPDX-License-Identifier: MIT */
/* Making a stopped thread perform system calls. */
#include "process/inject.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "process/memory.h"
#include "process/now.h"
#include "process/threads.h"

#define STUB_MAX 1024

/*
 * Makes a thread that is in a restartable sequence of its own (tcmalloc has some) begin that anew.
 * The kernel would not: it sees only that the thread is in the stub, outside of the sequence.
 */
static void abort_sequence(pid_t tid, int mem, struct dt_regs *r)
{
	uint64_t address, at, cs[4], zero = 0;
	uint32_t size, signature;

	if (!dt_thread_rseq(tid, &address, &size, &signature) ||
	    dt_memory_read(mem, address + 8, &at, sizeof(at)) < 0 || !at ||
	    dt_memory_read(mem, at, cs, sizeof(cs)) < 0 || dt_regs_ip(r) - cs[1] >= cs[2])
		return;
	if (dt_memory_write(mem, address + 8, &zero, sizeof(zero)) == 0)
		dt_regs_set_ip(r, cs[3]);
}

/* Returns the address of the longest unused end of a text segment's last page, from the segment's
 * last byte to the end of the page; 0: none has `need' bytes. */
static uint64_t find_cave(int mem, const struct dt_maps *maps, size_t need)
{
	uint64_t best = 0, room = 0;

	for (size_t i = 0; i < maps->n; i++) {
		const struct dt_mapping *m = &maps->map[i];
		Elf64_Ehdr h;
		uint64_t base = m->low;
		size_t first = i;

		if (!m->exec || strcmp(m->path, "[vsyscall]") == 0)
			continue;
		if (strcmp(m->path, "[vdso]") != 0) {
			/* the file's first mapping holds its header */
			while (first > 0 && maps->map[first - 1].inode == m->inode &&
			       m->inode != 0 && maps->map[first].offset != 0)
				first--;
			base = maps->map[first].low;
			if (m->inode == 0 || maps->map[first].offset != 0)
				continue;
		}
		if (dt_memory_read(mem, base, &h, sizeof(h)) < 0 ||
		    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_phnum > 64)
			continue;
		/* load bias: the first PT_LOAD's page begins at base */
		bool have_bias = false;
		uint64_t bias = 0;
		for (int p = 0; p < h.e_phnum; p++) {
			Elf64_Phdr ph;
			uint64_t end;

			if (dt_memory_read(mem, base + h.e_phoff + (uint64_t)p * h.e_phentsize, &ph,
					   sizeof(ph)) < 0)
				break;
			if (ph.p_type != PT_LOAD)
				continue;
			if (!have_bias)
				bias = base - (ph.p_vaddr & ~0xfffull), have_bias = true;
			if (!(ph.p_flags & PF_X))
				continue;
			end = (bias + ph.p_vaddr + ph.p_memsz + 15) & ~15ull;
			if (end <= m->low || end >= m->high)
				continue;
			if (m->high - end > room)
				best = end, room = m->high - end;
		}
	}
	return room >= need ? best : 0;
}

static bool is_zombie(pid_t tid)
{
	char path[64], text[512] = "";
	const char *p;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return true;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	p = strrchr(text, ')');
	return !p || p[2] == 'Z' || p[2] == 'X';
}

#define PATIENCE 30000000000ull /* ns for one call; mapping gigabytes of rings takes seconds */
#define UNMAPS	 10000000000ull /* ns for one that unmaps */
#define STOPS	 2000000000ull	/* ns for a stop that we have asked for */

/*
 * Waits for the next stop of tid; -1: the thread has ended. A first thread that is killed reports
 * nothing before its process's other threads have been waited for, which may be ours to wait for,
 * too: so its state is looked at from time to time. *late: it did not stop by itself until that
 * time, and was told to. Then it may not stop either, as if its code has been changed to a vfork:
 * then it returns 0, and *status stays as it is.
 */
static int next_stop(pid_t tid, uint64_t until, int *status, bool *late)
{
	*late = false;
	for (unsigned i = 1;; i++) {
		pid_t got = dt_threads_wait(tid, status);

		if (got > 0)
			return 0;
		if ((got < 0 && errno != EINTR) || (i % 64 == 0 && is_zombie(tid)))
			return -1;
		if (i > 8)
			usleep(20);
		if (i % 64 != 0 || dt_now_ns() <= until)
			continue;
		if (*late)
			return 0;
		*late = ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0;
		until = dt_now_ns() + STOPS;
	}
}

static uint64_t patience(const struct dt_injected_call *call)
{
	return call->nr == SYS_munmap ? UNMAPS : PATIENCE;
}

/* Lets the stub run from system call to system call, taking the results. */
static int run(pid_t tid, uint64_t code, size_t size, struct dt_injected_call *call, size_t n,
	       struct dt_error *e)
{
	struct dt_regs r;
	struct ptrace_syscall_info info;
	uint64_t entered =
		0; /* where the thread goes on after our call that is under way; 0: none */
	/* for each call, whatever signal handlers the thread runs meanwhile */
	uint64_t until = dt_now_ns() + patience(&call[0]), ip;
	int64_t result;
	size_t i = 0;
	int signal = 0, status;
	bool late;

	while (i < n) {
		if (ptrace(PTRACE_SYSCALL, tid, 0, signal) < 0)
			return dt_fail(e, "thread %d went away: %s", tid, strerror(errno));
		signal = 0;
		status = 0;
		if (next_stop(tid, until, &status, &late) < 0 || (!late && !WIFSTOPPED(status)))
			return dt_fail(e, "process of thread %d ended while it was prepared", tid);
		/* the calls are short; another thread may have overwritten the code that makes them
		 */
		if (late || dt_now_ns() > until)
			return dt_fail(
				e,
				"thread %d does not come back from what it is made to do; another of its "
				"process's threads has changed its code, or the machine stands still",
				tid);
		if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			/* a signal is delivered as usual: the stub can be interrupted. A stop of
			 * the whole process is ignored; it takes effect when we let go. */
			if (status >> 16 == 0)
				signal = WSTOPSIG(status);
			continue;
		}
		if (dt_regs_get(tid, &r) < 0 ||
		    ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) < 0)
			return dt_fail(e, "thread %d went away: %s", tid, strerror(errno));
		/* These are not our calls: at `code' itself, the end of the execve in which the
		 * thread was stopped; outside of the stub, a signal handler's calls; in the stub,
		 * but not entered from it, the end of a handler's rt_sigreturn, which has restored
		 * the stub's registers already. */
		ip = dt_regs_ip(&r);
		if (ip <= code || ip >= code + size)
			continue;
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
			entered = ip;
			continue;
		}
		if (info.op != PTRACE_SYSCALL_INFO_EXIT || ip != entered)
			continue;
		entered = 0;
		until = dt_now_ns() + patience(&call[i + 1 < n ? i + 1 : i]);
		result = call[i].result = dt_regs_result(&r);
		if (result < 0 && result > -4096 && !call[i].may_fail)
			return dt_fail(e, "%s failed in the traced process: %s", call[i].what,
				       strerror((int)-result));
		i++;
	}
	return 0;
}

int dt_inject(pid_t tid, int mem, const struct dt_maps *maps, uint64_t code,
	      struct dt_injected_call *call, size_t n, struct dt_error *e)
{
	struct dt_regs saved, r;
	unsigned char text[STUB_MAX], old[STUB_MAX];
	uint64_t mask, all = ~0ull;
	bool cave = code == 0;
	size_t size, used; /* most bytes that the code can have; bytes that it has */
	int rc = -1;

	if (ptrace(PTRACE_SETOPTIONS, tid, 0, PTRACE_O_TRACESYSGOOD) < 0 ||
	    dt_regs_get(tid, &saved) < 0 || ptrace(PTRACE_GETSIGMASK, tid, sizeof(mask), &mask) < 0)
		return dt_fail(e, "thread %d can not be controlled: %s", tid, strerror(errno));
	dt_regs_settle(&saved);
	abort_sequence(tid, mem, &saved);
	/* first with the highest address, for the greatest length: addresses below 4 GiB take less
	 */
	size = dt_injected_code(text, sizeof(text), ~0ull, mask, call, n, &saved);
	if (size >= sizeof(text))
		return dt_fail(e, "too many calls to inject");
	if (cave) {
		code = find_cave(mem, maps, size);
		if (!code)
			return dt_fail(
				e, "no room for %zu bytes of code at the end of any text segment",
				size);
		if (dt_memory_read(mem, code, old, size) < 0)
			return dt_fail(e, "the process's text can not be read: %s",
				       strerror(errno));
	}
	used = dt_injected_code(text, sizeof(text), code, mask, call, n, &saved);
	if (dt_memory_write(mem, code, text, used) < 0)
		return dt_fail(e, "the process's text can not be written: %s", strerror(errno));
	r = saved;
	dt_regs_set_ip(&r, code + DT_INJECTED_ENTRY);
	dt_regs_leave_call(&r);
	/*
	 * Signals are blocked meanwhile: a handler might not return, and an interrupted system call
	 * that is restarted afterwards would not know of it. The stub restores the mask itself.
	 */
	if (ptrace(PTRACE_SETSIGMASK, tid, sizeof(all), &all) < 0 || dt_regs_set(tid, &r) < 0)
		dt_fail(e, "thread %d can not be controlled: %s", tid, strerror(errno));
	else
		rc = run(tid, code + DT_INJECTED_ENTRY, used - DT_INJECTED_ENTRY, call, n, e);
	if ((dt_regs_set(tid, &saved) < 0 ||
	     ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) < 0) &&
	    rc == 0)
		rc = dt_fail(e, "thread %d can not be controlled: %s", tid, strerror(errno));
	if (cave)
		dt_memory_write(mem, code, old, size);
	return rc;
}
