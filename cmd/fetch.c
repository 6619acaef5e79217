/* SPDX-License-Identifier: MIT */
/* devtrace fetch: fetches traces from a server on another host. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyse/barrelfish.h"
#include "cmd/new-trace.h"
#include "cmd/commands.h"
#include "cmd/open.h"
#include "process/outside.h"
#include "remote/address.h"
#include "remote/link.h"

static const char help[] =
	"usage: devtrace fetch [OPTION]... ADDRESS\n"
	"       devtrace fetch [OPTION]... ssh:[USER@]HOST [-s SESSION | FILE]\n"
	"Gets a trace from devtrace serve elsewhere, or a dump from Barrelfish's bfscope. ADDRESS "
	"is\n"
	"HOST:PORT, HOST (port " DT_ADDRESS_PORT
	") or unix:PATH; with ssh: a server is started there, by ssh.\n"
	"\n"
	"  -o, --output FILE      the trace file (devtrace.db); a trace that is there is replaced\n"
	"                         when another has come whole, never before\n"
	"  -c, --continuous       one after the other, each replacing the one before, until "
	"Ctrl-C;\n"
	"                         a connection that breaks is made again\n"
	"  -n, --count N          so many\n"
	"      --barrelfish       ask for a dump, and make a trace of it\n"
	"      --events DEFINITION  names of its events (devtrace-events(1))\n"
	"      --names TABLE        names of its applications: lines 'DCB: 0xHEX NAME'\n"
	"      --text             keep the dump as it came; FILE is dump.txt, - is standard "
	"output\n"
	"  -s, --session SESSION  with ssh: of this session there\n"
	"      --arm ..., --for TIME  with ssh: as for devtrace serve\n"
	"  -e, --ssh COMMAND      with ssh: instead of 'ssh', with its options\n"
	"      --remote COMMAND   with ssh: instead of 'devtrace' there\n"
	"  -h, --help             show this\n";

#define TEXT_FILE "dump.txt"
#define AHEAD	  2u /* requests that are sent before their answers have come */

