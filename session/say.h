/* SPDX-License-Identifier: MIT */
/* Lines for the user, from code that does not know where he reads them: a front end does. */
#ifndef DT_SESSION_SAY_H
#define DT_SESSION_SAY_H

struct dt_say {
	void (*line)(void *ctx, const char *text); /* text: one line, without a newline */
	void *ctx;
};

/* Formats a line of any length. One that there is no memory for is said to be missing. */
void dt_say(const struct dt_say *say, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
