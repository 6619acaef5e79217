/* SPDX-License-Identifier: MIT */
/*
 * The limits that we run under (setrlimit(2)). They are meant for the program: for ourselves we
 * raise them as far as we may, and the program gets those that were there.
 */
#ifndef DT_PROCESS_LIMITS_H
#define DT_PROCESS_LIMITS_H

/*
 * Raises our own: to the hard ones, with the privilege beyond. A file that grows too large is an
 * error of ours from here on, not our end. To be called once, first of all.
 */
void dt_limits_raise(void);

/*
 * Are this thread's stack, and those of threads to come, large enough? Raising the limit does not
 * make the latter larger: libc has looked at it already.
 */
int dt_limits_stack_fits(void);
#define DT_LIMITS_STACK (8u << 20) /* bytes that are */

/* In a child that is about to become a program: what was there before is there again. */
void dt_limits_restore(void);

#endif
