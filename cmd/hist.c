/* SPDX-License-Identifier: MIT */
/* devtrace hist: how often a value took which size, as gnuplot draws it. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cmd/commands.h"
#include "cmd/out.h"
#include "cmd/value.h"

#define BUCKETS_LIMIT (1u << 24) /* 128 MiB of counters, touched as they are used */

static const char help[] =
	"usage: devtrace hist [-F PAT]... [--value VALUE] [--max N] [OPTION]... [FILE]\n"
	"Prints a histogram of a result or an argument: lines \"value count\", for gnuplot.\n"
	"\n"
	"      --value VALUE      result (default), 1 to 4 for an argument, or a parameter's name\n"
	"      --max N            greater values are counted as N (16384; log2: no limit)\n"
	"  -b, --buckets KIND     exact (default): each value its own; log2: powers of two;\n"
	"                         linear:WIDTH. A bucket is named by its lowest value\n"
	"  -F, --function PAT     only of functions that match the shell pattern\n"
	"  -N, --no-function PAT  not of those\n"
	"      --from TIME, --to TIME   begin, end there, as with cat\n"
	"      --symbols FILE     for a text trace: addresses and names, as nm prints them\n"
	"  -h, --help             show this\n"
	"\n"
	"Negative values are bad and only counted. FILE may be a text trace, \"-\" one on "
	"standard\n"
	"input; it is devtrace.db when not given.\n";

struct hist {
	uint64_t max, width; /* width 0: powers of two */
	bool has_max;
	uint64_t *bucket;
	size_t buckets;
	uint64_t values, bad, above;
};

static size_t bucket_of(const struct hist *h, uint64_t v)
{
	if (h->width)
		return (size_t)(v / h->width);
	return v ? 64 - (size_t)__builtin_clzll(v) : 0;
}

static uint64_t lowest_of(const struct hist *h, size_t bucket)
{
	if (h->width)
		return h->width * bucket;
	return bucket ? 1ull << (bucket - 1) : 0;
}

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
	h->bucket[bucket_of(h, v.v)]++;
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

static int print(const struct hist *h, const char *value)
{
	static struct dt_out out = {.fd = STDOUT_FILENO};
	const struct {
		const char *name;
		uint64_t n;
	} head[] = {{"# values ", h->values}, {"# bad ", h->bad}, {"# above ", h->above}};

	dt_out_text(&out, "# histogram of ");
	dt_out_text(&out, value);
	dt_out_char(&out, '\n');
	for (size_t i = 0; i < sizeof(head) / sizeof(*head); i++) {
		dt_out_text(&out, head[i].name);
		dt_out_decimal(&out, head[i].n);
		dt_out_char(&out, '\n');
	}
	for (size_t i = 0; i < h->buckets; i++) {
		if (!h->bucket[i])
			continue;
		dt_out_decimal(&out, lowest_of(h, i));
		dt_out_char(&out, ' ');
		dt_out_decimal(&out, h->bucket[i]);
		dt_out_char(&out, '\n');
	}
	return dt_out_end(&out);
}

/* -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct dt_values *v, struct hist *h, const char **value)
{
	static const struct option options[] = {DT_VALUES_LONG,
						{"value", required_argument, NULL, 1},
						{"max", required_argument, NULL, 2},
						{"buckets", required_argument, NULL, 'b'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	int o, status = -1;

	while ((o = getopt_long(argc, argv, DT_VALUES_OPTIONS "b:h", options, NULL)) != -1) {
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
			if (!parse_buckets(h, optarg))
				return 2;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("hist");
		}
	}
	if (!dt_value_parse(&v->value, *value, strlen(*value)))
		return 2;
	if (!h->has_max)
		h->max = h->width ? 16384 : UINT64_MAX;
	if (h->width && h->max / h->width >= BUCKETS_LIMIT) {
		dt_cmd_fail("--max %llu: more than %u buckets; use log2 or wider linear ones",
			    (unsigned long long)h->max, BUCKETS_LIMIT);
		return 2;
	}
	return -1;
}

int dt_cmd_hist(int argc, char **argv)
{
	struct hist h = {.width = 1};
	struct dt_values v = {.take = take, .ctx = &h};
	const char *value = "result";
	int status = parse(argc, argv, &v, &h, &value);

	if (status >= 0)
		goto out;
	h.buckets = bucket_of(&h, h.max) + 1;
	h.bucket = calloc(h.buckets, sizeof(*h.bucket));
	status = h.bucket ? dt_values_run(&v, argc, argv, "hist") : dt_cmd_fail("out of memory");
	if (!status)
		status = print(&h, value);
out:
	free(h.bucket);
	dt_selection_clear(&v.select);
	return status;
}
