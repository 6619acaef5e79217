/* SPDX-License-Identifier: MIT */
/* The devtrace command: finds the subcommand. Each subcommand has a file, cmd/NAME.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/meant.h"
#include "core/version.h"
#include "process/confine.h"
#include "process/library.h"
#include "process/limits.h"
#include "process/rights.h"
#include "symbols/pattern.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} command[] = {
	{"record", dt_cmd_record, "run a program and write a trace file"},
	{"attach", dt_cmd_attach, "trace running processes; Ctrl-C detaches"},
	{"ctl", dt_cmd_ctl, "tell a running session what to trace, or see what it does"},
	{"mount", dt_cmd_mount, "the running sessions as files"},
	{"shell", dt_cmd_shell, "set tracepoints and see their records, interactively"},
	{"list", dt_cmd_list, "what can be traced in a program or process"},
	{"cat", dt_cmd_cat, "the records as lines of text"},
	{"calls", dt_cmd_calls, "the tree of calls, with arguments, results and durations"},
	{"report", dt_cmd_report, "a table of functions: calls, total, self, percentiles"},
	{"sum", dt_cmd_sum, "counts, sums and distributions of any value, by any key"},
	{"top", dt_cmd_top, "the table of report of a running process, once a second"},
	{"tui", dt_cmd_tui,
	 "the calls, the graph and the table on a terminal, to unfold and search"},
	{"graph", dt_cmd_graph, "callers and callees, with counts and times"},
	{"path", dt_cmd_path, "where the time of a call went: its critical path over the threads"},
	{"diff", dt_cmd_diff, "what became slower from A to B; where two runs diverge"},
	{"view", dt_cmd_view, "the time line in a browser: cores, threads, calls, events"},
	{"flame", dt_cmd_flame, "the stacks as a flame graph, one SVG file"},
	{"sql", dt_cmd_sql, "questions about a trace in SQL"},
	{"plot", dt_cmd_plot, "a picture of the calls over time"},
	{"check", dt_cmd_check, "is a trace sound: in order, complete, summed up rightly"},
	{"hist", dt_cmd_hist, "a histogram of an argument, a result or durations"},
	{"count", dt_cmd_count, "how often each process passed or got which value"},
	{"export", dt_cmd_export, "a trace in the format of another tracer"},
	{"import", dt_cmd_import, "a trace file from the format of another tracer"},
	{"serve", dt_cmd_serve, "traces for clients elsewhere: fetch, Barrelfish's tools"},
	{"fetch", dt_cmd_fetch, "a trace from devtrace serve elsewhere"},
	{"merge", dt_cmd_merge, "traces of several machines as one, with bounds of the error"},
	{"events", dt_cmd_events, "header and table from a definition of events"},
};

#define COMMANDS (sizeof(command) / sizeof(*command))

static void help(FILE *f)
{
	fprintf(f,
		"usage: devtrace [OPTION]... PROG [ARG]...   run PROG, print the tree of its calls\n"
		"       devtrace COMMAND [OPTION]...         (devtrace COMMAND --help tells more)\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(f, "  %-8s %s\n", command[i].name, command[i].help);
	fprintf(f, "\nAny program is traced, as it is. One that is built with sleds costs less "
		   "meanwhile:\n"
		   "  make CFLAGS=\"$(pkg-config --cflags devtrace) -O2 -g\"\n");
}

/* For a program that is not found: it may be a command, mistyped. */
static void note_near(const char *word)
{
	char names[DT_NEAR_TEXT];
	struct dt_near near;

	dt_near_start(&near, word);
	for (size_t i = 0; i < COMMANDS; i++)
		dt_near_offer(&near, command[i].name);
	dt_near_text(&near, names);
	dt_cmd_meant_near(word, names);
}

static int run(int argc, char **argv)
{
	static char own[] = "devtrace"; /* how getopt's messages begin, too */

	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], command[i].name) == 0) {
			argv[1] = own;
			dt_cmd_meant_of(command[i].name, argc - 2, argv + 2);
			return command[i].run(argc - 1, argv + 1);
		}
	note_near(argv[1]);
	argv[0] = own;
	return dt_cmd_run(argc, argv);
}

static int arguments;

/* Calls exit() rather than returning, since in a child that is forked here there is no other thread
 * to do it. */
static void *run_here(void *argv)
{
	exit(run(arguments, argv));
}

/*
 * Runs the command on a thread with a large stack, for when the stack is small (ulimit -s), and
 * makes that the size for all other threads. The calling thread blocks all signals, so that they
 * reach the new one.
 */
static int run_on_stack(int argc, char **argv)
{
	pthread_attr_t attr;
	struct dt_error e;
	pthread_t thread;
	sigset_t all;

	arguments = argc;
	sigfillset(&all);
	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, DT_LIMITS_STACK) ||
	    pthread_setattr_default_np(&attr) || pthread_create(&thread, &attr, run_here, argv)) {
		fprintf(stderr,
			"devtrace: the stack is too small (ulimit -s), and there is no memory for "
			"another\n");
		return 1;
	}
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	/* this thread does nothing any more: it gives up its rights, if it can */
	dt_rights_limit(false, false, &e);
	for (;;)
		pause();
}

/* Opens what is closed of the three standard descriptors, so that no file or socket gets its number
 * and is then taken for the output. Writing to what was closed still fails. */
static void open_standard(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

int main(int argc, char **argv)
{
	char means[128];

	open_standard();
	dt_library_prepare();
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("devtrace " DT_VERSION);
		/* commands work without confinement, too: here one can see whether there is any */
		printf("what only reads is confined by: %s\n",
		       dt_confine_means(means, sizeof(means)));
		if (DT_IS_STATIC)
			puts("one static program: without libbabeltrace2 (export --ctf) and "
			     "libdebuginfod (debuginfod servers)");
		return 0;
	}
	dt_limits_raise();
	return dt_limits_stack_fits() ? run(argc, argv) : run_on_stack(argc, argv);
}
