/* SPDX-License-Identifier: MIT */
/* devtrace export: a trace in the format of another tracer. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "analyse/barrelfish.h"
#include "cmd/commands.h"
#include "cmd/open.h"

static const char help[] =
	"usage: devtrace export --barrelfish [--relative|--absolute] [-o OUTPUT] [FILE]\n"
	"Writes a trace in the format of another tracer.\n"
	"\n"
	"      --barrelfish     Barrelfish's text dump: events, messages, context switches and\n"
	"                       applications of each core; calls are no part of it\n"
	"      --relative       as in 2011: times count from the start, earlier events left out\n"
	"      --absolute       as from 2013 on: times as they are, and the cores' clock offsets;\n"
	"                       this, or the form it was imported from, when neither is said\n"
	"  -o, --output OUTPUT  there instead of standard output\n"
	"  -h, --help           show this\n"
	"\n"
	"FILE is devtrace.db when not given.\n";

static int write_dump(struct dt_reader *r, const char *output, enum dt_dump_form form)
{
	FILE *f = output ? fopen(output, "we") : stdout;
	uint64_t left_out = 0;
	struct dt_error e;
	int rc;

	if (!f)
		return dt_cmd_fail("%s: %s", output, strerror(errno));
	rc = dt_barrelfish_export(r, f, form, &left_out, &e) ? dt_cmd_fail("%s", e.text) : 0;
	if (!rc && (fflush(f) || ferror(f)))
		rc = dt_cmd_fail("%s: cannot write: %s", output ? output : "standard output",
				 strerror(errno));
	if (output)
		fclose(f);
	if (!rc && left_out)
		dt_cmd_fail("note: %llu records are no part of such a dump: calls and points, and "
			    "what came before the start of a relative one",
			    (unsigned long long)left_out);
	return rc;
}

int dt_cmd_export(int argc, char **argv)
{
	static const struct option options[] = {
		{"barrelfish", no_argument, NULL, 1}, {"relative", no_argument, NULL, 2},
		{"absolute", no_argument, NULL, 3},   {"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},     {0}};
	enum dt_dump_form form = DT_DUMP_AS_IMPORTED;
	const char *output = NULL;
	bool barrelfish = false;
	struct dt_reader *r;
	int o, status;

	while ((o = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (o) {
		case 1:
			barrelfish = true;
			break;
		case 2:
		case 3:
			if (form != DT_DUMP_AS_IMPORTED) {
				dt_cmd_fail("--relative and --absolute are different; choose one");
				return dt_cmd_usage("export");
			}
			form = o == 2 ? DT_DUMP_RELATIVE : DT_DUMP_ABSOLUTE;
			break;
		case 'o':
			output = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("export");
		}
	}
	if (!barrelfish) {
		dt_cmd_fail("export: say the format: --barrelfish");
		return dt_cmd_usage("export");
	}
	r = dt_cmd_open(argc, argv, "export", &status);
	if (!r)
		return status;
	status = write_dump(r, output, form);
	dt_cmd_say_lost(r);
	dt_reader_close(r);
	return status;
}
