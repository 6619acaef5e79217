/* SPDX-License-Identifier: MIT */
/* The fleet's file. doc/format.md describes it. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/plain.h"
#include "fleet/fleet.h"
#include "store/journal.h"
#include "store/layout.h"

static const char schema[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT, path TEXT, boot_id TEXT,"
	" clock INTEGER, zero_ticks INTEGER, ns_per_tick REAL, first_ticks INTEGER,"
	" last_ticks INTEGER, records INTEGER);"
	"CREATE TABLE knot(clock INTEGER, x INTEGER, t INTEGER, early INTEGER, late INTEGER,"
	" likely INTEGER, PRIMARY KEY(clock, x)) WITHOUT ROWID;"
	"CREATE TABLE evidence(kind TEXT, from_host INTEGER, from_ticks INTEGER, to_host INTEGER,"
	" to_ticks INTEGER, slack INTEGER, item INTEGER, used TEXT);"
	"CREATE TABLE contradiction(kind TEXT, host INTEGER, from_ticks INTEGER, to_ticks INTEGER,"
	" step INTEGER, by INTEGER, evidence TEXT);";

static const char *const kinds[] = {"marker", "realtime", "message", "stream", "ping"};
static const char *const fates[] = {"implied", "decides", "not believed"};
static const char *const breaks[] = {"step", "perhaps", "false"};

/* Binds values by a format: i, int64; d, double; s, text. Runs the statement. */
static int put(sqlite3_stmt *q, const char *format, ...)
{
	va_list ap;
	int rc;

	va_start(ap, format);
	for (int i = 0; format[i]; i++)
		if (format[i] == 'i')
			sqlite3_bind_int64(q, i + 1, va_arg(ap, int64_t));
		else if (format[i] == 'd')
			sqlite3_bind_double(q, i + 1, va_arg(ap, double));
		else
			sqlite3_bind_text(q, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
	va_end(ap);
	rc = sqlite3_step(q);
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : -1;
}

static int write_meta(const struct dt_fleet *f, sqlite3_stmt *q)
{
	char text[40];

	snprintf(text, sizeof(text), "%u", f->reference);
	if (put(q, "ss", "reference", text))
		return -1;
	snprintf(text, sizeof(text), "%.9g", f->rate);
	if (put(q, "ss", "rate", text))
		return -1;
	snprintf(text, sizeof(text), "%.9g", f->wander);
	return put(q, "ss", "wander", text);
}

static int write_hosts(const struct dt_fleet *f, sqlite3_stmt *q, bool beside)
{
	for (uint32_t i = 0; i < f->hosts; i++) {
		const struct dt_fleet_host *h = &f->host[i];
		char *path = beside ? strdup(h->path) : realpath(h->path, NULL);
		int rc = put(q, "isssiidiii", (int64_t)i, h->name, path ? path : h->path,
			     h->boot_id, (int64_t)h->clock, (int64_t)h->zero, h->ns_per_tick,
			     (int64_t)h->first, (int64_t)h->last, (int64_t)h->records);

		free(path);
		if (rc)
			return -1;
	}
	return 0;
}

static int write_knots(const struct dt_fleet *f, sqlite3_stmt *q)
{
	for (uint32_t c = 0; c < f->clocks; c++)
		for (size_t i = 0; i < f->clock[c].knots; i++) {
			const struct dt_knot *k = &f->clock[c].knot[i];

			if (put(q, "iiiiii", (int64_t)c, k->x, k->t, k->early, k->late, k->likely))
				return -1;
		}
	return 0;
}

static int64_t host_number(uint32_t host)
{
	return host == DT_FLEET_REAL ? -1 : (int64_t)host;
}

static int write_evidence(const struct dt_fleet *f, sqlite3_stmt *q)
{
	for (size_t i = 0; i < f->pieces; i++) {
		const struct dt_fleet_piece *p = &f->piece[i];

		/* of what follows from the rest, there may be millions */
		if (p->fate == DT_FATE_IMPLIED)
			continue;
		if (put(q, "siiiiiis", kinds[p->kind % 5], host_number(p->from),
			(int64_t)p->from_ticks, host_number(p->to), (int64_t)p->to_ticks, p->slack,
			(int64_t)p->item, fates[p->fate % 3]))
			return -1;
	}
	return 0;
}

static int write_breaks(const struct dt_fleet *f, sqlite3_stmt *q)
{
	for (size_t i = 0; i < f->breaks; i++) {
		const struct dt_fleet_break *b = &f->broken[i];

		if (put(q, "siiiiis", breaks[b->kind % 3], (int64_t)b->host, (int64_t)b->from_ticks,
			(int64_t)b->to_ticks, b->step, b->by, b->text))
			return -1;
	}
	return 0;
}

static int write_all(const struct dt_fleet *f, sqlite3 *db, bool beside)
{
	static const char *const sql[] = {"INSERT INTO meta VALUES(?,?)",
					  "INSERT INTO host VALUES(?,?,?,?,?,?,?,?,?,?)",
					  "INSERT INTO knot VALUES(?,?,?,?,?,?)",
					  "INSERT INTO evidence VALUES(?,?,?,?,?,?,?,?)",
					  "INSERT INTO contradiction VALUES(?,?,?,?,?,?,?)"};
	int rc = 0;

	for (int i = 0; i < 5 && !rc; i++) {
		sqlite3_stmt *q = NULL;

		if (sqlite3_prepare_v2(db, sql[i], -1, &q, NULL))
			return -1;
		rc = i == 0   ? write_meta(f, q)
		     : i == 1 ? write_hosts(f, q, beside)
		     : i == 2 ? write_knots(f, q)
		     : i == 3 ? write_evidence(f, q)
			      : write_breaks(f, q);
		sqlite3_finalize(q);
	}
	return rc;
}

int dt_fleet_write(const struct dt_fleet *f, const char *path, bool beside, struct dt_error *e)
{
	char head[120];
	sqlite3 *db = NULL;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	dt_format(
		head, sizeof(head),
		"PRAGMA journal_mode=OFF; PRAGMA application_id=%d; PRAGMA user_version=%d; BEGIN",
		DT_FLEET_ID, DT_FLEET_FORMAT);
	if (!rc)
		rc = sqlite3_exec(db, head, NULL, NULL, NULL) ||
		     sqlite3_exec(db, schema, NULL, NULL, NULL) || write_all(f, db, beside) ||
		     sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc)
		dt_fail(e, "%s: cannot write: %s", path, sqlite3_errmsg(db));
	sqlite3_close(db);
	return rc ? -1 : 0;
}

