/* SPDX-License-Identifier: MIT */
/*
 * Merging the cores of a trace file. Each core has a cursor that holds one chunk, decompressed but
 * not decoded, and one decoded batch. No read transaction is kept open between chunks: the writer's
 * log would grow without end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "store/decode.h"
#include "store/layout.h"
#include "store/tables.h"

struct loss {
	uint64_t after, lost, begin, end;
};

struct cursor {
	unsigned core;
	uint64_t next; /* first record of the chunk to load next */
	uint64_t base; /* number of the batch's first record */
	uint32_t at;   /* in the batch */
	uint32_t used; /* by the span that was handed out last */
	uint64_t key;  /* ticks of the record at `at`: the merge's order */
	bool ended;    /* nothing more just now */
	struct dt_decoder decoder;
	struct dt_batch *batch;
	struct loss *loss; /* of the loaded chunk, ascending; at the end: what follows it */
	uint32_t losses, loss_at, loss_size;
	/* a loss at the end of a live file has been said, but may grow, or come again when a chunk
	 * follows: how much of which one has been said */
	uint64_t said_after, said_lost;
};

enum statement { CHUNK, VALS, LOSSES, CORES, LIMIT, STATEMENTS };

static const char *const statement_sql[STATEMENTS] = {
	[CHUNK] = "SELECT c.id, c.first, c.records, c.events FROM chunk c WHERE c.id="
		  "(SELECT id FROM chunk WHERE core=?1 AND first>=?2 AND max_ticks>=?3 AND id<=?4"
		  " AND min_ticks<=?5 ORDER BY first LIMIT 1)",
	[VALS] = "SELECT vals FROM chunk WHERE id=?1",
	[LOSSES] = "SELECT after, lost, begin_ticks, end_ticks FROM loss "
		   "WHERE core=?1 AND after>=?2 AND after<?3 ORDER BY after",
	[CORES] = "SELECT DISTINCT core FROM chunk UNION SELECT DISTINCT core FROM loss",
	[LIMIT] = "SELECT max(id) FROM chunk",
};

struct dt_reader {
	char *path;
	sqlite3 *db;
	sqlite3_stmt *statement[STATEMENTS];
	ZSTD_DCtx *dctx;
	struct dt_tables tables;
	struct dt_range range;
	uint64_t limit; /* last chunk that this pass reads */
	struct cursor **cursor;
	size_t cursors;
	struct cursor **heap; /* those not ended; the earliest first */
	size_t heaped;
	struct cursor *current; /* whose span was handed out last */
	bool failed;		/* dt_reader_next() has failed and says so again */
	struct dt_error failure;
};

/* ---- opening ---- */

static int sql_error(const struct dt_reader *r, struct dt_error *e)
{
	int code = sqlite3_errcode(r->db);

	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		return dt_fail(e, "%s: the trace is damaged or cut off (%s)", r->path,
			       sqlite3_errmsg(r->db));
	return dt_fail(e, "%s: cannot read: %s", r->path, sqlite3_errmsg(r->db));
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool has_log(const char *path)
{
	char *log = sqlite3_mprintf("%s-wal", path);
	bool has = log && access(log, F_OK) == 0;

	sqlite3_free(log);
	return has;
}

/* Says in plain words why a file cannot be a trace, before SQLite is asked. */
static int check_file(const char *path, struct dt_error *e)
{
	uint8_t head[100];
	struct stat st;
	uint64_t size;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return dt_fail(e, "%s: %s", path,
			       errno == ENOENT ? "no such file; `devtrace record` writes one"
					       : strerror(errno));
	if (fstat(fd, &st) || S_ISDIR(st.st_mode)) {
		close(fd);
		return dt_fail(e, "%s: is a directory, not a trace file", path);
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		return dt_fail(e, "%s: is not a regular file", path);
	}
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n == 0)
		return dt_fail(e, "%s: is empty, not a devtrace trace", path);
	if (n < (ssize_t)sizeof(head) || memcmp(head, "SQLite format 3", 16) ||
	    memcmp(head + 68, "dtrc", 4))
		return dt_fail(e, "%s: is not a devtrace trace", path);
	/* what SQLite's header says of the size; while it is written, the rest is in the log */
	size = (uint64_t)(head[16] << 8 | head[17]) * be32(head + 28);
	if ((uint64_t)st.st_size < size && !has_log(path))
		return dt_fail(e, "%s: the trace is cut off: %lu of %lu bytes", path,
			       (unsigned long)st.st_size, (unsigned long)size);
	return 0;
}

