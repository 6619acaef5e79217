/* SPDX-License-Identifier: MIT */
/* Copies of trace files. */
#include "store/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/outside.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/reader.h"

#define BUSY_MS	   5000 /* the writer may hold the file for so long */
#define WAL_FORMAT 2	/* in the header's bytes 18 and 19 if the database is in WAL mode */
#define BUFFER	   (1u << 20)

int dt_copy_place(struct dt_copy_place *p, struct dt_error *e)
{
	const char *directory = getenv("TMPDIR");

	if (!directory || !directory[0])
		directory = "/tmp";
	if (dt_format(p->directory, sizeof(p->directory), "%s/devtrace-XXXXXX", directory) >=
	    sizeof(p->directory))
		return dt_fail(e, "%s: %s", directory, strerror(ENAMETOOLONG));
	if (!mkdtemp(p->directory))
		return dt_fail(e, "%s: no temporary directory: %s", directory, strerror(errno));
	dt_format(p->path, sizeof(p->path), "%s/trace.db", p->directory);
	return 0;
}

void dt_copy_remove(struct dt_copy_place *p)
{
	static const char *const more[] = {"", "-wal", "-shm", "-journal"};
	char path[240];

	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		dt_format(path, sizeof(path), "%s%s", p->path, more[i]);
		unlink(path);
	}
	dt_outside_remove(p->directory);
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int dt_copy_bytes(int from, int to, struct dt_error *e)
{
	char *buffer = malloc(BUFFER);
	int rc = buffer ? 0 : dt_fail(e, "out of memory");
	ssize_t n = 1;

	while (rc == 0 && n != 0) {
		n = read(from, buffer, BUFFER);
		if (n < 0 && errno != EINTR)
			rc = dt_fail(e, "cannot read: %s", strerror(errno));
		else if (n > 0 && write_all(to, buffer, (size_t)n) < 0)
			rc = dt_fail(e, "no room for a copy: %s", strerror(errno));
	}
	free(buffer);
	return rc;
}

static int fail(sqlite3 *db, const char *path, struct dt_error *e)
{
	dt_fail(e, "%s: cannot be copied: %s", path, sqlite3_errmsg(db));
	return -1;
}

/* Says better than SQLite what is wrong with a file that is no trace. */
static int check(const char *path, struct dt_error *e)
{
	struct dt_reader *r = dt_reader_open(path, e);

	if (!r)
		return -1;
	dt_reader_close(r);
	return 0;
}

static sqlite3 *open_source(const char *path, struct dt_error *e)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
			    dt_journal_vfs()) == 0) {
		sqlite3_busy_timeout(db, BUSY_MS);
		sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
		sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
		return db;
	}
	fail(db, path, e);
	sqlite3_close(db);
	return NULL;
}

static sqlite3 *open_copy(const char *path, struct dt_error *e)
{
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    dt_journal_vfs()) == 0 &&
	    sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL) == 0)
		return db;
	fail(db, path, e);
	sqlite3_close(db);
	return NULL;
}

/* Copies all pages as they are at one moment: in one step, so that the writer cannot change what
 * has been copied. */
static int copy_pages(sqlite3 *from, sqlite3 *to, const char *path, struct dt_error *e)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc = b ? sqlite3_backup_step(b, -1) : SQLITE_ERROR;

	for (int tries = 0; (rc == SQLITE_BUSY || rc == SQLITE_LOCKED) && tries < 50; tries++) {
		sqlite3_sleep(100);
		rc = sqlite3_backup_step(b, -1);
	}
	if (b)
		sqlite3_backup_finish(b);
	if (rc != SQLITE_DONE)
		return fail(to, path, e);
	/* a single file, without a log beside it */
	return sqlite3_exec(to, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) ? fail(to, path, e)
										: 0;
}

static int copy_database(const char *from, const char *to, struct dt_error *e)
{
	sqlite3 *source = open_source(from, e), *copy = source ? open_copy(to, e) : NULL;
	int rc = copy ? copy_pages(source, copy, from, e) : -1;

	sqlite3_close(copy);
	sqlite3_close(source);
	return rc;
}

static int note_snapshot(const char *path, const char *note, struct dt_error *e)
{
	sqlite3 *db = open_copy(path, e);
	sqlite3_stmt *q = NULL;
	int rc = 0;

	if (!db)
		return -1;
	if (sqlite3_exec(db, "PRAGMA journal_mode=MEMORY", NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO meta VALUES('snapshot', ?)", -1, &q,
			       NULL) ||
	    sqlite3_bind_text(q, 1, note, -1, SQLITE_STATIC) || sqlite3_step(q) != SQLITE_DONE)
		rc = fail(db, path, e);
	sqlite3_finalize(q);
	sqlite3_close(db);
	return rc;
}

