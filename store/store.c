/* SPDX-License-Identifier: MIT */
/* Writing a trace: the file, made and closed. */
#include "store/store-work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/outside.h"
#include "store/chunk.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/sites.h"

static const char *const statement_sql[STATEMENTS] = {
	[META] = "INSERT OR REPLACE INTO meta VALUES(?,?)",
	[PROCESS] = "INSERT INTO process VALUES(?,?,?,?,?,NULL,NULL)",
	[PROCESS_LIKE] = "INSERT INTO process SELECT ?1,?2,exe,ifnull(?3,cmdline),?4,NULL,NULL "
			 "FROM process WHERE rowid=(SELECT max(rowid) FROM process WHERE pid=?5)",
	[PROCESS_END] = "UPDATE process SET status=?, end_ticks=? WHERE rowid="
			"(SELECT max(rowid) FROM process WHERE pid=?)",
	[EXEC] = "INSERT INTO exec VALUES(?,?)",
	[COMPLETE] = "INSERT OR IGNORE INTO complete VALUES(?,?)",
	[THREAD] = "INSERT OR REPLACE INTO thread VALUES(?,?,?)",
	[NUMBER] = "INSERT OR REPLACE INTO again VALUES(?,?)",
	[MODULE] = "INSERT INTO module VALUES(NULL,?,?,?,?,?,?,?,?)",
	[MODULE_END] = "UPDATE module SET end_ticks=? WHERE id=?",
	[MODULE_NAME] = "INSERT INTO module_name VALUES(?,?)",
	[UNHOOKED] = "INSERT INTO unhooked VALUES(?,?,?,?)",
	[UNHOOKED_CALLER] = "INSERT OR IGNORE INTO unhooked_caller VALUES(?,?,?)",
	[JIT] = "INSERT INTO jit VALUES(?,?,?,?,?)",
	[TYPE] = "INSERT INTO type VALUES(NULL,?)",
	[FUNCTION] = "INSERT INTO function VALUES(NULL,?,?,?,?,?,?,?)",
	[FUNCTION_NAME] = "INSERT INTO function_name VALUES(?,?)",
	[SITE] = "INSERT INTO site VALUES(NULL,?,?,?,?,?,?,?)",
	[CLOCK] = "INSERT INTO clock VALUES(?,?,?)",
	[EVENT] = "INSERT INTO event VALUES(?,?,?,?,?)",
	[LOSS] = "INSERT INTO loss VALUES(?,?,?,?,?) ON CONFLICT(core, after) DO UPDATE SET "
		 "lost=lost+excluded.lost, begin_ticks=min(begin_ticks, excluded.begin_ticks), "
		 "end_ticks=excluded.end_ticks",
	[LOST_SWITCHES] = "INSERT INTO lost_switches VALUES(?,?,?) ON CONFLICT(core, after) DO "
			  "UPDATE SET lost=iif(lost AND excluded.lost, lost+excluded.lost, 0)",
	[LOSS_END] = "UPDATE loss SET end_ticks=? WHERE core=? AND after=?",
	[PAUSE] = "INSERT INTO pause VALUES(?,?,?,?,?)",
	[CHANGE] = "INSERT INTO change VALUES(?,?,?,?)",
	[HELD] = "INSERT INTO hold VALUES(?,?,?,?)",
	[WRITTEN] = "INSERT INTO written VALUES(?,?,?,?)",
	[WAITED] = "INSERT INTO waited VALUES(?,?,?,?)",
	[USAGE] = "INSERT INTO used VALUES(?,?,?,?)",
	[SYNC] = "INSERT INTO sync VALUES(?,?,?,?,?,?)",
	[LEFT_OUT] = "INSERT OR REPLACE INTO left_out VALUES(?,?,?,?,?,?,?)",
	[BUDGET_OFF] = "INSERT OR REPLACE INTO budget_off VALUES(?,?,?,?,?,?,?)",
	[SUM] = "INSERT OR REPLACE INTO sum VALUES(?,?,?,?,?)",
	[SUM_LINE] = "INSERT OR REPLACE INTO sum_line VALUES(?,?,?,?,?,?,?,?,?,?)",
	[STACK] = "INSERT INTO stack VALUES(NULL,?)",
	[STACK_FRAME] = "INSERT INTO stack_frame VALUES(?,?,?,?,?,?)",
	[BACKTRACE] = "INSERT INTO backtrace VALUES(?,?,?,?)",
	[WAKER] = "INSERT INTO waker VALUES(NULL,?,?,?,?,?,?,?)",
	[LEFT_RECORDS] = "INSERT INTO left_records VALUES(?,?) ON CONFLICT(core) DO UPDATE SET "
			 "records=records+excluded.records",
	[CHUNK] = "INSERT INTO chunk VALUES(NULL,?,?,?,?,?,?,?)",
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
};

