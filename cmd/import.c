/* SPDX-License-Identifier: MIT */
/* devtrace import: makes a trace file from the format of another tracer. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "analyse/barrelfish.h"
#include "cmd/new-trace.h"
#include "cmd/commands.h"
#include "cmd/open.h"
#include "import/formats.h"
#include "import/write.h"

static const char help[] =
	"usage: devtrace import [--program FILE] [-o FILE] TRACE\n"
	"       devtrace import --barrelfish [--events DEFINITION] [--names TABLE] [-o FILE] DUMP\n"
	"Makes a trace file from a trace in the format of another tracer. What has no meaning in a "
	"trace\n"
	"of devtrace is left out, and said. TRACE is Chrome's JSON, Perfetto's format, what `perf "
	"script'\n"
	"prints, a file of XRay, or a folder of uftrace or in the Common Trace Format.\n"
	"\n"
	"      --program FILE         names of XRay's functions: the program that was recorded\n"
	"      --barrelfish           Barrelfish's text dump, of 2011 or later; exporting it "
	"again\n"
	"                             gives the same bytes\n"
	"      --events DEFINITION    names of events: a definition, or its JSON (devtrace "
	"events)\n"
	"      --names TABLE          names of applications: lines 'DCB: 0xHEX NAME'\n"
	"  -o, --output FILE          the trace file (devtrace.db)\n"
	"  -h, --help                 show this\n"
	"\n"
	"\"-\" is standard input. A tick of a dump is taken for a nanosecond: it does not say.\n";

struct import {
	const char *path, *output;
	const char *definition, *table, *program; /* may be NULL */
	bool barrelfish;
	FILE *f;    /* NULL: it is a folder, */
	int folder; /* or -1 */
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

static int make_barrelfish(struct import *m, struct dt_error *e)
{
	struct dt_store *s;

	if (read_names(m, e))
		return -1;
	s = dt_store_create(m->aside.trace, dt_barrelfish_describe, NULL, e);
	if (!s)
		return -1;
	if (dt_barrelfish_import(s, m->f, m->path, &m->events, &m->applications, e)) {
		dt_store_discard(s);
		return -1;
	}
	return dt_store_close(s, e);
}

static void say_left(const struct import *m, const struct dt_imported *from)
{
	for (int i = 0; i < DT_LEFTS; i++) {
		char text[256];

		if (!from->left[i])
			continue;
		dt_format(text, sizeof(text), dt_import_left_words(i),
			  (unsigned long)from->left[i]);
		fprintf(stderr, "devtrace: %s: %s\n", m->path, text);
	}
	if (from->clock[0])
		fprintf(stderr, "devtrace: %s: its times are of %s\n", m->path, from->clock);
	fprintf(stderr, "devtrace: %s: %lu calls and %lu events of %u threads\n", m->output,
		(unsigned long)from->calls, (unsigned long)from->others, from->threads.n);
}

static int make_other(struct import *m, struct dt_error *e)
{
	struct dt_imported from = {.program = m->program};
	const char *format = "";
	int rc;

	rc = m->folder >= 0 ? dt_import_folder(&from, m->folder, m->path, &format, e)
			    : dt_import_file(&from, m->f, m->path, &format, e);
	if (!rc)
		rc = dt_imported_write(&from, m->aside.trace, format, m->path, e);
	if (!rc)
		say_left(m, &from);
	dt_imported_free(&from);
	return rc;
}

static int open_input(struct import *m)
{
	m->folder = strcmp(m->path, "-") && !m->barrelfish
			    ? open(m->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			    : -1;
	if (m->folder >= 0)
		return 0;
	m->f = strcmp(m->path, "-") ? fopen(m->path, "re") : stdin;
	return m->f ? 0 : -1;
}

static int import(struct import *m)
{
	struct dt_needs needs = {.flags = m->program ? DT_NEED_PROGRAMS : 0};
	struct dt_error e;
	int status;

	if (open_input(m))
		return dt_cmd_fail("%s: %s", m->path, strerror(errno));
	if (m->definition && strcmp(m->definition, "-"))
		dt_needs_add(&needs, DT_NEED_READ, m->definition);
	if (m->table)
		dt_needs_add(&needs, DT_NEED_READ, m->table);
	if (m->program)
		dt_needs_add(&needs, DT_NEED_READ, m->program);
	if (m->folder >= 0)
		dt_needs_add(&needs, DT_NEED_READ, m->path);
	if (dt_store_check_room(m->output, &e) < 0 ||
	    dt_new_trace_open(&m->aside, m->output, &needs, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	status = dt_cmd_confine(&needs);
	if (!status && ((m->barrelfish ? make_barrelfish(m, &e) : make_other(m, &e)) ||
			dt_new_trace_place(&m->aside, &e)))
		status = dt_cmd_fail("%s", e.text);
	dt_new_trace_close(&m->aside);
	dt_applications_free(&m->applications);
	dt_definition_free(&m->events);
	if (m->folder >= 0)
		close(m->folder);
	else if (m->f != stdin)
		fclose(m->f);
	return status;
}

int dt_cmd_import(int argc, char **argv)
{
	static const struct option options[] = {{"barrelfish", no_argument, NULL, 1},
						{"events", required_argument, NULL, 2},
						{"names", required_argument, NULL, 3},
						{"program", required_argument, NULL, 4},
						{"output", required_argument, NULL, 'o'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct import m = {.output = DT_DEFAULT_FILE};
	int o;

	while ((o = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (o) {
		case 1:
			m.barrelfish = true;
			break;
		case 2:
			m.definition = optarg;
			break;
		case 3:
			m.table = optarg;
			break;
		case 4:
			m.program = optarg;
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
	if (argc - optind != 1 || (!m.barrelfish && (m.definition || m.table)) ||
	    (m.barrelfish && m.program)) {
		dt_cmd_fail(argc - optind != 1 ? "name one file"
			    : m.program	       ? "--program is not for --barrelfish"
					       : "--events and --names are for --barrelfish");
		return dt_cmd_usage("import");
	}
	m.path = argv[optind];
	return import(&m);
}
