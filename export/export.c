/* SPDX-License-Identifier: MIT */
/* What the formats of other tools have in common. */
#include "export/export.h"

#include <string.h>

const struct dt_export dt_exports[] = {
	{"chrome", "Chrome's JSON, which Perfetto, chrome://tracing and speedscope open",
	 dt_export_chrome, DT_BY_TIME},
	{"perfetto", "Perfetto's own format", dt_export_perfetto, DT_BY_TIME},
	{"speedscope", "speedscope's JSON: calls over time, for each thread", dt_export_speedscope,
	 DT_BY_TIME},
	{"folded", "folded stacks with their own time in ns: flame graphs", dt_export_folded,
	 DT_BY_THREAD},
	{"callgrind", "callgrind's, for callgrind_annotate and KCachegrind: times in ns",
	 dt_export_callgrind, DT_BY_THREAD},
	{"csv", "a line for each call, with values", dt_export_csv, DT_BY_TIME},
	{"parquet", "a table of calls by columns, for DuckDB, Spark and others", dt_export_parquet,
	 DT_BY_TIME},
	{"clickhouse", "a table of calls for ClickHouse, in its format RowBinary",
	 dt_export_clickhouse, DT_BY_TIME},
	{"otlp", "OpenTelemetry's spans, as lines of JSON", dt_export_otlp, DT_BY_TIME},
	{0},
};

const char *dt_export_module(const struct dt_reader *r, uint32_t function)
{
	const struct dt_function_info *f = dt_reader_function(r, function);
	const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;

	return m ? m->file : "";
}

int dt_export_names(struct dt_export_names *n, const struct dt_reader *r, struct dt_error *e)
{
	return dt_hosts_load(&n->hosts, r) ? dt_fail(e, "out of memory") : 0;
}

const char *dt_export_named(struct dt_export_names *n, uint32_t id, const char *name)
{
	const struct dt_host *h = dt_hosts_of(&n->hosts, id);

	if (!h)
		return name;
	dt_format(n->text, sizeof(n->text), "%s%s%s", h->name, *name ? ": " : "", name);
	return n->text;
}

uint64_t dt_export_first(struct dt_reader *r)
{
	struct dt_summary s;

	return dt_reader_summary(r, &s, NULL) < 0 ? 0 : s.min_ticks;
}

double dt_export_ns(const struct dt_reader *r, uint64_t first, uint64_t ticks)
{
	return (double)(int64_t)(dt_reader_ns(r, ticks) - dt_reader_ns(r, first));
}
