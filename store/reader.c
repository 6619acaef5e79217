/* SPDX-License-Identifier: MIT */
/* What a trace file says about itself: sites, functions, threads, clocks, losses. */
#include "store/reader-work.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "core/whole.h"

int dt_reader_summary(struct dt_reader *r, struct dt_summary *s, struct dt_error *e)
{
	int64_t version = dt_reader_version(r);

	if (r->summed && r->summed == version) {
		*s = r->summary;
		return 0;
	}
	*s = (struct dt_summary){0};
	s->records = (uint64_t)dt_reader_single(r, "SELECT ifnull(sum(records),0) FROM chunk");
	if (sqlite3_errcode(r->db) != SQLITE_ROW && sqlite3_errcode(r->db) != SQLITE_OK)
		return dt_reader_sql_error(r, e);
	s->lost = (uint64_t)dt_reader_single(r, "SELECT ifnull(sum(lost),0) FROM loss");
	s->chunks = (uint64_t)dt_reader_single(r, "SELECT count(*) FROM chunk");
	s->min_ticks = (uint64_t)dt_reader_single(r, "SELECT ifnull(min(min_ticks),0) FROM chunk");
	s->max_ticks = (uint64_t)dt_reader_single(r, "SELECT ifnull(max(max_ticks),0) FROM chunk");
	s->cores = (unsigned)dt_reader_single(r, "SELECT count(DISTINCT core) FROM chunk");
	r->summary = *s;
	r->summed = version;
	return 0;
}

int dt_reader_all_written(struct dt_reader *r, struct dt_error *e)
{
#define WRITTEN(left)                                                                              \
	"SELECT * FROM (SELECT core, sum(records + dropped) AS w,"                                 \
	" (SELECT ifnull(sum(records), 0) FROM chunk c WHERE c.core = w.core) AS n,"               \
	" (SELECT ifnull(sum(lost), 0) FROM loss l WHERE l.core = w.core) AS lost, " left          \
	" AS gone FROM written w GROUP BY core) WHERE w <> n + lost + gone LIMIT 1"
	static const char sql[] = WRITTEN(
		"(SELECT ifnull(sum(records), 0) FROM left_records f WHERE f.core = w.core)");
	static const char old[] = WRITTEN("0");
	sqlite3_stmt *q;
	int rc = 0;

	/* older files lack table left_records, and even older ones table written */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK &&
	    sqlite3_prepare_v2(r->db, old, -1, &q, NULL) != SQLITE_OK)
		return 0;
	if (sqlite3_step(q) == SQLITE_ROW)
		rc = dt_fail(
			e,
			"the trace does not add up: %ld records of core %ld were written, %ld are here "
			"and %ld are counted as lost",
			(long)sqlite3_column_int64(q, 1), (long)sqlite3_column_int64(q, 0),
			(long)sqlite3_column_int64(q, 2), (long)sqlite3_column_int64(q, 3));
	sqlite3_finalize(q);
	return rc;
}

