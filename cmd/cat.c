/* SPDX-License-Identifier: MIT */
/* devtrace cat: the records of a trace as lines of text, in the order of time. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cmd/commands.h"
#include "cmd/event.h"
#include "cmd/open.h"
#include "cmd/out.h"
#include "core/text.h"

static const char help[] =
	"usage: devtrace cat [-l] [--from TIME] [--to TIME] [FILE]\n"
	"Prints the records of a trace, one line each, in the order of time.\n"
	"\n"
	"A line has 121 bytes: kind (E entry, X exit), pc, ticks, thread, and the four\n"
	"arguments or the result, in hexadecimal.\n"
	"\n"
	"  -l, --long        key=value lines, with function names; also what was lost\n"
	"      --from TIME   begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME     end there\n"
	"  -h, --help        show this\n"
	"\n"
	"FILE is devtrace.db when not given.\n";

static void print_loss(struct dt_out *o, const struct dt_span *s)
{
	dt_out_text(o, "kind=LOSS core=");
	dt_out_decimal(o, s->core);
	dt_out_text(o, " lost=");
	dt_out_decimal(o, s->lost);
	dt_out_text(o, " begin=");
	dt_out_decimal(o, s->lost_begin);
	if (s->lost_end) {
		dt_out_text(o, " end=");
		dt_out_decimal(o, s->lost_end);
	}
	dt_out_char(o, '\n');
}

static void print_long(struct dt_out *o, const struct dt_reader *r, const struct dt_span *s)
{
	if (s->lost)
		print_loss(o, s);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct dt_site *site = dt_reader_site(r, s->site[i]);
		const char *name = site->function ? dt_cmd_function_name(r, site->function) : NULL;
		struct dt_record record;

		dt_span_record(r, s, i, &record);
		if (name && strlen(name) > 4096)
			name = "?";
		dt_out_used(o, dt_text_long(dt_out_room(o, DT_LONG_LINE + 8192), &record, name,
					    site->mask));
		if (record.kind == DT_EVENT && dt_reader_event(r, record.value[0])) {
			o->n--; /* the newline comes behind the name */
			dt_out_text(o, " event=");
			dt_event_name(o, r, record.value[0]);
			dt_out_char(o, '\n');
		}
	}
}

static void print_lines(struct dt_out *o, const struct dt_reader *r, const struct dt_span *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct dt_record record;

		dt_span_record(r, s, i, &record);
		dt_text_line(dt_out_room(o, DT_LINE), &record);
		dt_out_used(o, DT_LINE);
	}
}

static int print(struct dt_reader *r, const struct dt_range *range, bool as_long)
{
	static struct dt_out out = {.fd = STDOUT_FILENO};
	struct dt_error e;
	struct dt_span s;
	int rc = dt_reader_start(r, range, &e);

	while (!rc && !out.failed && (rc = dt_reader_next(r, &s, &e)) > 0) {
		if (as_long)
			print_long(&out, r, &s);
		else
			print_lines(&out, r, &s);
		rc = 0;
	}
	if (rc < 0) {
		dt_out_flush(&out);
		return dt_cmd_fail("%s", e.text);
	}
	return dt_out_end(&out);
}

int dt_cmd_cat(int argc, char **argv)
{
	static const struct option options[] = {{"long", no_argument, NULL, 'l'},
						{"from", required_argument, NULL, 1},
						{"to", required_argument, NULL, 2},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct dt_range range = {.order = DT_BY_TIME, .values = true};
	struct dt_range_options when = {0};
	struct dt_reader *r;
	bool as_long = false;
	int o, status;

	while ((o = getopt_long(argc, argv, "lh", options, NULL)) != -1) {
		switch (o) {
		case 'l':
			as_long = true;
			break;
		case 1:
			when.from = optarg;
			break;
		case 2:
			when.to = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("cat");
		}
	}
	r = dt_cmd_open(argc, argv, "cat", &status);
	if (!r)
		return status;
	status = dt_cmd_range(r, &when, &range) ? print(r, &range, as_long) : 2;
	if (!as_long)
		dt_cmd_say_lost(r);
	dt_reader_close(r);
	return status;
}
