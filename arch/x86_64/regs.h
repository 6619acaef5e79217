/* SPDX-License-Identifier: MIT */
/* The registers of a thread that is stopped by ptrace, and the signal frames on its stack. */
#ifndef DT_ARCH_REGS_H
#define DT_ARCH_REGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct dt_regs {
	struct user_regs_struct of; /* for arch/ only */
};

/* As ptrace(2): -1 and errno. */
int dt_regs_get(pid_t tid, struct dt_regs *r);
int dt_regs_set(pid_t tid, const struct dt_regs *r);

static inline uint64_t dt_regs_ip(const struct dt_regs *r)
{
	return r->of.rip;
}

static inline void dt_regs_set_ip(struct dt_regs *r, uint64_t ip)
{
	r->of.rip = ip;
}

static inline uint64_t dt_regs_sp(const struct dt_regs *r)
{
	return r->of.rsp;
}

/* The thread pointer. */
static inline uint64_t dt_regs_tp(const struct dt_regs *r)
{
	return r->of.fs_base;
}

/* The number of the system call that the thread is stopped in; negative: in none. */
static inline int64_t dt_regs_call(const struct dt_regs *r)
{
	return (int64_t)r->of.orig_rax;
}

/* What that has given, or is to give; or, negative, what the kernel does with one that was
 * interrupted. */
static inline int64_t dt_regs_result(const struct dt_regs *r)
{
	return (int64_t)r->of.rax;
}

/* The kernel is not to do anything with a system call when the thread goes on. */
static inline void dt_regs_leave_call(struct dt_regs *r)
{
	r->of.orig_rax = (unsigned long)-1;
}

/* Is it stopped in a system call that the kernel begins anew by itself, whatever interrupted it? */
bool dt_regs_begins_anew(const struct dt_regs *r);
/* Has the system call that the thread is stopped in made again when it goes on. */
void dt_regs_again(struct dt_regs *r);

/*
 * Of a thread that is stopped inside a system call: what it has when the kernel restarts that, for
 * who makes it go on elsewhere.
 */
void dt_regs_settle(struct dt_regs *r);

/*
 * A signal frame, as the kernel lays it out on the stack, is found by words around its instruction
 * pointer. word: n of the stack, in order, of which word[i] may be that; i is at least
 * DT_FRAME_BEFORE and less than n - DT_FRAME_AFTER. May it be? Then *restorer is where the handler
 * returns to.
 */
#define DT_FRAME_BEFORE 22 /* 8-byte words */
#define DT_FRAME_AFTER	2
bool dt_frame_may_be(const uint64_t *word, uint64_t *restorer);

/* Is this code what handlers return to: rt_sigreturn? */
#define DT_RESTORER 9 /* bytes that are looked at */
bool dt_frame_restorer(const unsigned char code[DT_RESTORER]);

#endif
