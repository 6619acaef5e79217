/* SPDX-License-Identifier: MIT */
/*
 * Resource limits (setrlimit(2)). Those that devtrace is started with are meant for the traced
 * program: for ourselves we raise them as far as we may, and the program gets the original ones.
 */
#ifndef DT_PROCESS_LIMITS_H
#define DT_PROCESS_LIMITS_H

/*
 * Raises our soft limits to the hard ones, and if we are privileged the hard ones too. SIGXFSZ is
 * ignored from here on, so that a file that grows too large is an error, and does not kill us. To
 * be called once, first of all.
 */
void dt_limits_raise(void);

/*
 * Looks whether the original limit of the stack is large enough for this thread and those to come.
 * Raising the limit does not make later threads' stacks larger, since libc has read it already.
 */
int dt_limits_stack_fits(void);
#define DT_LIMITS_STACK (8u << 20) /* bytes of a stack that are surely enough */

/* Sets the original limits and SIGXFSZ again, in a child that is about to execute a program. */
void dt_limits_restore(void);

#endif
