/* SPDX-License-Identifier: MIT */
/*
 * ClickHouse: rows in its format RowBinary, in the order of the columns that
 * dt_clickhouse_tables() makes. Numbers are little-endian; a string has its length in front, seven
 * bits a byte; a value that may be missing has a byte in front, 1: it is (ClickHouse's
 * documentation, "Formats for input and output data").
 */
#include "export/clickhouse.h"

#include <stdlib.h>
#include <string.h>

#include "export/rows.h"
#include "export/varint.h"

/* Machines whose numbers are little-endian write them as they are. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "RowBinary's numbers are little-endian");

/* A row is put together in memory: the C library takes longer for each small number. */
struct writing {
	FILE *f;
	struct dt_json row;
};

static void put(struct writing *w, const void *p, size_t n)
{
	dt_json_bytes(&w->row, p, n);
}

static void put_text(struct writing *w, const char *s, size_t n)
{
	dt_export_varint(&w->row, n);
	put(w, s, n);
}

static void put_word(struct writing *w, const struct dt_row_word *word)
{
	put_text(w, word->text, word->n);
}

static void put_maybe(struct writing *w, bool is, const void *p, size_t n)
{
	const uint8_t missing = !is;

	put(w, &missing, 1);
	if (is)
		put(w, p, n);
}

static bool on_row(void *ctx, const struct dt_row *row)
{
	struct writing *w = ctx;

	if (!row)
		return false;
	w->row.bytes.n = 0;
	put_word(w, row->host);
	put_word(w, row->build);
	put(w, &row->process, sizeof(row->process));
	put(w, &row->thread, sizeof(row->thread));
	put(w, &row->call, sizeof(row->call));
	put(w, &row->caller, sizeof(row->caller));
	put(w, &row->depth, sizeof(row->depth));
	put_word(w, row->function);
	put_word(w, row->module);
	put(w, &row->begin, sizeof(row->begin));
	put_maybe(w, row->timed, &row->duration, sizeof(row->duration));
	put_maybe(w, row->timed, &row->self, sizeof(row->self));
	put_word(w, row->ended);
	put_maybe(w, row->bounded, &row->early, sizeof(row->early));
	put_maybe(w, row->bounded, &row->late, sizeof(row->late));
	put_text(w, row->text, row->text_n);
	fwrite(w->row.bytes.p, 1, w->row.bytes.n, w->f);
	return !w->row.failed && !ferror(w->f);
}

int dt_export_clickhouse(struct dt_reader *r, FILE *f, struct dt_formats *formats,
			 const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	struct writing w = {.f = f};
	int rc = dt_rows_run(r, formats, chosen, &(struct dt_rows_events){.row = on_row, .ctx = &w},
			     e);

	if (!rc && w.row.failed)
		rc = dt_fail(e, "out of memory");
	free(w.row.bytes.p);
	return rc;
}

static const char columns[] =
	"(\n"
	"\thost String, build String, process UInt32, thread UInt32, call UInt64, caller UInt64,\n"
	"\tdepth UInt32, function String, module String, begin_ns Int64,\n"
	"\tduration_ns Nullable(Float64), self_ns Nullable(Float64), ended String,\n"
	"\tearly_ns Nullable(UInt64), late_ns Nullable(UInt64), text String\n"
	")";
static const char digest_columns[] =
	"(\n"
	"\thost String, build String, function String, module String, minute DateTime,\n"
	"\tcalls AggregateFunction(count), total_ns AggregateFunction(sum, Float64),\n"
	"\tlongest_ns AggregateFunction(max, Float64),\n"
	"\tdurations AggregateFunction(quantilesTDigest(0.5, 0.9, 0.99), Float64)\n"
	")";

bool dt_clickhouse_is_cluster(const char *name)
{
	return *name && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_") == strlen(name);
}

void dt_clickhouse_tables(FILE *f, const char *cluster)
{
	const char *local = cluster ? "_local" : "";

	fprintf(f, "CREATE DATABASE IF NOT EXISTS devtrace;\n\n");
	fprintf(f,
		"-- a row for each call\n"
		"CREATE TABLE IF NOT EXISTS devtrace.calls%s %s ENGINE = MergeTree()\n"
		"PARTITION BY toDate(toDateTime(intDiv(begin_ns, 1000000000)))\n"
		"ORDER BY (function, host, begin_ns);\n\n",
		local, columns);
	fprintf(f,
		"-- what calls of a function took in a minute; digests of several rows are merged\n"
		"CREATE TABLE IF NOT EXISTS devtrace.digests%s %s ENGINE = AggregatingMergeTree()\n"
		"PARTITION BY toDate(minute) ORDER BY (function, host, module, build, minute);\n\n",
		local, digest_columns);
	fprintf(f,
		"CREATE MATERIALIZED VIEW IF NOT EXISTS devtrace.calls_to_digests%s TO "
		"devtrace.digests%s AS\n"
		"SELECT host, build, function, module,\n"
		"\ttoStartOfMinute(toDateTime(intDiv(begin_ns, 1000000000))) AS minute,\n"
		"\tcountState() AS calls, sumState(assumeNotNull(duration_ns)) AS total_ns,\n"
		"\tmaxState(assumeNotNull(duration_ns)) AS longest_ns,\n"
		"\tquantilesTDigestState(0.5, 0.9, 0.99)(assumeNotNull(duration_ns)) AS durations\n"
		"FROM devtrace.calls%s WHERE isNotNull(duration_ns)\n"
		"GROUP BY host, build, function, module, minute;\n",
		local, local, local);
	if (!cluster)
		return;
	fprintf(f,
		"\n-- the tables of all servers as one\n"
		"CREATE TABLE IF NOT EXISTS devtrace.calls %s\n"
		"ENGINE = Distributed(%s, devtrace, calls_local, cityHash64(host));\n\n",
		columns, cluster);
	fprintf(f,
		"CREATE TABLE IF NOT EXISTS devtrace.digests %s\n"
		"ENGINE = Distributed(%s, devtrace, digests_local, cityHash64(host));\n",
		digest_columns, cluster);
}
