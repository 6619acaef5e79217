/* SPDX-License-Identifier: MIT */
/* The tables of a fleet, as views of those of its traces, which are made when they are asked for.
 */
#include "cmd/sql-fleet.h"

#include <math.h>
#include <stdlib.h>

struct clock {
	struct dt_fleet *fleet;
	int64_t begin;
	int what; /* 0: as drawn, -1: at the earliest, 1: at the latest */
};

/* ns of the fleet, outwards: a bound is never on the wrong side. */
static int64_t ns_of(int64_t units, int what)
{
	int64_t ns = units / DT_ALIGN_NS, rest = units % DT_ALIGN_NS;

	return ns + (what > 0 && rest > 0) - (what <= 0 && rest < 0);
}

static void at(sqlite3_context *to, int n, sqlite3_value **value)
{
	const struct clock *c = sqlite3_user_data(to);
	int64_t host = sqlite3_value_int64(value[0]);
	struct dt_knot k;

	(void)n;
	if (host < 0 || host >= c->fleet->hosts || sqlite3_value_type(value[1]) == SQLITE_NULL)
		return;
	k = dt_fleet_place(c->fleet, (uint32_t)host, (uint64_t)sqlite3_value_int64(value[1]));
	if (c->what == 0)
		sqlite3_result_int64(to, ns_of(k.t - c->begin, 0));
	else if (c->what < 0 && k.early != DT_UNKNOWN_EARLY)
		sqlite3_result_int64(to, ns_of(k.early - c->begin, -1));
	else if (c->what > 0 && k.late != DT_UNKNOWN_LATE)
		sqlite3_result_int64(to, ns_of(k.late - c->begin, 1));
}

static int add_function(sqlite3 *db, const char *name, struct dt_fleet *f, int what)
{
	struct clock *c = malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*c = (struct clock){f, dt_fleet_begin(f), what};
	return sqlite3_create_function_v2(db, name, 2,
					  SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, c,
					  at, NULL, NULL, free);
}

