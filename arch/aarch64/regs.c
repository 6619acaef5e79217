/* SPDX-License-Identifier: MIT */
#include "arch/aarch64/regs.h"

#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "arch/aarch64/word.h"

/* what the kernel has negated in x0 of a call that it makes anew (include/linux/errno.h) */
#define ERESTARTNOINTR 513

/* numbers of registers */
#define X_FLAGS	 1 /* of clock_nanosleep(), */
#define X_OP	 1 /* and of futex(), */
#define X_TIMER	 3 /* which has a time to wait there */
#define X_NUMBER 8 /* the number of a system call */

static int get(pid_t tid, int what, void *to, size_t size)
{
	struct iovec v = {to, size};

	return ptrace(PTRACE_GETREGSET, tid, what, &v) < 0 ? -1 : 0;
}

static int set(pid_t tid, int what, const void *from, size_t size)
{
	struct iovec v = {(void *)from, size};

	return ptrace(PTRACE_SETREGSET, tid, what, &v) < 0 ? -1 : 0;
}

/* Looks whether the instruction at an address makes a system call. */
static bool makes_call(pid_t tid, uint64_t at)
{
	uint64_t words;

	errno = 0;
	words = (uint64_t)ptrace(PTRACE_PEEKTEXT, tid, at & ~7ull, 0);
	return !errno && (uint32_t)(words >> (at & 4 ? 32 : 0)) == DT_WORD_SVC;
}

int dt_regs_get(pid_t tid, struct dt_regs *r)
{
	if (get(tid, NT_PRSTATUS, &r->of, sizeof(r->of)) < 0 ||
	    get(tid, NT_ARM_TLS, &r->tp, sizeof(r->tp)) < 0 ||
	    get(tid, NT_ARM_SYSTEM_CALL, &r->call, sizeof(r->call)) < 0)
		return -1;
	r->anew = r->call < 0 && makes_call(tid, r->of.pc);
	return 0;
}

/* The thread pointer is never changed. */
int dt_regs_set(pid_t tid, const struct dt_regs *r)
{
	if (set(tid, NT_PRSTATUS, &r->of, sizeof(r->of)) < 0)
		return -1;
	return set(tid, NT_ARM_SYSTEM_CALL, &r->call, sizeof(r->call));
}

uint64_t dt_regs_ip(const struct dt_regs *r)
{
	return r->of.pc;
}

void dt_regs_set_ip(struct dt_regs *r, uint64_t ip)
{
	r->of.pc = ip;
}

uint64_t dt_regs_sp(const struct dt_regs *r)
{
	return r->of.sp;
}

uint64_t dt_regs_tp(const struct dt_regs *r)
{
	return r->tp;
}

int64_t dt_regs_call(const struct dt_regs *r)
{
	return r->anew ? (int64_t)(int32_t)r->of.regs[X_NUMBER] : r->call;
}

int64_t dt_regs_result(const struct dt_regs *r)
{
	return r->anew ? -ERESTARTNOINTR : (int64_t)r->of.regs[0];
}

void dt_regs_leave_call(struct dt_regs *r)
{
	r->call = -1;
	r->anew = false;
}

bool dt_regs_begins_anew(const struct dt_regs *r)
{
	return r->anew;
}

void dt_regs_again(struct dt_regs *r, uint64_t first)
{
	if (!r->anew) {
		r->of.pc -= 4;
		r->of.regs[0] = first;
	}
	dt_regs_leave_call(r);
}

/* Looks whether a call waits for a time that begins when it is made: made anew as it is, it would
 * wait for all of it once more. The kernel remembers when such a call would have ended. */
static bool waits_on(const struct dt_regs *r)
{
	const unsigned long long *x = r->of.regs;

	switch (x[X_NUMBER]) {
	case SYS_nanosleep:
		return true;
	case SYS_clock_nanosleep:
		return !(x[X_FLAGS] & TIMER_ABSTIME);
	case SYS_futex:
		return (x[X_OP] & FUTEX_CMD_MASK) == FUTEX_WAIT && x[X_TIMER];
	}
	return false;
}

void dt_regs_settle(struct dt_regs *r)
{
	if (r->anew && waits_on(r))
		r->of.regs[X_NUMBER] = SYS_restart_syscall;
	dt_regs_leave_call(r);
}

/*
 * In struct sigcontext, pc is followed by the flags, a word of filler, and a list of other
 * registers, each with a number and its size. The vector registers are the first of them: the
 * kernel always writes these. The frame does not say where the handler returns to, which is in x30.
 */
#define FPSIMD_HEAD 0x0000021046508001ull

bool dt_frame_may_be(const uint64_t *word, uint64_t *restorer)
{
	*restorer = 0;
	return word[DT_FRAME_AFTER] == FPSIMD_HEAD;
}

/* mov x8, #139; svc #0 */
bool dt_frame_restorer(const unsigned char code[DT_RESTORER])
{
	static const uint32_t form[] = {0xd2801168, DT_WORD_SVC};

	return memcmp(code, form, sizeof(form)) == 0;
}
