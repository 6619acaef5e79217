/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Events in code of the kernel. A module that includes this needs devtrace.ko to be loaded before
 *it; an event costs a call and a test while nothing is recorded.
 *
 *	DEVTRACE_EVENT(7, 3, packet->id, packet->length, queue);
 *
 * records event 3 of subsystem 7 with the argument packet->id (32 bits of it) and up to three more
 * values. 'subsystem 7 off', written to /dev/tracectl, leaves it out; 'arm 7:3:1 -' begins
 *recording with it.
 */
#ifndef DEVTRACE_KERNEL_H
#define DEVTRACE_KERNEL_H

#include <linux/types.h>

/* n: how many of a, b and c are meant. From any context. */
void devtrace_event(u64 body, unsigned int n, u64 a, u64 b, u64 c);

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