int dt_store_fail(struct dt_store *s, struct dt_error *e)
{
	const char *what = sqlite3_errmsg(s->db);

	if (s->failed)
		goto out;
	s->failed = true;
	if (sqlite3_errcode(s->db) == SQLITE_IOERR && sqlite3_system_errno(s->db))
		what = strerror(sqlite3_system_errno(s->db));
	if (sqlite3_errcode(s->db) == SQLITE_FULL ||
	    (sqlite3_errcode(s->db) == SQLITE_IOERR && sqlite3_system_errno(s->db) == ENOSPC))
		dt_fail(&s->failure,
			"%s: no space left on device; what was recorded before is kept", s->path);
	else
		dt_fail(&s->failure, "%s: cannot write: %s; what was recorded before is kept",
			s->path, what);
out:
	return dt_fail(e, "%s", s->failure.text);
}

int dt_store_no_memory(struct dt_store *s, struct dt_error *e)
{
	s->failed = true;
	dt_fail(&s->failure, "%s: out of memory", s->path);
	return dt_fail(e, "%s", s->failure.text);
}

int dt_store_run(struct dt_store *s, enum statement which, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[which];
	int rc = sqlite3_step(t);

	if (rc != SQLITE_DONE) {
		dt_store_fail(s, e);
		sqlite3_reset(t);
		return -1;
	}
	sqlite3_reset(t);
	return 0;
}

int dt_store_begin(struct dt_store *s, struct dt_error *e)
{
	if (s->failed)
		return dt_store_fail(s, e);
	if (s->in_transaction)
		return 0;
	if (dt_store_run(s, BEGIN, e))
		return -1;
	s->in_transaction = true;
	return 0;
}

void dt_store_bind_text(sqlite3_stmt *t, int i, const char *text)
{
	sqlite3_bind_text(t, i, text ? text : "", -1, SQLITE_TRANSIENT);
}

void dt_store_bind_u64(sqlite3_stmt *t, int i, uint64_t v)
{
	sqlite3_bind_int64(t, i, (sqlite3_int64)v);
}

static const char *const side_files[] = {"", "-wal", "-shm"};

/* Renames a database with what belongs to it. */
static int move_all(const char *from, const char *from_end, const char *to, const char *to_end)
{
	char a[4096], b[4096];

	for (int i = 0; i < 3; i++) {
		if (dt_format(a, sizeof(a), "%s%s%s", from, from_end, side_files[i]) >= sizeof(a) ||
		    dt_format(b, sizeof(b), "%s%s%s", to, to_end, side_files[i]) >= sizeof(b))
			return errno = ENAMETOOLONG, -1;
		if (rename(a, b) == 0)
			continue;
		if (i == 0)
			return -1;
		unlink(b); /* a leftover would be taken for this database's */
	}
	return 0;
}

static void remove_all(const char *path, const char *end)
{
	char name[4096];

	for (int i = 0; i < 3; i++)
		if (dt_format(name, sizeof(name), "%s%s%s", path, end, side_files[i]) <
		    sizeof(name))
			unlink(name);
}

int dt_store_check_room(const char *path, struct dt_error *e)
{
	char head[72] = "";
	struct stat st;
	ssize_t n;
	int fd;

	if (stat(path, &st)) {
		if (errno == ENOENT)
			return 0;
		return dt_fail(e, "%s: %s", path, strerror(errno));
	}
	if (S_ISDIR(st.st_mode))
		return dt_fail(e, "%s: is a directory; name a file", path);
	if (!S_ISREG(st.st_mode))
		return dt_fail(e, "%s: is not a regular file; name another", path);
	fd = dt_outside_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n != 0 && (n != sizeof(head) || memcmp(head, "SQLite format 3", 16) ||
		       memcmp(head + 68, "dtrc", 4)))
		return dt_fail(e, "%s: exists and is not a devtrace trace; not overwritten", path);
	return 0;
}

