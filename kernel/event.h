/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Records what happens besides functions: switches of threads, system calls and interrupts, by the
 * kernel's own tracepoints; events that other modules have in their code
 * (include/devtrace-kernel.h); and the tasks that exist at the start.
 */
#ifndef DT_KERNEL_EVENT_H
#define DT_KERNEL_EVENT_H

#include "core/device.h"

/*
 * Subsystems of the events made here. The body of an event is subsystem << 48 | event << 32 |
 * argument.
 */
enum {
	DT_SYSCALL = 0xfff1,	  /* event 0: a call enters, 1: it returns; 2 and 3: a 32-bit call
				     enters, returns. Argument: the call's number. Values: three
				     arguments when it enters, the result when it returns */
	DT_INTERRUPT_OF = 0xfff2, /* event 0: an interrupt begins, 1: it ends. Argument: its number
				     or vector */
	DT_SOFTIRQ = 0xfff3,	  /* event 0: a softirq begins, 1: it ends. Argument: its vector */
};

/*
 * What can be recorded, and the names of these in the device language. dt_source_on says which are.
 */
enum dt_source { DT_SWITCHES, DT_SYSCALLS, DT_INTERRUPTS, DT_FORKS, DT_SOURCES };
extern const char *const dt_source_name[DT_SOURCES];
extern bool dt_source_on[DT_SOURCES];

/* Allocates what events need. Returns 0, or -ENOMEM. */
int dt_events_init(void);
/* Stops all sources and frees everything. */
void dt_events_exit(void);

/* Starts or stops recording the source's events. Returns 0, or -1 with an error. */
int dt_source_switch(enum dt_source s, bool on, struct dt_error *e);

/* Applies the device's masks and triggers. */
void dt_events_follow(const struct dt_device *d);
/* Is a trigger waiting for its start or its end? */
bool dt_events_armed(void);

/* Records each task that exists. */
void dt_events_rundown(void);

#endif
