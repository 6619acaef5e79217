/* SPDX-License-Identifier: MIT */
/* devtrace events: generates a header and tables from a definition of subsystems and events. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "analyse/definition.h"
#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/output.h"

static const char help[] =
	"usage: devtrace events DEFINITION [--header FILE] [--json FILE] [--trace FILE]\n"
	"Reads a definition of subsystems and their events, and writes a C header with their\n"
	"numbers and a table of their names for decoders.\n"
	"\n"
	"      --header FILE   macros: TRACE_SUBSYS_<NAME>, TRACE_EVENT_<SUBSYS>_<EVENT> and\n"
	"                      TRACE_NUM_SUBSYSTEMS, for C and C++\n"
	"      --json FILE     the table in JSON, for `devtrace import --events` and others\n"
	"      --trace FILE    adds the names to a trace file, for `devtrace calls`\n"
	"  -h, --help          show this\n"
	"\n"
	"A definition: subsystem NAME { event NAME \"description\", ... };\n"
	"Numbers count from 0. Each event ends with a comma. Without an option the events are\n"
	"printed, a line each. \"-\" is standard input or output.\n";

static void print_table(const struct dt_definition *d)
{
	for (size_t i = 0; i < d->rows; i++) {
		const struct dt_event_row *r = &d->row[i];

		printf("%u %u %s %s %s\n", r->subsystem, r->event, r->subsystem_name, r->name,
		       r->description);
	}
}

/* Opens an output, before the definition is read. NULL: an error has been reported. */
static FILE *open_output(const char *path, struct dt_output *p, struct dt_needs *needs)
{
	if (!dt_output_open(p, strcmp(path, "-") ? path : NULL))
		return NULL;
	dt_output_needs(p, needs);
	return p->file;
}

static void write_header(const struct dt_definition *d, const char *path, FILE *f)
{
	const char *slash = strrchr(path, '/');

	dt_definition_header(d, f, !strcmp(path, "-") ? "h" : slash ? slash + 1 : path);
}

static int run(const char *definition, const char *header, const char *json, const char *trace)
{
	struct dt_output part[2] = {{.file = NULL}, {.file = NULL}};
	struct dt_needs needs = {.n = 0};
	struct dt_definition d = {0};
	struct dt_error e;
	int status = 0;

	if (strcmp(definition, "-"))
		dt_needs_add(&needs, DT_NEED_READ, definition);
	if (trace)
		dt_needs_add(&needs, DT_NEED_CHANGED, trace);
	if ((header && !open_output(header, &part[0], &needs)) ||
	    (json && !open_output(json, &part[1], &needs)))
		status = 1;
	if (!status)
		status = dt_cmd_confine(&needs);
	if (!status && dt_definition_read(&d, definition, &e))
		status = dt_cmd_fail("%s", e.text);
	if (!status && !header && !json && !trace) {
		print_table(&d);
		status = fflush(stdout) ? dt_cmd_fail("cannot write: %s", strerror(errno)) : 0;
	}
	if (!status && header)
		write_header(&d, header, part[0].file);
	if (!status && json)
		dt_definition_json(&d, part[1].file);
	for (unsigned i = 0; i < 2; i++)
		if (part[i].file)
			status = dt_output_end(&part[i], !status);
	if (!status && trace && dt_store_name_events(trace, d.row, d.rows, &e))
		status = dt_cmd_fail("%s", e.text);
	dt_definition_free(&d);
	return status;
}

int dt_cmd_events(int argc, char **argv)
{
	static const struct option options[] = {{"header", required_argument, NULL, 1},
						{"json", required_argument, NULL, 2},
						{"trace", required_argument, NULL, 3},
						{"help", no_argument, NULL, 'h'},
						{0}};
	const char *header = NULL, *json = NULL, *trace = NULL;
	int o;

	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (o) {
		case 1:
			header = optarg;
			break;
		case 2:
			json = optarg;
			break;
		case 3:
			trace = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("events");
		}
	}
	if (argc - optind != 1) {
		dt_cmd_fail(argc == optind ? "events: which definition?"
					   : "events: one definition at a time");
		return dt_cmd_usage("events");
	}
	return run(argv[optind], header, json, trace);
}
