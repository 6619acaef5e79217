/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Events in code of the kernel. A module that includes this can be loaded only after devtrace.ko;
 * while nothing is recorded, an event costs a call and a test.
 *
 *	DEVTRACE_EVENT(7, 3, packet->id, packet->length, queue);
 *
 * records event 3 of subsystem 7 with the argument packet->id (its low 32 bits) and up to three
 * more values. 'subsystem 7 off', written to /dev/tracectl, leaves the event out; 'arm 7:3:1 -'
 * lets recording begin with the event 7:3 whose argument is 1.
 */
#ifndef DEVTRACE_KERNEL_H
#define DEVTRACE_KERNEL_H

#include <linux/types.h>

/*
 * Records an event with the body DEVTRACE_BODY() and the first n, 0 to 3, of the values a, b and c.
 * May be called in any context.
 */
void devtrace_event(u64 body, unsigned int n, u64 a, u64 b, u64 c);

/* The event in 64 bits: subsystem (16), event (16), argument (32). */
#define DEVTRACE_BODY(subsystem, event, argument)                                                  \
	((u64)(subsystem) << 48 | (u64)(u16)(event) << 32 | (u32)(argument))

#define DEVTRACE_PICK(_0, _1, _2, _3, n, ...) n
#define DEVTRACE_EVENT0(s, e, x)	      devtrace_event(DEVTRACE_BODY(s, e, x), 0, 0, 0, 0)
#define DEVTRACE_EVENT1(s, e, x, a)	      devtrace_event(DEVTRACE_BODY(s, e, x), 1, (u64)(a), 0, 0)
#define DEVTRACE_EVENT2(s, e, x, a, b)                                                             \
	devtrace_event(DEVTRACE_BODY(s, e, x), 2, (u64)(a), (u64)(b), 0)
#define DEVTRACE_EVENT3(s, e, x, a, b, c)                                                          \
	devtrace_event(DEVTRACE_BODY(s, e, x), 3, (u64)(a), (u64)(b), (u64)(c))

/* DEVTRACE_EVENT(subsystem, event, argument[, value[, value[, value]]]) */
#define DEVTRACE_EVENT(subsystem, event, ...)                                                      \
	DEVTRACE_PICK(__VA_ARGS__, DEVTRACE_EVENT3, DEVTRACE_EVENT2, DEVTRACE_EVENT1,              \
		      DEVTRACE_EVENT0)                                                             \
	(subsystem, event, __VA_ARGS__)

#endif
