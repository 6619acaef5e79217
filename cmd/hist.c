/* SPDX-License-Identifier: MIT */
/* devtrace hist: a histogram of a value, as text for gnuplot or as a picture. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyse/histogram.h"
#include "cmd/commands.h"
#include "cmd/object.h"
#include "cmd/output.h"
#include "cmd/terminal.h"
#include "cmd/value.h"

#define BUCKETS_LIMIT (1u << 24) /* 128 MiB of counters, touched as they are used */

static const char help[] =
	"usage: devtrace hist [-F PAT]... [--value VALUE] [--max N] [OPTION]... [FILE]\n"
	"Prints a histogram of a result or an argument, or of how long calls took: lines\n"
	"\"value count\", for gnuplot; or draws it.\n"
	"\n"
	"      --value VALUE      result (default), 1 to 4 for an argument, or a parameter's name\n"
	"      --durations        how long calls took, in ns; powers of two when not said otherwise\n"
	"      --max N            greater values are counted as N (16384; log2: no limit)\n"
	"  -b, --buckets KIND     exact (default): each value its own; log2: powers of two;\n"
	"                         linear:WIDTH. A bucket is named by its lowest value\n"
	"  -F, --function PAT     only of functions that match the shell pattern\n"
	"  -N, --no-function PAT  not of those\n"
	"  -f, --filter WORDS     only of calls that these words mean, as in devtrace calls\n"
	"      --from TIME, --to TIME   begin, end there, as with cat\n"
	"  -o, --output OUTPUT    there instead of standard output; NAME.svg: draws it\n"
	"      --svg              draws it, as one SVG file for a browser\n"
	"      --json             as JSON, an object a line: doc/json.md\n"
	"      --log              draws the counts on a logarithmic scale\n"
	"      --symbols FILE     for a text trace: addresses and names, as nm prints them\n" DT_TERMINAL_HELP
	"  -h, --help             show this\n"
	"\n"
	"Negative values are bad and only counted. FILE may be a text trace, \"-\" one on "
	"standard\n"
	"input; it is devtrace.db when not given.\n";

struct hist {
	struct dt_output part; /* the output */
	uint64_t max, width;   /* width of a bucket; 0: buckets are powers of two */
	bool has_max, has_buckets;
	bool svg, log, json;
	struct dt_terminal terminal;
	const char *output; /* NULL: standard output */
	uint64_t *bucket;
	size_t buckets;
	uint64_t values, bad, above;
};

static int take(void *ctx, uint32_t pid, struct dt_number v)
{
	struct hist *h = ctx;

	(void)pid;
	h->values++;
	if (v.negative) {
		h->bad++;
		return 0;
	}
	if (v.v > h->max) {
		h->above++;
		v.v = h->max;
	}
	h->bucket[dt_histogram_bucket(h->width, v.v)]++;
	return 0;
}

static bool parse_number(const char *text, const char *what, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 0);
	if (text[0] >= '0' && text[0] <= '9' && !*end && !errno)
		return true;
	dt_cmd_fail("'%s' is not a %s", text, what);
	return false;
}

static bool parse_buckets(struct hist *h, const char *text)
{
	if (!strcmp(text, "exact"))
		h->width = 1;
	else if (!strcmp(text, "log2"))
		h->width = 0;
	else if (!strncmp(text, "linear:", 7))
		return parse_number(text + 7, "width of a bucket", &h->width) &&
		       (h->width || (dt_cmd_fail("a bucket's width is at least 1"), false));
	else
		return dt_cmd_fail("'%s': buckets are exact, log2 or linear:WIDTH", text), false;
	return true;
}

static void print_text(const struct hist *h, const char *what, FILE *f)
{
	fprintf(f, "# histogram of %s\n# values %llu\n# bad %llu\n# above %llu\n", what,
		(unsigned long long)h->values, (unsigned long long)h->bad,
		(unsigned long long)h->above);
	for (size_t i = 0; i < h->buckets; i++)
		if (h->bucket[i])
			fprintf(f, "%llu %llu\n",
				(unsigned long long)dt_histogram_lowest(h->width, i),
				(unsigned long long)h->bucket[i]);
}

static void print_json(const struct hist *h, const struct dt_values *v, const char *what)
{
	dt_object_begin("histogram");
	dt_object_text("of", v->durations ? "duration" : what);
	dt_object_number("values", h->values);
	dt_object_number("bad", h->bad);
	dt_object_number("above", h->above);
	dt_object_end();
	for (size_t i = 0; i < h->buckets; i++) {
		if (!h->bucket[i])
			continue;
		dt_object_begin("bucket");
		if (v->durations)
			dt_object_ns("from", (double)dt_histogram_lowest(h->width, i));
		else
			dt_object_number("from", dt_histogram_lowest(h->width, i));
		dt_object_number("values", h->bucket[i]);
		dt_object_end();
	}
}

