/* SPDX-License-Identifier: MIT */
/* Seeing a tracing session through, from the command line. */
#include "cmd/trace.h"
#include "cmd/patterns.h"
#include "core/text.h"
#include "hook/probes.h"

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
#include "process/rights.h"
#include "symbols/symtab-apart.h"
#include "symbols/symtab-tell.h"
#include "session/device.h"
#include "session/kernel-ranges.h"
#include "session/mount.h"
#include "session/server.h"
#include "session/unhooked.h"
#include "session/begin.h"
#include "session/ctl.h"
#include "session/processes.h"
#include "session/serve.h"
#include "session/thread-table.h"

#define NAMED 5 /* processes in a message, at most */
/* how long a session without a file waits when its processes have ended */
#define ALONE_NS  10000000000u
#define MOMENT_NS 100000000ull	/* what ends so soon after its program is waited for */
#define TELL_NS	  1000000000ull /* what is waited for longer is told of */

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	if (sig != SIGCHLD)
		interrupted = sig;
}

/* own_program: we start it, and what is ignored (nohup, a shell's background) is to stay so for it.
 */
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

static bool is_kernels(const char *point)
{
	return strncmp(point, DT_KERNEL_PREFIX, strlen(DT_KERNEL_PREFIX)) == 0;
}

int dt_trace_options(struct dt_trace_command *c, int argc, char **argv)
{
	static const struct option longs[] = {
		{"function", required_argument, NULL, 'F'},
		{"no-function", required_argument, NULL, 'N'},
		{"trace", required_argument, NULL, 'T'},
		{"arguments", required_argument, NULL, 'A'},
		{"output", required_argument, NULL, 'o'},
		{"policy", required_argument, NULL, 'p'},
		{"buffer", required_argument, NULL, 'b'},
		{"follow", no_argument, NULL, 'f'},
		{"session", required_argument, NULL, 's'},
		{"detach", no_argument, NULL, 'd'},
		{"switches", no_argument, NULL, 'S'},
		{"stopped", no_argument, NULL, 1},
		{"kernel", optional_argument, NULL, 'k'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct dt_options *o = &c->options;
	struct dt_error e;
	int opt;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "+F:N:A:T:o:p:b:s:k::Sdfvh", longs, NULL)) != -1) {
		switch (opt) {
		case 'F':
		case 'N':
			if (dt_selection_add(&o->select, optarg, opt == 'N', &e) < 0)
				return bad_usage(c, e.text, optarg);
			break;
		case 'A':
			if (o->arguments == sizeof(c->argument) / sizeof(*c->argument))
				return bad_usage(c, "-A can be given 64 times at most, not for",
						 optarg);
			o->argument = c->argument;
			c->argument[o->arguments++] = optarg;
			break;
		case 'T':
			if (o->points == sizeof(c->point) / sizeof(*c->point))
				return bad_usage(c, "-T can be given 64 times at most, not for",
						 optarg);
			o->point = c->point;
			c->point[o->points++] = optarg;
			o->kernel = o->kernel || is_kernels(optarg);
			break;
		case 'k':
			o->kernel = c->kernel_functions = true;
			if (!optarg)
				break;
			if (o->kernel_patterns == sizeof(c->kernel) / sizeof(*c->kernel))
				return bad_usage(c, "-k can be given 64 times at most, not for",
						 optarg);
			o->kernel_pattern = c->kernel;
			c->kernel[o->kernel_patterns++] = optarg;
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'p':
			c->policy = true;
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
		case 's':
			c->session = optarg;
			break;
		case 'S':
			o->switches = true;
			break;
		case 1:
			o->stopped = true;
			break;
		case 'd':
			c->detach = true;
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
	if (c->kernel_functions && !o->kernel_patterns) {
		o->kernel_pattern = c->kernel;
		c->kernel[o->kernel_patterns++] = DT_KERNEL_PATTERN;
	}
	return optind;
}

static void say_summary(const struct dt_trace_command *c, const struct dt_session *s)
{
	if (s->note[0])
		fprintf(stderr, "%s: %s\n", c->name, s->note);
	if (s->users > 1)
		fprintf(stderr,
			"%s: processes changed their user while they were traced (%u, %u%s): whoever "
			"they are now could go on reading and changing the records of the user they were\n",
			c->name, s->user[0], s->user[1], s->users > 2 ? ", ..." : "");
	if (s->clockless)
		fprintf(stderr,
			"%s: %lu calls are not recorded: the program had forbidden itself to read the "
			"clock then (prctl PR_SET_TSC, or strict seccomp)\n",
			c->name, (unsigned long)s->clockless);
	if (s->tids.unknown)
		fprintf(stderr,
			"%s: %zu threads of other PID namespaces ended before their numbers here were known: "
			"they stand as their own ones, with %u and more added\n",
			c->name, s->tids.unknown, 1u << DT_TAG_SHIFT);
	if (s->unopened)
		fprintf(stderr,
			"%s: of %lu processes only the calls of functions that their parents had are recorded, not what "
			"they loaded, nor whether they still run: %s\n",
			c->name, (unsigned long)s->unopened, s->unopened_why.text);
	if (s->unfollowed)
		fprintf(stderr,
			"%s: %lu program%s that processes executed %s not recorded%s process %d: %s\n",
			c->name, (unsigned long)s->unfollowed, s->unfollowed == 1 ? "" : "s",
			s->unfollowed == 1 ? "is" : "are",
			s->unfollowed == 1 ? ", of" : "; the first, of", s->unfollowed_pid,
			s->unfollowed_why.text);
	if (s->unsent)
		fprintf(stderr,
			"%s: what a process did that had confined itself by seccomp was not followed "
			"%lu times: a library it loaded, a child, or a program it executed\n",
			c->name, (unsigned long)s->unsent);
	if (s->broken[0]) {
		char rings[512];

		dt_text_rings(rings, sizeof(rings), s->broken, s->targets.shared.geometry.cores,
			      s->domain_users[0] ? s->domain_users : NULL);
		fprintf(stderr,
			"%s: a traced program has written into the memory of the rings: what was recorded "
			"there from then on is not known, and what was before may be wrong: %s\n",
			c->name, rings);
	}
	if (s->lost)
		fprintf(stderr,
			"%s: %lu records, %lu lost: larger rings (-b) lose fewer, -p wait none%s\n",
			c->name, (unsigned long)s->taken, (unsigned long)s->lost,
			s->options.kernel ? " of the processes'; the kernel does not wait" : "");
	else if (s->left_as_it_was)
		fprintf(stderr, "%s: nothing was recorded; %s is the trace that it was\n", c->name,
			s->options.output);
	else if (c->summary && isatty(2))
		fprintf(stderr, "%s: %lu records in %s\n", c->name, (unsigned long)s->taken,
			s->options.output);
	if (c->verbose)
		fprintf(stderr,
			"%s: %lu records, %lu lost, waited %lu times for room; %lu sites switched "
			"in %lu us; "
			"longest stop %lu us\n",
			c->name, (unsigned long)s->taken, (unsigned long)s->lost,
			(unsigned long)s->stalls, (unsigned long)s->switched,
			(unsigned long)s->switch_ns / 1000, (unsigned long)s->stop_ns / 1000);
}

static void near_events(struct dt_near *near, const struct dt_elf *elf)
{
	for (size_t i = 0; i < elf->events; i++)
		if (elf->event[i].kind)
			dt_near_offer(near, elf->event[i].event_name);
}

/* A pattern that chose nothing gets the nearest names. */
static void say_unmatched(const struct dt_trace_command *c, struct dt_session *s,
			  const char *pattern, const char *what)
{
	struct dt_near near;

	dt_near_start(&near, pattern);
	pthread_mutex_lock(&s->lock); /* commands look names up, too */
	for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
		if (f->elf && f->elf->sites && dt_file_symtab(f))
			dt_near_symtab(&near, dt_file_symtab(f));
		if (f->elf)
			near_events(&near, f->elf);
	}
	pthread_mutex_unlock(&s->lock);
	fprintf(stderr, "%s: no function matches '%s'%s", c->name, pattern, what);
	for (size_t k = 0; k < near.n; k++)
		fprintf(stderr, "%s%s", k ? ", " : "; near names: ", near.name[k]);
	fputc('\n', stderr);
}