/* ---- reading ---- */

bool dt_fleet_is(const char *path)
{
	char head[100] = {0};
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool is = fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
		  !memcmp(head, "SQLite format 3", 16) && !memcmp(head + 68, "dtfl", 4);

	if (fd >= 0)
		close(fd);
	return is;
}

static char *text(sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);
	size_t n = s ? strlen(s) : 0;
	char *to = malloc(dt_plain(NULL, s ? s : "", n) + 1);

	if (to)
		to[dt_plain(to, s ? s : "", n)] = '\0';
	return to;
}

/* Returns a path that can be opened: a relative one is from the fleet's folder. */
static char *whole(const char *fleet, const char *path)
{
	char *copy, *to = NULL;

	if (path[0] == '/')
		return strdup(path);
	copy = strdup(fleet);
	if (copy && asprintf(&to, "%s/%s", dirname(copy), path) < 0)
		to = NULL;
	free(copy);
	return to;
}

static int read_host(struct dt_fleet *f, sqlite3_stmt *q, const char *path)
{
	const char *at = (const char *)sqlite3_column_text(q, 2);
	struct dt_fleet_host *more = realloc(f->host, (f->hosts + 1) * sizeof(*more)), *h;

	if (!more)
		return -1;
	f->host = more;
	h = &more[f->hosts];
	*h = (struct dt_fleet_host){.name = text(q, 1),
				    .path = whole(path, at ? at : ""),
				    .boot_id = text(q, 3),
				    .clock = (uint32_t)sqlite3_column_int64(q, 4),
				    .zero = (uint64_t)sqlite3_column_int64(q, 5),
				    .ns_per_tick = sqlite3_column_double(q, 6),
				    .first = (uint64_t)sqlite3_column_int64(q, 7),
				    .last = (uint64_t)sqlite3_column_int64(q, 8),
				    .records = (uint64_t)sqlite3_column_int64(q, 9)};
	f->hosts++;
	if (h->clock >= f->clocks)
		f->clocks = h->clock + 1;
	return h->name && h->path && h->boot_id && sqlite3_column_int64(q, 0) == f->hosts - 1 &&
			       f->hosts <= DT_FLEET_HOSTS && h->clock < DT_FLEET_HOSTS &&
			       h->ns_per_tick >= 1e-3 && h->ns_per_tick <= 1e6 &&
			       h->first <= h->last
		       ? 0
		       : -1;
}

