/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What happens beside functions: switches of threads, system calls, interrupts, by the kernel's own
 * tracepoints; events that other modules have in their code (include/devtrace-kernel.h); which
 * tasks there are at the start.
 */
#ifndef DT_KERNEL_EVENT_H
#define DT_KERNEL_EVENT_H

#include "core/device.h"

/* Subsystems of the events made here. Body: subsystem << 48 | event << 32 | argument. */
enum {
	DT_SYSCALL = 0xfff1, /* event 0: enters, 1: returns; 2 and 3: the same of a 32-bit call.
			      * Argument: its number. Values: three arguments; the result */
	DT_INTERRUPT_OF = 0xfff2, /* event 0: begins, 1: ends. Argument: its number, or vector */
	DT_SOFTIRQ = 0xfff3,	  /* the same */
};

enum dt_source { DT_SWITCHES, DT_SYSCALLS, DT_INTERRUPTS, DT_FORKS, DT_SOURCES };
extern const char *const dt_source_name[DT_SOURCES];
extern bool dt_source_on[DT_SOURCES];

int dt_events_init(void);
void dt_events_exit(void);

/* Has these recorded, or no longer. */
int dt_source_switch(enum dt_source s, bool on, struct dt_error *e);

/* Masks, and the triggers that are armed. */
void dt_events_follow(const struct dt_device *d);
bool dt_events_armed(void);

/* A record for each task that there is. */
void dt_events_rundown(void);

#endif
