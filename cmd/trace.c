/* SPDX-License-Identifier: MIT */
/* Seeing a tracing session through, from the command line. */
#include "cmd/trace.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/launch.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	if (sig != SIGCHLD)
		interrupted = sig;
}

/* own_program: we start it, and what is ignored (nohup, a shell's background) is to stay so for it. */
static void catch_signals(bool own_program)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD /* only to be woken */};
	struct sigaction a = {.sa_handler = on_signal}, old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 &&
		    (old.sa_handler != SIG_IGN || signals[i] == SIGCHLD || !own_program))
			sigaction(signals[i], &a, NULL);
}

static int complain(const struct dt_trace_command *c, const char *text)
{
	fprintf(stderr, "%s: %s\n", c->name, text);
	return 1;
}

static int bad_usage(const struct dt_trace_command *c, const char *what, const char *value)
{
	fprintf(stderr, "%s: %s '%s'\n", c->name, what, value);
	return -2;
}

/* "64K", "4M", "1G", or bytes */
static bool parse_size(const char *text, uint64_t *size)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text)
		return false;
	switch (*end) {
	case 'k':
	case 'K':
		v <<= 10, end++;
		break;
	case 'm':
	case 'M':
		v <<= 20, end++;
		break;
	case 'g':
	case 'G':
		v <<= 30, end++;
		break;
	}
	*size = v;
	return *end == '\0';
}

int dt_trace_options(struct dt_trace_command *c, int argc, char **argv)
{
	static const struct option longs[] = {
		{"function", required_argument, NULL, 'F'}, {"no-function", required_argument, NULL, 'N'},
		{"output", required_argument, NULL, 'o'},   {"policy", required_argument, NULL, 'p'},
		{"buffer", required_argument, NULL, 'b'},   {"follow", no_argument, NULL, 'f'},
		{"verbose", no_argument, NULL, 'v'},	    {"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct dt_options *o = &c->options;
	struct dt_error e;
	int opt;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "+F:N:o:p:b:fvh", longs, NULL)) != -1) {
		switch (opt) {
		case 'F':
		case 'N':
			if (dt_selection_add(&o->select, optarg, opt == 'N', &e) < 0)
				return bad_usage(c, e.text, optarg);
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'p':
			if (strcmp(optarg, "overwrite") == 0)
				o->policy = DT_OVERWRITE;
			else if (strcmp(optarg, "drop") == 0)
				o->policy = DT_DROP;
			else if (strcmp(optarg, "wait") == 0)
				o->policy = DT_WAIT;
			else
				return bad_usage(c, "-p is overwrite, drop or wait, not", optarg);
			break;
		case 'b':
			if (!parse_size(optarg, &o->ring_size))
				return bad_usage(c, "-b is a size such as 512K or 4M, not", optarg);
			break;
		case 'f':
			o->follow = true;
			break;
		case 'v':
			c->verbose = true;
			break;
		case 'h':
			fputs(c->usage, stdout);
			return -1;
		default:
			fprintf(stderr, "Try '%s --help'.\n", c->name);
			return -2;
		}
	}
	return optind;
}

static void say_summary(const struct dt_trace_command *c, const struct dt_session *s)
{
	if (s->note[0])
		fprintf(stderr, "%s: %s\n", c->name, s->note);
	if (s->lost)
		fprintf(stderr, "%s: %lu records, %lu lost: larger rings (-b) lose fewer, -p wait none\n",
			c->name, (unsigned long)s->taken, (unsigned long)s->lost);
	else if (c->summary && isatty(2))
		fprintf(stderr, "%s: %lu records in %s\n", c->name, (unsigned long)s->taken,
			s->options.output);
	if (c->verbose)
		fprintf(stderr,
			"%s: %lu records, %lu lost, waited %lu times for room; %lu sites switched in %lu us; "
			"longest stop %lu us\n",
			c->name, (unsigned long)s->taken, (unsigned long)s->lost,
			(unsigned long)s->stalls,
			(unsigned long)s->switched, (unsigned long)s->switch_ns / 1000,
			(unsigned long)s->stop_ns / 1000);
}

static void near_events(struct dt_near *near, const struct dt_elf *elf)
{
	for (size_t i = 0; i < elf->events; i++)
		if (elf->event[i].kind)
			dt_near_offer(near, elf->event[i].event_name);
}

