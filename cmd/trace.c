/* SPDX-License-Identifier: MIT */
/* Running a tracing session from the command line, from its beginning to its end. */
#include "cmd/debug-files.h"
#include "cmd/meant.h"
#include "cmd/open.h"
#include "cmd/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/device-words.h"
#include "process/launch.h"
#include "process/needed.h"
#include "process/now.h"
#include "process/status.h"
#include "process/rights.h"
#include "symbols/debuginfod.h"
#include "symbols/nameless.h"
#include "symbols/symtab-apart.h"
#include "symbols/symtab-tell.h"
#include "process/threads.h"
#include "session/begin.h"
#include "session/ctl.h"
#include "session/findings.h"
#include "session/mount.h"
#include "session/pattern-check.h"
#include "session/processes.h"
#include "session/serve.h"
#include "session/server.h"
#include "session/session.h"

/* how long a session without a file goes on when its processes have ended */
#define ALONE_NS  10000000000u
#define MOMENT_NS 100000000ull	/* how long a program's processes are waited for without -f */
#define TELL_NS	  1000000000ull /* a longer wait for them is reported */

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	if (sig != SIGCHLD)
		interrupted = sig;
}

/* Catches the signals that end the session; to be called before it is created, since its file is
 * made then, and has another name at first. own_program: the command starts a program, for which
 * ignored signals (nohup, a shell's background) must stay ignored. */
static void catch_signals(bool own_program)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD /* only to be woken */};
	struct sigaction a = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || signals[i] == SIGCHLD || !own_program))
			sigaction(signals[i], &a, NULL);
}

static bool is_interrupted(void)
{
	return interrupted != 0;
}

static int complain(const char *text)
{
	return dt_cmd_fail("%s", text);
}

/* Prints a line from the session. */
static void print_line(void *ctx, const char *text)
{
	complain(text);
}

static struct dt_say say_of(struct dt_trace_command *c)
{
	return (struct dt_say){print_line, c};
}

/* Says that a signal came before anything was recorded. Returns the exit status, as shells have it
 * for a command that a signal has ended. */
static int say_interrupted(const struct dt_trace_command *c)
{
	complain("interrupted before anything was recorded: no trace has been made");
	return 128 + interrupted;
}

static void say_summary(struct dt_trace_command *c, const struct dt_results *r)
{
	struct dt_say say = say_of(c);

	dt_results_say(r, &c->options, &say);
	if (*r->until)
		dt_say(&say, "the recording has ended as --until says, with %s", r->until);
	else if (c->options.until && c->summary)
		dt_say(&say, "no call was what --until says: '%s'", c->options.until);
	for (const char *p = r->snapshots; *p; p += strcspn(p, "\n"), p += *p == '\n')
		dt_say(&say, "%.*s", (int)strcspn(p, "\n"), p);
	if (*r->unsignalled)
		dt_say(&say, "%s", r->unsignalled);
	if (!r->lost && !r->left_as_it_was && c->summary && isatty(2))
		dt_say(&say, "%lu records in %s", (unsigned long)r->taken, c->options.output);
	if (r->left_out && c->summary && c->options.sums && !c->options.filter)
		dt_say(&say,
		       "of %lu calls none was written: they were summed up (devtrace sum prints "
		       "the sums)",
		       (unsigned long)r->left_out);
	else if (r->left_out && c->summary)
		dt_say(&say,
		       "%lu calls were left out by --filter (devtrace report --left-out has their sums)%s",
		       (unsigned long)r->left_out,
		       r->kept_undecided
			       ? "; calls that were open for long are in the trace, whatever "
				 "they were"
			       : "");
	if (c->verbose)
		dt_say(&say,
		       "%lu records, %lu lost, waited %lu times for room; %lu sites switched in "
		       "%lu us; longest stop %lu us",
		       (unsigned long)r->taken, (unsigned long)r->lost, (unsigned long)r->stalls,
		       (unsigned long)r->switched, (unsigned long)r->switch_ns / 1000,
		       (unsigned long)r->stop_ns / 1000);
}