static void draw(const struct hist *h, const struct dt_values *v, const char *what, FILE *f)
{
	struct dt_histogram picture = {
		.bucket = h->bucket,
		.buckets = h->buckets,
		.width = h->width,
		.above = h->above,
		.ns = v->durations,
		.log = h->log,
		.values = h->values,
		.bad = h->bad,
	};
	char title[512], about[128];
	size_t n;

	if (v->durations || v->value.result)
		dt_format(about, sizeof(about), "%s", v->durations ? "duration" : "result");
	else if (v->value.argument)
		dt_format(about, sizeof(about), "argument %u", v->value.argument);
	else
		dt_format(about, sizeof(about), "%s", what);
	n = dt_format(title, sizeof(title), "%s", about);

	for (size_t i = 0; i < v->select.n && n < sizeof(title); i++)
		n += dt_format(title + n, sizeof(title) - n, "%s%s%s", i ? ", " : " of ",
			       v->select.pattern[i].remove ? "not " : "",
			       v->select.pattern[i].text);
	picture.title = title;
	picture.about = about;
	dt_histogram_draw(&picture, f);
}

static int print(const struct hist *h, const struct dt_values *v, const char *what)
{
	if (h->svg && h->values == h->bad)
		return dt_cmd_fail("there are no values to be drawn%s",
				   h->bad ? ": all are negative" : "");
	if (h->svg)
		draw(h, v, what, h->part.file);
	else if (h->json)
		print_json(h, v, what);
	else
		print_text(h, what, h->part.file);
	return 0;
}

/* Settles what options have left open, and says which do not go together. Returns -1: go on;
 * otherwise the exit status. */
static int settle(struct dt_values *v, struct hist *h, const char **value)
{
	if (v->durations && *value) {
		dt_cmd_fail("--durations are no value of a call: not with --value %s", *value);
		return dt_cmd_usage("hist");
	}
	*value = v->durations ? "duration, ns" : *value ? *value : "result";
	if (!v->durations && !dt_value_parse(&v->value, *value, strlen(*value)))
		return 2;
	h->width = v->durations && !h->has_buckets ? 0 : h->width;
	h->svg |= h->output && strlen(h->output) > 4 &&
		  !strcmp(h->output + strlen(h->output) - 4, ".svg");
	if (h->json && (h->svg || h->output)) {
		dt_cmd_fail(
			"--json goes to standard output, and draws nothing: not with --svg and -o");
		return dt_cmd_usage("hist");
	}
	if (h->log && !h->svg) {
		dt_cmd_fail("--log is of a picture: say --svg, or -o NAME.svg");
		return dt_cmd_usage("hist");
	}
	if (!h->has_max)
		h->max = h->width ? 16384 : UINT64_MAX;
	if (h->width && h->max / h->width >= BUCKETS_LIMIT) {
		dt_cmd_fail("--max %llu: more than %u buckets; use log2 or wider linear ones",
			    (unsigned long long)h->max, BUCKETS_LIMIT);
		return 2;
	}
	return -1;
}

/* Parses the options. Returns -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct dt_values *v, struct hist *h, const char **value)
{
	static const struct option options[] = {DT_VALUES_LONG,
						{"value", required_argument, NULL, 1},
						{"max", required_argument, NULL, 2},
						{"buckets", required_argument, NULL, 'b'},
						{"output", required_argument, NULL, 'o'},
						{"svg", no_argument, NULL, 3},
						{"durations", no_argument, NULL, 4},
						{"log", no_argument, NULL, 5},
						{"json", no_argument, NULL, 6},
						DT_TERMINAL_LONG,
						{"help", no_argument, NULL, 'h'},
						{0}};
	int o, status = -1;

	while ((o = getopt_long(argc, argv, DT_VALUES_OPTIONS "b:o:h", options, NULL)) != -1) {
		if (dt_values_option(v, o, &status)) {
			if (status >= 0)
				return status;
			continue;
		}
		switch (o) {
		case 1:
			*value = optarg;
			break;
		case 2:
			h->has_max = true;
			if (!parse_number(optarg, "number", &h->max))
				return 2;
			break;
		case 'b':
			h->has_buckets = true;
			if (!parse_buckets(h, optarg))
				return 2;
			break;
		case 'o':
			h->output = strcmp(optarg, "-") != 0 ? optarg : NULL;
			break;
		case 3:
			h->svg = true;
			break;
		case 4:
			v->durations = true;
			break;
		case 5:
			h->log = true;
			break;
		case 6:
			h->json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			if (!dt_terminal_option(&h->terminal, o, &status))
				return dt_cmd_usage("hist");
			if (status >= 0)
				return status;
		}
	}
	return settle(v, h, value);
}

int dt_cmd_hist(int argc, char **argv)
{
	struct hist h = {.width = 1};
	struct dt_values v = {.option = "--value", .take = take, .ctx = &h};
	const char *value = NULL;
	int status = parse(argc, argv, &v, &h, &value), failed;

	if (status >= 0)
		goto out;
	h.buckets = dt_histogram_bucket(h.width, h.max) + 1;
	h.bucket = calloc(h.buckets, sizeof(*h.bucket));
	if (!h.output)
		dt_terminal_listing(&h.terminal, !h.svg && !h.json);
	if (!dt_output_open(&h.part, h.output)) {
		status = 1;
		goto out;
	}
	dt_output_needs(&h.part, &v.needs);
	status = h.bucket ? dt_values_run(&v, argc, argv, "hist") : dt_cmd_fail("out of memory");
	if (!status)
		status = print(&h, &v, value);
	failed = dt_output_end(&h.part, !status);
	status = status ? status : failed;
out:
	free(h.bucket);
	dt_selection_clear(&v.select);
	return status;
}