/* A pattern that chose nothing gets the nearest names. Returns whether there was one. */
static bool unmatched_pattern(const struct dt_trace_command *c, struct dt_session *s)
{
	const struct dt_selection *sel = &s->options.select;
	bool any = false;

	for (size_t i = 0; i < sel->n; i++) {
		struct dt_near near;

		if (sel->pattern[i].hits || sel->pattern[i].remove)
			continue;
		dt_near_start(&near, sel->pattern[i].text);
		for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
			if (f->elf && f->elf->sites && dt_file_symtab(f))
				dt_near_symtab(&near, dt_file_symtab(f));
			if (f->elf)
				near_events(&near, f->elf);
		}
		fprintf(stderr, "%s: no function with sleds matches '%s', and no event", c->name,
			sel->pattern[i].text);
		for (size_t k = 0; k < near.n; k++)
			fprintf(stderr, "%s%s", k ? ", " : "; near names: ", near.name[k]);
		fputc('\n', stderr);
		any = true;
	}
	return any;
}

static int finish(struct dt_trace_command *c, struct dt_session *s, int status)
{
	struct dt_error e;

	if (dt_session_end(s, &e) < 0)
		status = complain(c, e.text);
	if (unmatched_pattern(c, s) && s->taken == 0 && status == 0)
		status = 1;
	if (dt_session_close(s, &e) < 0)
		status = complain(c, e.text);
	say_summary(c, s);
	return status;
}

/* Nothing was traced: a file that was there before is left as it was. */
static void give_up(struct dt_session *s)
{
	dt_session_end(s, NULL);
	dt_session_discard(s);
}

/* Status of our child: 0 to 255, 128 + signal when it was killed, as a shell says it. */
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

int dt_trace_program(struct dt_trace_command *c, char **argv)
{
	struct dt_session s;
	struct dt_target *t;
	struct dt_error e;
	bool has_sleds;
	char *path = dt_launch_find(argv[0], c->options.follow, &has_sleds, &e);
	pid_t pid;
	int status;

	if (!path)
		return complain(c, e.text);
	if (dt_session_create(&s, &c->options, &e) < 0) {
		free(path);
		return complain(c, e.text);
	}
	catch_signals(true);
	status = dt_session_record(&s, &e);
	t = status == 0 ? dt_session_start(&s, path, argv, &e) : NULL;
	if (!t) {
		complain(c, e.text);
		give_up(&s);
		free(path);
		return 1;
	}
	pid = t->pid;
	/* until our program ends; what it leaves running is detached */
	while (!dt_has_ended(pid, NULL)) {
		dt_session_serve(&s, 20);
		if (interrupted == SIGTERM || interrupted == SIGHUP) {
			kill(pid, interrupted); /* the terminal's own signals reach it anyway */
			interrupted = 0;
		}
	}
	if (s.no_sleds) {
		dt_fail(&e, DT_NO_SLEDS, path);
		complain(c, e.text);
		reap(pid);
		give_up(&s);
		free(path);
		return 1;
	}
	dt_session_serve(&s, 0);
	status = reap(pid);
	free(path);
	return finish(c, &s, status);
}

int dt_trace_processes(struct dt_trace_command *c, char **pids)
{
	struct dt_session s;
	struct dt_error e;
	int status = 0;

	if (dt_session_create(&s, &c->options, &e) < 0)
		return complain(c, e.text);
	catch_signals(false);
	if (dt_session_record(&s, &e) < 0)
		status = complain(c, e.text);
	for (; status == 0 && *pids; pids++) {
		char *end;
		long pid = strtol(*pids, &end, 10);
		struct dt_target *t;
		size_t sites;

		if (*end || end == *pids || pid <= 0) {
			fprintf(stderr, "%s: '%s' is not a process id\n", c->name, *pids);
			status = 2;
			break;
		}
		t = dt_session_attach(&s, (pid_t)pid, &e);
		if (!t) {
			status = complain(c, e.text);
			break;
		}
		dt_target_sites(t, &sites);
		if (!sites) {
			dt_fail(&e, "process %ld has no sleds; build its program with "
				    "CFLAGS=\"$(pkg-config --cflags devtrace)\"",
				pid);
			status = complain(c, e.text);
		}
	}
	if (status == 0) {
		if (c->verbose || isatty(2))
			fprintf(stderr, "%s: attached; Ctrl-C detaches\n", c->name);
		while (!interrupted && dt_session_serve(&s, 50) > 0)
			if (atomic_load(&s.recorder_failed))
				break;
	} else {
		give_up(&s);
		return status;
	}
	return finish(c, &s, status);
}