static int finish(struct dt_trace_command *c, struct dt_session *s, int status)
{
	struct dt_say say = say_of(c);
	struct dt_results results;
	struct dt_error e;

	if (dt_session_end(s, &e) < 0)
		status = complain(e.text);
	dt_server_stop(s);
	if (dt_findings_say(s, c->summary && isatty(2), &say) && status == 0)
		status = 1;
	if (dt_session_close(s, &results, &e) < 0)
		status = complain(e.text);
	say_summary(c, &results);
	c->no_trace = results.left_as_it_was;
	return status;
}

/* Starts the server of the session's socket. Without it the session records, but takes no commands:
 * that is an error only if a name or a session in the background was asked for. */
static int serve(struct dt_trace_command *c, struct dt_session *s)
{
	struct dt_error e;

	if (dt_server_start(s, c->session, &e) == 0) {
		if (c->options.news && c->session)
			dprintf(c->options.news, "session %s\n", c->session);
		else if (c->options.news)
			dprintf(c->options.news, "session %d\n", (int)getpid());
		return 0;
	}
	if (c->session || c->detach)
		return complain(e.text);
	if (c->verbose)
		complain(e.text);
	return 0;
}

/* Names the session's ctl file to the program, in its environment: so a program can control its own
 * session, as the papers' test programs do. */
static void offer_ctl(const struct dt_session *s, struct dt_launch *l)
{
	static const char name[] = "DEVTRACE_CTL";
	char path[sizeof(l->variable) - sizeof(name)];

	if (dt_mount_ctl(dt_server_name(s), path, sizeof(path)))
		dt_format(l->variable, sizeof(l->variable), "%s=%s", name, path);
	else /* removes the variable, which would be that of a session around this one */
		dt_format(l->variable, sizeof(l->variable), "%s", name);
}

/* Starts the process that downloads debug files and, if run by root, the one without rights that
 * reads executables. They must be started before any executable is read, and before this process
 * has anything worth stealing. Otherwise this process reads executables, or what is kept about
 * them. */
static int read_apart(const struct dt_trace_command *c, struct dt_error *e)
{
	dt_cmd_debug_files(c->no_debuginfod);
	dt_debuginfod_stops = is_interrupted;
	if (geteuid() == 0)
		return dt_symtab_apart_start(dt_symtab_tell, e);
	dt_symtab_memos_start(dt_symtab_told);
	return 0;
}

bool dt_trace_has_switches(const struct dt_trace_command *c)
{
	const struct dt_options *o = &c->options;
	const char *words = getenv("DEVTRACE_SWITCHES");

	return o->switches || (!c->no_switches && !(words && !strcmp(words, "no")) && o->output &&
			       o->policy != DT_OVERWRITE && !o->kernel && !o->filter && !o->sums);
}

/*
 * Has context switches recorded where nobody has asked for them, so that it is known what calls
 * waited. Not where the newest records are kept, for which nobody comes to the kernel's buffers;
 * where most records are left out, since of switches none are; where none is written to a file; and
 * not with the kernel's records, among which there may be such.
 */
static void try_switches(struct dt_trace_command *c)
{
	struct dt_options *o = &c->options;

	if (!o->switches && dt_trace_has_switches(c))
		o->switches = o->switches_unasked = true;
}

/* Gives up rights that are not needed; to be called before there are other threads. */
static int limit_rights(struct dt_trace_command *c, struct dt_error *e)
{
	try_switches(c);
	return dt_rights_limit(c->options.switches, c->options.kernel, e);
}

/* Ends a session in which nothing was traced: a file that was there before is left unchanged. */
static void give_up(struct dt_session *s)
{
	dt_session_end(s, NULL);
	dt_server_stop(s);
	dt_session_discard(s);
}

