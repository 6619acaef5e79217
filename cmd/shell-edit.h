/* SPDX-License-Identifier: MIT */
/* libedit, loaded only by a shell with a prompt. */
#ifndef DT_CMD_SHELL_EDIT_H
#define DT_CMD_SHELL_EDIT_H

#include <stdio.h>
#include <editline/readline.h>

#include "core/error.h"

/* The functions and variables that are used. */
#define DT_EDIT(X)                                                                                 \
	X(readline)                                                                                \
	X(add_history)                                                                             \
	X(read_history)                                                                            \
	X(write_history)                                                                           \
	X(using_history)                                                                           \
	X(stifle_history)                                                                          \
	X(rl_completion_matches)                                                                   \
	X(rl_deprep_terminal)                                                                      \
	X(rl_point)                                                                                \
	X(rl_attempted_completion_over)                                                            \
	X(rl_readline_name)                                                                        \
	X(rl_attempted_completion_function)

struct dt_edit {
#define X(name) __typeof__(name) *name;
	DT_EDIT(X)
#undef X
};

extern struct dt_edit dt_edit;

/* Loads the library, which must be done before any of the functions is called. 0, or -1 and an
 * error: dt_library_load(). */
int dt_edit_load(struct dt_error *e);

#endif