int dt_reader_cores(struct dt_reader *r, unsigned **core, size_t *n, struct dt_error *e)
{
	sqlite3_stmt *q;
	int rc =
		sqlite3_prepare_v2(r->db,
				   "SELECT DISTINCT core FROM chunk WHERE core BETWEEN 0 AND 65535 "
				   "ORDER BY core",
				   -1, &q, NULL);

	*core = NULL;
	*n = 0;
	while (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
		unsigned *p = realloc(*core, (*n + 1) * sizeof(*p));

		if (!p)
			break;
		*core = p;
		p[(*n)++] = (unsigned)sqlite3_column_int(q, 0);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(q);
	if (rc == SQLITE_DONE)
		return 0;
	free(*core);
	*core = NULL;
	return rc == SQLITE_OK ? dt_fail(e, "out of memory") : dt_reader_sql_error(r, e);
}

/* Returns element id - 1 of an array; NULL: there is none. */
static const void *element(const struct dt_array *a, uint32_t id, size_t size)
{
	return id == 0 || id > a->n ? NULL : (const char *)a->p + size * (id - 1);
}

const struct dt_site *dt_reader_site(const struct dt_reader *r, uint32_t id)
{
	return element(&r->tables.sites, id, sizeof(struct dt_site));
}

const struct dt_function_info *dt_reader_function(const struct dt_reader *r, uint32_t id)
{
	return element(&r->tables.functions, id, sizeof(struct dt_function_info));
}

const char *dt_reader_function_name(const struct dt_reader *r, uint32_t id)
{
	const struct dt_function_info *f = dt_reader_function(r, id);

	return f && f->name[0] ? f->shown : "?";
}

const struct dt_module_info *dt_reader_module(const struct dt_reader *r, uint32_t id)
{
	return element(&r->tables.modules, id, sizeof(struct dt_module_info));
}

const char *dt_reader_type(const struct dt_reader *r, uint32_t id)
{
	const struct dt_type_info *i = element(&r->tables.types, id, sizeof(*i));

	return i ? i->text : NULL;
}

const struct dt_jit_info *dt_reader_jit(const struct dt_reader *r, size_t *n)
{
	*n = r->tables.jit.n;
	return r->tables.jit.p;
}

uint32_t dt_reader_sites(const struct dt_reader *r)
{
	return (uint32_t)r->tables.sites.n;
}

uint32_t dt_reader_functions(const struct dt_reader *r)
{
	return (uint32_t)r->tables.functions.n;
}

uint32_t dt_reader_modules(const struct dt_reader *r)
{
	return (uint32_t)r->tables.modules.n;
}

const struct dt_thread_info *dt_reader_threads(const struct dt_reader *r, size_t *n)
{
	*n = r->tables.threads.n;
	return r->tables.threads.p;
}

const struct dt_process_info *dt_reader_processes(const struct dt_reader *r, size_t *n)
{
	*n = r->tables.processes.n;
	return r->tables.processes.p;
}

const struct dt_process_info *dt_reader_process(const struct dt_reader *r, uint32_t pid)
{
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(r, &n);

	for (size_t i = 0; i < n; i++)
		if (p[i].pid == pid)
			return &p[i];
	return NULL;
}

const struct dt_exec_info *dt_reader_execs(const struct dt_reader *r, size_t *n)
{
	*n = r->tables.execs.n;
	return r->tables.execs.p;
}

uint64_t dt_reader_exec(const struct dt_reader *r, uint32_t pid, uint64_t from)
{
	const struct dt_exec_info *x = r->tables.execs.p;
	size_t low = dt_count_before(r->tables.execs.n, i,
				     x[i].pid < pid || (x[i].pid == pid && x[i].ticks < from));

	return low < r->tables.execs.n && x[low].pid == pid ? x[low].ticks : UINT64_MAX;
}

const struct dt_thread_info *dt_reader_thread(const struct dt_reader *r, uint32_t tid)
{
	const struct dt_thread_info *t = r->tables.threads.p;
	size_t low = dt_count_before(r->tables.threads.n, i, t[i].tid < tid);

	return low < r->tables.threads.n && t[low].tid == tid ? &t[low] : NULL;
}

uint32_t dt_reader_number(const struct dt_reader *r, uint32_t id)
{
	const struct dt_number_info *a = r->tables.numbers.p;
	size_t low = dt_count_before(r->tables.numbers.n, i, a[i].id < id);

	return low < r->tables.numbers.n && a[low].id == id ? a[low].number : id;
}

uint16_t dt_reader_ring_core(const struct dt_reader *r, unsigned ring)
{
	const char *text;
	unsigned long cores;

	if (ring < DT_FURTHER_CORES)
		return (uint16_t)ring;
	text = dt_reader_meta(r, "cores");
	cores = text ? strtoul(text, NULL, 10) : 0;
	return ring < DT_SHARED_CORES && cores ? (uint16_t)((ring - DT_FURTHER_CORES) % cores)
					       : DT_SHARED_CORE;
}

const char *dt_reader_meta(const struct dt_reader *r, const char *key)
{
	const struct dt_meta *m = r->tables.meta.p;

	for (size_t i = 0; i < r->tables.meta.n; i++)
		if (!strcmp(m[i].key, key))
			return m[i].value;
	return NULL;
}

const struct dt_event_row *dt_reader_events(const struct dt_reader *r, size_t *n)
{
	*n = r->tables.events.n;
	return r->tables.events.p;
}

const struct dt_event_row *dt_reader_event(const struct dt_reader *r, uint64_t body)
{
	uint32_t subsystem = (uint32_t)(body >> 48), event = body >> 32 & 0xffff;
	const struct dt_event_row *row = r->tables.events.p;
	size_t n = r->tables.events.n,
	       low = dt_count_before(
		       n, i,
		       row[i].subsystem < subsystem ||
			       (row[i].subsystem == subsystem && row[i].event < event));

	if (low < n && row[low].subsystem == subsystem && row[low].event == event)
		return &row[low];
	/* the row of the subsystem itself comes after those of its events */
	while (low < n && row[low].subsystem == subsystem && row[low].event != DT_NO_EVENT)
		low++;
	return low < n && row[low].subsystem == subsystem ? &row[low] : NULL;
}

int64_t dt_reader_clock_offset(const struct dt_reader *r, unsigned core)
{
	const char *text;
	char key[32];

	dt_format(key, sizeof(key), "clock_offset.%u", core);
	text = dt_reader_meta(r, key);
	return text ? strtoll(text, NULL, 10) : 0;
}

bool dt_reader_clock(const struct dt_reader *r, struct dt_clock *first, struct dt_clock *last)
{
	const struct dt_clock *c = r->tables.clocks.p;

	if (!r->tables.clocks.n)
		return false;
	*first = c[0];
	*last = c[r->tables.clocks.n - 1];
	return true;
}

bool dt_reader_is_rate(double ns_per_tick)
{
	return ns_per_tick >= 1e-3 && ns_per_tick <= 1e6;
}

/* Returns how many ns a tick has between two readings of the clocks; 0: these do not say. */
static double rate_between(const struct dt_clock *a, const struct dt_clock *b)
{
	double rate;

	if (b->ticks <= a->ticks || b->monotonic_ns <= a->monotonic_ns)
		return 0;
	rate = (double)(b->monotonic_ns - a->monotonic_ns) / (double)(b->ticks - a->ticks);
	return dt_reader_is_rate(rate) ? rate : 0;
}

double dt_reader_ns_per_tick(const struct dt_reader *r)
{
	struct dt_clock a, b;
	const char *hz = dt_reader_meta(r, "ticks_per_second");
	double rate = dt_reader_clock(r, &a, &b) ? rate_between(&a, &b) : 0;

	if (rate > 0)
		return rate;
	rate = hz ? 1e9 / strtod(hz, NULL) : 1;
	return dt_reader_is_rate(rate) ? rate : 1;
}

/* Returns the index of the last reading of the clocks that is not after ticks, or else of the
 * first. There must be one. */
static size_t clock_before(const struct dt_reader *r, uint64_t ticks)
{
	const struct dt_clock *c = r->tables.clocks.p;
	size_t low = dt_count_before(r->tables.clocks.n, i, c[i].ticks <= ticks);

	return low ? low - 1 : 0;
}

bool dt_reader_realtime(const struct dt_reader *r, uint64_t ticks, uint64_t *ns)
{
	const struct dt_clock *c = r->tables.clocks.p;

	if (!r->tables.clocks.n)
		return false;
	c += clock_before(r, ticks);
	*ns = dt_reader_ns(r, ticks) - c->monotonic_ns + c->realtime_ns;
	return c->realtime_ns != 0;
}

uint64_t dt_reader_ns(const struct dt_reader *r, uint64_t ticks)
{
	const struct dt_clock *c = r->tables.clocks.p;
	size_t n = r->tables.clocks.n, low;
	double rate = 0;

	if (!n)
		return (uint64_t)dt_whole((double)ticks * dt_reader_ns_per_tick(r));
	low = clock_before(r, ticks);
	if (low + 1 < n)
		rate = rate_between(&c[low], &c[low + 1]);
	if (!(rate > 0))
		rate = dt_reader_ns_per_tick(r);
	return c[low].monotonic_ns +
	       (uint64_t)dt_whole((double)(int64_t)(ticks - c[low].ticks) * rate);
}

void dt_reader_lost_kinds(sqlite3_stmt *q, int column, uint64_t lost, bool *switches, bool *others)
{
	uint64_t of_them = (uint64_t)sqlite3_column_int64(q, column);

	*switches = sqlite3_column_type(q, column) != SQLITE_NULL;
	*others = !*switches || of_them != lost;
}

int dt_reader_losses(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_lost *l), void *ctx)
{
#define SELECT_LOSSES(kinds)                                                                       \
	"SELECT core, lost, begin_ticks, end_ticks, " kinds " FROM loss l "                        \
	"WHERE core BETWEEN 0 AND 65535 ORDER BY core, begin_ticks < 0, begin_ticks, after"
	static const char with[] = SELECT_LOSSES("(SELECT x.lost FROM lost_switches x WHERE "
						 "x.core=l.core AND x.after=l.after)"),
			  without[] = SELECT_LOSSES("0");
	sqlite3_stmt *q;
	int rc = 0;

	if (sqlite3_prepare_v2(r->db, r->kinds ? with : without, -1, &q, NULL))
		return -1;
	while (!rc && sqlite3_step(q) == SQLITE_ROW) {
		struct dt_lost l = {.core = (unsigned)sqlite3_column_int(q, 0),
				    .lost = (uint64_t)sqlite3_column_int64(q, 1),
				    .begin = (uint64_t)sqlite3_column_int64(q, 2),
				    .end = (uint64_t)sqlite3_column_int64(q, 3)};

		dt_reader_lost_kinds(q, 4, l.lost, &l.switches, &l.others);
		rc = fn(ctx, &l);
	}
	sqlite3_finalize(q);
	return rc;
}