/* Makes a view of a table of all traces; ticks: the column that says when a row was, or NULL. */
static int add_view(sqlite3 *db, const struct dt_fleet *f, const char *table, const char *ticks)
{
	sqlite3_str *s = sqlite3_str_new(db);
	char *sql;
	int rc;

	sqlite3_str_appendf(s, "CREATE TEMP VIEW \"%w\" AS ", table);
	for (uint32_t i = 0; i < f->hosts; i++) {
		sqlite3_str_appendf(s, "%sSELECT %Q AS host, t.*", i ? " UNION ALL " : "",
				    f->host[i].name);
		if (ticks)
			sqlite3_str_appendf(
				s,
				", fleet_at(%u, t.%s) AS at, fleet_early(%u, t.%s) AS early,"
				" fleet_late(%u, t.%s) AS late",
				i, ticks, i, ticks, i, ticks);
		sqlite3_str_appendf(s, " FROM devtrace_%s(%Q) t", table, f->host[i].path);
	}
	sql = sqlite3_str_finish(s);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

static int insert(sqlite3 *db, const char *format, ...)
{
	va_list ap;
	char *sql;
	int rc;

	va_start(ap, format);
	sql = sqlite3_vmprintf(format, ap);
	va_end(ap);
	rc = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	return rc;
}

static int add_hosts(sqlite3 *db, const struct dt_fleet *f)
{
	int rc = insert(db,
			"CREATE TEMP TABLE hosts(host TEXT, path TEXT, boot_id TEXT, clock INTEGER,"
			" records INTEGER, evidence INTEGER, reference INTEGER)");

	for (uint32_t i = 0; i < f->hosts && !rc; i++) {
		const struct dt_fleet_host *h = &f->host[i];

		rc = insert(db, "INSERT INTO temp.hosts VALUES(%Q, %Q, %Q, %u, %lld, %lld, %d)",
			    h->name, h->path, h->boot_id, h->clock, (long long)h->records,
			    (long long)f->clock[h->clock].decided, i == f->reference);
	}
	return rc;
}

static void bind_ns(sqlite3_stmt *q, int column, int64_t units, int what, bool known)
{
	if (known)
		sqlite3_bind_int64(q, column, ns_of(units, what));
	else
		sqlite3_bind_null(q, column);
}

/* The knots of all hosts; the ticks are those at or before a knot. */
static int add_alignment(sqlite3 *db, const struct dt_fleet *f)
{
	int64_t zero = dt_fleet_begin(f);
	sqlite3_stmt *q = NULL;
	int rc = insert(db,
			"CREATE TEMP TABLE alignment(host TEXT, ticks INTEGER, at INTEGER,"
			" early INTEGER, late INTEGER, likely_early INTEGER, likely_late INTEGER)");

	if (!rc)
		rc = sqlite3_prepare_v2(db, "INSERT INTO temp.alignment VALUES(?,?,?,?,?,?,?)", -1,
					&q, NULL);
	for (uint32_t i = 0; i < f->hosts && !rc; i++) {
		const struct dt_fleet_host *h = &f->host[i];
		const struct dt_aligned_clock *c = &f->clock[h->clock];

		for (size_t n = 0; n < c->knots && !rc; n++) {
			const struct dt_knot *k = &c->knot[n];
			bool early = k->early != DT_UNKNOWN_EARLY,
			     late = k->late != DT_UNKNOWN_LATE;

			sqlite3_bind_text(q, 1, h->name, -1, SQLITE_STATIC);
			sqlite3_bind_int64(q, 2, (int64_t)dt_fleet_ticks(h, k->x));
			bind_ns(q, 3, k->t - zero, 0, true);
			bind_ns(q, 4, early ? k->early - zero : 0, -1, early);
			bind_ns(q, 5, late ? k->late - zero : 0, 1, late);
			bind_ns(q, 6, early ? k->early - zero + k->likely : 0, -1, early);
			bind_ns(q, 7, late ? k->late - zero - k->likely : 0, 1, late);
			rc = sqlite3_step(q) == SQLITE_DONE ? 0 : SQLITE_ERROR;
			sqlite3_reset(q);
		}
	}
	sqlite3_finalize(q);
	return rc;
}

static int add_contradictions(sqlite3 *db, const struct dt_fleet *f)
{
	static const char *const kind[] = {"step", "perhaps", "false"};
	int rc = insert(db,
			"CREATE TEMP TABLE contradictions(kind TEXT, host TEXT, from_ticks INTEGER,"
			" to_ticks INTEGER, step REAL, impossible_by REAL, evidence TEXT)");

	for (size_t i = 0; i < f->breaks && !rc; i++) {
		const struct dt_fleet_break *b = &f->broken[i];

		rc = insert(db, "INSERT INTO temp.contradictions VALUES(%Q,%Q,%lld,%lld,%g,%g,%Q)",
			    kind[b->kind % 3], f->host[b->host].name, (long long)b->from_ticks,
			    (long long)b->to_ticks, (double)b->step / DT_ALIGN_NS,
			    (double)b->by / DT_ALIGN_NS, b->text);
	}
	return rc;
}

/* What one machine sent and another one received, by numbers that are used once. */
static const char messages[] =
	"CREATE TEMP VIEW messages AS WITH ends AS (SELECT host, kind, thread, at, early, late,"
	" value0 & 0xffffffffffffff AS k FROM records WHERE kind IN ('M', 'N')),"
	" once AS (SELECT k FROM ends GROUP BY k HAVING count(*)=2 AND min(kind)='M' AND"
	" max(kind)='N')"
	" SELECT s.k >> 12 AS key, s.host AS sender_host, r.host AS receiver_host,"
	" s.thread AS sender, r.thread AS receiver, s.at AS sent, r.at AS received,"
	" r.at - s.at AS duration, max(r.early - s.late, 0) AS least, r.late - s.early AS greatest"
	" FROM once JOIN ends s ON s.k=once.k AND s.kind='M' JOIN ends r ON r.k=once.k AND r.kind='N'";

int dt_sql_fleet(struct dt_sql_session *s, struct dt_fleet *f, struct dt_error *e)
{
	static const struct {
		const char *table, *ticks;
	} tables[] = {{"calls", "begin_ticks"}, {"records", "ticks"}, {"events", "ticks"},
		      {"switches", "ticks"},	{"lost", NULL},	      {"pauses", NULL},
		      {"threads", NULL},	{"processes", NULL},  {"functions", NULL},
		      {"held", NULL},		{"changes", NULL},    {"missed", NULL},
		      {"stacks", "end_ticks"}};
	int rc;

	*s = (struct dt_sql_session){0};
	if (sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE, NULL))
		return dt_fail(e, "out of memory");
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	s->sql = dt_sql_add(s->db, NULL, true, e);
	if (!s->sql)
		return -1;
	rc = add_function(s->db, "fleet_at", f, 0);
	if (!rc)
		rc = add_function(s->db, "fleet_early", f, -1);
	if (!rc)
		rc = add_function(s->db, "fleet_late", f, 1);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !rc; i++)
		rc = add_view(s->db, f, tables[i].table, tables[i].ticks);
	if (!rc)
		rc = add_hosts(s->db, f);
	if (!rc)
		rc = add_alignment(s->db, f);
	if (!rc)
		rc = add_contradictions(s->db, f);
	if (!rc)
		rc = insert(s->db, "%s", messages);
	return rc ? dt_fail(e, "the fleet's tables: %s", sqlite3_errmsg(s->db)) : 0;
}
