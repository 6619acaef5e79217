/* SPDX-License-Identifier: MIT */
/* A shell that runs: for shell.c (its commands, and the whole), shell-records.c, shell-prompt.c and
 * shell-session.c only. */
#ifndef DT_CMD_SHELL_WORK_H
#define DT_CMD_SHELL_WORK_H

#include <signal.h>

#include "session/client.h"
#include "show/out.h"

#define PLACES 4096u /* places that are kept in the cache, by pc */

/* What a pc is called. */
struct place {
	uint64_t pc;
	char *text;
	bool pid; /* its tracepoint has the option PID */
};

struct shell {
	struct dt_client client, names;
	const char *session;
	bool began, date, failed, quit;
	uint64_t seen; /* position after the last record printed; 0: none was */
	uint64_t tick, wall_ns, per_second; /* the session's clock, read once: a tick, its time */
	struct place *place;
	char *points; /* the answer to `list', which says which tracepoints have PID */
	struct dt_out out;
};

/* ---- shell.c ---- */

/* The names of the shell's own commands; NULL ends them. */
extern const char *const dt_shell_own[];
/* The number of the signal SIGINT when it has come. */
extern volatile sig_atomic_t dt_shell_interrupted;
void dt_shell_on_interrupt(int sig);
/* Prints an error. Returns 1, and so does the shell when it ends. */
int dt_shell_complain(struct shell *s, const char *text);
/* Executes a line: one of the shell's own commands, or one for the session. */
int dt_shell_obey(struct shell *s, const char *line);

/* ---- shell-records.c: commands, which return an exit status ---- */

/* Prints all records that are in the log; clear: then they are seen. */
int dt_shell_print(struct shell *s, bool clear);
/* Clears the records that were printed last; if none were, all. */
int dt_shell_clear(struct shell *s);
/* Prints records as they come, until Ctrl-C. */
int dt_shell_follow(struct shell *s);

/* ---- shell-prompt.c ---- */

/* Reads lines at a prompt, and executes them. Returns 0. */
int dt_shell_interact(struct shell *s);

/* ---- shell-session.c ---- */

/* Finds the session that traces the process, or begins one; its name is put into `name', and the
 * shell keeps a pointer to it. Returns 0, or the exit status. */
int dt_shell_find(struct shell *s, const char *pid, char *name, size_t size);
/* Starts the thread that waits for signals. Ignored signals (nohup) stay ignored. */
void dt_shell_watch(struct shell *s);

#endif