size_t dt_reader_holds(const struct dt_reader *r)
{
	return r->tables.holds_of;
}

const struct dt_times *dt_reader_pause_times(const struct dt_reader *r, size_t *n)
{
	*n = r->tables.pauses.n;
	return r->tables.pauses.p;
}

const struct dt_off *dt_reader_offs(const struct dt_reader *r, size_t *n, size_t *version)
{
	*n = r->tables.offs.n;
	*version = r->tables.offs.n + r->tables.offs_over;
	return r->tables.offs.p;
}

const struct dt_times *dt_reader_thread_holds(const struct dt_reader *r, uint32_t tid, size_t *n)
{
	const struct dt_held_thread *x = r->tables.held_threads.p;
	size_t low = dt_count_before(r->tables.held_threads.n, i, x[i].tid < tid);

	*n = 0;
	if (low == r->tables.held_threads.n || x[low].tid != tid)
		return NULL;
	*n = x[low].n;
	return (const struct dt_times *)r->tables.holds.p + x[low].first;
}

int dt_reader_helds(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_held_row *h),
		    void *ctx)
{
	static const char sql[] = "SELECT tid, begin_ticks, end_ticks, why FROM hold "
				  "ORDER BY begin_ticks, end_ticks";
	sqlite3_stmt *q;
	int rc = 0;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	while (rc == 0 && sqlite3_step(q) == SQLITE_ROW) {
		const char *why = (const char *)sqlite3_column_text(q, 3);
		struct dt_held_row h = {.tid = (uint32_t)sqlite3_column_int64(q, 0),
					.begin = (uint64_t)sqlite3_column_int64(q, 1),
					.end = (uint64_t)sqlite3_column_int64(q, 2),
					.why = why ? why : ""};

		rc = fn(ctx, &h);
	}
	sqlite3_finalize(q);
	return rc;
}