static bool is_far(int64_t x)
{
	return x > 4 * DT_ALIGN_LIMIT || x < -4 * DT_ALIGN_LIMIT;
}

static int read_knot(struct dt_fleet *f, sqlite3_stmt *q)
{
	uint64_t c = (uint64_t)sqlite3_column_int64(q, 0);
	struct dt_aligned_clock *to = c < f->clocks ? &f->clock[c] : NULL;
	struct dt_knot k = {sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2),
			    sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4),
			    sqlite3_column_int64(q, 5)};

	if (!to || is_far(k.x) || is_far(k.t) || k.likely < 0 || is_far(k.likely) ||
	    (k.early != DT_UNKNOWN_EARLY && is_far(k.early)) ||
	    (k.late != DT_UNKNOWN_LATE && is_far(k.late)) ||
	    (to->knots && to->knot[to->knots - 1].x >= k.x))
		return -1;
	if (!(to->knots & (to->knots - 1))) {
		struct dt_knot *more =
			realloc(to->knot, (to->knots ? 2 * to->knots : 1) * sizeof(*more));

		if (!more)
			return -1;
		to->knot = more;
	}
	to->knot[to->knots++] = k;
	to->known |= k.early != DT_UNKNOWN_EARLY && k.late != DT_UNKNOWN_LATE;
	return 0;
}

static uint8_t word(sqlite3_stmt *q, int column, const char *const *words, uint8_t n)
{
	const char *s = (const char *)sqlite3_column_text(q, column);

	for (uint8_t i = 0; s && i < n; i++)
		if (!strcmp(s, words[i]))
			return i;
	return 0;
}

static int read_break(struct dt_fleet *f, sqlite3_stmt *q)
{
	struct dt_fleet_break *more = realloc(f->broken, (f->breaks + 1) * sizeof(*more)), *b;

	if (!more)
		return -1;
	f->broken = more;
	b = &more[f->breaks];
	*b = (struct dt_fleet_break){.kind = word(q, 0, breaks, 3),
				     .host = (uint32_t)sqlite3_column_int64(q, 1),
				     .from_ticks = (uint64_t)sqlite3_column_int64(q, 2),
				     .to_ticks = (uint64_t)sqlite3_column_int64(q, 3),
				     .step = sqlite3_column_int64(q, 4),
				     .by = sqlite3_column_int64(q, 5),
				     .text = text(q, 6)};
	f->breaks++;
	return b->text && b->host < f->hosts && f->breaks < 10000 ? 0 : -1;
}

static int read_evidence(struct dt_fleet *f, sqlite3_stmt *q)
{
	int64_t from = sqlite3_column_int64(q, 0), to = sqlite3_column_int64(q, 1);

	if (from >= f->hosts || to >= f->hosts)
		return -1;
	if (from >= 0)
		f->clock[f->host[from].clock].decided += (uint64_t)sqlite3_column_int64(q, 2);
	if (to >= 0)
		f->clock[f->host[to].clock].decided += (uint64_t)sqlite3_column_int64(q, 2);
	return 0;
}

static int read_meta(struct dt_fleet *f, sqlite3_stmt *q)
{
	const char *key = (const char *)sqlite3_column_text(q, 0);

	if (!key)
		return -1;
	if (!strcmp(key, "reference"))
		f->reference = (uint32_t)sqlite3_column_int64(q, 1);
	else if (!strcmp(key, "rate"))
		f->rate = sqlite3_column_double(q, 1);
	else if (!strcmp(key, "wander"))
		f->wander = sqlite3_column_double(q, 1);
	return 0;
}

