/* SPDX-License-Identifier: MIT */
/* devtrace export: a trace in the format of another tracer. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "analyse/barrelfish.h"
#include "export/clickhouse.h"
#include "export/export.h"
#include "cmd/choose.h"
#include "cmd/commands.h"
#include "cmd/one-trace.h"
#include "cmd/open.h"
#include "cmd/output.h"
#include "cmd/progress.h"

static const char help[] =
	"usage: devtrace export --FORMAT [OPTION]... [-o OUTPUT] [FILE]\n"
	"Writes a trace in the format of another tool.\n"
	"\n"
	"      --chrome         Chrome's JSON, which Perfetto, chrome://tracing and speedscope open\n"
	"      --perfetto       Perfetto's own: calls, events, counters, messages, who ran on each\n"
	"                       core; for ui.perfetto.dev and trace_processor\n"
	"      --ctf DIR        Common Trace Format 1.8, a folder: every record; for babeltrace2 and\n"
	"                       Trace Compass\n"
	"      --speedscope     speedscope's own: calls over time, by thread\n"
	"      --folded         folded stacks and their own time in ns, for flame graphs\n"
	"      --callgrind      for callgrind_annotate and KCachegrind; times in ns\n"
	"      --csv            a line for each call\n"
	"      --parquet        a table of calls by columns, for DuckDB, Spark and others\n"
	"      --clickhouse     the same for ClickHouse: INSERT INTO devtrace.calls FORMAT RowBinary\n"
	"      --clickhouse-tables[=CLUSTER]  print the statements that make its tables, also those\n"
	"                       of a CLUSTER of servers; no FILE\n"
	"      --otlp           OpenTelemetry's spans, as lines of JSON; of what was done for a\n"
	"                       traceparent that a call was given, in that trace\n"
	"      --no-values      calls without arguments and results (speedscope's, folded stacks,\n"
	"                       callgrind's and Barrelfish's have none anyway)\n"
	"      --barrelfish     Barrelfish's text dump: events, messages, context switches and\n"
	"                       applications of each core; calls are no part of it\n"
	"      --relative       as in 2011: times count from the start, earlier events left out\n"
	"      --absolute       as from 2013 on: times as they are, and the cores' clock offsets;\n"
	"                       this, or the form it was imported from, when neither is said\n"
	"  -f, --filter WORDS   only calls that these words mean, as in calls; not CTF's, Barrelfish's\n"
	"  -o, --output OUTPUT  there instead of standard output; a file is there when it is complete\n"
	"  -h, --help           show this\n"
	"\n"
	"FILE is devtrace.db when not given.\n";

static int write_dump(struct dt_reader *r, struct dt_output *part, enum dt_dump_form form)
{
	struct dt_progress progress;
	uint64_t left_out = 0;
	struct dt_error e;
	int rc;

	dt_progress_begin(&progress, r);
	rc = dt_barrelfish_export(r, part->file, form, &left_out, &e);
	dt_progress_end(&progress, r);
	if (rc)
		dt_cmd_fail("%s", e.text);
	rc = dt_output_end(part, !rc);
	if (!rc && left_out)
		dt_cmd_fail("note: %llu records are no part of such a dump: calls and points, and "
			    "what came before the start of a relative one",
			    (unsigned long long)left_out);
	return rc;
}

/* Writes the trace in one of the formats of dt_exports; returns the exit status. */
static int write_format(struct dt_reader *r, struct dt_output *part, const struct dt_export *x,
			const char *words, bool values)
{
	struct dt_formats formats = {.reader = r};
	struct dt_chosen_calls chosen = {0};
	struct dt_progress progress;
	struct dt_error e;
	int rc = words ? dt_cmd_choose(r, &(struct dt_reader_range){.order = x->order}, words, NULL,
				       NULL, &chosen)
		       : 0;

	if (rc) {
		dt_output_end(part, false);
		goto out;
	}
	dt_progress_begin(&progress, r);
	rc = x->write(r, part->file, values ? &formats : NULL, words ? &chosen : NULL, &e);
	dt_progress_end(&progress, r);
	if (rc)
		dt_cmd_fail("%s", e.text);
	rc = dt_output_end(part, !rc);
out:
	dt_chosen_free(&chosen);
	dt_formats_free(&formats);
	return rc;
}

static int write_ctf(struct dt_reader *r, struct dt_output *part, bool values)
{
	struct dt_formats formats = {.reader = r};
	struct dt_progress progress;
	uint64_t moved = 0;
	struct dt_error e;
	int rc;

	dt_progress_begin(&progress, r);
	rc = dt_export_ctf(r, part->name, values ? &formats : NULL, &moved, &e);
	dt_progress_end(&progress, r);
	if (rc)
		dt_cmd_fail("%s: %s", part->said, e.text);
	rc = dt_output_end(part, !rc);
	if (!rc && moved)
		dt_cmd_fail(
			"note: %llu records are of an earlier time than the one in front of them "
			"on their core; here they have its time",
			(unsigned long long)moved);
	dt_formats_free(&formats);
	return rc;
}

static const struct dt_export *find_format(const char *name)
{
	const struct dt_export *x = dt_exports;

	while (x->name && strcmp(x->name, name) != 0)
		x++;
	return x->name ? x : NULL;
}

