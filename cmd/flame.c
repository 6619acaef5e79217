/* SPDX-License-Identifier: MIT */
/* devtrace flame: draws the stacks of a trace as a flame graph. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/flame.h"
#include "cmd/choose.h"
#include "cmd/commands.h"
#include "cmd/one-trace.h"
#include "cmd/open.h"
#include "cmd/output.h"

static const char help[] =
	"usage: devtrace flame [OPTION]... [FILE]\n"
	"Draws the stacks of a trace, each as wide as the time in it, below its caller. The picture is\n"
	"one SVG file for a browser: boxes tell their times, a click widens one, / searches.\n"
	"\n"
	"  -o, --output PICTURE  devtrace.svg when not given; -: standard output\n"
	"  -w, --width PIXELS    1200 when not given\n"
	"      --off             each as wide as the time in which its thread was on no processor:\n"
	"                        what the program waited for (needs record -S)\n"
	"  -f, --filter WORDS    only calls that these words mean, as in devtrace calls; the time\n"
	"                        of others is that of the calls that they are in, as in graph\n"
	"      --from TIME       begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME         end there\n"
	"  -h, --help            show this\n"
	"\n"
	"FILE is devtrace.db when not given.\n";

/* Says whether there is nothing that could be drawn: no time in any stack. */
static bool is_empty(const struct dt_stacks *s)
{
	for (uint32_t i = 1; i < s->n; i++)
		if (s->node[i].self)
			return false;
	return true;
}

static int draw(struct dt_reader *r, const struct dt_reader_range *range, FILE *f, unsigned width,
		bool off, const struct dt_chosen_calls *chosen, const char *words)
{
	const char *command = dt_reader_meta(r, "command");
	char title[256];
	struct dt_stacks s = {.off = off, .chosen = chosen};
	struct dt_error e = {""};
	int rc = dt_stacks_read(&s, r, range, &e);

	if (rc < 0) {
		rc = dt_cmd_fail("%s", e.text);
	} else if (s.n < 2) {
		rc = dt_cmd_fail("there are no calls in this trace, or in this part of it");
	} else if (words && !s.taken) {
		rc = dt_cmd_fail("%s", dt_cmd_none_meant);
	} else if (off && is_empty(&s)) {
		rc = dt_cmd_fail("no call waited in this trace, or in this part of it");
	} else {
		dt_format(title, sizeof(title), "%.100s%s%s%.100s", command ? command : "devtrace",
			  off ? ", off the processor" : "", words ? ", only " : "",
			  words ? words : "");
		rc = dt_flame_write(&s, r, f, width, title, &e) < 0 ? dt_cmd_fail("%s", e.text) : 0;
	}
	if (!rc && words)
		dt_cmd_say_filtered(s.taken, s.seen);
	dt_stacks_free(&s);
	return rc;
}

static int write_picture(struct dt_reader *r, const struct dt_reader_range *range, FILE *f,
			 unsigned width, bool off, const char *words)
{
	struct dt_chosen_calls chosen = {0};
	int status = words ? dt_cmd_choose(r, range, words, NULL, NULL, &chosen) : 0;

	if (!status)
		status = draw(r, range, f, width, off, words ? &chosen : NULL, words);
	dt_chosen_free(&chosen);
	return status;
}

int dt_cmd_flame(int argc, char **argv)
{
	static const struct option options[] = {{"output", required_argument, NULL, 'o'},
						{"width", required_argument, NULL, 'w'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"off", no_argument, NULL, 3},
						{"filter", required_argument, NULL, 'f'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct dt_reader_range range = {.order = DT_BY_THREAD};
	struct dt_range_options when = {0};
	const char *output = "devtrace.svg", *words = NULL;
	unsigned long width = 1200;
	bool off = false, unnamed = true;
	struct dt_needs needs = {.n = 0};
	struct dt_output part;
	struct dt_reader *r;
	int o, status;
	char *end;

	while ((o = getopt_long(argc, argv, "o:w:f:h", options, NULL)) != -1) {
		switch (o) {
		case 'o':
			output = optarg;
			unnamed = false;
			break;
		case 'w':
			width = strtoul(optarg, &end, 10);
			if (*end || *optarg < '0' || *optarg > '9' || width < 100 ||
			    width > 100000) {
				dt_cmd_fail("-w %s: a width is 100 to 100000 pixels", optarg);
				return dt_cmd_usage("flame");
			}
			break;
		case 'f':
			words = optarg;
			break;
		case 1:
			when.from = optarg;
			break;
		case 2:
			when.to = optarg;
			break;
		case 3:
			off = true;
			break;
		case 'h':
			return fputs(help, stdout) == EOF;
		default:
			return dt_cmd_usage("flame");
		}
	}
	if (!dt_output_open(&part, strcmp(output, "-") ? output : NULL))
		return 1;
	dt_output_needs(&part, &needs);
	r = dt_cmd_open_one(argc, argv, "flame", &needs, &status);
	if (!r) {
		dt_output_end(&part, false);
		return status;
	}
	status = !dt_cmd_range(r, &when, &range) ? 2
		 : off && !dt_cmd_switches(r)
			 ? 1
			 : write_picture(r, &range, part.file, (unsigned)width, off, words);
	if (dt_output_end(&part, !status) && !status)
		status = 1;
	if (!status && unnamed)
		dt_cmd_fail("wrote %s", output);
	dt_cmd_say_lost(r, status);
	if (off && status != 2)
		dt_cmd_say_waits(r);
	dt_reader_close(r);
	return status;
}
