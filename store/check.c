/* SPDX-License-Identifier: MIT */
/*
 * Checking a trace file. Nothing in it is trusted: the tables are read once more, with the things
 * that a reader takes without a check, and each chunk is decoded by itself, so that a damaged one
 * hides no other.
 */
#include "store/check.h"

#include <stdlib.h>
#include <string.h>

#include "core/signature.h"
#include "store/check-work.h"
#include "store/layout.h"
#include "store/reader-work.h"

struct checking {
	struct dt_reader *r;
	struct dt_faults *f;
	struct dt_check_chunks *c;
	struct dt_error *e;
	bool (*fn)(void *ctx, uint64_t records);
	void *ctx;
	struct dt_decoder decoder;
	struct dt_batch *batch;
	uint64_t records[65536]; /* records of each core so far: where its next chunk begins */
	uint64_t lost[65536];	 /* records lost of each core, according to table loss */
	uint64_t gone[65536];	 /* of the former, removed by --last before the first chunk */
	bool pruned;		 /* there are such */
	uint64_t left[65536];	 /* left out by a filter, according to table left_records */
	bool ended;		 /* the session has written the rows that come at its end */
	bool recorded[65536];	 /* of which cores table written has a row */
	uint32_t tid;		 /* thread that was looked up last */
	uint32_t *strange;	 /* threads that are not described and have been counted */
	size_t stranges;
	bool shared;	 /* the core that is being looked at is a shared ring: records of different
			    threads are not in one order */
	uint64_t latest; /* greatest ticks on that core so far */
	bool latest_kernel; /* the record with these ticks is of the kernel */
};

/* ---- tables ---- */

typedef void row_fn(struct checking *k, sqlite3_stmt *q);

static uint64_t u64(sqlite3_stmt *q, int column)
{
	return (uint64_t)sqlite3_column_int64(q, column);
}

void dt_check_each(sqlite3 *db, struct dt_faults *f, const char *table, const char *sql,
		   void (*fn)(void *ctx, sqlite3_stmt *q), void *ctx)
{
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);

	/* older files lack some tables */
	if (rc == SQLITE_ERROR) {
		sqlite3_finalize(q);
		return;
	}
	while (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		fn(ctx, q);
		rc = SQLITE_OK;
	}
	if (rc != SQLITE_DONE)
		dt_faults_add(f, DT_FAULT_FILE, "table %s: %s", table, sqlite3_errmsg(db));
	sqlite3_finalize(q);
}

struct row_of {
	struct checking *k;
	row_fn *fn;
};

static void on_row_of(void *ctx, sqlite3_stmt *q)
{
	const struct row_of *x = ctx;

	x->fn(x->k, q);
}

static void each(struct checking *k, const char *table, const char *sql, row_fn *fn)
{
	struct row_of x = {k, fn};

	dt_check_each(k->r->db, k->f, table, sql, on_row_of, &x);
}

static void on_damage(struct checking *k, sqlite3_stmt *q)
{
	const char *text = (const char *)sqlite3_column_text(q, 0);

	if (text && strcmp(text, "ok") != 0)
		dt_faults_add(k->f, DT_FAULT_FILE, "%.*s", (int)strcspn(text, "\n"), text);
}

/* A column of a row has no number where one belongs. q: table, row. */
static void on_no_number(struct checking *k, sqlite3_stmt *q)
{
	dt_faults_add(k->f, DT_FAULT_ROW,
		      "%s, row %ld: something else than a number where one belongs",
		      sqlite3_column_text(q, 0), (long)sqlite3_column_int64(q, 1));
}

