/* SPDX-License-Identifier: MIT */
/* devtrace events: what is generated from a definition of subsystems and events. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "analyse/definition.h"
#include "cmd/commands.h"
#include "cmd/open.h"

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

static int write_file(const struct dt_definition *d, const char *path, bool json)
{
	bool out = !strcmp(path, "-");
	FILE *f = out ? stdout : fopen(path, "we");
	const char *slash = strrchr(path, '/');
	int rc;

	if (!f)
		return dt_cmd_fail("%s: %s", path, strerror(errno));
	if (json)
		dt_definition_json(d, f);
	else
		dt_definition_header(d, f, out ? "h" : slash ? slash + 1 : path);
	rc = fflush(f) || ferror(f) ? dt_cmd_fail("%s: cannot write: %s", path, strerror(errno))
				    : 0;
	if (!out)
		fclose(f);
	return rc;
}

int dt_cmd_events(int argc, char **argv)
{
	static const struct option options[] = {{"header", required_argument, NULL, 1},
						{"json", required_argument, NULL, 2},
						{"trace", required_argument, NULL, 3},
						{"help", no_argument, NULL, 'h'},
						{0}};
	const char *header = NULL, *json = NULL, *trace = NULL;
	struct dt_definition d = {0};
	struct dt_error e;
	int o, status = 0;

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
	if (dt_definition_read(&d, argv[optind], &e)) {
		status = dt_cmd_fail("%s", e.text);
		goto out;
	}
	if (!header && !json && !trace) {
		print_table(&d);
		status = fflush(stdout) ? dt_cmd_fail("cannot write: %s", strerror(errno)) : 0;
	}
	if (header)
		status = write_file(&d, header, false);
	if (!status && json)
		status = write_file(&d, json, true);
	if (!status && trace && dt_store_name_events(trace, d.row, d.rows, &e))
		status = dt_cmd_fail("%s", e.text);
out:
	dt_definition_free(&d);
	return status;
}
