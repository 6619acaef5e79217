/* SPDX-License-Identifier: MIT */
/* devtrace top: attaches to a process and shows a table of its functions, live. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/meant.h"
#include "cmd/open.h"
#include "cmd/recording.h"
#include "cmd/table.h"
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
	"      --filter WORDS     only calls that these words mean (as record); others are counted\n"
	"  -n, --turns N          end after N seconds, paused or not\n"
	"      --json             JSON lines, for programs: devtrace-json(5)\n"
	"      --color WHEN       auto (default: at a terminal, unless NO_COLOR is set), always, "
	"never\n"
	"  -h, --help             show this\n"
	"\n"
	"Keys: t s c a m n p w sort by total, self, calls, avg, max, name, cpu, wait; so do the\n"
	"arrows left and right. / begins a filter on names, Enter ends it, Escape clears it. Space\n"
	"stops and continues, q ends. Where the output is no terminal, or TERM is dumb, the tables\n"
	"are printed one after the other, the first after a second; report --live then goes on until\n"
	"a signal ends it. Times are from the beginning of the trace. The bar shows, for each of the\n"
	"latest sixteen turns, the self time of the calls that ended in it; a turn is a second, and\n"
	"after a pause it is longer.\n";

static int run(struct dt_recording *k, struct dt_top *t)
{
	int status;

	if (dt_recording_start(k) < 0)
		return 1;
	t->recorder = k->pidfd;
	t->path = k->trace.path;
	status = dt_recording_wait(k) < 0 ? 1 : dt_top_show(t);
	/* the terminal is as it was: now one can read what attach has to say */
	if (dt_recording_end(k) && !status)
		status = 1;
	return status;
}

static int start(struct dt_recording *k, struct dt_top *t, const char *pid)
{
	char title[64];
	int status;

	if (dt_recording_make(k, "top", pid) < 0)
		return 1;
	dt_format(title, sizeof(title), "devtrace top %s", pid);
	t->title = title;
	status = run(k, t);
	dt_recording_remove(k);
	return status;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct dt_recording *k, struct dt_top *t)
{
	static const struct option options[] = {
		{"function", required_argument, NULL, 'F'},
		{"no-function", required_argument, NULL, 'N'},
		{"switches", no_argument, NULL, 'S'},
		{"turns", required_argument, NULL, 'n'},
		{"filter", required_argument, NULL, 1},
		{"json", no_argument, NULL, 2},
		{"color", required_argument, NULL, DT_TERMINAL_COLOUR},
		{"help", no_argument, NULL, 'h'},
		{0}};
	int c, status = -1;

	while ((c = getopt_long(argc, argv, "F:N:Sn:h", options, NULL)) != -1) {
		if (k->words + 2 > DT_RECORDING_WORDS)
			return dt_cmd_fail("too many options");
		switch (c) {
		case 'F':
		case 'N':
			k->word[k->words++] = c == 'F' ? "-F" : "-N";
			k->word[k->words++] = optarg;
			break;
		case 1:
			k->word[k->words++] = "--filter";
			k->word[k->words++] = optarg;
			break;
		case 2:
			t->json = true;
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
			if (!dt_terminal_option(&t->terminal, c, &status))
				return dt_cmd_usage("top");
			if (status >= 0)
				return status;
		}
	}
	if (optind + 1 != argc) {
		dt_cmd_fail("name one process");
		return dt_cmd_usage("top");
	}
	if (argv[optind][strspn(argv[optind], "0123456789")]) {
		dt_cmd_fail("'%s' is not a process id%s", argv[optind], dt_cmd_meant_hint());
		return 2;
	}
	return -1;
}

int dt_cmd_top(int argc, char **argv)
{
	struct dt_recording k = {.word = {"devtrace", "attach"}, .words = 2};
	struct dt_top t = {.recorder = -1};
	int status = parse(argc, argv, &k, &t);

	return status < 0 ? start(&k, &t, argv[optind]) : status;
}
