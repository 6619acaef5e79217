/* SPDX-License-Identifier: MIT */
/* What a session is told when it is created. */
#ifndef DT_SESSION_OPTIONS_H
#define DT_SESSION_OPTIONS_H

#include "core/ring.h"
#include "symbols/pattern.h"

#define DT_KERNEL_PREFIX "kernel:" /* of functions and points that are the kernel's */

/* What of the kernel is traced when nothing is said: system calls, and what they do to files. */
#define DT_KERNEL_PATTERN "__x64_sys_* __ia32_sys_* __ia32_compat_sys_* ksys_* vfs_*"

struct dt_options {
	enum dt_policy policy;
	uint64_t ring_size; /* bytes per core; 0: the default */
	const char *output; /* NULL: nothing is stored, records are only taken and counted */
	bool keep_old;	    /* a trace that is there becomes output.old */
	struct dt_selection select;
	bool follow;   /* what it executes is traced as it is, and the program itself need not have
			* anything   to be traced */
	bool switches; /* which thread runs where is recorded too */
	bool kernel;   /* what they do in the kernel is recorded too, */
	const char *const *kernel_pattern; /* these functions of it */
	size_t kernel_patterns;
	bool everybody; /* of the kernel: whoever it is, not only the processes of the session */
	bool contexts;	/* libc's swapcontext() and setcontext() are recorded too, for who pairs the
			   calls */
	bool idle;	/* nothing is traced until the device is told so */
	bool stopped;	/* all is chosen, and recorded from the device's `start' or a trigger on */
	const char *const
		*point; /* tracepoints, each as the command trace has it behind its name */
	size_t points;
	const char *const *argument; /* patterns: functions whose arguments are recorded in full */
	uint64_t arguments_told;     /* bit i: as dt_pattern.told */
	size_t arguments; /* with these or points, and an empty selection, only they are recorded */
};

#endif
