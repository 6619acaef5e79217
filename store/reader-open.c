/* SPDX-License-Identifier: MIT */
/* Opening a trace file, after checking that it is what it says. */
#include "store/reader-work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/journal.h"

#define OPENINGS   100	   /* tries, if the file is replaced again and again */
#define DENSE	   32	   /* most records for each byte of a file... */
#define DENSE_FREE 4000000 /* ...not counting the first so many records */
#define BUSY_MS	   5000	   /* the writer may hold the file so long, to begin or to close it */

static const char *const statement_sql[READER_STATEMENTS] = {
	[READ_CHUNK] =
		"SELECT c.id, c.first, c.records, c.events, c.max_ticks, c.min_ticks FROM chunk c WHERE c.id="
		"(SELECT id FROM chunk WHERE core=?1 AND first>=?2 AND max_ticks>=?3 AND id<=?4"
		" AND min_ticks<=?5 ORDER BY first LIMIT 1)",
	/* disorder comes from what a ring held, and hardly reaches over more than 64 chunks */
	[FOLLOWING] =
		"SELECT min(min_ticks) FROM (SELECT min_ticks FROM chunk WHERE core=?1 AND first>=?2"
		" AND id<=?3 ORDER BY first LIMIT 64)",
	[VALS] = "SELECT vals FROM chunk WHERE id=?1",
	[LOSSES] = "SELECT after, lost, begin_ticks, end_ticks, "
		   "(SELECT x.lost FROM lost_switches x WHERE x.core=l.core AND x.after=l.after) "
		   "FROM loss l WHERE core=?1 AND after>=?2 AND after<?3 ORDER BY after",
	[CORES] = "SELECT DISTINCT core FROM chunk UNION SELECT DISTINCT core FROM loss",
	[LIMIT] = "SELECT max(id) FROM chunk",
	[VERSION] = "PRAGMA data_version",
};

/* LOSSES of a file that does not say of what kind they are. */
static const char old_losses[] = "SELECT after, lost, begin_ticks, end_ticks, 0 FROM loss "
				 "WHERE core=?1 AND after>=?2 AND after<?3 ORDER BY after";

int dt_reader_sql_error(const struct dt_reader *r, struct dt_error *e)
{
	int code = sqlite3_errcode(r->db);

	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		return dt_fail(e, "%s: the trace is damaged or cut off (%s)", r->path,
			       sqlite3_errmsg(r->db));
	/* a process in a sandbox may only open the files that were there when it entered it */
	if (code == SQLITE_CANTOPEN && access(r->path, R_OK) == 0)
		return dt_fail(
			e,
			"%s: cannot be opened: it has been replaced by another trace just now "
			"(then try again), or the files beside it may not be read",
			r->path);
	return dt_fail(e, "%s: cannot read: %s", r->path, sqlite3_errmsg(r->db));
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Returns whether there is a file whose name is path with `what' after it. */
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

/* Returns whether reading failed because a journal would have to be undone first; store/journal.h
 * says why it is not. */
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

/*
 * Checks, before SQLite is asked, whether a file can be a trace, and says in plain words why not.
 */
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

static const char touch[] = "SELECT 1 FROM sqlite_schema";

/*
 * Checks by its header whether the file is a trace and whole. The header is read through SQLite's
 * own descriptor: closing another one of the file would drop the locks of every database of this
 * process that has it open.
 */
static int check_head(struct dt_reader *r, struct dt_error *e)
{
	sqlite3_file *f = NULL;
	sqlite3_int64 length = 0;
	uint8_t head[100] = {0};
	uint64_t size;
	int tries = 0;

	if (sqlite3_file_control(r->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) || !f ||
	    !f->pMethods)
		return dt_reader_sql_error(r, e);
again:
	if (f->pMethods->xRead(f, head, sizeof(head), 0) || f->pMethods->xFileSize(f, &length) ||
	    memcmp(head, "SQLite format 3", 16) || memcmp(head + 68, "dtrc", 4))
		return memcmp(head + 68, "dtfl", 4)
			       ? dt_fail(e, "%s: is not a devtrace trace", r->path)
			       : dt_fail(e,
					 "%s: is a fleet, of traces of several machines, where one trace is needed: "
					 "%s@HOST is that machine's (`devtrace merge %s` lists them), `devtrace "
					 "merge --one ALL.db %s` makes one of all",
					 r->path, r->path, r->path, r->path);
	/* the size by SQLite's header; while the file is written, the rest is in the log */
	size = (uint64_t)(head[16] << 8 | head[17]) * be32(head + 28);
	if ((uint64_t)length < size && !has_log(r->path)) {
		/* somebody may just be writing it, header first: `devtrace view' adds to it. He
		 * holds a lock meanwhile, for which a statement waits. */
		if (!tries++) {
			sqlite3_exec(r->db, touch, NULL, NULL, NULL);
			goto again;
		}
		return dt_fail(e, "%s: the trace is cut off: %lu of %lu bytes", r->path,
			       (unsigned long)length, (unsigned long)size);
	}
	return 0;
}

int64_t dt_reader_single(struct dt_reader *r, const char *sql)
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