/* Returns whether there was one. yet: a library that is loaded later may have it. */
static bool unmatched_pattern(const struct dt_trace_command *c, struct dt_session *s, bool yet)
{
	struct dt_selection *sel = &s->options.select;
	bool any = false;

	dt_session_device_hits(s, sel);
	for (size_t i = 0; i < sel->n; i++) {
		if (sel->pattern[i].hits || sel->pattern[i].remove || sel->pattern[i].told)
			continue;
		say_unmatched(c, s, sel->pattern[i].text,
			      yet ? " yet, and no event" : ", and no event");
		any = true;
	}
	return any;
}

/* The same of those of which the arguments are wanted, and arguments that they have not got. */
static bool unmatched_arguments(const struct dt_trace_command *c, struct dt_session *s)
{
	bool any = false;

	for (size_t i = 0; i < s->options.arguments; i++) {
		const char *of = s->options.argument[i];
		char missing[512], pattern[256];

		dt_format(pattern, sizeof(pattern), "%.*s", (int)strcspn(of, "@"), of);
		if (s->options.arguments_told >> i & 1)
			continue;
		if (!dt_session_device_matched(s, i, missing, sizeof(missing))) {
			say_unmatched(c, s, pattern, "");
			any = true;
		} else if (missing[0]) {
			fprintf(stderr, "%s: no function that matches '%s' has an argument %s\n",
				c->name, pattern, missing);
			any = true;
		}
	}
	return any;
}

