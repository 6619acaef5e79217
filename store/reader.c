/* SPDX-License-Identifier: MIT */
/* Opening a trace file and looking at its descriptions. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/journal.h"
#include "store/layout.h"
#include "store/reader-work.h"

#define OPENINGS   100	   /* of a file that is replaced again and again */
#define DENSE	   32	   /* records in a byte of a file, at most, */
#define DENSE_FREE 4000000 /* beyond so many */
#define BUSY_MS	   5000 /* the writer has the file to itself when it begins and when it closes it */

static const char *const statement_sql[STATEMENTS] = {
	[CHUNK] = "SELECT c.id, c.first, c.records, c.events, c.max_ticks FROM chunk c WHERE c.id="
		  "(SELECT id FROM chunk WHERE core=?1 AND first>=?2 AND max_ticks>=?3 AND id<=?4"
		  " AND min_ticks<=?5 ORDER BY first LIMIT 1)",
	/* disorder comes from what a ring held, and hardly goes further than so many chunks */
	[FOLLOWING] =
		"SELECT min(min_ticks) FROM (SELECT min_ticks FROM chunk WHERE core=?1 AND first>=?2"
		" AND id<=?3 ORDER BY first LIMIT 64)",
	[VALS] = "SELECT vals FROM chunk WHERE id=?1",
	[LOSSES] = "SELECT after, lost, begin_ticks, end_ticks FROM loss "
		   "WHERE core=?1 AND after>=?2 AND after<?3 ORDER BY after",
	[CORES] = "SELECT DISTINCT core FROM chunk UNION SELECT DISTINCT core FROM loss",
	[LIMIT] = "SELECT max(id) FROM chunk",
};

/* ---- opening ---- */

int dt_reader_sql_error(const struct dt_reader *r, struct dt_error *e)
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

/* Is there a file of that name with this behind it? */
static bool has_beside(const char *path, const char *what)
{
	char *name = sqlite3_mprintf("%s%s", path, what);
	bool has = name && access(name, F_OK) == 0;

	sqlite3_free(name);
	return has;
}

static bool has_log(const char *path)
{
	return has_beside(path, "-wal");
}

/* Did reading fail because a journal had to be undone first? store/journal.h tells why it is not.
 */
static bool wants_journal(const struct dt_reader *r)
{
	int code = sqlite3_extended_errcode(r->db);

	return code == SQLITE_READONLY_ROLLBACK ||
	       ((code & 0xff) == SQLITE_CANTOPEN && has_beside(r->path, "-journal"));
}

static int fail_of_journal(const struct dt_reader *r, struct dt_error *e)
{
	return dt_fail(
		e,
		"%s: beside it is %s-journal, of a writing that did not come to its end. To undo it, as "
		"SQLite does, can change and delete other files, so it is not done for you: delete it; or, "
		"when nobody else can have made it, undo it by `sqlite3 %s .schema`",
		r->path, r->path, r->path);
}

/* Says in plain words why a file cannot be a trace, before SQLite is asked. */
static int check_file(const char *path, struct dt_error *e)
{
	struct stat st;

	if (stat(path, &st) || access(path, R_OK))
		return dt_fail(e, "%s: %s", path,
			       errno == ENOENT ? "no such file; `devtrace record` writes one"
					       : strerror(errno));
	if (S_ISDIR(st.st_mode))
		return dt_fail(e, "%s: is a directory, not a trace file", path);
	if (!S_ISREG(st.st_mode))
		return dt_fail(e, "%s: is not a regular file", path);
	if (st.st_size == 0)
		return dt_fail(e, "%s: is empty, not a devtrace trace", path);
	return 0;
}

/*
 * The same of what is in it. Read by SQLite's own descriptor: to close another one of the file
 * would drop the locks of every database of this process that has it open.
 */