static void check_numbers(struct checking *k)
{
	static const struct {
		const char *table, *sql;
	} table[] = {
#define IS(c) "iif(typeof(" c ") = 'integer', 1, 0)"
		{"chunk",
		 "SELECT 'chunk', id FROM chunk WHERE " IS("core") "+" IS("first") "+" IS("records") "+" IS(
			 "min_ticks") "+" IS("max_ticks") " < 5 OR "
							  "typeof(events) <> 'blob' OR typeof(vals) <> 'blob'"},
		{"site", "SELECT 'site', id FROM site WHERE " IS("pc") "+" IS("mask") "+" IS(
				 "target") " < 3"},
		{"function", "SELECT 'function', id FROM function WHERE " IS("module") "+" IS(
				     "address") "+" IS("size") " < 3"},
		{"module", "SELECT 'module', id FROM module WHERE " IS("pid") "+" IS("base") "+" IS(
				   "low") "+" IS("high") " < 4"},
		{"clock", "SELECT 'clock', rowid FROM clock WHERE " IS("ticks") "+" IS(
				  "monotonic_ns") " < 2"},
		{"loss", "SELECT 'loss', after FROM loss WHERE " IS("core") "+" IS("after") "+" IS(
				 "lost") "+" IS("begin_ticks") "+" IS("end_ticks") " < 5"},
		{"lost_switches", "SELECT 'lost_switches', after FROM lost_switches WHERE " IS(
					  "core") "+" IS("after") "+" IS("lost") " < 3"},
		{"written",
		 "SELECT 'written', core FROM written WHERE " IS("core") "+" IS("records") "+" IS(
			 "dropped") " < 3 OR records < 0 OR dropped < 0"},
		{"pause", "SELECT 'pause', rowid FROM pause WHERE " IS("begin_ticks") "+" IS(
				  "end_ticks") " < 2"},
		{"change", "SELECT 'change', rowid FROM change WHERE " IS("begin_ticks") "+" IS(
				   "end_ticks") " < 2 OR "
						"typeof(command) <> 'text' OR off NOT IN (0, 1)"},
		{"hold", "SELECT 'hold', rowid FROM hold WHERE " IS("tid") "+" IS(
				 "begin_ticks") "+" IS("end_ticks") " < 3"},
		{"used", "SELECT 'used', rowid FROM used WHERE " IS("pid") "+" IS("ticks") "+" IS(
				 "memory") "+" IS("cpu_ns") " < 4"},
		{"complete", "SELECT 'complete', module FROM complete WHERE " IS("ticks") " < 1"},
		{"event", "SELECT 'event', rowid FROM event WHERE " IS("subsystem") " < 1"},
		{"unhooked", "SELECT 'unhooked', rowid FROM unhooked WHERE " IS("address") " < 1"},
		{"jit", "SELECT 'jit', rowid FROM jit WHERE " IS("pid") "+" IS("low") "+" IS(
				"high") "+" IS("start") " < 4"},
		{"exec", "SELECT 'exec', rowid FROM exec WHERE " IS("pid") "+" IS("ticks") " < 2"},
		{"thread", "SELECT 'thread', rowid FROM thread WHERE " IS("tid") " < 1"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		each(k, table[i].table, table[i].sql, on_no_number);
}

static void on_clock(struct checking *k, sqlite3_stmt *q)
{
	dt_faults_add(k->f, DT_FAULT_TIMES, "clock, row %ld: not after the reading before it",
		      (long)sqlite3_column_int64(q, 0));
}

static void on_process(struct checking *k, sqlite3_stmt *q)
{
	if (u64(q, 2) && u64(q, 2) < u64(q, 1))
		dt_faults_add(k->f, DT_FAULT_TIMES, "process %lu: ends before it begins",
			      (unsigned long)u64(q, 0));
}

static void on_exec(struct checking *k, sqlite3_stmt *q)
{
	dt_faults_add(k->f, DT_FAULT_ROW, "exec: process %lu is not described",
		      (unsigned long)u64(q, 0));
}

static void on_end(struct checking *k, sqlite3_stmt *q)
{
	(void)q;
	k->ended = true;
}

/*
 * Returns whether the session is still running, or its controller was killed. Then what is written
 * at its end, how many records there were, is missing, and a process may not be described although
 * one of its threads is.
 */
static bool is_cut_off(struct checking *k)
{
	const char *revision = dt_reader_meta(k->r, "revision");

	each(k, "written", "SELECT 1 FROM written LIMIT 1", on_end);
	return revision && strtol(revision, NULL, 10) >= 2 && !k->ended;
}

static void on_thread(struct checking *k, sqlite3_stmt *q)
{
	if (is_cut_off(k))
		return;
	dt_faults_add(k->f, DT_FAULT_ROW, "thread %lu is of process %lu, which is not described",
		      (unsigned long)u64(q, 0), (unsigned long)u64(q, 1));
}

static void on_activity(struct checking *k, sqlite3_stmt *q)
{
	dt_faults_add(k->f, DT_FAULT_TIMES, "activities, row %ld: duration is not end less begin",
		      (long)sqlite3_column_int64(q, 0));
}

static void on_site_function(struct checking *k, sqlite3_stmt *q)
{
	dt_faults_add(k->f, DT_FAULT_ROW, "site %ld: there is no function %ld",
		      (long)sqlite3_column_int64(q, 0), (long)sqlite3_column_int64(q, 1));
}

static void on_function_module(struct checking *k, sqlite3_stmt *q)
{
	dt_faults_add(k->f, DT_FAULT_ROW, "function %ld: there is no module %ld",
		      (long)sqlite3_column_int64(q, 0), (long)sqlite3_column_int64(q, 1));
}

static void on_mask(struct checking *k, sqlite3_stmt *q)
{
	dt_faults_add(k->f, DT_FAULT_ROW, "site %ld: values %ld; a record has four",
		      (long)sqlite3_column_int64(q, 0), (long)sqlite3_column_int64(q, 1));
}

static void check_tables(struct checking *k)
{
	each(k, "clock",
	     "SELECT rowid FROM (SELECT rowid, ticks, monotonic_ns, lag(ticks) OVER w AS t, "
	     "lag(monotonic_ns) OVER w AS n FROM clock WINDOW w AS (ORDER BY rowid)) "
	     "WHERE ticks < t OR monotonic_ns < n",
	     on_clock);
	each(k, "process", "SELECT pid, ifnull(begin_ticks, 0), ifnull(end_ticks, 0) FROM process",
	     on_process);
	each(k, "exec", "SELECT pid FROM exec WHERE pid NOT IN (SELECT pid FROM process)", on_exec);
	each(k, "thread",
	     "SELECT tid, pid FROM thread WHERE pid <> 0 AND pid NOT IN (SELECT pid FROM "
	     "process) AND EXISTS (SELECT 1 FROM process)",
	     on_thread);
	each(k, "activities",
	     "SELECT id FROM activities WHERE duration <> end - begin OR end < begin", on_activity);
	each(k, "site",
	     "SELECT id, function FROM site WHERE function <> 0 AND function NOT IN "
	     "(SELECT id FROM function)",
	     on_site_function);
	each(k, "site", "SELECT id, mask FROM site WHERE mask NOT BETWEEN 0 AND 15", on_mask);
	each(k, "function",
	     "SELECT id, module FROM function WHERE module <> 0 AND module NOT IN "
	     "(SELECT id FROM module)",
	     on_function_module);
}

/* ---- descriptions, as a reader has them ---- */

/* Checks a function's signature: that it is one, that each of its types is one, and that those in
 * table type are there. */
static void check_signature(struct checking *k, uint32_t row, const char *signature)
{
	struct dt_signature_value v;
	const char *p = signature;
	bool result = false;

	if (!*signature)
		return;
	if (!dt_signature_known(signature)) {
		dt_faults_add(k->f, DT_FAULT_ROW, "function %u: '%.60s' is no signature", row,
			      signature);
		return;
	}
	for (;;) {
		if (!dt_signature_next(&p, &v)) {
			if (result || !(result = dt_signature_result(signature, &v)))
				return;
			p = "";
		}
		if (!v.type.letter)
			dt_faults_add(k->f, DT_FAULT_ROW,
				      "function %u: '%.*s' is no type, in its signature", row,
				      v.typed_length < 40 ? v.typed_length : 40, v.typed);
		else if (v.type.keyed && !dt_reader_type(k->r, v.type.row))
			dt_faults_add(k->f, DT_FAULT_ROW, "function %u: there is no type '%.*s'",
				      row, v.typed_length < 40 ? v.typed_length : 40, v.typed);
		if (result)
			return;
	}
}

static void check_functions(struct checking *k)
{
	for (uint32_t i = 1; i <= dt_reader_functions(k->r); i++)
		check_signature(k, i, dt_reader_function(k->r, i)->signature);
	for (uint32_t i = 1; i <= dt_reader_modules(k->r); i++) {
		const struct dt_module_info *m = dt_reader_module(k->r, i);

		if (m->high < m->low)
			dt_faults_add(k->f, DT_FAULT_ROW, "module %u: %.100s ends before it begins",
				      i, m->path);
		if (m->end_ticks && m->end_ticks < m->begin_ticks)
			dt_faults_add(k->f, DT_FAULT_TIMES,
				      "module %u: %.100s is gone before it is there", i, m->path);
	}
}

static bool is_call(uint8_t kind)
{
	return kind == DT_ENTRY || kind == DT_EXIT;
}

/* Checks the sites that have records: one of a call must be in a function, and in that function's
 * module. */
static void check_sites(struct checking *k)
{
	for (uint32_t i = 1; i <= dt_reader_sites(k->r); i++) {
		const struct dt_site *s = dt_reader_site(k->r, i);
		const struct dt_function_info *f = dt_reader_function(k->r, s->function);
		const struct dt_module_info *m = f ? dt_reader_module(k->r, f->module) : NULL;

		if (!k->c->of_site[i])
			continue;
		if (!f && is_call(s->kind))
			dt_faults_add(k->f, DT_FAULT_SITE, "site %u: pc %lx is of no function", i,
				      (unsigned long)s->pc);
		else if (m && m->high > m->low && (s->pc < m->low || s->pc > m->high))
			dt_faults_add(
				k->f, DT_FAULT_SITE,
				"site %u: pc %lx is not in the module of its function, %.100s", i,
				(unsigned long)s->pc, m->path);
		else if (m && m->high > m->low && (f->address < m->low || f->address > m->high))
			dt_faults_add(k->f, DT_FAULT_SITE,
				      "function %u, %.100s: %lx is not in its module", s->function,
				      f->name, (unsigned long)f->address);
	}
}

/* ---- chunks ---- */

static void strange_thread(struct checking *k, uint32_t tid, unsigned core, uint64_t record)
{
	uint32_t *more;

	for (size_t i = 0; i < k->stranges; i++)
		if (k->strange[i] == tid)
			return;
	dt_faults_add(k->f, DT_FAULT_THREAD, "thread %u, at record %lu of core %u", tid,
		      (unsigned long)record, core);
	if (k->stranges == 1000)
		return;
	more = realloc(k->strange, (k->stranges + 1) * sizeof(*more));
	if (more) {
		k->strange = more;
		more[k->stranges++] = tid;
	}
}

static void check_threads(struct checking *k, unsigned core, uint64_t first)
{
	const struct dt_decoder *d = &k->decoder;
	size_t described;

	dt_reader_threads(k->r, &described);
	for (uint32_t i = 0; i < d->runs && described; i++) {
		if (d->run_tid[i] != k->tid && d->run_tid[i] != DT_NO_TID && d->run_tid[i] &&
		    !dt_reader_thread(k->r, d->run_tid[i]))
			strange_thread(k, d->run_tid[i], core, first);
		k->tid = d->run_tid[i];
		first += d->run_length[i];
	}
}

static void check_dictionary(struct checking *k, int64_t id)
{
	const struct dt_decoder *d = &k->decoder;

	for (uint32_t i = 0; i < d->locals; i++)
		if (d->local[i].mask != dt_reader_site(k->r, d->local[i].site)->mask)
			dt_faults_add(k->f, DT_FAULT_HEAD,
				      "chunk %ld: other values of site %u than its row says",
				      (long)id, d->local[i].site);
}

static bool is_kernel(const struct checking *k, uint32_t site)
{
	return dt_reader_site(k->r, site)->pc >> 63;
}

/* Adds a fault for each record of the batch that is earlier than one before it. */
static void find_disorder(struct checking *k, unsigned core, uint64_t first)
{
	const struct dt_batch *b = k->batch;

	for (uint32_t i = 0; i < b->n; i++) {
		bool kernel = is_kernel(k, b->site[i]);

		/* in the kernel an interrupt may come while a record is made */
		if (b->ticks[i] < k->latest && !(kernel && k->latest_kernel))
			dt_faults_add(k->f, DT_FAULT_ORDER,
				      "record %lu of core %u, %lu ticks earlier",
				      (unsigned long)(first + i), core,
				      (unsigned long)(k->latest - b->ticks[i]));
		if (b->ticks[i] >= k->latest) {
			k->latest = b->ticks[i];
			k->latest_kernel = kernel;
		}
	}
}

static void take_batch(struct checking *k, unsigned core, uint64_t first)
{
	const struct dt_batch *b = k->batch;
	uint64_t *count = k->c->of_site, last = k->latest;
	bool back = false;

	for (uint32_t i = 0; i < b->n; i++) {
		back |= b->ticks[i] < last;
		last = b->ticks[i];
		count[b->site[i]]++;
	}
	if (k->shared)
		return;
	if (back) {
		find_disorder(k, core, first);
	} else {
		k->latest = last;
		k->latest_kernel = is_kernel(k, b->site[b->n - 1]);
	}
}

/* Checks a decoded chunk: its records, and that their times are those of its row. -1: a record
 * cannot be decoded. */
static int take_chunk(struct checking *k, sqlite3_stmt *q, unsigned core, uint64_t first)
{
	uint64_t low = UINT64_MAX, high = 0;
	struct dt_error why = {""};
	int64_t id = sqlite3_column_int64(q, 0);

	check_dictionary(k, id);
	check_threads(k, core, first);
	k->decoder.has_values =
		false; /* the sizes of the values have been checked, and any bits are a value */
	for (uint64_t at = first;; at += k->batch->n) {
		const struct dt_batch *b = k->batch;

		if (dt_decoder_batch(&k->decoder, core, k->batch, &why)) {
			dt_faults_add(k->f, DT_FAULT_CHUNK, "chunk %ld, of core %u: %s", (long)id,
				      core, why.text);
			return -1;
		}
		if (!b->n)
			break;
		for (uint32_t i = 0; i < b->n; i++) {
			low = b->ticks[i] < low ? b->ticks[i] : low;
			high = b->ticks[i] > high ? b->ticks[i] : high;
		}
		take_batch(k, core, at);
	}
	if (low != u64(q, 4) || high != u64(q, 5))
		dt_faults_add(
			k->f, DT_FAULT_HEAD,
			"chunk %ld: its records are from tick %lu to %lu, its row says %lu to %lu",
			(long)id, (unsigned long)low, (unsigned long)high, (unsigned long)u64(q, 4),
			(unsigned long)u64(q, 5));
	k->c->begin = low < k->c->begin ? low : k->c->begin;
	k->c->end = high > k->c->end ? high : k->c->end;
	return 0;
}

/* Checks a row of table chunk. False: fn wants no more, so the check is interrupted. */
static bool on_chunk(struct checking *k, sqlite3_stmt *q)
{
	int64_t id = sqlite3_column_int64(q, 0), core = sqlite3_column_int64(q, 1);
	uint64_t first = u64(q, 2), records = u64(q, 3);
	struct dt_error why = {"damaged: impossible head"};
	const void *vals;

	k->c->chunks++;
	if (core < 0 || core > DT_SHARED_CORE) {
		dt_faults_add(k->f, DT_FAULT_ROW, "chunk %ld: core %ld", (long)id, (long)core);
		k->c->cut = true;
		return true;
	}
	if (first == 0 || k->records[core] == 0) { /* the core's first chunk */
		k->latest = 0;
		k->latest_kernel = false;
		k->shared = core >= DT_SHARED_CORES;
	}
	if (k->pruned && !k->records[core]) /* --last has removed what was before */
		k->records[core] = k->gone[core] = first;
	if (first != k->records[core])
		dt_faults_add(k->f, DT_FAULT_PLACE,
			      "chunk %ld: core %ld has %lu records before it, its row says %lu",
			      (long)id, (long)core, (unsigned long)k->records[core],
			      (unsigned long)first);
	k->records[core] = first + records;
	/* SQLite gives NULL for a blob of no bytes, but NULL would mean that the values are not
	 * wanted */
	vals = sqlite3_column_blob(q, 7);
	if (records > DT_CHUNK_MAX ||
	    dt_decoder_load(&k->decoder, k->r->dctx, sqlite3_column_blob(q, 6),
			    (size_t)sqlite3_column_bytes(q, 6), vals ? vals : "",
			    (size_t)sqlite3_column_bytes(q, 7), (uint32_t)records, k->c->sites,
			    &why)) {
		dt_faults_add(k->f, DT_FAULT_CHUNK, "chunk %ld, of core %ld: %s", (long)id,
			      (long)core, why.text);
		k->c->cut = true;
	} else if (take_chunk(k, q, (unsigned)core, first)) {
		k->c->cut = true;
	} else {
		k->c->records += records;
	}
	return !k->fn || k->fn(k->ctx, records);
}

static int check_chunks(struct checking *k)
{
	static const char sql[] = "SELECT id, core, first, records, min_ticks, max_ticks, events, "
				  "vals FROM chunk ORDER BY core, first";
	sqlite3_stmt *q = NULL;
	bool on = true;
	int rc = sqlite3_prepare_v2(k->r->db, sql, -1, &q, NULL);

	while (rc == SQLITE_OK && on && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		on = on_chunk(k, q);
		rc = SQLITE_OK;
	}
	if (on && rc != SQLITE_DONE) {
		dt_faults_add(k->f, DT_FAULT_FILE, "table chunk: %s", sqlite3_errmsg(k->r->db));
		k->c->cut = true;
	}
	sqlite3_finalize(q);
	return on ? 0 : dt_fail(k->e, "interrupted");
}

/* ---- losses ---- */

static void on_loss(struct checking *k, sqlite3_stmt *q)
{
	int64_t core = sqlite3_column_int64(q, 0);
	uint64_t after = u64(q, 1), lost = u64(q, 2), begin = u64(q, 3), end = u64(q, 4);

	if (core < 0 || core > DT_SHARED_CORE) {
		dt_faults_add(k->f, DT_FAULT_ROW, "loss: core %ld", (long)core);
		return;
	}
	k->c->lost += lost;
	k->lost[core] += lost;
	if (!lost || lost > INT64_MAX)
		dt_faults_add(k->f, DT_FAULT_LOSS, "core %ld, behind record %lu: %ld records",
			      (long)core, (unsigned long)after, (long)lost);
	else if (after > k->records[core] && (k->records[core] || !k->pruned))
		dt_faults_add(k->f, DT_FAULT_LOSS, "core %ld, behind record %lu: it has but %lu",
			      (long)core, (unsigned long)after, (unsigned long)k->records[core]);
	else if (end && end < begin)
		dt_faults_add(k->f, DT_FAULT_LOSS,
			      "core %ld, behind record %lu: it ends before it begins", (long)core,
			      (unsigned long)after);
	else if (!end && after < k->records[core])
		dt_faults_add(k->f, DT_FAULT_LOSS,
			      "core %ld, behind record %lu: no end, but records come after",
			      (long)core, (unsigned long)after);
}

/* A loss of switches that is none, or is larger than the whole loss. */
static void on_lost_switches(struct checking *k, sqlite3_stmt *q)
{
	dt_faults_add(k->f, DT_FAULT_LOSS,
		      "core %ld, behind record %lu: %ld context switches of %ld records",
		      (long)sqlite3_column_int64(q, 0), (unsigned long)u64(q, 1),
		      (long)sqlite3_column_int64(q, 2), (long)sqlite3_column_int64(q, 3));
}

/* ---- written ---- */

/* Compares how many records of a core all its sources wrote with those that are here or lost. */
static void on_written(struct checking *k, sqlite3_stmt *q)
{
	int64_t core = sqlite3_column_int64(q, 0);
	uint64_t records = u64(q, 1), dropped = u64(q, 2), here;
	char left[64] = "";

	if (core < 0 || core > DT_SHARED_CORE) {
		dt_faults_add(k->f, DT_FAULT_ROW, "written: core %ld", (long)core);
		return;
	}
	here = k->records[core] - k->gone[core] + k->lost[core] + k->left[core];
	k->recorded[core] = true;
	k->c->written_known = true;
	k->c->written += records + dropped;
	if (k->left[core])
		dt_format(left, sizeof(left), ", %lu were left out by a filter%s",
			  (unsigned long)k->left[core], k->pruned ? " or --last" : "");
	if (records + dropped != here && !k->c->cut)
		dt_faults_add(
			k->f, DT_FAULT_WRITTEN,
			"core %ld: %s wrote %lu, and had no place for %lu; %lu are here and %lu "
			"are counted as lost%s",
			(long)core, sqlite3_column_text(q, 3), (unsigned long)records,
			(unsigned long)dropped, (unsigned long)(k->records[core] - k->gone[core]),
			(unsigned long)k->lost[core], left);
}

/* Takes how many records of a core its session has left out. */
static void on_left(struct checking *k, sqlite3_stmt *q)
{
	int64_t core = sqlite3_column_int64(q, 0);

	if (core < 0 || core > DT_SHARED_CORE)
		dt_faults_add(k->f, DT_FAULT_ROW, "left_records: core %ld", (long)core);
	else
		k->left[core] = u64(q, 1);
}

/* Compares what the writers of the records say with what is in the file. A file without table
 * written is not checked. */
static void check_written(struct checking *k)
{
	each(k, "left_records", "SELECT core, records FROM left_records", on_left);
	each(k, "written",
	     "SELECT core, sum(records), sum(dropped), group_concat(source, ' and ') "
	     "FROM written GROUP BY core",
	     on_written);
	for (unsigned i = 0; i <= DT_SHARED_CORE && k->c->written_known; i++)
		if (!k->recorded[i] && k->records[i] + k->lost[i])
			dt_faults_add(
				k->f, DT_FAULT_WRITTEN,
				"core %u: nobody wrote any; %lu are here and %lu are counted as lost",
				i, (unsigned long)k->records[i], (unsigned long)k->lost[i]);
}

/* ---- all of it ---- */

int dt_check_file(struct dt_reader *r, struct dt_faults *f, struct dt_check_chunks *c,
		  bool (*fn)(void *ctx, uint64_t records), void *ctx, struct dt_error *e)
{
	struct checking *k = calloc(1, sizeof(*k));
	int rc = -1;

	*c = (struct dt_check_chunks){.begin = UINT64_MAX, .sites = dt_reader_sites(r)};
	c->of_site = calloc((size_t)c->sites + 1, sizeof(*c->of_site));
	if (!k || !c->of_site || !(k->batch = malloc(sizeof(*k->batch)))) {
		dt_fail(e, "out of memory");
		goto out;
	}
	k->r = r;
	k->f = f;
	k->c = c;
	k->e = e;
	k->fn = fn;
	k->ctx = ctx;
	k->tid = DT_NO_TID;
	k->pruned = dt_reader_meta(r, "pruned");
	each(k, "sqlite_schema", "PRAGMA quick_check(10)", on_damage);
	check_numbers(k);
	check_tables(k);
	dt_check_rows(r, f, c);
	check_functions(k);
	if (check_chunks(k))
		goto out;
	check_sites(k);
	each(k, "loss",
	     "SELECT core, after, lost, begin_ticks, end_ticks FROM loss ORDER BY core, after",
	     on_loss);
	each(k, "lost_switches",
	     "SELECT s.core, s.after, s.lost, l.lost FROM lost_switches s LEFT JOIN loss l "
	     "USING(core, after) WHERE l.lost IS NULL OR s.lost NOT BETWEEN 0 AND l.lost",
	     on_lost_switches);
	check_written(k);
	rc = 0;
out:
	if (k) {
		dt_decoder_free(&k->decoder);
		free(k->batch);
		free(k->strange);
	}
	free(k);
	return rc;
}

void dt_check_chunks_free(struct dt_check_chunks *c)
{
	free(c->of_site);
	c->of_site = NULL;
}

void dt_check_hold(struct dt_reader *r)
{
	sqlite3_exec(r->db, "BEGIN; SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
}

void dt_check_let_go(struct dt_reader *r)
{
	sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL);
}