static bool is_probe_chosen(const struct dt_file *f)
{
	for (size_t i = 0; f->chosen && i < f->elf->sites; i++)
		if (f->chosen[i] && dt_elf_is_probe(&f->elf->site[i]))
			return true;
	return false;
}

/* Functions were chosen, but of none of them there could be a probe: not to be left unsaid. */
static bool nothing_hooked(const struct dt_trace_command *c, const struct dt_session *s)
{
	const char *path = NULL;

	for (const struct dt_target *t = s->first; t; t = t->next)
		for (size_t i = 0; i < t->n; i++)
			if (t->module[i].file->probed && dt_probes_any(t->module[i].probes))
				return false;
	for (const struct dt_file *f = s->targets.files.first; f; f = f->next) {
		if (!is_probe_chosen(f))
			continue;
		if (f->hooked)
			return false;
		path = f->path;
	}
	if (!path)
		return false;
	fprintf(stderr,
		"%s: %s: no function that was chosen can be hooked; 'devtrace list -v' says why\n",
		c->name, path);
	return true;
}

static bool is_hooked(const struct dt_session *s, const struct dt_file *f, uint64_t address)
{
	for (size_t k = 0; f->hooked && k < f->elf->sites; k++)
		if (f->elf->site[k].function == address && f->hooked[k])
			return true;
	for (const struct dt_target *t = s->first; t; t = t->next)
		for (size_t i = 0; i < t->n; i++) {
			const struct dt_module *m = &t->module[i];

			for (size_t k = 0; m->file == f && k < f->elf->sites; k++)
				if (f->elf->site[k].function == address && dt_probes_pc(m, k))
					return true;
		}
	return false;
}

/*
 * Is it one of several that are chosen from when the program begins, and another is hooked? Which
 * one is called only the processor decides.
 */
static bool is_choice(const struct dt_session *s, const struct dt_file *f, const char *name)
{
	char resolver[1024];
	bool chosen = false, hooked = false;

	dt_format(resolver, sizeof(resolver), "%s.resolver", name);
	for (size_t i = 0; i < f->code->functions; i++) {
		const struct dt_code_function *g = &f->code->function[i];

		chosen = chosen || (g->name && strcmp(g->name, resolver) == 0);
		hooked = hooked ||
			 (g->name && strcmp(g->name, name) == 0 && is_hooked(s, f, g->start));
	}
	return chosen && hooked;
}

