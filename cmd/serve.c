/* SPDX-License-Identifier: MIT */
/* devtrace serve: serves traces to clients on other hosts. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/open.h"
#include "remote/server.h"
#include "remote/source.h"

static const char help[] =
	"usage: devtrace serve [OPTION]... [FILE]...\n"
	"       devtrace serve [OPTION]... -s SESSION\n"
	"Answers requests for traces: devtrace fetch, and the clients of Barrelfish's bfscope. "
	"Prints\n"
	"the address; Ctrl-C ends it.\n"
	"\n"
	"  -s, --session SESSION  of a running session: what it has recorded...\n"
	"      --for TIME         ...or records for each request, so long (10ms, 2s)\n"
	"      --arm 'START STOP [DURATION]'\n"
	"                         ...or from one event to another (devtrace-ctl(5), arm)\n"
	"      --listen ADDRESS   HOST:PORT, PORT or unix:PATH (127.0.0.1, any free port); "
	"whoever\n"
	"                         can connect gets the trace, and it is not encrypted\n"
	"      --stdio            one client, on standard input and output: for ssh and inetd\n"
	"      --random           of several files any; else one after the other\n"
	"      --relative         dumps as in 2011: times count from the start\n"
	"      --absolute         dumps as from 2013 on\n"
	"      --busy             who asks while a dump is made or sent gets 000000, as from\n"
	"                         bfscope of 2011; else the request waits for its turn\n"
	"  -h, --help             show this\n"
	"\n"
	"A FILE is a trace, also one that is being recorded, or a dump; or a folder of these. Of\n"
	"several, each request gets the next. devtrace.db when none is given.\n"
	"Requests: trace, file, stat, each a line (devtrace-remote(7)).\n";

struct command {
	struct dt_source source;
	struct dt_serving how;
	const char *listen;
	bool stdio;
};

/* Parses "10ms", "2s" or "1.5us". */
static bool parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double v = strtod(text, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (end != text && strcmp(end, units[i].unit) == 0 && v > 0 &&
		    v * units[i].ns < 1e18) {
			*ns = (uint64_t)(v * units[i].ns);
			return *ns > 0;
		}
	return false;
}

/* Parses the options. Returns 0: go on; otherwise the exit status plus one. */
static int parse(struct command *c, int argc, char **argv)
{
	static const struct option options[] = {{"session", required_argument, NULL, 's'},
						{"for", required_argument, NULL, 'f'},
						{"arm", required_argument, NULL, 'a'},
						{"listen", required_argument, NULL, 'l'},
						{"stdio", no_argument, NULL, 'i'},
						{"random", no_argument, NULL, 'r'},
						{"relative", no_argument, NULL, 1},
						{"absolute", no_argument, NULL, 2},
						{"busy", no_argument, NULL, 'b'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	int o;

	while ((o = getopt_long(argc, argv, "s:h", options, NULL)) != -1) {
		switch (o) {
		case 's':
			c->source.session = optarg;
			c->source.live = true;
			break;
		case 'f':
			if (!parse_time(optarg, &c->source.record_ns)) {
				dt_cmd_fail("--for is a time such as 10ms or 2s, not '%s'", optarg);
				return 1 + dt_cmd_usage("serve");
			}
			break;
		case 'a':
			c->source.arm = optarg;
			break;
		case 'l':
			c->listen = optarg;
			break;
		case 'i':
			c->stdio = true;
			break;
		case 'r':
			c->source.random = true;
			break;
		case 1:
		case 2:
			if (c->source.form != DT_DUMP_AS_IMPORTED) {
				dt_cmd_fail("--relative and --absolute are different; choose one");
				return 1 + dt_cmd_usage("serve");
			}
			c->source.form = o == 1 ? DT_DUMP_RELATIVE : DT_DUMP_ABSOLUTE;
			break;
		case 'b':
			c->how.busy = true;
			break;
		case 'h':
			return 1 + (fputs(help, stdout) == EOF);
		default:
			return 1 + dt_cmd_usage("serve");
		}
	}
	return 0;
}

/* Returns what is wrong with the options together; NULL: nothing. */
static const char *contradiction(const struct command *c, bool files)
{
	const struct dt_source *s = &c->source;

	if (s->live && files)
		return "a session or files, not both";
	if (!s->live && (s->arm || s->record_ns))
		return "--for and --arm are for a session: -s";
	if (s->arm && s->record_ns)
		return "--for or --arm; a time can stand behind the events of --arm";
	if (s->arm && strpbrk(s->arm, "\n"))
		return "--arm is one line";
	if (c->stdio && c->listen)
		return "--stdio or --listen, not both";
	if (s->random && s->live)
		return "--random is for files";
	return NULL;
}

/* Confines the process to what requests need: the files, also after they have been replaced, and
 * the session. */
static int confine(const struct command *c, const struct dt_listener *l, const char *file)
{
	struct dt_needs needs = {.flags = DT_NEED_CLIENTS | DT_NEED_CHILDREN};

	/* a session that is started again may have another file */
	if (c->source.live)
		needs.flags |= DT_NEED_SESSIONS | DT_NEED_ALL_READ;
	if (*file)
		dt_needs_add(&needs, DT_NEED_TRACE, file);
	for (size_t i = 0; i < c->source.files; i++)
		dt_needs_add(&needs, DT_NEED_TRACE, c->source.file[i]);
	if (l->path[0])
		dt_needs_removed(&needs, l->path, false);
	return dt_cmd_confine(&needs);
}

static int run(struct command *c, char **files)
{
	char file[4096] = "";
	struct dt_listener listener = {.fd = -1};
	struct dt_error e;
	int rc = 0, status = 0;

	if (c->source.live)
		rc = dt_live_check(c->source.session, file, sizeof(file), &e);
	else if (!files[0])
		rc = dt_source_add(&c->source, DT_DEFAULT_FILE, &e);
	for (; rc == 0 && *files; files++)
		rc = dt_source_add(&c->source, *files, &e);
	if (rc == 0 && !c->stdio)
		rc = dt_address_listen(&listener, c->listen, &e);
	if (rc == 0 && !c->stdio) {
		c->how.listener = &listener;
	}
	if (rc == 0)
		status = confine(c, &listener, file);
	if (rc == 0 && !status && !c->stdio) {
		printf("%s\n", listener.address);
		fflush(stdout);
	}
	c->how.maker = (struct dt_maker){dt_source_make, &c->source, c->source.files > 1};
	if (rc == 0 && !status)
		rc = dt_serve(&c->how, &e);
	dt_address_close(&listener);
	return status ? status : rc < 0 ? dt_cmd_fail("%s", e.text) : 0;
}

int dt_cmd_serve(int argc, char **argv)
{
	struct command c = {.source.form = DT_DUMP_AS_IMPORTED};
	int status = parse(&c, argc, argv);
	const char *why;

	if (status)
		return status - 1;
	why = contradiction(&c, optind < argc);
	if (why) {
		dt_cmd_fail("%s", why);
		return dt_cmd_usage("serve");
	}
	status = run(&c, argv + optind);
	dt_source_free(&c.source);
	return status;
}