int dt_copy_snapshot(const char *from, const char *to, const char *note, struct dt_error *e)
{
	struct stat a, b;
	char new[4096];
	int fd;

	if (stat(from, &a) == 0 && stat(to, &b) == 0 && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino)
		return dt_fail(e, "%s: that is the trace itself", to);
	if (dt_store_check_room(to, e) < 0)
		return -1;
	if (dt_format(new, sizeof(new), "%s-new.%d", to, getpid()) >= sizeof(new))
		return dt_fail(e, "%s: cannot create: %s", to, strerror(ENAMETOOLONG));
	/* arguments of functions are private: nobody else may read them */
	unlink(new);
	fd = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return dt_fail(e, "%s: cannot create: %s", to, strerror(errno));
	close(fd);
	if (copy_database(from, new, e) == 0 && note_snapshot(new, note, e) == 0) {
		if (rename(new, to) == 0)
			return 0;
		dt_fail(e, "%s: cannot create: %s", to, strerror(errno));
	}
	unlink(new);
	return -1;
}

/* Returns whether there is a log beside the file, which the file's own bytes lack. */
static bool is_written(const char *path, int fd)
{
	char log[4096];
	uint8_t head[20];

	if (pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    (head[18] == WAL_FORMAT || head[19] == WAL_FORMAT))
		return dt_format(log, sizeof(log), "%s-wal", path) < sizeof(log) &&
		       access(log, F_OK) == 0;
	return false;
}

static int copy_as_it_is(const char *path, int file, int fd, struct dt_error *e)
{
	sqlite3 *db = open_source(path, e);
	struct dt_error why;
	int rc;

	if (!db)
		return -1;
	/* Nobody writes while this transaction reads; where a file cannot be locked, nobody can
	 * write either. */
	sqlite3_exec(db, "BEGIN; SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
	rc = dt_copy_bytes(file, fd, &why);
	sqlite3_close(db);
	return rc < 0 ? dt_fail(e, "%s: %s", path, why.text) : 0;
}

static int copy_snapshot(const char *path, int fd, struct dt_error *e)
{
	struct dt_copy_place place;
	int copy, rc;

	if (dt_copy_place(&place, e) < 0)
		return -1;
	rc = copy_database(path, place.path, e);
	copy = rc == 0 ? open(place.path, O_RDONLY | O_CLOEXEC) : -1;
	if (rc == 0 && copy < 0)
		rc = dt_fail(e, "%s: %s", place.path, strerror(errno));
	dt_copy_remove(&place);
	if (rc == 0)
		rc = dt_copy_bytes(copy, fd, e);
	if (copy >= 0)
		close(copy);
	return rc;
}

int dt_copy_trace(const char *path, int fd, struct dt_error *e)
{
	char *real;
	int file, rc;

	if (check(path, e) < 0)
		return -1;
	/* if path is a link, SQLite keeps the log beside the file that it leads to */
	real = realpath(path, NULL);
	file = real ? dt_outside_open(real, O_RDONLY | O_CLOEXEC, 0) : -1;
	if (file < 0)
		rc = dt_fail(e, "%s: %s", path, strerror(errno));
	else if (is_written(real, file))
		rc = copy_snapshot(real, fd, e);
	else
		rc = copy_as_it_is(real, file, fd, e);
	if (file >= 0)
		close(file);
	free(real);
	return rc;
}

int dt_copy_last_chunk(const char *path, int64_t *last, struct dt_error *e)
{
	sqlite3 *db = open_source(path, e);
	sqlite3_stmt *q = NULL;
	int rc = -1;

	if (!db)
		return -1;
	if (sqlite3_prepare_v2(db, "SELECT coalesce(max(id), 0) FROM chunk", -1, &q, NULL) == 0 &&
	    sqlite3_step(q) == SQLITE_ROW) {
		*last = sqlite3_column_int64(q, 0);
		rc = 0;
	} else {
		fail(db, path, e);
	}
	sqlite3_finalize(q);
	sqlite3_close(db);
	return rc;
}

/*
 * The statements that copy what comes after chunk ?1. A core's records are counted from 0 again.
 * Losses are copied that lie after the core's last record that is left out.
 */
static const char *const since_sql[] = {
	"CREATE TEMP TABLE gone AS SELECT core, max(first + records) AS n FROM source.chunk"
	" WHERE id<=?1 GROUP BY core",
	"INSERT INTO chunk SELECT id, core, first - coalesce("
	" (SELECT n FROM gone WHERE gone.core=c.core), 0), records, min_ticks, max_ticks, events, "
	"vals"
	" FROM source.chunk c WHERE id>?1 ORDER BY id",
	"INSERT INTO loss SELECT core, after - coalesce("
	" (SELECT n FROM gone WHERE gone.core=l.core), 0), lost, begin_ticks, end_ticks"
	" FROM source.loss l WHERE after>=coalesce("
	" (SELECT n FROM gone WHERE gone.core=l.core), 0)",
	"INSERT INTO lost_switches SELECT core, after - coalesce("
	" (SELECT n FROM gone WHERE gone.core=l.core), 0), lost"
	" FROM source.lost_switches l WHERE after>=coalesce("
	" (SELECT n FROM gone WHERE gone.core=l.core), 0)",
	"INSERT INTO pause SELECT * FROM source.pause",
	"INSERT INTO change SELECT * FROM source.change",
	"INSERT INTO waited SELECT * FROM source.waited",
	"INSERT INTO used SELECT * FROM source.used",
	"INSERT INTO sync SELECT * FROM source.sync",
	"INSERT INTO hold SELECT * FROM source.hold",
	/* for a part, it is not known how many were written */
	"INSERT INTO written SELECT * FROM source.written WHERE ?1=0",
	"INSERT INTO left_records SELECT * FROM source.left_records WHERE ?1=0",
	"INSERT INTO left_out SELECT * FROM source.left_out",
	"INSERT INTO budget_off " DT_STORE_BUDGET_SQL("source.budget_off"),
	"INSERT INTO sum SELECT * FROM source.sum",
	"INSERT INTO sum_line SELECT * FROM source.sum_line",
	"INSERT INTO backtrace SELECT * FROM source.backtrace",
	"INSERT INTO stack SELECT * FROM source.stack",
	"INSERT INTO stack_frame SELECT * FROM source.stack_frame",
	"INSERT INTO waker SELECT * FROM source.waker",
	"INSERT INTO meta SELECT * FROM source.meta",
	"INSERT INTO process SELECT * FROM source.process",
	"INSERT INTO exec SELECT * FROM source.exec",
	"INSERT INTO thread SELECT * FROM source.thread",
	"INSERT INTO again SELECT * FROM source.again",
	"INSERT INTO module SELECT * FROM source.module",
	"INSERT INTO module_name SELECT * FROM source.module_name",
	"INSERT INTO complete SELECT * FROM source.complete",
	"INSERT INTO unhooked SELECT * FROM source.unhooked",
	"INSERT INTO unhooked_caller SELECT * FROM source.unhooked_caller",
	"INSERT INTO jit SELECT * FROM source.jit",
	"INSERT INTO function SELECT * FROM source.function",
	"INSERT INTO function_name SELECT * FROM source.function_name",
	"INSERT INTO type SELECT * FROM source.type",
	"INSERT INTO site SELECT * FROM source.site",
	"INSERT INTO clock SELECT * FROM source.clock",
	"INSERT INTO event SELECT * FROM source.event",
};

/* Returns whether the table that a statement reads is there; older files lack some. */
static bool has_source(sqlite3 *db, const char *sql)
{
	static const char from[] = "FROM source.";
	const char *name = strstr(sql, from);
	sqlite3_stmt *q = NULL;
	bool has = true;

	if (name) {
		name += strlen(from);
		has = sqlite3_prepare_v2(db, "SELECT 1 FROM source.sqlite_schema WHERE name=?", -1,
					 &q, NULL) == 0 &&
		      sqlite3_bind_text(q, 1, name, (int)strcspn(name, " "), SQLITE_STATIC) == 0 &&
		      sqlite3_step(q) == SQLITE_ROW;
		sqlite3_finalize(q);
	}
	return has;
}

static int run(sqlite3 *db, const char *sql, int64_t last, const char *path, struct dt_error *e)
{
	sqlite3_stmt *q = NULL;
	int rc = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) == 0) {
		sqlite3_bind_int64(q, 1, last);
		rc = sqlite3_step(q) == SQLITE_DONE ? 0 : -1;
	}
	if (rc < 0)
		fail(db, path, e);
	sqlite3_finalize(q);
	return rc;
}