/* One that was asked for by its name, and is there, but can not be hooked. */
static size_t say_unhooked(const struct dt_trace_command *c, const struct dt_session *s,
			   struct dt_file *f, const struct dt_pattern *p)
{
	const struct dt_symtab *tab = dt_file_symtab(f);
	struct dt_probe_way *way = NULL;
	size_t said = 0;

	if (is_choice(s, f, p->name))
		return 0;
	for (size_t i = 0; i < f->code->functions; i++) {
		const struct dt_code_function *g = &f->code->function[i];
		const struct dt_function *sym = tab ? dt_symtab_find(tab, g->start) : NULL;

		/* by the name as it is written, that of C++ too, or as the linker has it */
		if (!g->name || g->part || !sym || sym->address != g->start ||
		    (!dt_pattern_name(p, sym->name) && !dt_pattern_name(p, g->name)) ||
		    is_hooked(s, f, g->start))
			continue;
		if (!way)
			way = dt_file_probe_ways(f, NULL);
		if (way && !way[i].hooked && ++said)
			fprintf(stderr, "%s: %s: %s is not recorded: %s\n", c->name, f->path,
				sym->name, way[i].how);
	}
	free(way);
	return said;
}

/* In a file with sleds only these are hooked: one that was asked for by its name has none. */
static bool say_sledless(const struct dt_trace_command *c, struct dt_file *f,
			 const struct dt_pattern *p)
{
	const struct dt_symtab *tab = dt_file_symtab(f);
	const struct dt_function *g;
	bool any = false;
	size_t n = 0;

	g = tab ? dt_symtab_functions(tab, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		bool sled = false;

		if (g[i].label || strcmp(g[i].name, p->name) != 0)
			continue;
		for (size_t k = dt_elf_site_from(f->elf, g[i].address);
		     k < f->elf->sites && f->elf->site[k].address < g[i].address + g[i].size; k++)
			sled = sled || f->elf->site[k].kind == DT_ELF_ENTRY;
		any = any || !sled;
		if (!sled)
			fprintf(stderr,
				"%s: %s: calls of %s are not recorded: it has no sled, and in a "
				"file that has sleds nothing else is hooked\n",
				c->name, f->path, p->name);
	}
	return any;
}

/* Whether there was one that has no sled. *said: lines about others. */
static bool unhooked(const struct dt_trace_command *c, const struct dt_session *s, size_t *said)
{
	const struct dt_selection *sel = &s->options.select;
	bool sledless = false;

	for (size_t i = 0; i < sel->n; i++) {
		const struct dt_pattern *p = &sel->pattern[i];

		if (p->remove || !p->hits || strpbrk(p->name, "*?["))
			continue;
		for (struct dt_file *f = s->targets.files.first; f; f = f->next) {
			if (p->module && !dt_pattern_module(p, dt_file_called(f, p->module)))
				continue;
			if (f->probed && f->code && f->chosen_sites)
				*said += say_unhooked(c, s, f, p);
			else if (!f->probed && f->elf && f->elf->sleds)
				sledless |= say_sledless(c, f, p);
		}
	}
	return sledless;
}

/* C code beside Go's is traced; that the rest is not is said. */
static void say_go(const struct dt_trace_command *c, const struct dt_session *s)
{
	for (const struct dt_file *f = s->targets.files.first; f; f = f->next)
		if (dt_file_go_sites(f, true))
			fprintf(stderr,
				"%s: %s: its functions of Go are not traced: Go's stacks are too "
				"small for a hook, and are moved\n",
				c->name, f->path);
}

/* What reads names for root has no rights, and may fall victim to what it reads. */
static void say_unnamed(const struct dt_trace_command *c)
{
	if (dt_symtab_apart_broken())
		fprintf(stderr,
			"%s: %s: the process that read its symbols and debug information ended, or "
			"did not "
			"answer: names, types and lines of it are missing from then on\n",
			c->name, dt_symtab_apart_broken());
}