static int64_t single(struct dt_reader *r, const char *sql)
{
	sqlite3_stmt *q;
	int64_t v = -1;

	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) == SQLITE_OK &&
	    sqlite3_step(q) == SQLITE_ROW)
		v = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return v;
}

static char *immutable_uri(const char *path)
{
	char *uri = malloc(3 * strlen(path) + 32), *p;

	if (!uri)
		return NULL;
	p = stpcpy(uri, "file:");
	for (; *path; path++)
		p += sprintf(p, strchr("?#%", *path) ? "%%%02x" : "%c", (unsigned char)*path);
	strcpy(p, "?immutable=1");
	return uri;
}

/* In a folder that may not be written, a database that has no log can still be read as it is. */
static int open_database(struct dt_reader *r)
{
	static const char touch[] = "SELECT 1 FROM sqlite_schema";
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, rc;
	char *uri;

	rc = sqlite3_open_v2(r->path, &r->db, flags, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(r->db, touch, NULL, NULL, NULL);
	if ((rc != SQLITE_CANTOPEN && rc != SQLITE_READONLY) || has_log(r->path))
		return rc;
	uri = immutable_uri(r->path);
	if (!uri)
		return SQLITE_NOMEM;
	sqlite3_close(r->db);
	r->db = NULL;
	rc = sqlite3_open_v2(uri, &r->db, flags | SQLITE_OPEN_URI, NULL);
	free(uri);
	return rc;
}

static int check_schema(struct dt_reader *r, struct dt_error *e)
{
	int64_t version;

	/* nothing in a foreign file's schema may run */
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_exec(r->db, "PRAGMA cell_size_check=ON; PRAGMA query_only=ON", NULL, NULL, NULL);
	version = single(r, "PRAGMA user_version");
	if (version < 0)
		return sql_error(r, e);
	if (version == 0)
		return dt_fail(e, "%s: the trace was never begun: recording died at its start",
			       r->path);
	if (version > DT_STORE_SCHEMA)
		return dt_fail(e,
			       "%s: written by a newer devtrace (format %ld, this one reads %d); "
			       "use that one",
			       r->path, (long)version, DT_STORE_SCHEMA);
	if (single(r, "SELECT count(*) FROM sqlite_schema WHERE type<>'table' AND "
		      "NOT(type='index' AND tbl_name IN('chunk','thread','meta','loss'))") != 0)
		return sqlite3_errcode(r->db) == SQLITE_OK || sqlite3_errcode(r->db) == SQLITE_DONE
			       ? dt_fail(e, "%s: the trace is damaged: foreign tables", r->path)
			       : sql_error(r, e);
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(r->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &r->statement[i], NULL))
			return sql_error(r, e);
	return 0;
}

static int refresh(struct dt_reader *r, struct dt_error *e)
{
	struct dt_error why = {""};
	sqlite3_stmt *q = r->statement[LIMIT];

	/* first the limit, then the tables: so they hold all that these chunks need */
	if (sqlite3_step(q) != SQLITE_ROW) {
		sqlite3_reset(q);
		return sql_error(r, e);
	}
	r->limit = (uint64_t)sqlite3_column_int64(q, 0);
	sqlite3_reset(q);
	if (dt_tables_refresh(&r->tables, r->db, &why))
		return dt_fail(e, "%s: the trace cannot be read: %s", r->path, why.text);
	return 0;
}

struct dt_reader *dt_reader_open(const char *path, struct dt_error *e)
{
	struct dt_reader *r;

	if (check_file(path, e))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r || !(r->path = strdup(path)) || !(r->dctx = ZSTD_createDCtx())) {
		dt_fail(e, "%s: out of memory", path);
		goto bad;
	}
	if (open_database(r)) {
		sql_error(r, e);
		goto bad;
	}
	sqlite3_busy_timeout(r->db, 10000);
	if (check_schema(r, e) || refresh(r, e))
		goto bad;
	return r;
bad:
	dt_reader_close(r);
	return NULL;
}