static int read_rows(struct dt_fleet *f, sqlite3 *db, const char *path, int what)
{
	static const char *const sql[] = {
		"SELECT id, name, path, boot_id, clock, zero_ticks, ns_per_tick, first_ticks, last_ticks, "
		"records FROM host ORDER BY id",
		"SELECT key, value FROM meta",
		"SELECT clock, x, t, early, late, likely FROM knot ORDER BY clock, x",
		"SELECT kind, host, from_ticks, to_ticks, step, by, evidence FROM contradiction",
		"SELECT from_host, to_host, count(*) FROM evidence WHERE used='decides' GROUP BY 1, 2"};
	sqlite3_stmt *q = NULL;
	int rc = sqlite3_prepare_v2(db, sql[what], -1, &q, NULL) ? -1 : 0, step = SQLITE_DONE;

	while (!rc && (step = sqlite3_step(q)) == SQLITE_ROW)
		rc = what == 0	 ? read_host(f, q, path)
		     : what == 1 ? read_meta(f, q)
		     : what == 2 ? read_knot(f, q)
		     : what == 3 ? read_break(f, q)
				 : read_evidence(f, q);
	sqlite3_finalize(q);
	return !rc && step == SQLITE_DONE ? 0 : -1;
}

static int read_all(struct dt_fleet *f, sqlite3 *db, const char *path, struct dt_error *e)
{
	for (int i = 0; i < 5; i++) {
		if (read_rows(f, db, path, i))
			return dt_fail(e, "%s: the fleet is damaged", path);
		if (i == 0 && (!f->hosts || !(f->clock = calloc(f->clocks, sizeof(*f->clock)))))
			return dt_fail(e, "%s: the fleet is damaged: it has no hosts", path);
	}
	for (uint32_t c = 0; c < f->clocks; c++)
		if (!f->clock[c].knots)
			return dt_fail(e, "%s: the fleet is damaged: a clock is not aligned", path);
	return f->reference < f->hosts ? 0 : dt_fail(e, "%s: the fleet is damaged", path);
}

static int64_t single(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *q = NULL;
	int64_t v = -1;

	if (!sqlite3_prepare_v2(db, sql, -1, &q, NULL) && sqlite3_step(q) == SQLITE_ROW)
		v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return v;
}

/* Checks what can be read at all: tables, and nothing that computes when it is read. */
static int check_schema(sqlite3 *db, const char *path, struct dt_error *e)
{
	int64_t version;

	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_exec(db,
		     "PRAGMA cell_size_check=ON; PRAGMA query_only=ON; PRAGMA temp_store=MEMORY",
		     NULL, NULL, NULL);
	version = single(db, "PRAGMA user_version");
	if (version < 0)
		return dt_fail(e, "%s: cannot be read: %s", path, sqlite3_errmsg(db));
	if (version != DT_FLEET_FORMAT)
		return dt_fail(
			e,
			"%s: a fleet of another format (%ld, this devtrace reads %d): merge anew",
			path, (long)version, DT_FLEET_FORMAT);
	return single(db,
		      "SELECT count(*) FROM sqlite_schema WHERE type<>'table' OR"
		      " sql LIKE '%virtual%' OR sql LIKE '%generated%' OR sql LIKE '% AS (%'") == 0
		       ? 0
		       : dt_fail(e, "%s: the fleet is damaged: foreign tables", path);
}

struct dt_fleet *dt_fleet_read(const char *path, struct dt_error *e)
{
	struct dt_fleet *f = calloc(1, sizeof(*f));
	sqlite3 *db = NULL;
	int rc = -1;

	if (!f || sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, dt_journal_vfs())) {
		dt_fail(e, "%s: cannot be opened: %s", path, f ? sqlite3_errmsg(db) : "no memory");
		goto out;
	}
	if (!check_schema(db, path, e))
		rc = read_all(f, db, path, e);
out:
	sqlite3_close(db);
	if (rc) {
		dt_fleet_free(f);
		return NULL;
	}
	return f;
}

struct dt_reader *dt_fleet_open(const struct dt_fleet *f, uint32_t host, struct dt_error *e)
{
	const struct dt_fleet_host *h = &f->host[host];
	struct dt_reader *r = dt_reader_open(h->path, e);
	struct dt_summary sum;

	if (!r)
		return NULL;
	if (dt_reader_summary(r, &sum, e)) {
		dt_reader_close(r);
		return NULL;
	}
	if (sum.records == h->records && sum.min_ticks == h->first && sum.max_ticks == h->last)
		return r;
	dt_fail(e, "%s: is not the trace that was merged as %s (%lu records, not %lu): merge anew",
		h->path, h->name, (unsigned long)sum.records, (unsigned long)h->records);
	dt_reader_close(r);
	return NULL;
}
