/* SPDX-License-Identifier: MIT */
/* The options of a session, which it is given when it is created. */
#ifndef DT_SESSION_OPTIONS_H
#define DT_SESSION_OPTIONS_H

#include "core/ring.h"
#include "symbols/pattern.h"

#define DT_KERNEL_PREFIX "kernel:" /* before the name of a function or point of the kernel */

#define DT_KERNEL_CALLS "syscall:" /* before patterns of system calls that are recorded in full */

/* before patterns of tracepoints that the kernel itself has: "tracepoint:sched:*" */
#define DT_KERNEL_TRACEPOINTS "tracepoint:"

/* What is traced of the kernel by default: system calls, and what they do to files. */
#define DT_KERNEL_PATTERN "__x64_sys_* __ia32_sys_* __ia32_compat_sys_* ksys_* vfs_*"

#define DT_STACK_SIZE	    16384u /* bytes of a stack that are copied, without --backtrace-size */
#define DT_STACK_SIZE_LEAST 512u
#define DT_STACK_SIZE_MOST  61440u

struct dt_options {
	enum dt_policy policy;
	uint64_t ring_size;	    /* bytes per core; 0: the default */
	unsigned recorder_threads;  /* that may compress; 0: two, or one on one core */
	const char *output;	    /* the trace file; NULL: records go to the log only */
	bool keep_old;		    /* rename a trace that is there to output.old */
	bool passing;		    /* it is read once and removed: it need not be on the disk */
	struct dt_selection select; /* what is traced */
	/* calls of libraries that this module makes are recorded ("": the program), and without
	 * `select' only these; NULL: no */
	const char *libcalls;
	/* with libcalls: also the calls that libraries make of those functions of libc that wait,
	 * or fail, because of something outside of the program: why a call of a library did */
	bool waits, failures;
	/* record what libc's functions do with sockets, whoever calls them, and the addresses of
	 * these: bytes of connections bring machines' clocks together (devtrace merge). Without
	 * `select' only these are recorded */
	bool sockets;
	const char *filter; /* only calls that these words mean are written (session/sieve.h); NULL:
			     * all */
	const char *const *sum; /* sums over calls (filter/sums.h); without `filter' no call is
				   written then */
	size_t sums;
	const char *until; /* recording ends with the first call that these words mean; NULL:
			    * no */
	const char *const *signal; /* "STOP if WORDS": sent to the process of the first such call */
	size_t signals;
	const char *const *snapshot; /* "FILE if WORDS": the trace as it is at the first such call,
					in a file of its own */
	size_t snapshots;
	const char *backtrace; /* the stacks of calls that these words mean are kept; NULL: none */
	uint32_t backtrace_size; /* bytes of a stack, at most; 0: the default */
	double budget; /* what recording may cost, as a share of the program's processor time:
			* functions that are called too often are switched off for a time
			* (session/throttle.h); 0: it may cost what it does */
	/* with which machine exchanges are made, and where others' are answered (session/ping.h):
	 * ADDRESS:PORT; NULL: none */
	const char *ping, *pong;
	const char *ping_word; /* that both machines know; NULL: none */
	/* a pipe to which a line is written when recording freezes ("frozen"), goes on ("unfrozen")
	 * and ends because of `until' ("over"); 0: none */
	int news;
	uint64_t last_ns; /* only what was recorded in so long, at the end, is kept; 0: all */
	bool follow;   /* trace the programs that it executes, too; then the program itself need not
			* have anything that can be traced */
	bool switches; /* record context switches: which thread runs on which core */
	bool switches_or_not;  /* with switches: where they can not be recorded, go on without them
				*/
	bool switches_unasked; /* with switches: nobody has asked for them, so that they are
				* recorded as long as they cost little, and are not shown as lines
				*/
	bool wakers;	       /* with switches and kernel: record who woke each thread */
	bool calls;	       /* record system calls in full, or the kernel's own tracepoints:
				* among kernel_pattern */
	bool kernel;	       /* record what happens in the kernel, */
	const char *const *kernel_pattern; /* in functions that match these patterns, */
	size_t kernel_patterns;
	bool everybody;	    /* for all processes of the machine, not only those of the session, */
	const char *cgroup; /* or for all of a control group (session/cgroup.h); NULL: of any, */
	const char *pids;   /* or for these (session/kernel-only.h); NULL: for all */
	bool contexts; /* record libc's swapcontext() and setcontext(), by which calls are paired
			  across stacks */
	bool idle;     /* trace nothing until a command says so */
	bool stopped; /* hook what is chosen, and record from the command `start' or a trigger on */
	const char *const
		*point; /* tracepoints, each as the command `trace' has it after its name */
	size_t points;
	const char *const
		*argument;	 /* patterns of functions whose arguments are recorded in full */
	uint64_t arguments_told; /* bit i: as dt_pattern.told */
	size_t arguments;	 /* if select is empty, only these and the points are recorded */
};

#endif
