/* SPDX-License-Identifier: MIT */
/* The registers of a thread that is stopped by ptrace, and the signal frames on its stack. */
#ifndef DT_ARCH_REGS_H
#define DT_ARCH_REGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* The registers of a thread. */
struct dt_regs {
	struct user_regs_struct of; /* for arch/ only */
};

/* Read and write the registers of a thread that is stopped by ptrace; -1 and errno on failure. */
int dt_regs_get(pid_t tid, struct dt_regs *r);
int dt_regs_set(pid_t tid, const struct dt_regs *r);

/* Returns the instruction pointer. */
static inline uint64_t dt_regs_ip(const struct dt_regs *r)
{
	return r->of.rip;
}

/* Sets the instruction pointer in *r; dt_regs_set() gives it to the thread. */
static inline void dt_regs_set_ip(struct dt_regs *r, uint64_t ip)
{
	r->of.rip = ip;
}

/* Returns the stack pointer. */
static inline uint64_t dt_regs_sp(const struct dt_regs *r)
{
	return r->of.rsp;
}

/* Returns the thread pointer. */
static inline uint64_t dt_regs_tp(const struct dt_regs *r)
{
	return r->of.fs_base;
}

/* Returns the number of the system call in which the thread is stopped; negative: in none. */
static inline int64_t dt_regs_call(const struct dt_regs *r)
{
	return (int64_t)r->of.orig_rax;
}

/* Returns the result of that system call; if it was interrupted, one of the kernel's negative
 * ERESTART... values, which say how it is restarted. */
static inline int64_t dt_regs_result(const struct dt_regs *r)
{
	return (int64_t)r->of.rax;
}

/* Makes *r say that the thread is in no system call, so that the kernel restarts none when the
 * thread goes on. */
static inline void dt_regs_leave_call(struct dt_regs *r)
{
	r->of.orig_rax = (unsigned long)-1;
}

/* Looks whether the thread is stopped in a system call that the kernel restarts by itself, whatever
 * interrupted it. */
bool dt_regs_begins_anew(const struct dt_regs *r);
/* Changes *r so that the thread repeats the system call in which it is stopped. first: its first
 * argument, where the kernel does not tell that of a stopped thread (DT_REGS_FIRST_LOST). */
#define DT_REGS_FIRST_LOST 0
void dt_regs_again(struct dt_regs *r, uint64_t first);

/*
 * Changes *r of a thread that is stopped inside a system call as the kernel does when it restarts
 * the call. To be used before the thread is made to run code elsewhere and comes back to *r.
 */
void dt_regs_settle(struct dt_regs *r);

/*
 * Looks whether the word of the stack at `word' may be the instruction pointer in a signal frame,
 * as the kernel lays it out; *restorer is then the address to which the handler returns; 0: the
 * frame does not say that, but is sure enough to be one.
 * DT_FRAME_BEFORE words before it and DT_FRAME_AFTER words after it must be readable too.
 */
#define DT_FRAME_BEFORE 22 /* 8-byte words */
#define DT_FRAME_AFTER	2
bool dt_frame_may_be(const uint64_t *word, uint64_t *restorer);

/* Looks whether this code is one to which signal handlers return: it calls rt_sigreturn. */
#define DT_RESTORER 9 /* bytes that are looked at */
bool dt_frame_restorer(const unsigned char code[DT_RESTORER]);

#endif
