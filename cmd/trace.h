/* SPDX-License-Identifier: MIT */
/* What `record', `attach' and plain `devtrace PROG' share: options, and seeing a session through.
 */
#ifndef DT_CMD_TRACE_H
#define DT_CMD_TRACE_H

#include "session/options.h"

struct dt_trace_command {
	const char *name; /* for messages: "devtrace record" */
	const char *usage;
	struct dt_options options;
	const char *point[64];	   /* of options.point */
	const char *argument[64];  /* of options.argument */
	const char *kernel[64];	   /* of options.kernel_pattern */
	bool kernel_functions;	   /* -k was given: functions of the kernel, not only tracepoints */
	const char *session;	   /* the name it is to have, NULL: its process id */
	bool detach;		   /* go on behind the command */
	bool policy;		   /* one was given, */
	enum dt_policy log_policy; /* this: of the log, in a session without a file */
	bool verbose;
	bool no_trace; /* afterwards: nothing was written, a file that is there is from before */
	bool summary;  /* say at the end what was recorded */
};

/* Parses options up to the first that is none; its index, or -1: help was printed, -2: wrong. */
int dt_trace_options(struct dt_trace_command *c, int argc, char **argv);

/* Runs argv under trace. Returns the exit status for main. */
int dt_trace_program(struct dt_trace_command *c, char **argv);

/* Attaches to processes until they end or a signal comes. */
int dt_trace_processes(struct dt_trace_command *c, char **pids);

#endif