static int attach(sqlite3 *db, const char *from, struct dt_error *e)
{
	sqlite3_stmt *q = NULL;
	int rc = -1;

	if (sqlite3_prepare_v2(db, "ATTACH ? AS source", -1, &q, NULL) == 0) {
		sqlite3_bind_text(q, 1, from, -1, SQLITE_STATIC);
		rc = sqlite3_step(q) == SQLITE_DONE ? 0 : -1;
	}
	if (rc < 0)
		fail(db, from, e);
	sqlite3_finalize(q);
	return rc;
}

int dt_copy_since(const char *from, int64_t last, const char *to, struct dt_error *e)
{
	char head[160];
	sqlite3 *db;
	int rc;

	if (check(from, e) < 0)
		return -1;
	if (last == 0)
		return copy_database(from, to, e);
	db = open_copy(to, e);
	if (!db)
		return -1;
	sqlite3_busy_timeout(db, BUSY_MS);
	dt_format(head, sizeof(head),
		  "PRAGMA page_size=16384; PRAGMA application_id=%d; PRAGMA user_version=%d;",
		  DT_APPLICATION_ID, DT_STORE_SCHEMA);
	rc = sqlite3_exec(db, head, NULL, NULL, NULL) ||
			     sqlite3_exec(db, DT_SCHEMA_SQL, NULL, NULL, NULL)
		     ? fail(db, to, e)
		     : attach(db, from, e);
	/* one transaction: the writer may go on meanwhile, but nothing of that is seen */
	if (rc == 0 && sqlite3_exec(db, "BEGIN", NULL, NULL, NULL))
		rc = fail(db, to, e);
	for (size_t i = 0; rc == 0 && i < sizeof(since_sql) / sizeof(*since_sql); i++)
		if (has_source(db, since_sql[i]))
			rc = run(db, since_sql[i], last, from, e);
	if (rc == 0 && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL))
		rc = fail(db, to, e);
	sqlite3_close(db);
	return rc;
}
