/* SPDX-License-Identifier: MIT */
/*
 * devtrace tui: a trace on a terminal. The terminal belongs to this process, which reads nothing of
 * the trace; the other one, which it forks, confines itself, reads and draws. So the terminal is
 * restored however that one ends, and whatever signal ends this one, but for SIGKILL.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "analyse/feed.h"
#include "cmd/commands.h"
#include "cmd/one-trace.h"
#include "cmd/open.h"
#include "cmd/tui-work.h"
#include "process/confine.h"

static const char help[] =
	"usage: devtrace tui [OPTION]... [FILE]\n"
	"Shows a trace on the terminal: the tree of calls in the order of time, which is unfolded\n"
	"with Enter; the tree of all calls summed up; the table of functions; callers and callees.\n"
	"\n"
	"  -f, --filter WORDS  only calls that these words mean, as in devtrace calls\n"
	"  -h, --help          show this\n"
	"\n"
	"Keys: 1 2 3 4 choose what is shown, Enter unfolds and folds, / searches, u goes to the\n"
	"caller, g shows callers and callees, o the source, s sorts, f filters, ? tells about all\n"
	"keys, q quits. Colours are left out if NO_COLOR is set.\n"
	"FILE is devtrace.db when not given.\n";

/* ---- the process that draws ---- */

static int on_held(void *ctx, const struct dt_held_row *h)
{
	struct tui *t = ctx;

	t->helds += h->end > h->begin;
	t->held += h->end > h->begin ? h->end - h->begin : 0;
	return 0;
}

static int show(const char *path, const char *filter)
{
	struct tui *t = calloc(1, sizeof(*t));
	struct dt_error e = {""};
	int status = 1;

	if (!t)
		return dt_cmd_fail("out of memory");
	t->path = path;
	t->reader = dt_reader_open(path, &e);
	if (!t->reader || dt_reader_summary(t->reader, &t->summary, &e)) {
		dt_cmd_fail("%s", e.text);
		goto out;
	}
	t->from = t->summary.min_ticks;
	dt_reader_helds(t->reader, on_held, t);
	t->waits = dt_feed_has_switches(t->reader);
	t->formats.reader = t->reader;
	if (filter && !dt_tui_filter(t, filter + strspn(filter, " "))) {
		status = 2;
		dt_cmd_fail("%s", t->message);
		goto out;
	}
	dt_tui_show(t, DT_TUI_CALLS);
	status = dt_tui_run(t);
out:
	dt_tui_drop(t);
	dt_tui_calls_free(t);
	free(t->known);
	dt_formats_free(&t->formats);
	dt_reader_close(t->reader);
	free(t);
	return status;
}

/* What both processes share. */
struct shared {
	volatile sig_atomic_t drawn; /* the terminal has been set up by curses */
};

/* Sets up the screen, gives up all rights but those to read the trace, and shows it. errors: what
 * is printed as an error goes there, since the screen is taken. */
static int draw(const char *path, const char *filter, int errors, struct shared *shared)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS | DT_NEED_SOURCES};
	int status;

	if (dup2(errors, STDERR_FILENO) < 0)
		return 1;
	shared->drawn = true;
	if (!dt_screen_begin())
		return dt_cmd_fail("the terminal can not be used for this");
	dt_needs_add(&needs, DT_NEED_TRACE, path);
	status = dt_cmd_confine(&needs);
	status = status ? status : show(path, filter);
	dt_screen_end();
	return status;
}

/* ---- the process that has the terminal ---- */

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* Prints what the other process has said. */
static void tell(int errors)
{
	char text[4096];
	ssize_t n;
	off_t at = 0;

	while ((n = pread(errors, text, sizeof(text), at)) > 0) {
		fwrite(text, 1, (size_t)n, stderr);
		at += n;
	}
}

/* Waits for the other process to end, and ends it when a signal asks for that; *signal is then that
 * signal. Returns its status as waitpid() gives it. */
static int watch(pid_t pid, const sigset_t *signals, int *signal)
{
	int status = 0, got;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sigwait(signals, &got) || got == SIGCHLD)
			continue;
		if (got == SIGWINCH) {
			kill(pid, SIGWINCH);
			continue;
		}
		/* it only reads, and has a process outside to remove its temporary files */
		*signal = got;
		kill(pid, SIGKILL);
	}
	return status;
}

/* Forks the process that draws, and waits for it. Returns its status as waitpid() gives it, -1: it
 * can not be forked; *signal: the signal that has asked for the end, or 0. */
static int run(const char *path, const char *filter, int errors, struct shared *shared, int *signal)
{
	pid_t pid, parent = getpid();
	sigset_t signals, mask;
	int status;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaddset(&signals, ends[i]);
	sigaddset(&signals, SIGWINCH);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		/* without its parent it would go on drawing on a terminal that others use */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(getppid() == parent ? draw(path, filter, errors, shared) : 1);
	}
	status = pid < 0 ? -1 : watch(pid, &signals, signal);
	if (shared->drawn)
		dt_screen_restore();
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return status;
}

static int show_on_terminal(const char *path, const char *filter)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int errors = memfd_create("devtrace-tui", MFD_CLOEXEC), status, ended = 0;
	struct termios before;

	if (shared == MAP_FAILED || errors < 0 || tcgetattr(STDIN_FILENO, &before) < 0)
		return dt_cmd_fail("the terminal can not be set up: %s", strerror(errno));
	/* where it is ignored, nothing tells that the other process has ended */
	signal(SIGCHLD, SIG_DFL);
	status = run(path, filter, errors, shared, &ended);
	/* keys that it was still to obey are not for whoever reads next */
	tcsetattr(STDIN_FILENO, ended || !WIFEXITED(status) ? TCSAFLUSH : TCSADRAIN, &before);
	tell(errors);
	close(errors);
	munmap(shared, sizeof(*shared));
	if (ended) {
		signal(ended, SIG_DFL);
		raise(ended);
	}
	if (status == -1)
		return dt_cmd_fail("no process can be made that draws the screen");
	if (!WIFEXITED(status))
		return dt_cmd_fail("what draws the screen was ended by signal %d",
				   WTERMSIG(status));
	return WEXITSTATUS(status);
}

int dt_cmd_tui(int argc, char **argv)
{
	static const struct option options[] = {
		{"filter", required_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'}, {0}};
	const char *filter = NULL, *why, *path;
	int c, status;

	while ((c = getopt_long(argc, argv, "f:h", options, NULL)) != -1) {
		if (c == 'h')
			return fputs(help, stdout) == EOF;
		if (c != 'f')
			return dt_cmd_usage("tui");
		filter = optarg;
	}
	if (argc - optind > 1) {
		dt_cmd_fail("one trace file at a time, not also '%s'", argv[optind + 1]);
		return dt_cmd_usage("tui");
	}
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return dt_cmd_fail("standard input and output must be a terminal; devtrace "
				   "calls, graph and report print the same");
	why = dt_screen_prepare();
	if (why)
		return dt_cmd_fail("%s", why);
	path = dt_cmd_one_trace(optind < argc ? argv[optind] : DT_DEFAULT_FILE, &status);
	return path ? show_on_terminal(path, filter) : status;
}