/* Moves what is at the path aside, so that nothing is there. */
static int make_room(struct dt_store *s, struct dt_error *e)
{
	const char *end = s->keep_old ? ".old" : "-old";

	if (dt_store_check_room(s->path, e))
		return -1;
	/* it is kept under another name until the new trace is done: see dt_store_discard() */
	if (move_all(s->path, "", s->path, end) == 0)
		s->old = end;
	else if (errno != ENOENT)
		return dt_fail(e, "%s: cannot replace it: %s", s->path, strerror(errno));
	return 0;
}

/* Removes what is at the path and puts back what was there before. */
static void move_back(const char *path, const char *old)
{
	remove_all(path, "");
	if (old)
		move_all(path, old, path, "");
}

/*
 * Makes the tables, and then has the database keep a write-ahead log: so they are in the file
 * itself, and are written once. A process that wants to replace the file looks for the
 * application's number there.
 */
static int make_tables(struct dt_store *s, struct dt_error *e)
{
	char sql[128];

	/* There is never a journal beside the file: a writer that is killed would leave one, and no
	 * reader undoes it (store/journal.h). */
	dt_format(
		sql, sizeof(sql),
		"PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA page_size=16384; PRAGMA application_id=%d;",
		DT_APPLICATION_ID);
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) ||
	    sqlite3_exec(s->db, "BEGIN;" DT_SCHEMA_SQL, NULL, NULL, NULL))
		return dt_store_fail(s, e);
	dt_format(sql, sizeof(sql), "PRAGMA user_version=%d; COMMIT; PRAGMA journal_mode=WAL",
		  DT_STORE_SCHEMA);
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) ? dt_store_fail(s, e) : 0;
}

static int prepare(struct dt_store *s, struct dt_error *e)
{
	if (sqlite3_exec(s->db, "PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=200", NULL, NULL,
			 NULL))
		return dt_store_fail(s, e);
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(s->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &s->statement[i], NULL))
			return dt_store_fail(s, e);
	return 0;
}

static void destroy(struct dt_store *s)
{
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->statement[i]);
	sqlite3_close(s->db);
	dt_pool_free(s->pool);
	for (unsigned i = 0; i < s->cores; i++) {
		if (!s->core[i])
			continue;
		dt_encoder_free(s->core[i]->chunk);
		free(s->core[i]->slot);
		free(s->core[i]);
	}
	ZSTD_freeCCtx(s->cctx);
	dt_sites_free(&s->sites);
	dt_sites_free(&s->functions);
	for (size_t i = 0; i < s->types; i++)
		free(s->type[i].names);
	free(s->type);
	dt_pids_free(&s->pids);
	free(s->events.p);
	free(s->vals.p);
	free(s->path);
	free(s);
}

/* Creates an empty file for a new trace; its name, which is put into `new', is the path with
 * "-new." and the pid after it. */
static int make_new(const char *path, char *new, size_t size, struct dt_error *e)
{
	int fd;

	if (dt_format(new, size, "%s-new.%d", path, getpid()) >= size)
		return dt_fail(e, "%s: cannot create: %s", path, strerror(ENAMETOOLONG));
	remove_all(new, "");
	/* arguments of functions are private: nobody else may read them */
	fd = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return dt_fail(e, "%s: cannot create: %s", path, strerror(errno));
	close(fd);
	return 0;
}

/* Moves what was made under the name `new' to the path. */
static int put_new(struct dt_store *s, const char *new, struct dt_error *e)
{
	char side[4096];

	/* as late as possible: until then, a reader finds the old one */
	if (make_room(s, e) < 0)
		return -1;
	/* the log of a database that was removed without it must not be taken for the new one's */
	for (int i = 1; i < 3; i++)
		if (dt_format(side, sizeof(side), "%s%s", s->path, side_files[i]) < sizeof(side))
			unlink(side);
	if (rename(new, s->path) == 0)
		return 0;
	dt_fail(e, "%s: cannot create: %s", s->path, strerror(errno));
	move_back(s->path, s->old);
	s->old = NULL;
	return -1;
}

/*
 * Makes a new trace at the path. It is made under another name first: a reader that looks for it
 * finds none, or a complete one, and holds no lock that would be in our way.
 */