static void free_cursors(struct dt_reader *r)
{
	for (size_t i = 0; i < r->cursors; i++) {
		dt_decoder_free(&r->cursor[i]->decoder);
		free(r->cursor[i]->batch);
		free(r->cursor[i]->loss);
		free(r->cursor[i]);
	}
	free(r->cursor);
	free(r->heap);
	r->cursor = r->heap = NULL;
	r->cursors = r->heaped = 0;
	r->current = NULL;
}

void dt_reader_close(struct dt_reader *r)
{
	if (!r)
		return;
	free_cursors(r);
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(r->statement[i]);
	sqlite3_close(r->db);
	ZSTD_freeDCtx(r->dctx);
	dt_tables_free(&r->tables);
	free(r->path);
	free(r);
}

/* ---- descriptions ---- */

int dt_reader_summary(struct dt_reader *r, struct dt_summary *s, struct dt_error *e)
{
	*s = (struct dt_summary){0};
	s->records = (uint64_t)single(r, "SELECT ifnull(sum(records),0) FROM chunk");
	if (sqlite3_errcode(r->db) != SQLITE_ROW && sqlite3_errcode(r->db) != SQLITE_OK)
		return sql_error(r, e);
	s->lost = (uint64_t)single(r, "SELECT ifnull(sum(lost),0) FROM loss");
	s->chunks = (uint64_t)single(r, "SELECT count(*) FROM chunk");
	s->min_ticks = (uint64_t)single(r, "SELECT ifnull(min(min_ticks),0) FROM chunk");
	s->max_ticks = (uint64_t)single(r, "SELECT ifnull(max(max_ticks),0) FROM chunk");
	s->cores = (unsigned)single(r, "SELECT count(DISTINCT core) FROM chunk");
	return 0;
}

/* Element id - 1. */
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

const struct dt_module_info *dt_reader_module(const struct dt_reader *r, uint32_t id)
{
	return element(&r->tables.modules, id, sizeof(struct dt_module_info));
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

const struct dt_thread_info *dt_reader_thread(const struct dt_reader *r, uint32_t tid)
{
	const struct dt_thread_info *t = r->tables.threads.p;
	size_t low = 0, high = r->tables.threads.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t[middle].tid == tid)
			return &t[middle];
		if (t[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const char *dt_reader_meta(const struct dt_reader *r, const char *key)
{
	const struct dt_meta *m = r->tables.meta.p;

	for (size_t i = 0; i < r->tables.meta.n; i++)
		if (!strcmp(m[i].key, key))
			return m[i].value;
	return NULL;
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

double dt_reader_ns_per_tick(const struct dt_reader *r)
{
	struct dt_clock a, b;
	const char *hz = dt_reader_meta(r, "ticks_per_second");

	if (dt_reader_clock(r, &a, &b) && b.ticks > a.ticks && b.monotonic_ns > a.monotonic_ns)
		return (double)(b.monotonic_ns - a.monotonic_ns) / (double)(b.ticks - a.ticks);
	if (hz && strtod(hz, NULL) > 0)
		return 1e9 / strtod(hz, NULL);
	return 1;
}

uint64_t dt_reader_ns(const struct dt_reader *r, uint64_t ticks)
{
	const struct dt_clock *c = r->tables.clocks.p;
	size_t n = r->tables.clocks.n, low = 0, high = n;
	double rate;

	if (!n)
		return (uint64_t)((double)ticks * dt_reader_ns_per_tick(r));
	/* the last reading that is not after it, else the first */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c[middle].ticks <= ticks)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		low--;
	rate = dt_reader_ns_per_tick(r);
	if (low + 1 < n && c[low + 1].ticks > c[low].ticks &&
	    c[low + 1].monotonic_ns > c[low].monotonic_ns)
		rate = (double)(c[low + 1].monotonic_ns - c[low].monotonic_ns) /
		       (double)(c[low + 1].ticks - c[low].ticks);
	return c[low].monotonic_ns +
	       (uint64_t)(int64_t)((double)(int64_t)(ticks - c[low].ticks) * rate);
}

int dt_reader_losses(struct dt_reader *r,
		     int (*fn)(void *ctx, unsigned core, uint64_t lost, uint64_t begin,
			       uint64_t end),
		     void *ctx)
{
	static const char sql[] = "SELECT core, lost, begin_ticks, end_ticks FROM loss "
				  "WHERE core BETWEEN 0 AND 65535 ORDER BY core, after";
	sqlite3_stmt *q;
	int rc = 0;

	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL))
		return -1;
	while (!rc && sqlite3_step(q) == SQLITE_ROW)
		rc = fn(ctx, (unsigned)sqlite3_column_int(q, 0),
			(uint64_t)sqlite3_column_int64(q, 1), (uint64_t)sqlite3_column_int64(q, 2),
			(uint64_t)sqlite3_column_int64(q, 3));
	sqlite3_finalize(q);
	return rc;
}

/* ---- cursors ---- */

static int read_losses(struct dt_reader *r, struct cursor *c, uint64_t from, uint64_t to,
		       struct dt_error *e)
{
	sqlite3_stmt *q = r->statement[LOSSES];
	int rc;

	c->losses = c->loss_at = 0;
	sqlite3_bind_int64(q, 1, c->core);
	sqlite3_bind_int64(q, 2, (sqlite3_int64)from);
	sqlite3_bind_int64(q, 3, (sqlite3_int64)to);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		struct loss *l;

		if (c->losses == c->loss_size) {
			uint32_t size = c->loss_size ? 2 * c->loss_size : 16;

			l = realloc(c->loss, size * sizeof(*l));
			if (!l)
				break;
			c->loss = l;
			c->loss_size = size;
		}
		l = &c->loss[c->losses++];
		l->after = (uint64_t)sqlite3_column_int64(q, 0);
		l->lost = (uint64_t)sqlite3_column_int64(q, 1);
		l->begin = (uint64_t)sqlite3_column_int64(q, 2);
		l->end = (uint64_t)sqlite3_column_int64(q, 3);
	}
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : sql_error(r, e);
}