/* The last line; where nobody reads along, when there is something to say. */
static void say_left_out(const struct dt_trace_command *c, const struct dt_unhooked *u)
{
	size_t hooked = u->chosen - u->left_out;

	if (!u->left_out && c->summary && isatty(2) && u->chosen)
		fprintf(stderr, "%s: %zu functions chosen, all hooked\n", c->name, u->chosen);
	if (u->left_out)
		fprintf(stderr,
			"%s: %zu functions chosen, %zu hooked, %zu not: %s ('devtrace list -v %s' says why)\n",
			c->name, u->chosen, hooked, u->left_out, u->names, u->path);
}

static int finish(struct dt_trace_command *c, struct dt_session *s, int status)
{
	struct dt_unhooked u;
	struct dt_error e;
	size_t said = 0;
	bool none;

	if (dt_session_end(s, &e) < 0)
		status = complain(c, e.text);
	dt_server_stop(s);
	if ((unmatched_pattern(c, s, false) | unmatched_arguments(c, s)) && s->taken == 0 &&
	    status == 0)
		status = 1;
	none = s->taken == 0 && nothing_hooked(c, s);
	if (none && status == 0)
		status = 1;
	if (unhooked(c, s, &said) && s->taken == 0 && status == 0)
		status = 1;
	say_go(c, s);
	say_unnamed(c);
	dt_unhooked_note(s, &u);
	if (!none && (said < u.left_out || !said))
		say_left_out(c, &u);
	if (dt_session_close(s, &e) < 0)
		status = complain(c, e.text);
	say_summary(c, s);
	c->no_trace = s->left_as_it_was;
	dt_server_free(s);
	return status;
}

/* Without a socket a session can not be told anything, but records: only a name asked for must be.
 */
static int serve(struct dt_trace_command *c, struct dt_session *s)
{
	struct dt_error e;

	if (dt_server_start(s, c->session, &e) == 0)
		return 0;
	if (c->session || c->detach)
		return complain(c, e.text);
	if (c->verbose)
		complain(c, e.text);
	return 0;
}

/* A program can tell its own session what to do, as the papers' test programs do. */
static void offer_ctl(const struct dt_session *s, struct dt_launch *l)
{
	static const char name[] = "DEVTRACE_CTL";
	char path[sizeof(l->variable) - sizeof(name)];

	if (dt_mount_ctl(dt_server_name(s), path, sizeof(path)))
		dt_format(l->variable, sizeof(l->variable), "%s=%s", name, path);
	else /* that of a session around this one */
		dt_format(l->variable, sizeof(l->variable), "%s", name);
}

/* Root has executables read apart: before any is looked at, and there is anything worth taking. */
static int read_apart(struct dt_error *e)
{
	return geteuid() == 0 ? dt_symtab_apart_start(dt_symtab_tell, e) : 0;
}

/* Before there are other threads. */
static int limit_rights(const struct dt_trace_command *c, struct dt_error *e)
{
	return dt_rights_limit(c->options.switches, c->options.kernel, e);
}

