/* SPDX-License-Identifier: MIT */
/* The registers of a thread that is stopped by ptrace, and the signal frames on its stack. */
#ifndef DT_ARCH_AARCH64_REGS_H
#define DT_ARCH_AARCH64_REGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/*
 * The registers of a thread. A call that the stop has interrupted and that the kernel will make
 * anew is not shown by the kernel as on x86-64: it sets the thread back to the call's instruction
 * before it stops (do_signal() of arm64), as if it had not been made yet.
 */
struct dt_regs {
	struct user_regs_struct of; /* for arch/ only */
	uint64_t tp;		    /* tpidr_el0 */
	int32_t call;		    /* number of the system call in which it is stopped; -1: none */
	bool anew;		    /* it is in none, and the next instruction makes one */
};

/* Read and write the registers of a thread that is stopped by ptrace; -1 and errno on failure. */
int dt_regs_get(pid_t tid, struct dt_regs *r);
int dt_regs_set(pid_t tid, const struct dt_regs *r);

/* Return and set the instruction pointer; return the stack pointer and the thread pointer; all as
 * arch/x86_64/regs.h says. */
uint64_t dt_regs_ip(const struct dt_regs *r);
void dt_regs_set_ip(struct dt_regs *r, uint64_t ip);
uint64_t dt_regs_sp(const struct dt_regs *r);
uint64_t dt_regs_tp(const struct dt_regs *r);

/*
 * The system call in which the thread is stopped, and whether and how it is made again; all as
 * arch/x86_64/regs.h says. Of a call that has been interrupted and is not made anew by the kernel
 * (epoll_pwait()) the kernel says neither the number nor the first argument: both have to be asked
 * for before the thread is stopped.
 */
#define DT_REGS_FIRST_LOST 1
int64_t dt_regs_call(const struct dt_regs *r);
int64_t dt_regs_result(const struct dt_regs *r);
void dt_regs_leave_call(struct dt_regs *r);
bool dt_regs_begins_anew(const struct dt_regs *r);
void dt_regs_again(struct dt_regs *r, uint64_t first);
void dt_regs_settle(struct dt_regs *r);

#define DT_FRAME_BEFORE 0 /* 8-byte words; see arch/x86_64/regs.h */
#define DT_FRAME_AFTER	3
bool dt_frame_may_be(const uint64_t *word, uint64_t *restorer);

/* Looks whether this code is one to which signal handlers return: it calls rt_sigreturn. */
#define DT_RESTORER 8 /* bytes that are looked at */
bool dt_frame_restorer(const unsigned char code[DT_RESTORER]);

#endif
