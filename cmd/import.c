/* SPDX-License-Identifier: MIT */
/* devtrace import: a trace file from the format of another tracer. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "analyse/barrelfish.h"
#include "cmd/commands.h"
#include "cmd/open.h"

static const char help[] =
	"usage: devtrace import --barrelfish [--events DEFINITION] [--names TABLE] [-o FILE] DUMP\n"
	"Makes a trace file from a trace in the format of another tracer.\n"
	"\n"
	"      --barrelfish           Barrelfish's text dump, of 2011 or later; exporting it "
	"again\n"
	"                             gives the same bytes\n"
	"      --events DEFINITION    names of events: a definition, or its JSON (devtrace "
	"events)\n"
	"      --names TABLE          names of applications: lines 'DCB: 0xHEX NAME'\n"
	"  -o, --output FILE          the trace file (devtrace.db)\n"
	"  -h, --help                 show this\n"
	"\n"
	"DUMP \"-\" is standard input. A tick is taken for a nanosecond: a dump does not say.\n";

static int import(FILE *f, const char *path, const char *output, const struct dt_definition *events,
		  const struct dt_applications *applications)
{
	struct dt_error e;
	struct dt_store *s = dt_store_create(output, dt_barrelfish_describe, NULL, &e);

	if (!s)
		return dt_cmd_fail("%s", e.text);
	if (dt_barrelfish_import(s, f, path, events, applications, &e)) {
		dt_store_discard(s);
		return dt_cmd_fail("%s", e.text);
	}
	return dt_store_close(s, &e) ? dt_cmd_fail("%s", e.text) : 0;
}

int dt_cmd_import(int argc, char **argv)
{
	static const struct option options[] = {{"barrelfish", no_argument, NULL, 1},
						{"events", required_argument, NULL, 2},
						{"names", required_argument, NULL, 3},
						{"output", required_argument, NULL, 'o'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	const char *output = DT_DEFAULT_FILE, *definition = NULL, *table = NULL, *path;
	struct dt_applications applications = {0};
	struct dt_definition events = {0};
	bool barrelfish = false;
	struct dt_error e;
	int o, status;
	FILE *f;

	while ((o = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (o) {
		case 1:
			barrelfish = true;
			break;
		case 2:
			definition = optarg;
			break;
		case 3:
			table = optarg;
			break;
		case 'o':
			output = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("import");
		}
	}
	if (!barrelfish || argc - optind != 1) {
		dt_cmd_fail(barrelfish ? "import: name one dump"
				       : "import: say the format: --barrelfish");
		return dt_cmd_usage("import");
	}
	path = argv[optind];
	if ((definition && dt_definition_read(&events, definition, &e)) ||
	    (table && dt_applications_read(&applications, table, &e))) {
		status = dt_cmd_fail("%s", e.text);
		goto out;
	}
	f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	status = f ? import(f, path, output, &events, &applications)
		   : dt_cmd_fail("%s: %s", path, strerror(errno));
	if (f && f != stdin)
		fclose(f);
out:
	dt_applications_free(&applications);
	dt_definition_free(&events);
	return status;
}
