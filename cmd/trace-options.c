/* SPDX-License-Identifier: MIT */
/* The options of the commands that trace. */
#include "cmd/open.h"
#include "cmd/trace.h"
#include "session/ping.h"
#include "store/pool.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad_usage(const char *what, const char *value)
{
	fprintf(stderr, "devtrace: %s '%s'\n", what, value);
	return -2;
}

/* Parses "64K", "4M", "1G", or a number of bytes. */
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

/* Parses a time that is more than 0: "10s", "500ms". */
static bool parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} unit[] = {{"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};
	char *end;
	double v = strtod(text, &end);

	for (size_t i = 0; i < sizeof(unit) / sizeof(*unit) && end != text; i++)
		if (!strcmp(end, unit[i].unit) && v * unit[i].ns >= 1e6 && v * unit[i].ns < 1e18) {
			*ns = (uint64_t)(v * unit[i].ns);
			return true;
		}
	return false;
}

static bool is_kernels(const char *point)
{
	return strncmp(point, DT_KERNEL_PREFIX, strlen(DT_KERNEL_PREFIX)) == 0;
}

/* Adds the argument of an option that can be given several times; -2: it was given too often. */
static int add(const struct dt_trace_command *c, const char **list, size_t room, size_t *n,
	       char option)
{
	char what[64];

	if (*n == room) {
		dt_format(what, sizeof(what), "-%c can be given %zu times at most, not for", option,
			  room);
		return bad_usage(what, optarg);
	}
	list[(*n)++] = optarg;
	return 0;
}

#define ROOM(a) (sizeof(a) / sizeof(*(a)))

/* Takes a pattern of system calls whose arguments are wanted in full. */
static int take_calls(struct dt_trace_command *c)
{
	if (strpbrk(optarg, " @'\n") || !optarg[strlen(DT_KERNEL_CALLS)])
		return bad_usage("-A takes system calls as in 'syscall:open*', not", optarg);
	c->options.calls = c->options.kernel = true;
	c->options.kernel_pattern = c->kernel;
	return add(c, c->kernel, ROOM(c->kernel), &c->options.kernel_patterns, 'A');
}

/* Is the argument of -T a pattern of tracepoints that the kernel itself has? */
static bool is_tracepoints(const char *what)
{
	return strncmp(what + (*what == '!'), DT_KERNEL_TRACEPOINTS,
		       strlen(DT_KERNEL_TRACEPOINTS)) == 0;
}

/* Takes such a pattern. */
static int take_tracepoints(struct dt_trace_command *c)
{
	const char *name = optarg + (*optarg == '!') + strlen(DT_KERNEL_TRACEPOINTS);

	if (strpbrk(name, " @'\n") || !strchr(name, ':'))
		return bad_usage("-T takes the kernel's own tracepoints as in "
				 "'tracepoint:sched:sched_switch' or 'tracepoint:block:*', all "
				 "fields of which are recorded, not",
				 optarg);
	c->options.calls = c->options.kernel = true;
	c->options.kernel_pattern = c->kernel;
	return add(c, c->kernel, ROOM(c->kernel), &c->options.kernel_patterns, 'T');
}

/* Takes an option that says what is to be traced. */
static int take_what(struct dt_trace_command *c, int opt)
{
	struct dt_options *o = &c->options;
	struct dt_error e;

	switch (opt) {
	case 'A':
		if (strncmp(optarg, DT_KERNEL_CALLS, strlen(DT_KERNEL_CALLS)) == 0)
			return take_calls(c);
		o->argument = c->argument;
		return add(c, c->argument, ROOM(c->argument), &o->arguments, 'A');
	case 'T':
		if (is_tracepoints(optarg))
			return take_tracepoints(c);
		o->point = c->point;
		o->kernel = o->kernel || is_kernels(optarg);
		return add(c, c->point, ROOM(c->point), &o->points, 'T');
	case 'k':
		o->kernel = c->kernel_functions = true;
		o->kernel_pattern = c->kernel;
		return optarg ? add(c, c->kernel, ROOM(c->kernel), &o->kernel_patterns, 'k') : 0;
	}
	if (dt_selection_add(&o->select, optarg, opt == 'N', &e) == 0)
		return 0;
	fprintf(stderr, "devtrace: %s\n", e.text);
	return -2;
}

static int take_policy(struct dt_trace_command *c)
{
	static const char *const name[] = {
		[DT_OVERWRITE] = "overwrite", [DT_DROP] = "drop", [DT_WAIT] = "wait"};

	c->policy = true;
	for (unsigned i = 0; i < ROOM(name); i++)
		if (name[i] && strcmp(optarg, name[i]) == 0) {
			c->options.policy = (enum dt_policy)i;
			return 0;
		}
	return bad_usage("-p is overwrite, drop or wait, not", optarg);
}

/* Parses a budget: "5%", "0.5%". */
static int take_budget(struct dt_trace_command *c)
{
	char *end;
	double v = strtod(optarg, &end);

	/* strtod() also takes "nan", "0x5" and blanks */
	if (end == optarg || strspn(optarg, "0123456789.") != (size_t)(end - optarg) ||
	    strcmp(end, "%") != 0 || !(v >= 0.01 && v <= 100))
		return bad_usage("--budget is a share of the program's processor time, from 0.01% "
				 "to 100%, such as 5%, not",
				 optarg);
	c->options.budget = v / 100;
	return 0;
}

static int take_stack_size(struct dt_trace_command *c)
{
	uint64_t size;

	if (!parse_size(optarg, &size) || size < DT_STACK_SIZE_LEAST || size > DT_STACK_SIZE_MOST)
		return bad_usage("--backtrace-size is a size from 512 to 60K, such as 16K, not",
				 optarg);
	c->options.backtrace_size = (uint32_t)size;
	return 0;
}

static int take_threads(struct dt_trace_command *c)
{
	char *end;
	long n = strtol(optarg, &end, 10);

	if (*optarg < '0' || *optarg > '9' || *end || n < 1 || n > (long)DT_POOL_MOST)
		return bad_usage("--recorder-threads is a number from 1 to 64, not", optarg);
	c->options.recorder_threads = (unsigned)n;
	return 0;
}

/* Takes an option whose text is used as it is, most say how calls are printed; false: it is none of
 * these. */
static bool take_form(struct dt_trace_command *c, int opt)
{
	const char **const form = opt == 'O'   ? &c->fields
				  : opt == 11  ? &c->units
				  : opt == 12  ? &c->color
				  : opt == 18  ? &c->options.cgroup
				  : opt == 22  ? &c->options.pids
				  : opt == 19  ? &c->hosts
				  : opt == 20  ? &c->remote
				  : opt == 'e' ? &c->by
				  : opt == 15  ? &c->options.ping
				  : opt == 16  ? &c->options.pong
					       : NULL;

	if (form)
		*form = optarg;
	return form;
}

/* Adds the option's argument to those that can be given several times. */
static int take_several(const char **list, size_t *n, const char *option)
{
	char text[64];

	if (*n == DT_TRACE_SEVERAL) {
		dt_format(text, sizeof(text), "%s can be given %d times at most, not for", option,
			  DT_TRACE_SEVERAL);
		return bad_usage(text, optarg);
	}
	list[(*n)++] = optarg;
	return 0;
}

/* Takes an option. Returns 0; -1: help was printed; -2: the usage is wrong. */
static int take(struct dt_trace_command *c, int opt)
{
	struct dt_options *o = &c->options;

	switch (opt) {
	case 'o':
		o->output = optarg;
		return 0;
	case 'p':
		return take_policy(c);
	case 'b':
		return parse_size(optarg, &o->ring_size)
			       ? 0
			       : bad_usage("-b is a size such as 512K or 4M, not", optarg);
	case 's':
		return c->session = optarg, 0;
	case 'l':
		/* -l=MODULE is meant as --libcalls=MODULE */
		o->libcalls = optarg ? optarg + (*optarg == '=') : "";
		return 0;
	case 'c':
		return c->table = true, 0;
	case 'S':
		return o->switches = true, c->no_switches = false, 0;
	case 30:
		return o->switches = false, c->no_switches = true, 0;
	case 17:
		return o->wakers = o->switches = o->kernel = true, 0;
	case 1:
		return o->stopped = true, 0;
	case 2:
		return c->failed = true, 0;
	case 3:
		o->filter = optarg;
		return 0;
	case 4:
		return c->no_debuginfod = true, 0;
	case 5:
		o->sum = c->sum;
		return take_several(c->sum, &o->sums, "--sum");
	case 6:
		return o->until = optarg, 0;
	case 7:
		o->signal = c->signal;
		return take_several(c->signal, &o->signals, "--signal");
	case 8:
		return parse_time(optarg, &o->last_ns)
			       ? 0
			       : bad_usage("--last is a time such as 10s or 500ms, not", optarg);
	case 9:
		o->snapshot = c->snapshot;
		return take_several(c->snapshot, &o->snapshots, "--snapshot");
	case 'B':
		o->backtrace = optarg ? optarg : "failed";
		return 0;
	case 10:
		return take_stack_size(c);
	case 13:
		return take_threads(c);
	case 14:
		return take_budget(c);
	case 21:
		return o->sockets = true, 0;
	case 23:
		c->push = true;
		c->pushed = optarg;
		return 0;
	case 'd':
		return c->detach = true, 0;
	case 'f':
		return o->follow = true, 0;
	case 'v':
		return c->verbose = true, 0;
	case 'h':
		fputs(c->usage, stdout);
		return -1;
	case '?':
		dt_cmd_usage(c->name);
		return -2;
	}
	return take_form(c, opt) ? 0 : take_what(c, opt);
}

/* Takes the word of pings out of the environment: the program that is traced, and what it starts,
 * is not to have it. getenv()'s string stays where it is. */
static void take_ping_word(struct dt_options *o)
{
	o->ping_word = getenv(DT_PING_WORD);
	unsetenv(DT_PING_WORD);
}

int dt_trace_options(struct dt_trace_command *c, int argc, char **argv)
{
	static const struct option longs[] = {
		{"function", required_argument, NULL, 'F'},
		{"no-function", required_argument, NULL, 'N'},
		{"trace", required_argument, NULL, 'T'},
		{"arguments", required_argument, NULL, 'A'},
		{"libcalls", optional_argument, NULL, 'l'},
		{"output", required_argument, NULL, 'o'},
		{"policy", required_argument, NULL, 'p'},
		{"buffer", required_argument, NULL, 'b'},
		{"follow", no_argument, NULL, 'f'},
		{"session", required_argument, NULL, 's'},
		{"detach", no_argument, NULL, 'd'},
		{"switches", no_argument, NULL, 'S'},
		{"no-switches", no_argument, NULL, 30},
		{"wakers", no_argument, NULL, 17},
		{"cgroup", required_argument, NULL, 18},
		{"pid", required_argument, NULL, 22},
		{"stopped", no_argument, NULL, 1},
		{"failed", no_argument, NULL, 2},
		{"filter", required_argument, NULL, 3},
		{"no-debuginfod", no_argument, NULL, 4},
		{"sum", required_argument, NULL, 5},
		{"until", required_argument, NULL, 6},
		{"signal", required_argument, NULL, 7},
		{"last", required_argument, NULL, 8},
		{"snapshot", required_argument, NULL, 9},
		{"backtrace", optional_argument, NULL, 'B'},
		{"backtrace-size", required_argument, NULL, 10},
		{"recorder-threads", required_argument, NULL, 13},
		{"budget", required_argument, NULL, 14},
		{"ping", required_argument, NULL, 15},
		{"pong", required_argument, NULL, 16},
		{"hosts", required_argument, NULL, 19},
		{"remote", required_argument, NULL, 20},
		{"push", optional_argument, NULL, 23},
		{"sockets", no_argument, NULL, 21},
		{"ssh", required_argument, NULL, 'e'},
		{"summary", no_argument, NULL, 'c'},
		{"fields", required_argument, NULL, 'O'},
		{"units", required_argument, NULL, 11},
		{"color", required_argument, NULL, 12},
		{"kernel", optional_argument, NULL, 'k'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct dt_options *o = &c->options;
	int opt, rc;

	optind = 1;
	while ((opt = getopt_long(argc, argv, "+F:N:A:T:O:o:p:b:s:e:k::l::B::cSdfvh", longs,
				  NULL)) != -1) {
		rc = take(c, opt);
		if (rc < 0)
			return rc;
	}
	if (c->kernel_functions && !o->kernel_patterns) {
		o->kernel_pattern = c->kernel;
		c->kernel[o->kernel_patterns++] = DT_KERNEL_PATTERN;
	}
	take_ping_word(o);
	return optind;
}