struct command {
	const char *address, *output, *ssh, *remote;
	const char
		*there[16]; /* arguments for devtrace serve on the other host; a NULL at the end */
	size_t n_there;
	unsigned long count; /* traces to fetch; 0: no end */
	bool continuous, barrelfish, text;
	const char *definition, *table; /* paths of the files with the next two; NULL: none */
	struct dt_definition events;
	struct dt_applications applications;
	struct dt_new_trace aside; /* where a trace is kept until it has come completely */
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

static void catch_signals(void)
{
	struct sigaction a = {.sa_handler = on_signal};
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- storing what has come */

static bool to_stdout(const struct command *c)
{
	return c->text && strcmp(c->output, "-") == 0;
}

/* Makes a trace at path of the dump in fd. path is beside the output, so that an older trace is
 * replaced only by a complete one. */
static int import(const struct command *c, const char *path, int fd, struct dt_error *e)
{
	FILE *f = fdopen(dup(fd), "r");
	struct dt_store *s;
	int rc;

	if (!f)
		return dt_fail(e, "out of memory");
	rewind(f);
	s = dt_store_create(path, dt_barrelfish_describe, NULL, e);
	rc = s ? dt_barrelfish_import(s, f, c->address, &c->events, &c->applications, e) : -1;
	fclose(f);
	if (s && rc < 0)
		dt_store_discard(s);
	else if (s)
		rc = dt_store_close(s, e);
	return rc;
}

/* Makes an empty file beside the output, which can later replace it in one step. Returns its
 * descriptor, or -1 and an error. */
static int make_beside(const struct command *c, struct dt_error *e)
{
	int fd;

	unlink(c->aside.trace);
	fd = open(c->aside.trace, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? dt_fail(e, "%s: cannot create: %s", c->output, strerror(errno)) : fd;
}

/* Looks whether what came can be opened as a trace: it is no more trusted than any file. */
static int check_trace(const char *path, const struct command *c, struct dt_error *e)
{
	struct dt_error why;
	struct dt_reader *r = dt_reader_open(path, &why);
	const char *what = strstr(why.text, ": ");

	if (!r)
		return dt_fail(e, "%s: what came %s", c->address, what ? what + 2 : why.text);
	dt_reader_close(r);
	return 0;
}

/* Refuses to replace a database that has a log beside it: it is being written, and its log would be
 * taken for the new trace's. */
static int check_output(const struct command *c, struct dt_error *e)
{
	char log[4096];

	if (c->text)
		return 0;
	if (dt_store_check_room(c->output, e) < 0)
		return -1;
	if (dt_format(log, sizeof(log), "%s-wal", c->output) < sizeof(log) &&
	    access(log, F_OK) == 0)
		return dt_fail(e,
			       "%s: is being recorded, or its recording was killed; name another "
			       "file",
			       c->output);
	return 0;
}

static int print(int fd, struct dt_error *e)
{
	char buffer[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		at += n;
		fwrite(buffer, 1, (size_t)n, stdout);
	}
	return fflush(stdout) || ferror(stdout) ? dt_fail(e, "standard output can not be written")
						: 0;
}

/* Puts what has come completely into fd where it is wanted. path: the name of fd's file; "": it has
 * none. */
static int keep(const struct command *c, const char *path, int fd, struct dt_error *e)
{
	if (to_stdout(c))
		return print(fd, e);
	if (c->barrelfish && !c->text && import(c, path, fd, e) < 0)
		return -1;
	if (!c->text && check_trace(path, c, e) < 0)
		return -1;
	if (check_output(c, e) < 0)
		return -1;
	return dt_outside_move(path, c->output) < 0
		       ? dt_fail(e, "%s: %s", c->output, strerror(errno))
		       : 0;
}

/* ---- fetching */

static enum dt_form form_of(const struct command *c)
{
	return c->barrelfish || c->text ? DT_FORM_DUMP : DT_FORM_FILE;
}

/* Receives an answer and stores it. *kept: it was stored; otherwise what was there before is
 * unchanged, and e is the error. */
static enum dt_received fetch_one(const struct command *c, struct dt_link *l, bool *kept,
				  struct dt_error *e)
{
	enum dt_received got;
	uint64_t bytes;
	const char *path = c->aside.trace;
	int fd = to_stdout(c) ? dt_unnamed_file(e) : make_beside(c, e);

	*kept = false;
	if (fd < 0)
		return DT_BROKEN;
	got = dt_link_receive(l, form_of(c), fd, &bytes, e);
	/* the trace made of a dump gets the name; the dump itself is still in fd */
	if (got == DT_RECEIVED && c->barrelfish && !c->text)
		unlink(path);
	if (got == DT_RECEIVED)
		*kept = keep(c, path, fd, e) == 0;
	if (path[0] && !*kept)
		unlink(path);
	close(fd);
	if (*kept && isatty(2))
		fprintf(stderr, "devtrace: %s: %lu bytes\n", c->output, (unsigned long)bytes);
	return got;
}

/* Fetches what is wanted over one connection. *left: how many traces are still wanted. False: a new
 * connection is needed. */
static bool fetch_from(const struct command *c, struct dt_link *l, unsigned long *left,
		       bool *failed)
{
	unsigned long asked = 0;
	struct dt_error e;
	bool kept;

	while (*left || !c->count) {
		enum dt_received got;

		for (; asked < AHEAD && (asked < *left || !c->count); asked++)
			if (dt_link_ask(l, form_of(c), &e) < 0)
				break;
		/* also when the server has closed the connection: it may have answered before */
		got = fetch_one(c, l, &kept, &e);
		if (stop)
			return true;
		if (!kept) {
			dt_cmd_fail("%s", e.text);
			*failed = true;
		}
		if (got == DT_BROKEN)
			return !c->continuous;
		asked--;
		*left -= c->count > 0;
		if (!kept && !c->continuous)
			return true;
	}
	return true;
}

/* ---- connections: a process outside the confinement makes them ---- */

static struct dt_link other_end;

static int connect_there(void *command, struct dt_error *e)
{
	const struct command *c = command;
	const struct dt_link_ssh ssh = {c->ssh, c->remote, c->there};
	int fd = dt_link_open(&other_end, c->address, &ssh, NULL, e) < 0 ? -1 : other_end.in;

	/* the caller passes the descriptor on and closes it */
	other_end.in = other_end.out = -1;
	return fd;
}

static void disconnect_there(void *command)
{
	dt_link_close(&other_end);
}

static int connect_from_here(const struct command *c, struct dt_link *l, struct dt_error *e)
{
	*l = (struct dt_link){.in = dt_outside_connect(e), .address = c->address, .stop = &stop};
	l->out = l->in;
	return l->in < 0 ? -1 : 0;
}

static void disconnect(struct dt_link *l)
{
	dt_link_close(l);
	dt_outside_disconnect();
}

static int confine(struct command *c)
{
	struct dt_needs needs = {
		.outside = {.connect = connect_there, .disconnect = disconnect_there, .ctx = c}};
	struct dt_error e;

	/* disconnect_there() is called even if there never was a connection */
	other_end = (struct dt_link){.in = -1, .out = -1};
	if (c->definition && strcmp(c->definition, "-"))
		dt_needs_add(&needs, DT_NEED_READ, c->definition);
	if (c->table)
		dt_needs_add(&needs, DT_NEED_READ, c->table);
	if (!to_stdout(c)) {
		if (check_output(c, &e) < 0 ||
		    dt_new_trace_open(&c->aside, c->output, &needs, &e) < 0)
			return dt_cmd_fail("%s", e.text);
		dt_needs_add(&needs, DT_NEED_TRACE, c->output);
	}
	return dt_cmd_confine(&needs);
}

static int fetch(const struct command *c)
{
	const struct timespec second = {1, 0};
	unsigned long left = c->count;
	bool failed = false, begun = false, done = false;
	struct dt_link *l = malloc(sizeof(*l));
	struct dt_error e;
	sigset_t none;

	sigemptyset(&none);
	if (!l)
		return dt_cmd_fail("out of memory");
	while (!done && !stop) {
		if (connect_from_here(c, l, &e) == 0) {
			begun = true;
			done = fetch_from(c, l, &left, &failed);
			disconnect(l);
		} else if (!begun) {
			failed = true;
			dt_cmd_fail("%s", e.text);
			done = true;
		}
		/* the server may be back soon */
		if (!done && !stop)
			ppoll(NULL, 0, &second, &none);
	}
	free(l);
	if (stop && !c->continuous)
		return dt_cmd_fail("interrupted; %s is as it was", c->output);
	return failed && !(c->continuous && stop);
}

/* ---- options */

/* Adds an argument for devtrace serve on the other host. */
static void there(struct command *c, const char *argument)
{
	if (c->n_there + 1 < sizeof(c->there) / sizeof(*c->there))
		c->there[c->n_there++] = argument;
}

/* Parses the options. Returns 0: go on; otherwise the exit status plus one. */
static int parse(struct command *c, int argc, char **argv)
{
	static const struct option options[] = {
		{"output", required_argument, NULL, 'o'}, {"continuous", no_argument, NULL, 'c'},
		{"count", required_argument, NULL, 'n'},  {"barrelfish", no_argument, NULL, 'b'},
		{"events", required_argument, NULL, 'E'}, {"names", required_argument, NULL, 'N'},
		{"text", no_argument, NULL, 't'},	  {"session", required_argument, NULL, 's'},
		{"arm", required_argument, NULL, 'a'},	  {"for", required_argument, NULL, 'f'},
		{"ssh", required_argument, NULL, 'e'},	  {"remote", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},	  {0}};
	char *end;
	int o;

	while ((o = getopt_long(argc, argv, "o:cn:s:e:h", options, NULL)) != -1) {
		switch (o) {
		case 'o':
			c->output = optarg;
			break;
		case 'c':
			c->continuous = true;
			break;
		case 'n':
			c->count = strtoul(optarg, &end, 10);
			if (*optarg < '1' || *optarg > '9' || *end) {
				dt_cmd_fail("-n is a number from 1, not '%s'", optarg);
				return 1 + dt_cmd_usage("fetch");
			}
			break;
		case 'b':
			c->barrelfish = true;
			break;
		case 'E':
			c->definition = optarg;
			break;
		case 'N':
			c->table = optarg;
			break;
		case 't':
			c->text = true;
			break;
		case 's':
		case 'a':
		case 'f':
			there(c, o == 's' ? "-s" : o == 'a' ? "--arm" : "--for");
			there(c, optarg);
			break;
		case 'e':
			c->ssh = optarg;
			break;
		case 'r':
			c->remote = optarg;
			break;
		case 'h':
			return 1 + (fputs(help, stdout) == EOF);
		default:
			return 1 + dt_cmd_usage("fetch");
		}
	}
	return 0;
}

/* Returns what is wrong with the options and the number of words together; NULL: nothing. */
static const char *contradiction(const struct command *c, int words)
{
	bool ssh = words && strncmp(c->address, "ssh:", 4) == 0;

	if (!words)
		return "from which ADDRESS?";
	if (words > 1 && !ssh)
		return "one address; a FILE goes with ssh:HOST only";
	if (words > 2)
		return "one file at a time";
	if (!ssh && (c->n_there || c->ssh || c->remote))
		return "-s, --arm, --for, --ssh and --remote are for ssh:HOST; give them to "
		       "devtrace serve";
	if ((c->definition || c->table) && !c->barrelfish)
		return "--events and --names are of a dump: --barrelfish";
	if (c->text && (c->definition || c->table))
		return "--events and --names have no use with --text";
	return NULL;
}

int dt_cmd_fetch(int argc, char **argv)
{
	struct command c = {.output = NULL};
	const char *why;
	struct dt_error e;
	int status = parse(&c, argc, argv);

	if (status)
		return status - 1;
	if (!c.count && !c.continuous)
		c.count = 1;
	c.address = optind < argc ? argv[optind] : NULL;
	why = contradiction(&c, argc - optind);
	if (why) {
		dt_cmd_fail("%s", why);
		return dt_cmd_usage("fetch");
	}
	if (argc - optind == 2)
		there(&c, argv[optind + 1]);
	if (!c.output)
		c.output = c.text ? TEXT_FILE : DT_DEFAULT_FILE;
	c.ssh = c.ssh ? c.ssh : "ssh";
	c.remote = c.remote ? c.remote : "devtrace";
	catch_signals();
	status = confine(&c);
	if (!status && ((c.definition && dt_definition_read(&c.events, c.definition, &e)) ||
			(c.table && dt_applications_read(&c.applications, c.table, &e))))
		status = dt_cmd_fail("%s", e.text);
	if (!status)
		status = fetch(&c);
	dt_new_trace_close(&c.aside);
	dt_applications_free(&c.applications);
	dt_definition_free(&c.events);
	return status;
}