/* Loads the chunk that follows. 1: loaded; 0: there is none. */
static int load_chunk(struct dt_reader *r, struct cursor *c, struct dt_error *e)
{
	sqlite3_stmt *q = r->statement[CHUNK], *v = r->statement[VALS];
	struct dt_error why = {""};
	uint32_t records;
	int64_t id;
	int rc, loaded = -1;

	sqlite3_bind_int64(q, 1, c->core);
	sqlite3_bind_int64(q, 2, (sqlite3_int64)c->next);
	/* ticks are unsigned, the columns are not: "no limit" must really be none */
	sqlite3_bind_int64(q, 3, r->range.from ? (sqlite3_int64)r->range.from : INT64_MIN);
	sqlite3_bind_int64(q, 4, (sqlite3_int64)r->limit);
	sqlite3_bind_int64(q, 5, r->range.to < INT64_MAX ? (sqlite3_int64)r->range.to : INT64_MAX);
	rc = sqlite3_step(q);
	if (rc == SQLITE_DONE) {
		sqlite3_reset(q);
		return 0;
	}
	if (rc != SQLITE_ROW)
		goto sql;
	id = sqlite3_column_int64(q, 0);
	c->base = (uint64_t)sqlite3_column_int64(q, 1);
	records = (uint32_t)sqlite3_column_int64(q, 2);
	if (r->range.values) {
		sqlite3_bind_int64(v, 1, id);
		if (sqlite3_step(v) != SQLITE_ROW)
			goto sql;
	}
	rc = dt_decoder_load(&c->decoder, r->dctx, sqlite3_column_blob(q, 3),
			     (size_t)sqlite3_column_bytes(q, 3),
			     r->range.values ? sqlite3_column_blob(v, 0) : NULL,
			     r->range.values ? (size_t)sqlite3_column_bytes(v, 0) : 0, records,
			     (uint32_t)r->tables.sites.n, &why);
	c->next = c->base + records;
	if (rc)
		dt_fail(e, "%s: chunk %ld of the trace: %s", r->path, (long)id, why.text);
	else
		loaded = 1;
	goto out;
sql:
	sql_error(r, e);
out:
	sqlite3_reset(v);
	sqlite3_reset(q);
	if (loaded == 1 && read_losses(r, c, c->base, c->next, e))
		return -1;
	return loaded;
}