static int check_head(struct dt_reader *r, struct dt_error *e)
{
	sqlite3_file *f = NULL;
	sqlite3_int64 length = 0;
	uint8_t head[100] = {0};
	uint64_t size;

	if (sqlite3_file_control(r->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) || !f ||
	    !f->pMethods)
		return dt_reader_sql_error(r, e);
	if (f->pMethods->xRead(f, head, sizeof(head), 0) || f->pMethods->xFileSize(f, &length) ||
	    memcmp(head, "SQLite format 3", 16) || memcmp(head + 68, "dtrc", 4))
		return dt_fail(e, "%s: is not a devtrace trace", r->path);
	/* what SQLite's header says of the size; while it is written, the rest is in the log */
	size = (uint64_t)(head[16] << 8 | head[17]) * be32(head + 28);
	if ((uint64_t)length < size && !has_log(r->path))
		return dt_fail(e, "%s: the trace is cut off: %lu of %lu bytes", r->path,
			       (unsigned long)length, (unsigned long)size);
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
static int open_database(struct dt_reader *r, struct dt_error *e)
{
	static const char touch[] = "SELECT 1 FROM sqlite_schema";
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, rc;
	char *uri;

	rc = sqlite3_open_v2(r->path, &r->db, flags, dt_journal_vfs());
	sqlite3_busy_timeout(r->db, BUSY_MS);
	if (rc == SQLITE_OK) {
		if (check_head(r, e) < 0)
			return -1;
		rc = sqlite3_exec(r->db, touch, NULL, NULL, NULL);
		if (rc != SQLITE_OK && wants_journal(r))
			return fail_of_journal(r, e);
	}
	/* whoever is confined may open the files that were there then */
	if (rc == SQLITE_CANTOPEN && has_log(r->path) && access(r->path, R_OK) == 0)
		return dt_fail(
			e,
			"%s: cannot be opened: it has been replaced by another trace just now "
			"(then try again), or the files beside it may not be read",
			r->path);
	if ((rc != SQLITE_CANTOPEN && rc != SQLITE_READONLY) || has_log(r->path))
		return rc == SQLITE_OK ? 0 : dt_reader_sql_error(r, e);
	uri = immutable_uri(r->path);
	if (!uri)
		return dt_fail(e, "%s: out of memory", r->path);
	sqlite3_close(r->db);
	r->db = NULL;
	rc = sqlite3_open_v2(uri, &r->db, flags | SQLITE_OPEN_URI, NULL);
	sqlite3_busy_timeout(r->db, BUSY_MS);
	free(uri);
	return rc == SQLITE_OK ? 0 : dt_reader_sql_error(r, e);
}

/* Chunks and losses are looked for by these: without them, each time among all. */
static int check_keys(struct dt_reader *r, struct dt_error *e)
{
	static const char sql[] =
		"SELECT (SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info('chunk_order') ORDER BY seqno))"
		" = 'core,first,records,min_ticks,max_ticks' AND (SELECT count(*) FROM pragma_table_info('loss')"
		" WHERE (name='core' AND pk=1) OR (name='after' AND pk=2)) = 2";

	return single(r, sql) == 1
		       ? 0
		       : dt_fail(e, "%s: the trace is damaged: its chunks or losses have no index",
				 r->path);
}

/* Bytes of a file on the disk: holes are none. */
static uint64_t bytes_of(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	return st.st_blocks && (uint64_t)st.st_blocks * 512 < (uint64_t)st.st_size
		       ? (uint64_t)st.st_blocks * 512
		       : (uint64_t)st.st_size;
}

/*
 * Equal records at equal distances take next to nothing, so a small file can have as many as nobody
 * would wait for. Clocks are not so even: a loop around an empty function, of which each call is
 * like the others, has some 10 records a byte, and 21 in its best chunk.
 */
static int check_density(struct dt_reader *r, struct dt_error *e)
{
	int64_t records =
		single(r, "SELECT CAST(min(total(max(records, 0)), 9e18) AS INTEGER) FROM chunk "
			  "INDEXED BY chunk_order");
	char *log = sqlite3_mprintf("%s-wal", r->path);
	uint64_t bytes = bytes_of(r->path) + (log ? bytes_of(log) : 0);

	sqlite3_free(log);
	if (records < 0)
		return dt_reader_sql_error(r, e);
	if ((uint64_t)records <= DENSE_FREE || ((uint64_t)records - DENSE_FREE) / DENSE <= bytes ||
	    getenv("DEVTRACE_DENSE"))
		return 0;
	return dt_fail(
		e,
		"%s: the trace is damaged, or was made to take very long to read: %lu records in %lu bytes are "
		"more than recording makes; DEVTRACE_DENSE=1 has it read all the same",
		r->path, (unsigned long)records, (unsigned long)bytes);
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
		return dt_reader_sql_error(r, e);
	if (version == 0)
		return dt_fail(e, "%s: is empty: recording begins just now, or died at its start",
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
			       : dt_reader_sql_error(r, e);
	if (check_keys(r, e) || check_density(r, e))
		return -1;
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(r->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &r->statement[i], NULL))
			return dt_reader_sql_error(r, e);
	return 0;
}

int dt_reader_refresh(struct dt_reader *r, struct dt_error *e)
{
	struct dt_error why = {""};
	sqlite3_stmt *q = r->statement[LIMIT];

	/* first the limit, then the tables: so they hold all that these chunks need */
	if (sqlite3_step(q) != SQLITE_ROW) {
		sqlite3_reset(q);
		return dt_reader_sql_error(r, e);
	}
	r->limit = (uint64_t)sqlite3_column_int64(q, 0);
	sqlite3_reset(q);
	if (dt_tables_refresh(&r->tables, r->db, &why))
		return dt_fail(e, "%s: the trace cannot be read: %s", r->path, why.text);
	return 0;
}

static struct dt_reader *open_checked(const char *path, struct dt_error *e)
{
	struct dt_reader *r = calloc(1, sizeof(*r));

	if (!r || !(r->path = strdup(path)) || !(r->dctx = ZSTD_createDCtx())) {
		dt_fail(e, "%s: out of memory", path);
		goto bad;
	}
	if (open_database(r, e) < 0)
		goto bad;
	sqlite3_busy_timeout(r->db, 10000);
	if (check_schema(r, e) || dt_reader_refresh(r, e))
		goto bad;
	return r;
bad:
	dt_reader_close(r);
	return NULL;
}

static struct dt_reader *open_reader(const char *path, struct dt_error *e)
{
	return check_file(path, e) ? NULL : open_checked(path, e);
}

/* Is the file that fd was opened for still the one at path? -1: none is there. */
static int is_same(int fd, const char *path)
{
	struct stat a, b;

	if (stat(path, &b))
		return -1;
	return fd >= 0 && !fstat(fd, &a) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/*
 * A new recording replaces the file, which may be while it is opened: the database of one and the
 * log of the other do not go together. Then there is another file at path than before, and that is
 * opened; or there is none, and that is said. The file is held meanwhile, so that no other can have
 * its number; by O_PATH, because closing any other descriptor would drop SQLite's locks.
 */
struct dt_reader *dt_reader_open(const char *path, struct dt_error *e)
{
	for (int i = 0; i < OPENINGS; i++) {
		int fd = open(path, O_PATH | O_CLOEXEC);
		struct dt_reader *r = open_reader(path, e);
		int same = is_same(fd, path);
		struct stat st;

		if (same == 1 && r && !fstat(fd, &st)) {
			r->device = st.st_dev;
			r->inode = st.st_ino;
		}
		if (fd >= 0)
			close(fd);
		/* one that is gone by now was whole when it was opened */
		if (same == 1 || (same < 0 && (r || fd < 0)))
			return r;
		dt_reader_close(r);
	}
	dt_fail(e, "%s: is replaced by another trace all the time", path);
	return NULL;
}

bool dt_reader_is_replaced(const struct dt_reader *r)
{
	struct stat st;

	return stat(r->path, &st) || st.st_dev != r->device || st.st_ino != r->inode;
}

struct dt_reader *dt_reader_again(const struct dt_reader *r, struct dt_error *e)
{
	struct dt_reader *again = open_checked(r->path, e);

	/* r has its file open, so none that came after it can have its number */
	if (again && dt_reader_is_replaced(r)) {
		dt_fail(e, "%s: has been replaced by another trace meanwhile", r->path);
		dt_reader_close(again);
		return NULL;
	}
	if (again) {
		again->device = r->device;
		again->inode = r->inode;
	}
	return again;
}

void dt_reader_close(struct dt_reader *r)
{
	if (!r)
		return;
	dt_reader_free_cursors(r);
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
		return dt_reader_sql_error(r, e);
	s->lost = (uint64_t)single(r, "SELECT ifnull(sum(lost),0) FROM loss");
	s->chunks = (uint64_t)single(r, "SELECT count(*) FROM chunk");
	s->min_ticks = (uint64_t)single(r, "SELECT ifnull(min(min_ticks),0) FROM chunk");
	s->max_ticks = (uint64_t)single(r, "SELECT ifnull(max(max_ticks),0) FROM chunk");
	s->cores = (unsigned)single(r, "SELECT count(DISTINCT core) FROM chunk");
	return 0;
}

int dt_reader_all_written(struct dt_reader *r, struct dt_error *e)
{
	static const char sql[] =
		"SELECT * FROM (SELECT core, sum(records + dropped) AS w,"
		" (SELECT ifnull(sum(records), 0) FROM chunk c WHERE c.core = w.core) AS n,"
		" (SELECT ifnull(sum(lost), 0) FROM loss l WHERE l.core = w.core) AS lost"
		" FROM written w GROUP BY core) WHERE w <> n + lost LIMIT 1";
	sqlite3_stmt *q;
	int rc = 0;

	/* an older file has no such table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
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

const char *dt_reader_function_name(const struct dt_reader *r, uint32_t id)
{
	const struct dt_function_info *f = dt_reader_function(r, id);

	return f && f->name[0] ? f->name : "?";
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

size_t dt_reader_unhooked(struct dt_reader *r, uint32_t function, char *names, size_t size)
{
	static const char sql[] = "SELECT u.name FROM unhooked_caller c JOIN unhooked u ON "
				  "u.path=c.path AND u.address=c.callee WHERE c.path=? AND "
				  "c.caller=? ORDER BY u.address";
	const struct dt_function_info *f = dt_reader_function(r, function);
	const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;
	sqlite3_stmt *q = NULL;
	size_t n = 0, used = 0;

	names[0] = '\0';
	/* files of before there was the table have nothing to say */
	if (m && sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) == SQLITE_OK) {
		sqlite3_bind_text(q, 1, m->path, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 2, (sqlite3_int64)(f->address - m->base));
		for (; sqlite3_step(q) == SQLITE_ROW; n++) {
			const char *name = (const char *)sqlite3_column_text(q, 0);

			if (name && used + strlen(name) + 8 < size)
				used += dt_format(names + used, size - used, "%s%s", n ? ", " : "",
						  name);
			else if (used + 6 < size &&
				 strcmp(names + (used > 3 ? used - 3 : 0), "..."))
				used += dt_format(names + used, size - used, ", ...");
		}
	}
	sqlite3_finalize(q);
	return n;
}

static const char *text_of(sqlite3_stmt *q, int column)
{
	const unsigned char *text = sqlite3_column_text(q, column);

	return text ? (const char *)text : "";
}

size_t dt_reader_left_out(struct dt_reader *r, size_t most,
			  void (*fn)(void *ctx, const struct dt_left_out *l), void *ctx)
{
	static const char count[] = "SELECT count(*) FROM unhooked";
	static const char rows[] =
		"SELECT u.path, u.name, u.reason, group_concat(DISTINCT f.name) FROM unhooked u "
		"LEFT JOIN unhooked_caller c ON c.path=u.path AND c.callee=u.address "
		"LEFT JOIN module m ON m.path=c.path "
		"LEFT JOIN function f ON f.module=m.id AND f.address=m.base+c.caller "
		"GROUP BY u.path, u.address ORDER BY u.path, u.address LIMIT ?";
	sqlite3_stmt *q = NULL;
	size_t n = 0;

	/* files of before there was the table have nothing to say */
	if (sqlite3_prepare_v2(r->db, count, -1, &q, NULL) == SQLITE_OK &&
	    sqlite3_step(q) == SQLITE_ROW)
		n = (size_t)sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	if (!n || !fn || sqlite3_prepare_v2(r->db, rows, -1, &q, NULL) != SQLITE_OK)
		return n;
	sqlite3_bind_int64(q, 1, (sqlite3_int64)most);
	while (sqlite3_step(q) == SQLITE_ROW)
		fn(ctx, &(struct dt_left_out){text_of(q, 0), text_of(q, 1), text_of(q, 2),
					      text_of(q, 3)});
	sqlite3_finalize(q);
	return n;
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

const struct dt_exec_info *dt_reader_execs(const struct dt_reader *r, size_t *n)
{
	*n = r->tables.execs.n;
	return r->tables.execs.p;
}

uint64_t dt_reader_exec(const struct dt_reader *r, uint32_t pid, uint64_t from)
{
	const struct dt_exec_info *x = r->tables.execs.p;
	size_t low = 0, high = r->tables.execs.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (x[middle].pid < pid || (x[middle].pid == pid && x[middle].ticks < from))
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->tables.execs.n && x[low].pid == pid ? x[low].ticks : UINT64_MAX;
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
	size_t low = 0, n = r->tables.events.n, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (row[middle].subsystem < subsystem ||
		    (row[middle].subsystem == subsystem && row[middle].event < event))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < n && row[low].subsystem == subsystem && row[low].event == event)
		return &row[low];
	/* the row of the subsystem itself is behind those of its events */
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

/* The last reading of the clocks that is not after ticks, else the first. There is one. */
static size_t clock_before(const struct dt_reader *r, uint64_t ticks)
{
	const struct dt_clock *c = r->tables.clocks.p;
	size_t low = 0, high = r->tables.clocks.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c[middle].ticks <= ticks)
			low = middle + 1;
		else
			high = middle;
	}
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
	double rate;

	if (!n)
		return (uint64_t)((double)ticks * dt_reader_ns_per_tick(r));
	low = clock_before(r, ticks);
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
				  "WHERE core BETWEEN 0 AND 65535 "
				  "ORDER BY core, begin_ticks < 0, begin_ticks, after";
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

size_t dt_reader_holds(const struct dt_reader *r)
{
	return r->tables.holds_of;
}

const struct dt_times *dt_reader_pause_times(const struct dt_reader *r, size_t *n)
{
	*n = r->tables.pauses.n;
	return r->tables.pauses.p;
}

const struct dt_times *dt_reader_thread_holds(const struct dt_reader *r, uint32_t tid, size_t *n)
{
	const struct dt_held_thread *x = r->tables.held_threads.p;
	size_t low = 0, high = r->tables.held_threads.n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (x[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
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

	/* a file of before there were any has no such table */
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

	/* a file from before they were kept has none */
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

	/* a file from before they were kept has none */
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

	/* all of it is in the index: the chunks themselves are not touched */
	if (sqlite3_prepare_v2(r->db,
			       "SELECT core, records, min_ticks, max_ticks FROM chunk "
			       "INDEXED BY chunk_order WHERE core BETWEEN 0 AND 65535",
			       -1, &q, NULL))
		return -1;
	while (!rc && sqlite3_step(q) == SQLITE_ROW) {
		int64_t records = sqlite3_column_int64(q, 1);

		/* work is planned by it */
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