/* Waits for a child, and returns its status as shells do: 0 to 255, or 128 + the signal that killed
 * it. */
static int reap(pid_t pid)
{
	int status;

	for (;;) {
		if (waitpid(pid, &status, __WALL) < 0) {
			if (errno != EINTR)
				return 1;
		} else if (WIFEXITED(status)) {
			return WEXITSTATUS(status);
		} else if (WIFSIGNALED(status)) {
			return 128 + WTERMSIG(status);
		}
	}
}

/* Passes SIGTERM and SIGHUP on to the program; signals from the terminal reach it anyway. */
static void pass_signal(pid_t pid)
{
	if (interrupted == SIGTERM || interrupted == SIGHUP) {
		kill(pid, interrupted);
		interrupted = 0;
	}
}

/* Ends the session, which was told to quit, before the program ends; then waits for the program,
 * whose exit status is still the command's. */
static int finish_before(struct dt_trace_command *c, struct dt_session *s, pid_t pid)
{
	int status = finish(c, s, 0), own;

	while (!dt_has_ended(pid, NULL)) {
		usleep(20000);
		pass_signal(pid);
	}
	own = reap(pid);
	return own ? own : status;
}

/*
 * Waits for the processes that the program has left running: with --follow, until they end or the
 * user presses Ctrl-C; otherwise for MOMENT_NS, after which those that still run are named.
 */
static void outlast(const struct dt_trace_command *c, struct dt_session *s, const char *program)
{
	uint64_t begin = dt_now_ns();
	bool told = false;
	char text[512];

	while (!interrupted && !dt_session_is_told_to_quit(s) && dt_session_serve_all(s, 20)) {
		uint64_t ns = dt_now_ns() - begin;

		if (!c->options.follow && ns > MOMENT_NS)
			break;
		if (c->options.follow && ns > TELL_NS && !told &&
		    dt_process_running(s, text, sizeof(text))) {
			fprintf(stderr,
				"devtrace: %s has ended; waiting for what it has left running: %s; Ctrl-C "
				"waits no more\n",
				program, text);
			told = true;
		}
	}
	if (!dt_session_is_told_to_quit(s) && dt_process_running(s, text, sizeof(text)))
		fprintf(stderr, "devtrace: still running, and not recorded any more: %s%s\n", text,
			c->options.follow ? "" : "; with --follow these are waited for");
}

/* Starts the program and traces it until it ends; returns the exit status. */
static int run_program(struct dt_trace_command *c, struct dt_session *s, struct dt_launch *launch,
		       const char *name)
{
	struct dt_error e;
	int status;
	pid_t pid;

	status = interrupted ? say_interrupted(c) : serve(c, s);
	if (status) {
		dt_launch_cancel(launch);
		give_up(s);
		return status;
	}
	offer_ctl(s, launch);
	status = dt_session_record(s, &e);
	pid = status == 0 ? dt_session_start(s, launch, &e) : -1;
	if (pid < 0) {
		dt_launch_cancel(launch);
		complain(e.text);
		give_up(s);
		return 1;
	}
	while (!dt_has_ended(pid, NULL) && !dt_session_is_told_to_quit(s)) {
		dt_session_serve(s, 20);
		pass_signal(pid);
	}
	if (dt_session_refused(s, &e)) {
		complain(e.text);
		reap(pid);
		give_up(s);
		return 1;
	}
	outlast(c, s, name);
	dt_session_serve(s, 0);
	if (!dt_has_ended(pid, NULL))
		return finish_before(c, s, pid);
	return finish(c, s, reap(pid));
}

/* Says whether an option tells what is to be traced. */
static bool wants_anything(const struct dt_options *o)
{
	return o->select.n || o->arguments || o->points || o->libcalls || o->sockets || o->kernel ||
	       o->idle;
}

/* Has calls of libraries traced where nothing is chosen and the program's own functions say little;
 * says so where a program has no such calls. */
