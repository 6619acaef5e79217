/* SPDX-License-Identifier: MIT */
/* Lines for the user from code that does not know where they are shown: the front end does. */
#ifndef DT_SESSION_SAY_H
#define DT_SESSION_SAY_H

struct dt_say {
	void (*line)(void *ctx, const char *text); /* text: one line, without a newline */
	void *ctx;
};

/* Formats a line of any length and gives it to say->line. Without memory for it, says so instead.
 */
void dt_say(const struct dt_say *say, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