/* Makes the record at c->at exist. 1: it does; 0: the core is at its end. */
static int fill(struct dt_reader *r, struct cursor *c, struct dt_error *e)
{
	struct dt_error why = {""};
	int rc;

	while (c->at >= c->batch->n) {
		c->base += c->batch->n;
		c->at = 0;
		if (c->decoder.position >= c->decoder.n) {
			c->batch->n = 0;
			rc = load_chunk(r, c, e);
			if (rc <= 0)
				return rc;
		}
		if (dt_decoder_batch(&c->decoder, c->core, c->batch, &why))
			return dt_fail(e, "%s: a chunk of the trace: %s", r->path, why.text);
	}
	c->key = c->batch->ticks[c->at];
	return 1;
}

/* Moves over n records, and over the threads' runs with them. n stays within the run. */
static void advance(struct cursor *c, uint32_t n)
{
	struct dt_decoder *d = &c->decoder;

	c->at += n;
	d->run_left -= n;
	if (!d->run_left && d->run + 1 < d->runs)
		d->run_left = d->run_length[++d->run];
}

/* ---- the heap of cursors ---- */

static bool before(const struct cursor *a, const struct cursor *b)
{
	return a->key != b->key ? a->key < b->key : a->core < b->core;
}

static void sift(struct dt_reader *r, size_t i)
{
	struct cursor *c = r->heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= r->heaped)
			break;
		if (child + 1 < r->heaped && before(r->heap[child + 1], r->heap[child]))
			child++;
		if (!before(r->heap[child], c))
			break;
		r->heap[i] = r->heap[child];
		i = child;
	}
	r->heap[i] = c;
}

/* A core at its end may still have lost something there: then it is handed out once more. */
static int end_core(struct dt_reader *r, struct cursor *c, struct dt_error *e)
{
	c->ended = true;
	c->losses = c->loss_at = 0;
	if (r->range.to != UINT64_MAX)
		return 0;
	if (read_losses(r, c, c->next, c->next + 1, e))
		return -1;
	if (!c->losses || (c->loss[0].after == c->said_after && c->loss[0].lost <= c->said_lost))
		return 0;
	c->key = c->loss[0].begin;
	return 1;
}

/* Puts every cursor that has something into the heap. */
static int gather(struct dt_reader *r, struct dt_error *e)
{
	r->heaped = 0;
	for (size_t i = 0; i < r->cursors; i++) {
		struct cursor *c = r->cursor[i];
		int rc;

		c->ended = false;
		rc = fill(r, c, e);
		if (rc == 0)
			rc = end_core(r, c, e);
		if (rc < 0)
			return -1;
		if (rc)
			r->heap[r->heaped++] = c;
	}
	for (size_t i = r->heaped; i-- > 0;)
		sift(r, i);
	return 0;
}

static int add_cursor(struct dt_reader *r, unsigned core)
{
	struct cursor *c, **p;

	for (size_t i = 0; i < r->cursors; i++)
		if (r->cursor[i]->core == core)
			return 0;
	p = realloc(r->cursor, (r->cursors + 1) * sizeof(*p));
	if (!p)
		return -1;
	r->cursor = p;
	p = realloc(r->heap, (r->cursors + 1) * sizeof(*p));
	if (!p)
		return -1;
	r->heap = p;
	c = calloc(1, sizeof(*c));
	if (!c || !(c->batch = malloc(sizeof(*c->batch)))) {
		free(c);
		return -1;
	}
	c->batch->n = 0;
	c->core = core;
	c->said_after = UINT64_MAX;
	r->cursor[r->cursors++] = c;
	return 0;
}

static int find_cores(struct dt_reader *r, struct dt_error *e)
{
	sqlite3_stmt *q = r->statement[CORES];
	int rc;

	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		int64_t core = sqlite3_column_int64(q, 0);

		if (core < 0 || core > DT_SHARED_CORE || add_cursor(r, (unsigned)core)) {
			sqlite3_reset(q);
			return dt_fail(e, "%s: the trace is damaged: core %ld", r->path,
				       (long)core);
		}
	}
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : sql_error(r, e);
}

int dt_reader_start(struct dt_reader *r, const struct dt_range *range, struct dt_error *e)
{
	free_cursors(r);
	r->range = *range;
	r->failed = false;
	if (!r->range.to)
		r->range.to = UINT64_MAX;
	if (refresh(r, e) || find_cores(r, e) || gather(r, e))
		return -1;
	return 0;
}

/* After a call that found nothing more: looks for what has been written meanwhile. */
static int restart(struct dt_reader *r, struct dt_error *e)
{
	if (refresh(r, e) || find_cores(r, e) || gather(r, e))
		return -1;
	return 0;
}

