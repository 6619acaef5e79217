/* SPDX-License-Identifier: MIT */
/*
 * Makes of a trace one that another machine would have recorded at the same time: all its ticks are
 * as a counter shows them that is ahead, runs faster, and was set ahead once. So what is true of
 * two machines' clocks is known, although both traces are of this one.
 *
 * usage: shifttrace FILE AHEAD PPM [STEP AT]   numbers of ticks; AT: after the first record
 */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "store/decode.h"

static sqlite3 *db;
static int64_t first, ahead, step, at;
static double ppm;
static struct dt_error error;

static void die(const char *what)
{
	fprintf(stderr, "shifttrace: %s\n", what);
	exit(1);
}

static int64_t shifted(int64_t t)
{
	return t + ahead + llrint((double)(t - first) * ppm * 1e-6) +
	       (step && t - first >= at ? step : 0);
}

static void shift_value(sqlite3_context *to, int n, sqlite3_value **v)
{
	(void)n;
	sqlite3_result_int64(to, shifted(sqlite3_value_int64(v[0])));
}

static void run(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		die(sqlite3_errmsg(db));
}

static int64_t single(const char *sql)
{
	sqlite3_stmt *q;
	int64_t v;

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) || sqlite3_step(q) != SQLITE_ROW)
		die(sqlite3_errmsg(db));
	v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return v;
}

static uint8_t *mask; /* of each site's row */

static int64_t load_masks(void)
{
	int64_t n = single("SELECT ifnull(max(id), 0) FROM site");
	sqlite3_stmt *q;

	mask = calloc((size_t)n + 1, 1);
	if (!mask || sqlite3_prepare_v2(db, "SELECT id, mask FROM site", -1, &q, NULL))
		die("the sites cannot be read");
	while (sqlite3_step(q) == SQLITE_ROW)
		mask[sqlite3_column_int64(q, 0)] = (uint8_t)sqlite3_column_int(q, 1);
	sqlite3_finalize(q);
	return n;
}

static unsigned local_of(struct dt_encoder *c, uint32_t site, uint8_t flags)
{
	for (uint32_t i = 0; i < c->nlocal; i++)
		if (c->local[i].site == site && c->local[i].flags == flags)
			return i;
	return (unsigned)dt_encoder_local(c, site, mask[site], flags);
}

static void copy_chunk(struct dt_decoder *d, struct dt_encoder *c, unsigned core)
{
	static struct dt_batch b;

	while (!dt_decoder_batch(d, core, &b, &error) && b.n)
		for (uint32_t i = 0; i < b.n; i++) {
			struct dt_record r = {.ticks = (uint64_t)shifted((int64_t)b.ticks[i]),
					      .tid = d->run_tid[d->run],
					      .core = b.core[i],
					      .sp = b.sp[i]};

			memcpy(r.value, b.value[i], sizeof(r.value));
			dt_encoder_put(c, &r, local_of(c, b.site[i], b.flags[i]), core);
			if (--d->run_left == 0 && ++d->run < d->runs)
				d->run_left = d->run_length[d->run];
		}
}

static void shift_chunks(uint32_t sites)
{
	sqlite3_stmt *q, *u;
	struct dt_decoder d = {0};
	struct dt_encoder *c = dt_encoder_new();
	struct dt_bytes events = {0}, vals = {0};
	void *dctx = ZSTD_createDCtx(), *cctx = dt_encoder_context();

	if (sqlite3_prepare_v2(db, "SELECT id, core, records, events, vals FROM chunk", -1, &q,
			       NULL) ||
	    sqlite3_prepare_v2(
		    db, "UPDATE chunk SET min_ticks=?, max_ticks=?, events=?, vals=? WHERE id=?",
		    -1, &u, NULL))
		die(sqlite3_errmsg(db));
	while (sqlite3_step(q) == SQLITE_ROW) {
		unsigned core = (unsigned)sqlite3_column_int(q, 1);

		if (dt_decoder_load(&d, dctx, sqlite3_column_blob(q, 3),
				    (size_t)sqlite3_column_bytes(q, 3), sqlite3_column_blob(q, 4),
				    (size_t)sqlite3_column_bytes(q, 4),
				    (uint32_t)sqlite3_column_int(q, 2), sites, &error))
			die(error.text);
		dt_encoder_reset(c);
		copy_chunk(&d, c, core);
		uint64_t low = c->min_ticks, high = c->max_ticks;
		if (c->last_ticks > high)
			high = c->last_ticks;
		if (dt_encoder_finish(c, core, cctx, &events, &vals, &error))
			die(error.text);
		sqlite3_bind_int64(u, 1, (int64_t)low);
		sqlite3_bind_int64(u, 2, (int64_t)high);
		sqlite3_bind_blob(u, 3, events.p, (int)events.n, SQLITE_STATIC);
		sqlite3_bind_blob(u, 4, vals.p, (int)vals.n, SQLITE_STATIC);
		sqlite3_bind_int64(u, 5, sqlite3_column_int64(q, 0));
		if (sqlite3_step(u) != SQLITE_DONE)
			die(sqlite3_errmsg(db));
		sqlite3_reset(u);
	}
	sqlite3_finalize(q);
	sqlite3_finalize(u);
}

int main(int argc, char **argv)
{
	static const char *const column[][2] = {
		{"process", "begin_ticks"}, {"process", "end_ticks"}, {"exec", "ticks"},
		{"module", "begin_ticks"},  {"module", "end_ticks"},  {"complete", "ticks"},
		{"clock", "ticks"},	    {"pause", "begin_ticks"}, {"pause", "end_ticks"},
		{"change", "begin_ticks"},  {"change", "end_ticks"},  {"waited", "begin_ticks"},
		{"waited", "end_ticks"},    {"backtrace", "ticks"},   {"hold", "begin_ticks"},
		{"hold", "end_ticks"},	    {"loss", "begin_ticks"},  {"loss", "end_ticks"},
		{"sync", "begin_ticks"},    {"sync", "end_ticks"},    {"budget_off", "begin_ticks"},
		{"budget_off", "end_ticks"}};

	if ((argc != 4 && argc != 6) || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL))
		die("FILE AHEAD PPM [STEP AT]");
	ahead = strtoll(argv[2], NULL, 0);
	ppm = strtod(argv[3], NULL);
	step = argc > 4 ? strtoll(argv[4], NULL, 0) : 0;
	at = argc > 4 ? strtoll(argv[5], NULL, 0) : 0;
	sqlite3_create_function(db, "shifted", 1, SQLITE_UTF8, NULL, shift_value, NULL, NULL);
	run("BEGIN");
	first = single("SELECT min(min_ticks) FROM chunk");
	shift_chunks((uint32_t)load_masks());
	for (size_t i = 0; i < sizeof(column) / sizeof(*column); i++) {
		char sql[200];

		snprintf(sql, sizeof(sql), "UPDATE %s SET %s=shifted(%s) WHERE %s<>0", column[i][0],
			 column[i][1], column[i][1], column[i][1]);
		run(sql);
	}
	run("UPDATE meta SET value=shifted(value) WHERE key='whole_until' AND value<>'0'");
	/* another machine, and what is kept of the old one's ticks */
	run("UPDATE meta SET value='another-' || value WHERE key IN ('host', 'boot_id')");
	run("DROP TABLE IF EXISTS pyramid");
	run("COMMIT");
	sqlite3_close(db);
	return 0;
}
