/* SPDX-License-Identifier: MIT */
/* devtrace top: attaches to a process and shows a table of its functions, live. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/table.h"
#include "cmd/temporary.h"
#include "cmd/top.h"

static const char help[] =
	"usage: devtrace top [OPTION]... PID\n"
	"Attaches to a process and shows a table of its functions once a second: how often each was\n"
	"called and how long its calls took. Only calls that have ended are counted.\n"
	"It detaches at the end; what was recorded is removed.\n"
	"\n"
	"  -F, --function PAT     trace functions that match the shell pattern; without it, those of\n"
	"                         the program itself (as attach)\n"
	"  -N, --no-function PAT  do not trace those\n"
	"  -S, --switches         context switches too: columns cpu and wait\n"
	"  -n, --turns N          end after N seconds, paused or not\n"
	"  -h, --help             show this\n"
	"\n"
	"Keys: t s c a m n p w sort by total, self, calls, avg, max, name, cpu, wait; so do the\n"
	"arrows left and right. / begins a filter on names, Enter ends it, Escape clears it. Space\n"
	"stops and continues, q ends. Where the output is no terminal, or TERM is dumb, the tables\n"
	"are printed one after the other, the first after a second; report --live then goes on until\n"
	"a signal ends it. Times are from the beginning of the trace. The bar shows, for each of the\n"
	"latest sixteen turns, the self time of the calls that ended in it; a turn is a second, and\n"
	"after a pause it is longer.\n";

#define WORDS 64 /* options for attach, at most */

struct recording {
	struct dt_temporary trace;
	const char *word[WORDS + 8];
	size_t words;
	char said[300]; /* the file with what attach says */
	pid_t pid;
	int pidfd;
	sigset_t signals; /* those that were blocked when the command began */
};

/* Becomes `devtrace attach', in a child. */
static void run_attach(struct recording *k, pid_t parent)
{
	int fd = open(k->said, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		_exit(dt_cmd_fail("%s: cannot write what attach says: %s", k->said,
				  strerror(errno)));
	/* a process group of its own: Ctrl-C is for the table, which then ends this */
	setpgid(0, 0);
	/* SIGINT ends it at any time, also when this command was started with it ignored */
	signal(SIGINT, SIG_DFL);
	sigdelset(&k->signals, SIGINT);
	sigprocmask(SIG_SETMASK, &k->signals, NULL);
	/* a parent that is killed can not end it: it would record without limit */
	prctl(PR_SET_PDEATHSIG, SIGINT);
	if (getppid() != parent)
		_exit(1);
	execv("/proc/self/exe", (char **)k->word);
	_exit(dt_cmd_fail("attach can not be started: %s", strerror(errno)));
}

/* Prints what attach has said. */
static void tell(const struct recording *k)
{
	char text[4096];
	size_t n;
	FILE *f = fopen(k->said, "re");

	while (f && (n = fread(text, 1, sizeof(text), f)) > 0)
		fwrite(text, 1, n, stderr);
	if (f)
		fclose(f);
}

/* Returns whether a signal has asked this command to end; it stays pending. */
static bool is_asked_to_end(void)
{
	sigset_t ends, pending;

	dt_top_signals(&ends);
	sigpending(&pending);
	return sigandset(&pending, &pending, &ends) == 0 && !sigisemptyset(&pending);
}

/* Waits until the trace is there. -1: attach has ended, and has said why, or a signal asks to end.
 */
static int wait_trace(const struct recording *k)
{
	char log[sizeof(k->trace.path) + 8];
	struct stat st;

	dt_format(log, sizeof(log), "%s-wal", k->trace.path);
	while (stat(k->trace.path, &st) < 0 || stat(log, &st) < 0)
		if (is_asked_to_end() || poll(&(struct pollfd){k->pidfd, POLLIN, 0}, 1, 50))
			return -1;
	return 0;
}

static int end_attach(const struct recording *k)
{
	int status = 0;

	kill(k->pid, SIGINT);
	while (waitpid(k->pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run(struct recording *k, struct dt_top *t)
{
	pid_t parent = getpid();
	int status;

	k->pid = fork();
	if (k->pid == 0)
		run_attach(k, parent);
	if (k->pid < 0)
		return dt_cmd_fail("cannot fork: %s", strerror(errno));
	k->pidfd = pidfd_open(k->pid, 0);
	if (k->pidfd < 0) {
		status = dt_cmd_fail("attach can not be watched: %s", strerror(errno));
		end_attach(k);
		return status;
	}
	t->recorder = k->pidfd;
	t->path = k->trace.path;
	status = wait_trace(k) < 0 ? 1 : dt_top_show(t);
	if (end_attach(k) && !status)
		status = 1;
	/* the terminal is as it was: now one can read what attach has to say */
	tell(k);
	close(k->pidfd);
	return status;
}

static int start(struct recording *k, struct dt_top *t, const char *pid)
{
	struct dt_error e;
	sigset_t block;
	char title[64];
	int status;

	/* what ends this process must not leave the folder behind, or the process attached */
	dt_top_signals(&block);
	sigprocmask(SIG_BLOCK, &block, &k->signals);
	/* where it is ignored, nothing tells how a child has ended */
	signal(SIGCHLD, SIG_DFL);
	if (dt_temporary_make(&k->trace, &e) < 0) {
		sigprocmask(SIG_SETMASK, &k->signals, NULL);
		return dt_cmd_fail("top: %s", e.text);
	}
	dt_format(k->said, sizeof(k->said), "%s/said", k->trace.folder);
	dt_format(title, sizeof(title), "devtrace top %s", pid);
	t->title = title;
	k->word[k->words++] = "-o";
	k->word[k->words++] = k->trace.path;
	k->word[k->words++] = "--";
	k->word[k->words++] = pid;
	status = run(k, t);
	unlink(k->said);
	dt_temporary_remove(&k->trace);
	sigprocmask(SIG_SETMASK, &k->signals, NULL);
	return status;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct recording *k, struct dt_top *t)
{
	static const struct option options[] = {{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"switches", no_argument, NULL, 'S'},
						{"turns", required_argument, NULL, 'n'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	int c;

	while ((c = getopt_long(argc, argv, "F:N:Sn:h", options, NULL)) != -1) {
		if (k->words + 2 > WORDS)
			return dt_cmd_fail("top: too many options");
		switch (c) {
		case 'F':
		case 'N':
			k->word[k->words++] = c == 'F' ? "-F" : "-N";
			k->word[k->words++] = optarg;
			break;
		case 'S':
			k->word[k->words++] = "-S";
			break;
		case 'n':
			if (!dt_table_number(optarg, "seconds", &t->turns))
				return 2;
			break;
		case 'h':
			return fputs(help, stdout) == EOF;
		default:
			return dt_cmd_usage("top");
		}
	}
	if (optind + 1 != argc)
		return dt_cmd_usage("top");
	return -1;
}

int dt_cmd_top(int argc, char **argv)
{
	struct recording k = {.word = {"devtrace", "attach"}, .words = 2};
	struct dt_top t = {.recorder = -1};
	int status = parse(argc, argv, &k, &t);

	return status < 0 ? start(&k, &t, argv[optind]) : status;
}
