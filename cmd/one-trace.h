/* SPDX-License-Identifier: MIT */
/* A fleet for the commands that read one trace. */
#ifndef DT_CMD_ONE_TRACE_H
#define DT_CMD_ONE_TRACE_H

#include "cmd/open.h"

/*
 * Returns the path of the trace to read for what the user has named: a trace is read itself; of a
 * fleet, one trace is made for the time this process runs (fleet/one.h), and removed when it ends,
 * however it does; FLEET@HOST is that machine's own trace. Before the process confines itself, and
 * before it has threads. The path is valid until the process ends. NULL: *status is the exit
 * status; reported.
 */
const char *dt_cmd_one_trace(const char *path, int *status);

/* As dt_cmd_open(), of what dt_cmd_one_trace() says. */
struct dt_reader *dt_cmd_open_one(int argc, char **argv, const char *usage, struct dt_needs *needs,
				  int *status);

/* As dt_cmd_one_trace(), in the place of the word itself. Returns 0, or the exit status. */
int dt_cmd_one_trace_word(char **word);

/* Makes the trace `to' of a fleet; returns the exit status. */
int dt_cmd_make_one(const char *fleet, const char *to);

/* Makes a trace at `to' of what ctx leads to, after confining itself to that and to what `needs'
 * has; returns the exit status, after reporting what is wrong. */
typedef int (*dt_cmd_maker)(const void *ctx, const char *to, struct dt_needs *needs);

/* Returns a new trace with that file name, which `make' makes in a process of its own, and which is
 * removed when this process ends. NULL: *status is the exit status; reported. */
const char *dt_cmd_made_apart(const char *name, dt_cmd_maker make, const void *ctx, int *status);

#endif