/* Opens the database. In a directory that may not be written to, one that has no log is opened as
 * it is ("immutable"). */
static int open_database(struct dt_reader *r, struct dt_error *e)
{
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

/* Checks that chunks and losses have their indices: without them, each look-up would search all
 * rows. */
static int check_keys(struct dt_reader *r, struct dt_error *e)
{
	static const char sql[] =
		"SELECT (SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info('chunk_order') ORDER BY seqno))"
		" = 'core,first,records,min_ticks,max_ticks' AND (SELECT count(*) FROM pragma_table_info('loss')"
		" WHERE (name='core' AND pk=1) OR (name='after' AND pk=2)) = 2";

	return dt_reader_single(r, sql) == 1
		       ? 0
		       : dt_fail(e, "%s: the trace is damaged: its chunks or losses have no index",
				 r->path);
}

/* Whether the file says of what kind its losses are, by a table with its index: older ones do not.
 */
static const char kinds_are_there[] =
	"SELECT (SELECT count(*) FROM pragma_table_info('lost_switches') WHERE"
	" (name='core' AND pk=1) OR (name='after' AND pk=2) OR name='lost') = 3";

/* Returns how many bytes a file takes on the disk: holes do not count. */
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
 * Checks that the file does not have more records than its size allows. Equal records at equal
 * distances take next to no space, so a small file could have more than anybody would wait for.
 * Real clocks are not so even: a loop around an empty function, where each call is like the others,
 * has some 10 records a byte, and 21 in its best chunk.
 */
static int check_density(struct dt_reader *r, struct dt_error *e)
{
	int64_t records = dt_reader_single(
		r, "SELECT CAST(min(total(max(records, 0)), 9e18) AS INTEGER) FROM chunk "
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

	/* nothing in the schema of a file from elsewhere may run */
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(r->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_exec(r->db, "PRAGMA cell_size_check=ON; PRAGMA query_only=ON", NULL, NULL, NULL);
	version = dt_reader_single(r, "PRAGMA user_version");
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
	if (dt_reader_single(
		    r, "SELECT count(*) FROM sqlite_schema WHERE type<>'table' AND "
		       "NOT(type='index' AND tbl_name IN('chunk','thread','meta','loss'))") != 0)
		return sqlite3_errcode(r->db) == SQLITE_OK || sqlite3_errcode(r->db) == SQLITE_DONE
			       ? dt_fail(e, "%s: the trace is damaged: foreign tables", r->path)
			       : dt_reader_sql_error(r, e);
	if (check_keys(r, e) || check_density(r, e))
		return -1;
	r->kinds = dt_reader_single(r, kinds_are_there) == 1;
	for (int i = 0; i < READER_STATEMENTS; i++)
		if (sqlite3_prepare_v3(r->db,
				       i == LOSSES && !r->kinds ? old_losses : statement_sql[i], -1,
				       SQLITE_PREPARE_PERSISTENT, &r->statement[i], NULL))
			return dt_reader_sql_error(r, e);
	return 0;
}

int64_t dt_reader_version(struct dt_reader *r)
{
	sqlite3_stmt *q = r->statement[VERSION];
	int64_t version = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;

	sqlite3_reset(q);
	return version;
}

/* Reads the limit, and what is new in the tables. */
static int read_tables(struct dt_reader *r, struct dt_error *e)
{
	struct dt_error why = {""};
	sqlite3_stmt *q = r->statement[LIMIT];

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

int dt_reader_refresh(struct dt_reader *r, struct dt_error *e)
{
	int64_t version = dt_reader_version(r);
	bool alone = sqlite3_get_autocommit(r->db);
	int rc;

	if (version && version == r->refreshed)
		return 0;
	/* all as of one moment: a site that is read after its function's row was looked for would
	 * be of no function from then on */
	if (alone)
		sqlite3_exec(r->db, "BEGIN", NULL, NULL, NULL);
	rc = read_tables(r, e);
	if (alone)
		sqlite3_exec(r->db, "COMMIT", NULL, NULL, NULL);
	if (rc)
		return -1;
	r->refreshed = version;
	r->unhooked.read = false;
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

/* Returns 1 if the file that fd was opened for is still the one at path, 0 if it is not, -1 if none
 * is there. */
static int is_same(int fd, const char *path)
{
	struct stat a, b;

	if (stat(path, &b))
		return -1;
	return fd >= 0 && !fstat(fd, &a) && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/*
 * A new recording replaces the file, perhaps while it is being opened: then the database may be one
 * file's and the log another's, which do not belong together. So if another file is at the path
 * after opening than before, that one is opened; if none is there, an error is returned. The file
 * is held open meanwhile, so that no other one can get its inode number; with O_PATH, because
 * closing any other descriptor would drop SQLite's locks.
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
		/* a file that is gone from its path now was whole when it was opened */
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

	/* r has its file open, so no later file can have its inode number */
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
	for (int i = 0; i < READER_STATEMENTS; i++)
		sqlite3_finalize(r->statement[i]);
	sqlite3_close(r->db);
	ZSTD_freeDCtx(r->dctx);
	dt_tables_free(&r->tables);
	dt_unhooked_calls_free(&r->unhooked);
	free(r->path);
	free(r);
}
