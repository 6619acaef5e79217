/* SPDX-License-Identifier: MIT */
#include "arch/x86_64/regs.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#define SYSCALL 2 /* bytes of the instruction */

/* what the kernel leaves, negated, in rax of a system call that the stop has interrupted
 * (include/linux/errno.h) */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

int dt_regs_get(pid_t tid, struct dt_regs *r)
{
	return ptrace(PTRACE_GETREGS, tid, 0, &r->of) < 0 ? -1 : 0;
}

int dt_regs_set(pid_t tid, const struct dt_regs *r)
{
	return ptrace(PTRACE_SETREGS, tid, 0, &r->of) < 0 ? -1 : 0;
}

bool dt_regs_begins_anew(const struct dt_regs *r)
{
	return (long)r->of.orig_rax >= 0 && (long)r->of.rax == -ERESTARTNOINTR;
}

void dt_regs_again(struct dt_regs *r, uint64_t first)
{
	r->of.rax = r->of.orig_rax;
	r->of.rip -= SYSCALL;
	dt_regs_leave_call(r);
}

void dt_regs_settle(struct dt_regs *r)
{
	if ((long)r->of.orig_rax < 0)
		return;
	switch (-(long)r->of.rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		dt_regs_again(r, 0);
		break;
	case ERESTART_RESTARTBLOCK:
		r->of.orig_rax = SYS_restart_syscall;
		dt_regs_again(r, 0);
		break;
	case ENOSYS: /* stopped inside the execve that has just made this image: it succeeds */
		if (r->of.orig_rax == SYS_execve || r->of.orig_rax == SYS_execveat)
			r->of.rax = 0;
		break;
	}
	dt_regs_leave_call(r);
}

/*
 * struct rt_sigframe consists of the address of the restorer and struct ucontext. In that, rip is
 * at offset 168, followed by the flags and a word of four selectors: cs, gs and fs, which the
 * kernel leaves 0, and ss, which kernels before 4.1 leave 0, too. Of the flags bit 1 is always set,
 * and none above ID (bit 21) ever is. There is no frame without a restorer: the kernel makes none.
 */
#define FRAME_RIP   176
#define USER_CS	    0x33ull
#define USER_SS	    (0x2bull << 48)
#define FLAG_ALWAYS 0x2ull
#define FLAGS	    0x3fffffull

bool dt_frame_may_be(const uint64_t *word, uint64_t *restorer)
{
	_Static_assert(FRAME_RIP / 8 == DT_FRAME_BEFORE, "where rip is in a signal frame");
	*restorer = word[-DT_FRAME_BEFORE];
	return *restorer && (word[1] & FLAG_ALWAYS) && !(word[1] & ~FLAGS) &&
	       (word[DT_FRAME_AFTER] == USER_CS || word[DT_FRAME_AFTER] == (USER_CS | USER_SS));
}

/* It is `mov $15, %rax; syscall', with either form of the mov. */
bool dt_frame_restorer(const unsigned char code[DT_RESTORER])
{
	static const unsigned char form[2][DT_RESTORER] = {
		{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}};

	return memcmp(code, form[0], 9) == 0 || memcmp(code, form[1], 7) == 0;
}