static int make_file(struct dt_store *s, struct dt_error *e)
{
	char new[4096];
	int rc;

	if (make_new(s->path, new, sizeof(new), e) < 0)
		return -1;
	if (sqlite3_open_v2(new, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL))
		rc = dt_store_fail(s, e);
	else
		rc = make_tables(s, e);
	sqlite3_close(s->db);
	s->db = NULL;
	if (rc == 0)
		rc = put_new(s, new, e);
	if (rc < 0)
		remove_all(new, "");
	return rc;
}

static int open_file(struct dt_store *s, struct dt_error *e)
{
	return sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			       NULL) ||
			       sqlite3_busy_timeout(s->db, 10000)
		       ? dt_store_fail(s, e)
		       : prepare(s, e);
}

static void finalize(struct dt_store *s)
{
	for (int i = 0; i < STATEMENTS; i++) {
		sqlite3_finalize(s->statement[i]);
		s->statement[i] = NULL;
	}
}

static int sync_file(const char *path, struct dt_error *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -1 : fsync(fd);

	if (rc < 0)
		dt_fail(e, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * Writes what is in memory to a file named `new': with a log for what is still to come or, if that
 * was all, without any file beside it that a reader of the old trace could take for its own.
 */
static int write_new(struct dt_store *s, const char *new, struct dt_error *e)
{
	sqlite3_stmt *q = NULL;
	sqlite3 *db = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(s->db, "VACUUM INTO ?", -1, &q, NULL) ||
	    sqlite3_bind_text(q, 1, new, -1, SQLITE_STATIC) || sqlite3_step(q) != SQLITE_DONE)
		rc = dt_store_fail(s, e);
	sqlite3_finalize(q);
	if (s->closing)
		return rc == 0 && !s->passing ? sync_file(new, e) : rc;
	if (rc == 0 &&
	    (sqlite3_open_v2(new, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
	     sqlite3_exec(
		     db,
		     "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL",
		     NULL, NULL, NULL)))
		rc = dt_fail(e, "%s: cannot create: %s", s->path, sqlite3_errmsg(db));
	sqlite3_close(db);
	return rc;
}

/* Puts a late trace, which has its first records, at its path. */
static int publish(struct dt_store *s, struct dt_error *e)
{
	char new[4096];
	int rc;

	s->late = false;
	if (make_new(s->path, new, sizeof(new), &s->failure) < 0)
		goto fail;
	rc = write_new(s, new, &s->failure);
	if (rc == 0) {
		finalize(s);
		sqlite3_close(s->db);
		s->db = NULL;
		rc = put_new(s, new, &s->failure);
	}
	if (rc == 0)
		return s->closing ? 0 : open_file(s, e);
	remove_all(new, "");
fail:
	s->failed = true; /* nothing can be written any more, and the old trace is still there */
	s->late = true;
	return dt_fail(e, "%s", s->failure.text);
}

int dt_store_commit(struct dt_store *s, struct dt_error *e)
{
	if (s->failed)
		return dt_store_fail(s, e);
	if (!s->in_transaction)
		return 0;
	if (dt_store_run(s, COMMIT, e))
		return -1;
	s->in_transaction = s->losses = false;
	return s->late && s->has_records ? publish(s, e) : 0;
}

static struct dt_store *new_store(const char *path, dt_describe_fn *describe, void *ctx,
				  struct dt_error *e)
{
	struct dt_store *s = calloc(1, sizeof(*s));

	if (!s || !(s->path = strdup(path)) || !(s->cctx = dt_encoder_context())) {
		dt_fail(e, "%s: out of memory", path);
		if (s)
			destroy(s);
		return NULL;
	}
	s->describe = describe;
	s->ctx = ctx;
	return s;
}

struct dt_store *dt_store_create(const char *path, dt_describe_fn *describe, void *ctx,
				 struct dt_error *e)
{
	struct dt_store *s;

	if (dt_store_check_room(path, e) || !(s = new_store(path, describe, ctx, e)))
		return NULL;
	if (make_file(s, e) < 0) {
		destroy(s);
		return NULL;
	}
	if (open_file(s, e) < 0) {
		dt_store_discard(s);
		return NULL;
	}
	return s;
}

/* Makes the tables in memory. NULL: an error, and s has been freed. */
static struct dt_store *make_memory(struct dt_store *s, struct dt_error *e)
{
	if (sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL))
		dt_store_fail(s, e);
	else if (make_tables(s, e) == 0 && prepare(s, e) == 0)
		return s;
	destroy(s);
	return NULL;
}

struct dt_store *dt_store_create_late(const char *path, bool keep_old, dt_describe_fn *describe,
				      void *ctx, struct dt_error *e)
{
	struct dt_store *s;
	struct stat st;
	char new[4096];

	if (stat(path, &st) < 0 || !st.st_size)
		return dt_store_create(path, describe, ctx, e);
	if (dt_store_check_room(path, e) || !(s = new_store(path, describe, ctx, e)))
		return NULL;
	/* better to say at once what would fail later */
	if (make_new(path, new, sizeof(new), e) < 0) {
		destroy(s);
		return NULL;
	}
	remove_all(new, "");
	s->late = s->patient = true;
	s->keep_old = keep_old;
	return make_memory(s, e);
}

struct dt_store *dt_store_create_memory(dt_describe_fn *describe, void *ctx, struct dt_error *e)
{
	struct dt_store *s = new_store("the session's memory", describe, ctx, e);

	if (!s)
		return NULL;
	s->late = s->patient = true; /* it stays so: it has no records */
	return make_memory(s, e);
}

bool dt_store_is_late(const struct dt_store *s)
{
	return s && s->patient && !s->has_records;
}

int dt_store_show(struct dt_store *s, struct dt_error *e)
{
	return dt_store_flush(s, e) < 0 || (s->late && publish(s, e) < 0) ? -1 : 0;
}

void dt_store_discard(struct dt_store *s)
{
	const char *old;
	char *path;

	if (!s)
		return;
	path = s->late ? NULL : strdup(s->path);
	old = s->old;
	destroy(s);
	if (path)
		move_back(path, old);
	free(path);
}

void dt_store_pass(struct dt_store *s)
{
	s->passing = true;
}

/*
 * Puts the trace on the disk, as a single file again, unless somebody is reading it at this moment.
 * The log goes when what it has is on the disk: to have SQLite do so takes four syncs, and the log
 * itself was not synced while it grew. By SQLite's own descriptor: to close another one would drop
 * its locks.
 */
static void settle(struct dt_store *s)
{
	sqlite3_file *file = NULL;

	if (!s->passing) {
		sqlite3_exec(s->db, "PRAGMA wal_checkpoint(FULL)", NULL, NULL, NULL);
		if (sqlite3_file_control(s->db, NULL, SQLITE_FCNTL_FILE_POINTER, &file) ==
			    SQLITE_OK &&
		    file && file->pMethods)
			file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
	}
	sqlite3_exec(s->db, "PRAGMA journal_mode=MEMORY", NULL, NULL, NULL);
}

int dt_store_close(struct dt_store *s, struct dt_error *e)
{
	int rc;

	if (!s)
		return 0;
	s->closing = true;
	/*
	 * A child that lived so briefly that nobody saw it, or was killed while it executed a
	 * program: what it was is not known. This row comes before the flush, which writes a trace
	 * that has been in memory to the file and closes the tables.
	 */
	if (!s->failed && s->db)
		sqlite3_exec(s->db,
			     "INSERT INTO process(pid, ppid, exe, cmdline)"
			     " SELECT DISTINCT pid, 0, '', '' FROM thread"
			     " WHERE pid > 0 AND pid NOT IN (SELECT pid FROM process)"
			     " UNION SELECT pid, 0, '', '' FROM exec"
			     " WHERE pid NOT IN (SELECT pid FROM process)",
			     NULL, NULL, NULL);
	rc = dt_store_flush(s, e);
	if (dt_store_is_late(s)) {
		dt_store_discard(s);
		return rc;
	}
	finalize(s);
	if (!rc && s->db)
		settle(s);
	if (s->old && !s->keep_old)
		remove_all(s->path, "-old");
	destroy(s);
	return rc;
}

void dt_store_settle(const char *path)
{
	sqlite3 *db;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			    dt_journal_vfs()) == SQLITE_OK)
		sqlite3_exec(db, "PRAGMA journal_mode=MEMORY", NULL, NULL, NULL);
	sqlite3_close(db);
}