/* Nothing was traced: a file that was there before is left as it was. */
static void give_up(struct dt_session *s)
{
	dt_session_end(s, NULL);
	dt_server_stop(s);
	dt_session_discard(s);
	dt_server_free(s);
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

/* The terminal's own signals reach our program anyway. */
static void pass_signal(pid_t pid)
{
	if (interrupted == SIGTERM || interrupted == SIGHUP) {
		kill(pid, interrupted);
		interrupted = 0;
	}
}

/* The session was told to quit: our program goes on without, and its exit status is still ours. */
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

/* Names those that are still running, as "120 (sleep), 122 (sh)"; how many they are. */
static size_t name_running(const struct dt_session *s, char *text, size_t size)
{
	size_t n = 0, length = 0;

	text[0] = '\0';
	for (const struct dt_target *t = s->first; t; t = t->next) {
		char name[64];

		if (t->ended || dt_target_gone(t))
			continue;
		if (++n > NAMED)
			continue;
		dt_session_read_name((uint32_t)t->pid, name, sizeof(name));
		dt_format(text + length, size - length, "%s%d (%s)", length ? ", " : "", t->pid,
			  name);
		length = strlen(text);
	}
	if (n > NAMED)
		dt_format(text + length, size - length, " and %zu more", n - NAMED);
	return n;
}

/* Serves what runs, also children that have not recorded anything yet. False: nothing runs any
 * more. */
static bool serve_others(struct dt_session *s)
{
	if (dt_session_serve(s, 20))
		return true;
	pthread_mutex_lock(&s->lock);
	dt_session_adopt_strays(s);
	pthread_mutex_unlock(&s->lock);
	return dt_session_serve(s, 0) > 0;
}

/*
 * The program has ended, what it has left running has not. With --follow that is waited for, as
 * long as the user likes; without, a moment, and what runs on is named.
 */
static void outlast(const struct dt_trace_command *c, struct dt_session *s, const char *program)
{
	uint64_t begin = dt_now_ns();
	bool told = false;
	char text[512];

	if (s->no_sleds || s->no_point)
		return;
	while (!interrupted && !atomic_load(&s->quit) && serve_others(s)) {
		uint64_t ns = dt_now_ns() - begin;

		if (!s->options.follow && ns > MOMENT_NS)
			break;
		if (s->options.follow && ns > TELL_NS && !told &&
		    name_running(s, text, sizeof(text))) {
			fprintf(stderr,
				"%s: %s has ended; waiting for what it has left running: %s; Ctrl-C "
				"waits no more\n",
				c->name, program, text);
			told = true;
		}
	}
	if (!atomic_load(&s->quit) && name_running(s, text, sizeof(text)))
		fprintf(stderr, "%s: still running, and not recorded any more: %s%s\n", c->name,
			text, s->options.follow ? "" : "; with --follow these are waited for");
}

int dt_trace_program(struct dt_trace_command *c, char **argv)
{
	struct dt_launch launch;
	struct dt_session s;
	struct dt_target *t;
	struct dt_error e;
	bool has_sleds;
	char *path;
	pid_t pid;
	int status;

	c->no_trace = true; /* unless it comes to that */
	if (c->detach) {
		fprintf(stderr, "%s: -d is for attach: a program is put behind by & of the shell\n",
			c->name);
		return 2;
	}
	path = dt_launch_find(argv[0], c->options.follow, &has_sleds, &e);
	if (!path || read_apart(&e) < 0) {
		free(path);
		return complain(c, e.text);
	}
	if (!dt_patterns_check(c->name, &c->options, path)) {
		free(path);
		return 1;
	}
	/* the program keeps what it would have had without us */
	if (dt_launch_begin(&launch, path, argv, &e) < 0 || limit_rights(c, &e) < 0) {
		dt_launch_cancel(&launch);
		free(path);
		return complain(c, e.text);
	}
	c->options.contexts = dt_needed_contexts(path);
	if (dt_session_create(&s, &c->options, &e) < 0) {
		dt_launch_cancel(&launch);
		free(path);
		return complain(c, e.text);
	}
	catch_signals(true);
	status = serve(c, &s);
	if (status) {
		dt_launch_cancel(&launch);
		give_up(&s);
		free(path);
		return status;
	}
	offer_ctl(&s, &launch);
	status = dt_session_record(&s, &e);
	t = status == 0 ? dt_session_start(&s, &launch, &e) : NULL;
	if (!t) {
		dt_launch_cancel(&launch);
		complain(c, e.text);
		give_up(&s);
		free(path);
		return 1;
	}
	pid = t->pid;
	while (!dt_has_ended(pid, NULL) && !atomic_load(&s.quit)) {
		dt_session_serve(&s, 20);
		pass_signal(pid);
	}
	outlast(c, &s, argv[0]);
	if (s.no_sleds || s.no_point) {
		if (s.no_point)
			e = s.point_error;
		else if (s.go)
			dt_fail(&e, "%s: " DT_GO, path);
		else
			dt_fail(&e, DT_NO_SLEDS, path);
		complain(c, e.text);
		reap(pid);
		give_up(&s);
		free(path);
		return 1;
	}
	dt_session_serve(&s, 0);
	free(path);
	if (!dt_has_ended(pid, NULL))
		return finish_before(c, &s, pid);
	return finish(c, &s, reap(pid));
}

/* Parses and attaches; an exit status. Of several processes, some may have ended meanwhile. */
static int attach_all(struct dt_trace_command *c, struct dt_session *s, char **pids)
{
	size_t n = 0, gone = 0;
	struct dt_error e;

	for (; *pids; pids++) {
		char *end;
		long pid = strtol(*pids, &end, 10);

		if (*end || end == *pids || pid <= 0 || pid > INT_MAX) {
			fprintf(stderr, "%s: '%s' is not a process id\n", c->name, *pids);
			return 2;
		}
		if (dt_session_attach(s, (pid_t)pid, &e)) {
			n++;
			continue;
		}
		complain(c, e.text);
		if (kill((pid_t)pid, 0) == 0 || errno != ESRCH)
			return 1;
		gone++;
	}
	if (!n && gone)
		return 1;
	if (dt_session_points(s, &e) < 0)
		return complain(c, e.text);
	return 0;
}

/* Of a session without a file: as ctl would be told. */
static int set_log_policy(const struct dt_trace_command *c, struct dt_session *s,
			  struct dt_error *e)
{
	char command[32];

	if (!c->detach || c->options.output)
		return 0;
	dt_format(command, sizeof(command), "policy %s", dt_policy_name[c->log_policy]);
	return dt_session_write(s, NULL, command, strlen(command), e);
}

/*
 * A session without a file outlives its processes for as long as its log has something to be read,
 * and a moment: for whoever reads it, or attaches to another process. n: so many processes live.
 */
static bool goes_on(struct dt_session *s, int n, uint64_t *alone_since)
{
	uint64_t now = dt_now_ns();

	if (n > 0 || s->options.everybody || !s->options.idle || !dt_log_is_empty(&s->log)) {
		*alone_since = now;
		return n > 0 || s->options.everybody || s->options.idle;
	}
	return now - *alone_since < ALONE_NS;
}

/* ready: what whoever waits for us is told through, once everything is attached; -1: nobody. */
/* Does one of the processes change stacks in a way that has to be recorded? */
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

static int trace_processes(struct dt_trace_command *c, char **pids, int ready)
{
	uint64_t alone_since = dt_now_ns();
	struct dt_session s;
	struct dt_error e;
	int status;

	c->options.contexts = any_contexts(pids);
	if (dt_session_create(&s, &c->options, &e) < 0)
		return complain(c, e.text);
	catch_signals(false);
	status = serve(c, &s);
	if (status == 0 && dt_session_record(&s, &e) < 0)
		status = complain(c, e.text);
	if (status == 0 && set_log_policy(c, &s, &e) < 0)
		status = complain(c, e.text);
	if (status == 0)
		status = attach_all(c, &s, pids);
	if (status != 0) {
		give_up(&s);
		return status;
	}
	unmatched_pattern(c, &s, true);
	if (ready >= 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		/* nobody is there any more to be told anything */
		dup2(null, 2);
		close(null);
		dprintf(ready, "%s\n", dt_server_name(&s));
		close(ready);
	} else if (c->verbose || isatty(2)) {
		fprintf(stderr, "%s: attached; Ctrl-C detaches\n", c->name);
	}
	/* what is asked for rings the bell; that a process has ended is noticed a little later */
	while (!interrupted && !atomic_load(&s.quit) &&
	       goes_on(&s, dt_session_serve(&s, c->detach ? 200 : 50), &alone_since))
		if (atomic_load(&s.recorder_failed))
			break;
	return finish(c, &s, status);
}

int dt_trace_processes(struct dt_trace_command *c, char **pids)
{
	int ready[2], null, status;
	char name[80];
	struct dt_error e;
	ssize_t n;
	pid_t pid;

	if (read_apart(&e) < 0 || limit_rights(c, &e) < 0)
		return complain(c, e.text);
	if (!c->detach)
		return trace_processes(c, pids, -1);
	/* the session lives in a process of its own; what it complains of at first is still seen */
	if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return complain(c, strerror(errno));
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
