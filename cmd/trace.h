/* SPDX-License-Identifier: MIT */
/* What `record', `attach' and plain `devtrace PROG' share: options, and running a session. */
#ifndef DT_CMD_TRACE_H
#define DT_CMD_TRACE_H

#include "session/options.h"

#define DT_TRACE_SEVERAL 8 /* --sum, --signal and --snapshot can be given so often, each */

struct dt_trace_command {
	const char *name; /* "record"; "" of `devtrace PROG' */
	const char *usage;
	struct dt_options options;
	const char *point[64];			/* memory for options.point */
	const char *sum[DT_TRACE_SEVERAL];	/* memory for options.sum */
	const char *signal[DT_TRACE_SEVERAL];	/* memory for options.signal */
	const char *snapshot[DT_TRACE_SEVERAL]; /* memory for options.snapshot */
	const char *argument[64];		/* memory for options.argument */
	const char *kernel[64];			/* memory for options.kernel_pattern */
	bool kernel_functions;	   /* -k was given: functions of the kernel, not only tracepoints */
	const char *session;	   /* name that the session gets; NULL: its process id */
	bool detach;		   /* the session goes on when the command has ended */
	bool policy;		   /* --policy was given: */
	enum dt_policy log_policy; /* that of the log, for a session without a file */
	bool nameless; /* of a program whose functions have no names, its calls of libraries are
			  traced when nothing else is asked for */
	bool verbose;
	bool no_debuginfod; /* --no-debuginfod was given: no debug files are downloaded */
	bool no_trace;	    /* result: nothing was written; a file that is there is an older one */
	bool no_switches;   /* --no-switches was given */
	bool table;	    /* -c was given: not the calls are to be printed, but their sums */
	bool failed;	    /* --failed was given: only calls that failed are to be printed */
	/* how `devtrace PROG' prints: --fields, --units, --color; NULL: not given */
	const char *fields, *units, *color;
	bool summary; /* say at the end what was recorded */
	/* --hosts: on which machines; -e, --remote: by which command, and which devtrace there;
	 * NULL: not given */
	const char *hosts, *by, *remote;
	bool push;	    /* --push was given: devtrace itself is brought there, */
	const char *pushed; /* or this one; NULL: itself */
	bool here; /* started by another machine's --hosts: those are not meant for this one
		    */
};

/* Parses options, and returns the index of the first word that is none; -1: help was printed; -2:
 * the usage is wrong. */
int dt_trace_options(struct dt_trace_command *c, int argc, char **argv);

/* Returns whether context switches are to be recorded, be it as far as they can be had. */
bool dt_trace_has_switches(const struct dt_trace_command *c);

/* Runs the program argv under trace, and returns the command's exit status. */
int dt_trace_program(struct dt_trace_command *c, char **argv);

/* Attaches to processes until they end or a signal comes; returns the command's exit status. */
int dt_trace_processes(struct dt_trace_command *c, char **pids);

/* Runs the command on all the machines of --hosts: argv has all of the command's words, of which
 * the first `options' are its name and its options. Returns the exit status. */
int dt_trace_hosts(struct dt_trace_command *c, int argc, char **argv, int options);

/* Is the end of that on one of them. argv: what the command, "record" or "attach", is to do;
 * argv[0] is its name. record: runs it; news: options.news of its session, to which also
 * "session NAME" is written when that takes commands. Returns the exit status. */
int dt_trace_here(int argc, char **argv, const char *command,
		  int (*record)(int argc, char **argv, int news));

/* What both ends have to agree about. */
#define DT_HOSTS_GREETING "devtrace-host 1 "

#endif