static void choose_libraries(struct dt_trace_command *c, const char *path, const char *name)
{
	struct dt_options *o = &c->options;
	bool nothing = c->nameless && !wants_anything(o);
	bool nameless = nothing && !c->failed && !o->follow && dt_nameless_program(path);
	bool itself = o->libcalls && !*o->libcalls; /* its own calls, not those of a module */

	if (!(nothing && c->failed) && !nameless && !itself)
		return;
	if (dt_needed_none(path)) {
		fprintf(stderr,
			nameless
				? "devtrace: %s is static and stripped: its own functions are traced, "
				  "by their addresses\n"
				: "devtrace: %s is static: it calls no libraries; without %s its own "
				  "functions are traced\n",
			name, c->failed ? "--failed" : "-l");
		return;
	}
	if (itself)
		return;
	o->libcalls = "";
	if (isatty(2) && nameless)
		fprintf(stderr,
			"devtrace: the functions of %s have no names (it is stripped): its calls of "
			"libraries are traced; -F '*' traces its own functions\n",
			name);
}

int dt_trace_program(struct dt_trace_command *c, char **argv)
{
	struct dt_say say = say_of(c);
	struct dt_launch launch;
	struct dt_session *s;
	struct dt_error e;
	bool has_sleds;
	char *path;
	int status;

	c->no_trace = true; /* until finish() says otherwise */
	if (c->detach) {
		fprintf(stderr,
			"devtrace: -d is for attach: a program is put behind by & of the shell\n");
		return 2;
	}
	path = dt_launch_find(argv[0], c->options.follow, &has_sleds, &e);
	if (!path)
		return dt_cmd_fail("%s%s", e.text, dt_cmd_meant_hint());
	if (read_apart(c, &e) < 0) {
		free(path);
		return complain(e.text);
	}
	if (!dt_pattern_check(&c->options, path, &say)) {
		free(path);
		return 1;
	}
	choose_libraries(c, path, argv[0]);
	c->options.waits = c->table && !c->failed;
	c->options.failures = c->failed;
	/* launched before rights are given up: the program keeps those that it would have had */
	if (dt_launch_begin(&launch, path, argv, &e) < 0 || limit_rights(c, &e) < 0)
		goto fail;
	c->options.contexts = dt_needed_contexts(path);
	catch_signals(true);
	s = dt_session_create(&c->options, &e);
	if (!s)
		goto fail;
	status = run_program(c, s, &launch, argv[0]);
	free(path);
	return status;
fail:
	dt_launch_cancel(&launch);
	free(path);
	return complain(e.text);
}

/* Parses the process ids and attaches to the processes; returns 0, or the exit status. Some of
 * several processes may have ended meanwhile. */
static int attach_all(struct dt_trace_command *c, struct dt_session *s, char **pids)
{
	size_t n = 0, gone = 0;
	struct dt_error e;
	bool stopped;

	for (; *pids; pids++) {
		char *end;
		long pid = strtol(*pids, &end, 10);

		if (*end || end == *pids || pid <= 0 || pid > INT_MAX) {
			fprintf(stderr, "devtrace: '%s' is not a process id\n", *pids);
			return 2;
		}
		stopped = dt_status_stopped((pid_t)pid);
		if (dt_session_attach(s, (pid_t)pid, &e) == 0) {
			if (stopped)
				fprintf(stderr,
					"devtrace: process %ld is stopped: nothing of it is "
					"recorded until it goes on (kill -CONT %ld)\n",
					pid, pid);
			n++;
			continue;
		}
		complain(e.text);
		if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
			return 1;
		gone++;
	}
	if (!n && gone)
		return 1;
	if (dt_ctl_points(s, &e) < 0)
		return complain(e.text);
	return 0;
}

/* Sets the policy of the log of a session without a file, by a command as ctl takes it. */
static int set_log_policy(const struct dt_trace_command *c, struct dt_session *s,
			  struct dt_error *e)
{
	char command[32];

