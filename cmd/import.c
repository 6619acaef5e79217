/* SPDX-License-Identifier: MIT */
/* devtrace import: makes a trace file from the format of another tracer. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "analyse/barrelfish.h"
#include "cmd/new-trace.h"
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

struct import {
	const char *path, *output, *definition, *table; /* the last two may be NULL */
	FILE *f;
	struct dt_new_trace aside;
	struct dt_definition events;
	struct dt_applications applications;
};

static int read_names(struct import *m, struct dt_error *e)
{
	if (m->definition && dt_definition_read(&m->events, m->definition, e))
		return -1;
	return m->table ? dt_applications_read(&m->applications, m->table, e) : 0;
}

static int make(struct import *m, struct dt_error *e)
{
	struct dt_store *s = dt_store_create(m->aside.trace, dt_barrelfish_describe, NULL, e);

	if (!s)
		return -1;
	if (dt_barrelfish_import(s, m->f, m->path, &m->events, &m->applications, e)) {
		dt_store_discard(s);
		return -1;
	}
	return dt_store_close(s, e) ? -1 : dt_new_trace_place(&m->aside, e);
}

static int import(struct import *m)
{
	struct dt_needs needs = {.n = 0};
	struct dt_error e;
	int status;

	m->f = strcmp(m->path, "-") ? fopen(m->path, "re") : stdin;
	if (!m->f)
		return dt_cmd_fail("%s: %s", m->path, strerror(errno));
	if (m->definition && strcmp(m->definition, "-"))
		dt_needs_add(&needs, DT_NEED_READ, m->definition);
	if (m->table)
		dt_needs_add(&needs, DT_NEED_READ, m->table);
	if (dt_store_check_room(m->output, &e) < 0 ||
	    dt_new_trace_open(&m->aside, m->output, &needs, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	status = dt_cmd_confine(&needs);
	if (!status && (read_names(m, &e) || make(m, &e)))
		status = dt_cmd_fail("%s", e.text);
	dt_new_trace_close(&m->aside);
	dt_applications_free(&m->applications);
	dt_definition_free(&m->events);
	if (m->f != stdin)
		fclose(m->f);
	return status;
}

int dt_cmd_import(int argc, char **argv)
{
	static const struct option options[] = {
		{"barrelfish", no_argument, NULL, 1},  {"events", required_argument, NULL, 2},
		{"names", required_argument, NULL, 3}, {"output", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},      {0}};
	struct import m = {.output = DT_DEFAULT_FILE};
	bool barrelfish = false;
	int o;

	while ((o = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (o) {
		case 1:
			barrelfish = true;
			break;
		case 2:
			m.definition = optarg;
			break;
		case 3:
			m.table = optarg;
			break;
		case 'o':
			m.output = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return dt_cmd_usage("import");
		}
	}
	if (!barrelfish || argc - optind != 1) {
		dt_cmd_fail(barrelfish ? "name one dump" : "say the format: --barrelfish");
		return dt_cmd_usage("import");
	}
	m.path = argv[optind];
	return import(&m);
}