int dt_reader_pauses(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_pause *p), void *ctx)
{
	static const char sql[] = "SELECT begin_ticks, end_ticks, why='stopped', times, missed "
				  "FROM pause ORDER BY begin_ticks, end_ticks";
	sqlite3_stmt *q;
	int rc = 0;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL))
		return sqlite3_errcode(r->db) == SQLITE_ERROR ? 0 : -1;
	while (!rc && sqlite3_step(q) == SQLITE_ROW) {
		struct dt_pause p = {.begin = (uint64_t)sqlite3_column_int64(q, 0),
				     .end = (uint64_t)sqlite3_column_int64(q, 1),
				     .stopped = sqlite3_column_int(q, 2) != 0,
				     .times = (uint64_t)sqlite3_column_int64(q, 3),
				     .missed = sqlite3_column_type(q, 4) == SQLITE_NULL
						       ? DT_NOT_KNOWN
						       : (uint64_t)sqlite3_column_int64(q, 4)};

		rc = fn(ctx, &p);
	}
	sqlite3_finalize(q);
	return rc;
}

int dt_reader_changes(struct dt_reader *r, int (*fn)(void *ctx, const struct dt_change *c),
		      void *ctx)
{
	static const char sql[] = "SELECT begin_ticks, end_ticks, command, off FROM change "
				  "ORDER BY begin_ticks, end_ticks";
	sqlite3_stmt *q;
	int rc = 0;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL))
		return sqlite3_errcode(r->db) == SQLITE_ERROR ? 0 : -1;
	while (!rc && sqlite3_step(q) == SQLITE_ROW) {
		const char *command = (const char *)sqlite3_column_text(q, 2);
		struct dt_change c = {.begin = (uint64_t)sqlite3_column_int64(q, 0),
				      .end = (uint64_t)sqlite3_column_int64(q, 1),
				      .command = command ? command : "",
				      .off = sqlite3_column_int(q, 3) != 0};

		rc = fn(ctx, &c);
	}
	sqlite3_finalize(q);
	return rc;
}

int dt_reader_chunks(struct dt_reader *r,
		     int (*fn)(void *ctx, unsigned core, uint64_t records, uint64_t min_ticks,
			       uint64_t max_ticks),
		     void *ctx)
{
	sqlite3_stmt *q;
	int rc = 0;

	/* all these columns are in the index: the chunks themselves are not touched */
	if (sqlite3_prepare_v2(r->db,
			       "SELECT core, records, min_ticks, max_ticks FROM chunk "
			       "INDEXED BY chunk_order WHERE core BETWEEN 0 AND 65535",
			       -1, &q, NULL))
		return -1;
	while (!rc && sqlite3_step(q) == SQLITE_ROW) {
		int64_t records = sqlite3_column_int64(q, 1);

		/* callers plan their work by this number */
		if (records <= 0 || records > DT_CHUNK_MAX)
			rc = 1;
		else
			rc = fn(ctx, (unsigned)sqlite3_column_int(q, 0), (uint64_t)records,
				(uint64_t)sqlite3_column_int64(q, 2),
				(uint64_t)sqlite3_column_int64(q, 3));
	}
	sqlite3_finalize(q);
	return rc;
}