	if (!c->detach || c->options.output)
		return 0;
	dt_format(command, sizeof(command), "policy %s", dt_policy_name[c->log_policy]);
	return dt_ctl_write(s, NULL, command, strlen(command), e);
}

/*
 * Says whether the session goes on. A session without a file outlives its processes until its log
 * has been read, and for ALONE_NS after that, so that somebody can attach to another process. n:
 * how many processes are alive.
 */
static bool goes_on(const struct dt_trace_command *c, struct dt_session *s, size_t n,
		    uint64_t *alone_since)
{
	const struct dt_options *o = &c->options;
	uint64_t now = dt_now_ns();

	if (o->pids && n == 0 && dt_session_kernel_ended(s))
		return false;
	if (n > 0 || o->everybody || !o->idle || !dt_session_is_all_read(s)) {
		*alone_since = now;
		return n > 0 || o->everybody || o->idle;
	}
	return now - *alone_since < ALONE_NS;
}

/* Says whether one of the processes changes stacks in a way that must be recorded. */
static bool any_contexts(char **pids)
{
	char path[64];

	for (; *pids; pids++) {
		dt_format(path, sizeof(path), "/proc/%.20s/exe", *pids);
		if (dt_needed_contexts(path))
			return true;
	}
	return false;
}

/* Traces processes; returns the exit status. ready: a pipe to the parent, to which the session's
 * name is written when all are attached; -1: none. */
static int trace_processes(struct dt_trace_command *c, char **pids, int ready)
{
	uint64_t alone_since = dt_now_ns();
	struct dt_say say = say_of(c);
	struct dt_session *s;
	struct dt_error e;
	int status;

	c->options.contexts = any_contexts(pids);
	catch_signals(false);
	s = dt_session_create(&c->options, &e);
	if (!s)
		return complain(e.text);
	status = interrupted ? say_interrupted(c) : serve(c, s);
	if (status == 0 && dt_session_record(s, &e) < 0)
		status = complain(e.text);
	if (status == 0 && set_log_policy(c, s, &e) < 0)
		status = complain(e.text);
	if (status == 0)
		status = attach_all(c, s, pids);
	if (status != 0) {
		give_up(s);
		return status;
	}
	dt_findings_unmatched(s, &say);
	if (ready >= 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		/* from here on nobody reads error messages */
		dup2(null, 2);
		if (null > 2)
			close(null);
		dprintf(ready, "%s\n", dt_server_name(s));
		close(ready);
	} else if (c->verbose || isatty(2)) {
		fputs("devtrace: attached; Ctrl-C detaches\n", stderr);
	}
	/* requests wake the session at once; the end of a process is noticed after the timeout */
	while (!interrupted && !dt_session_is_told_to_quit(s) && !dt_session_is_broken(s) &&
	       goes_on(c, s, dt_session_serve(s, c->detach ? 200 : 50), &alone_since))
		;
	return finish(c, s, status);
}

int dt_trace_processes(struct dt_trace_command *c, char **pids)
{
	int ready[2], null, status;
	char name[80];
	struct dt_error e;
	ssize_t n;
	pid_t pid;

	if (read_apart(c, &e) < 0 || limit_rights(c, &e) < 0)
		return complain(e.text);
	if (!c->detach)
		return trace_processes(c, pids, -1);
	/* the session runs in a child; its first error messages still come to this terminal */
	if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return complain(strerror(errno));
	if (pid == 0) {
		setsid();
		close(ready[0]);
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(null, 0);
		dup2(null, 1);
		exit(trace_processes(c, pids, ready[1]));
	}
	close(ready[1]);
	n = read(ready[0], name, sizeof(name) - 1);
	close(ready[0]);
	if (n > 0)
		return fwrite(name, 1, (size_t)n, stdout) == (size_t)n ? 0 : 1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
}