struct asked {
	const struct dt_export *format;
	const char *output, *folder, *filter, *cluster;
	enum dt_dump_form form;
	bool values, barrelfish, tables;
	unsigned formats; /* how many different formats were asked for */
};

/* Takes an option. Returns -1: go on; otherwise the exit status. */
static int take(struct asked *a, int o, const char *name)
{
	switch (o) {
	case 1:
		a->formats += !a->barrelfish;
		a->barrelfish = true;
		return -1;
	case 4:
		a->formats += a->format != find_format(name);
		a->format = find_format(name);
		return -1;
	case 5:
		a->values = false;
		return -1;
	case 6:
		a->formats += !a->folder;
		a->folder = optarg;
		return -1;
	case 2:
	case 3:
		if (a->form != DT_DUMP_AS_IMPORTED) {
			dt_cmd_fail("--relative and --absolute are different; choose one");
			return dt_cmd_usage("export");
		}
		a->form = o == 2 ? DT_DUMP_RELATIVE : DT_DUMP_ABSOLUTE;
		return -1;
	case 7:
		if (optarg && !dt_clickhouse_is_cluster(optarg)) {
			dt_cmd_fail("--clickhouse-tables: %s: a cluster's name has letters, digits "
				    "and _",
				    optarg);
			return dt_cmd_usage("export");
		}
		a->tables = true;
		a->cluster = optarg;
		a->formats++;
		return -1;
	case 'f':
		a->filter = optarg;
		return -1;
	case 'o':
		a->output = optarg;
		return -1;
	case 'h':
		fputs(help, stdout);
		return 0;
	}
	return dt_cmd_usage("export");
}

/* Looks whether the options go together. Returns -1: they do; otherwise the exit status. */
static int check(const struct asked *a)
{
	if (a->folder && a->output && a->formats == 1) {
		dt_cmd_fail("--ctf names its folder itself: no -o");
		return dt_cmd_usage("export");
	}
	if (a->filter && a->formats == 1 && (a->folder || a->barrelfish)) {
		dt_cmd_fail("-f chooses calls: --ctf and --barrelfish have records");
		return dt_cmd_usage("export");
	}
	if (a->formats == 1 && (a->form == DT_DUMP_AS_IMPORTED || a->barrelfish))
		return -1;
	dt_cmd_fail(a->formats == 1 ? "--relative and --absolute are of --barrelfish"
		    : a->formats    ? "one format at a time"
				    : "say the format: --chrome, --perfetto, --ctf, --speedscope, "
				      "--folded, --callgrind, --csv, --parquet, --clickhouse, "
				      "--otlp or --barrelfish");
	return dt_cmd_usage("export");
}

/* Writes the statements that make an engine's tables; returns the exit status. */
static int write_tables(const struct asked *a, int others)
{
	struct dt_output part;

	if (others || a->filter) {
		dt_cmd_fail("--clickhouse-tables makes tables for all traces: no FILE, no -f");
		return dt_cmd_usage("export");
	}
	if (!dt_output_open(&part, a->output))
		return 1;
	dt_clickhouse_tables(part.file, a->cluster);
	return dt_output_end(&part, true);
}

int dt_cmd_export(int argc, char **argv)
{
	static const struct option options[] = {{"barrelfish", no_argument, NULL, 1},
						{"relative", no_argument, NULL, 2},
						{"absolute", no_argument, NULL, 3},
						{"chrome", no_argument, NULL, 4},
						{"perfetto", no_argument, NULL, 4},
						{"speedscope", no_argument, NULL, 4},
						{"folded", no_argument, NULL, 4},
						{"callgrind", no_argument, NULL, 4},
						{"csv", no_argument, NULL, 4},
						{"parquet", no_argument, NULL, 4},
						{"clickhouse", no_argument, NULL, 4},
						{"otlp", no_argument, NULL, 4},
						{"clickhouse-tables", optional_argument, NULL, 7},
						{"no-values", no_argument, NULL, 5},
						{"ctf", required_argument, NULL, 6},
						{"output", required_argument, NULL, 'o'},
						{"filter", required_argument, NULL, 'f'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct asked a = {.form = DT_DUMP_AS_IMPORTED, .values = true};
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct dt_output part;
	struct dt_reader *r;
	int o, status, which = 0;

	while ((o = getopt_long(argc, argv, "o:f:h", options, &which)) != -1) {
		status = take(&a, o, options[which].name);
		if (status >= 0)
			return status;
	}
	status = check(&a);
	if (status >= 0)
		return status;
	if (a.tables)
		return write_tables(&a, argc - optind);
	if (!(a.folder ? dt_output_open_folder(&part, a.folder) : dt_output_open(&part, a.output)))
		return 1;
	dt_output_needs(&part, &needs);
	r = dt_cmd_open_one(argc, argv, "export", &needs, &status);
	if (!r) {
		dt_output_end(&part, false);
		return status;
	}
	status = a.barrelfish ? write_dump(r, &part, a.form)
		 : a.folder   ? write_ctf(r, &part, a.values)
			      : write_format(r, &part, a.format, a.filter, a.values);
	dt_cmd_say_lost(r, status);
	dt_reader_close(r);
	return status;
}