/* Leaves the span handed out last and puts its cursor where it belongs now. */
static int leave(struct dt_reader *r, struct dt_error *e)
{
	struct cursor *c = r->current;
	int rc = 0;

	if (c->ended) {
		c->losses = 0;
	} else {
		advance(c, c->used);
		rc = fill(r, c, e);
		if (rc == 0)
			rc = end_core(r, c, e);
	}
	if (rc < 0)
		return -1;
	r->current = NULL;
	if (rc == 0)
		r->heap[0] = r->heap[--r->heaped];
	if (r->heaped)
		sift(r, 0);
	return 0;
}

/* The longest run of records from c->at that can be handed out at once. */
static uint32_t run_length(const struct dt_reader *r, const struct cursor *c)
{
	const uint64_t *ticks = c->batch->ticks + c->at;
	uint32_t n = c->batch->n - c->at, i;
	uint64_t until = UINT64_MAX;

	if (n > c->decoder.run_left)
		n = c->decoder.run_left;
	/* a loss splits the run */
	if (c->loss_at < c->losses && c->loss[c->loss_at].after - (c->base + c->at) < n)
		n = (uint32_t)(c->loss[c->loss_at].after - (c->base + c->at));
	if (r->range.order == DT_BY_TIME) {
		for (size_t child = 1; child < 3 && child < r->heaped; child++)
			if (r->heap[child]->key < until)
				until = r->heap[child]->key;
		for (i = 1; i < n && ticks[i] <= until; i++)
			;
		n = i;
	}
	if (r->range.from == 0 && r->range.to == UINT64_MAX)
		return n;
	for (i = 0; i < n && ticks[i] >= r->range.from && ticks[i] <= r->range.to; i++)
		;
	return i;
}

static void take_loss(struct cursor *c, struct dt_span *s)
{
	struct loss *l = &c->loss[c->loss_at];

	if (c->loss_at == c->losses || (!c->ended && l->after != c->base + c->at))
		return;
	c->loss_at++;
	s->lost = l->lost;
	if (l->after == c->said_after)
		s->lost -= c->said_lost < l->lost ? c->said_lost : l->lost;
	s->lost_begin = l->begin;
	s->lost_end = l->end;
	if (c->ended) {
		c->said_after = l->after;
		c->said_lost = l->lost;
	}
}

int dt_reader_next(struct dt_reader *r, struct dt_span *s, struct dt_error *e)
{
	struct cursor *c;
	uint32_t n;

	if (r->failed)
		return dt_fail(e, "%s", r->failure.text);
	if ((r->current && leave(r, &r->failure)) || (!r->heaped && restart(r, &r->failure)))
		goto bad;
	for (;;) {
		if (!r->heaped)
			return 0;
		c = r->heap[0];
		*s = (struct dt_span){.core = (uint16_t)c->core};
		take_loss(c, s);
		if (c->ended) {
			r->current = c; /* leave() takes it out */
			return 1;
		}
		n = run_length(r, c);
		if (n || s->lost)
			break;
		/* one record outside the range */
		r->current = c;
		c->used = 1;
		if (leave(r, &r->failure))
			goto bad;
	}
	r->current = c;
	c->used = n;
	s->n = n;
	s->tid = c->decoder.run_tid[c->decoder.run];
	s->ticks = c->batch->ticks + c->at;
	s->sp = c->batch->sp + c->at;
	s->site = c->batch->site + c->at;
	s->flags = c->batch->flags + c->at;
	s->record_core = c->batch->core + c->at;
	s->value = r->range.values ? c->batch->value + c->at : NULL;
	return 1;
bad:
	r->failed = true;
	return dt_fail(e, "%s", r->failure.text);
}

void dt_span_record(const struct dt_reader *r, const struct dt_span *s, uint32_t i,
		    struct dt_record *out)
{
	const struct dt_site *site = dt_reader_site(r, s->site[i]);

	out->ticks = s->ticks[i];
	out->pc = site->pc;
	out->tid = s->tid;
	out->kind = site->kind;
	out->flags = s->flags[i];
	out->core = s->record_core[i];
	out->sp = s->sp[i];
	if (s->value)
		memcpy(out->value, s->value[i], sizeof(out->value));
	else
		memset(out->value, 0, sizeof(out->value));
}
