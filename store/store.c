/* SPDX-License-Identifier: MIT */
/*
 * Writing a trace file. Records are encoded as they come, into one open chunk per core; a full
 * chunk and everything it refers to are committed in one transaction, so a reader never meets a
 * chunk whose sites are missing. After a write error the store accepts nothing more.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include "process/outside.h"
#include "store/chunk.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/sites.h"
#include "store/store.h"

/* A core's quick look-up from what a record says to the open chunk's dictionary. */
struct slot {
	uint64_t pc, target; /* see struct dt_site_entry */
	uint32_t pid;
	uint32_t tag; /* kind, flags; 0: free */
	uint32_t generation;
	uint32_t local; /* or BY_TARGET */
};

#define BY_TARGET 0xffffffffu

struct core {
	struct dt_encoder *chunk;
	struct slot *slot;
	uint32_t slots, used;  /* slots: a power of two */
	uint32_t generation;   /* slots of another generation are free */
	uint32_t tid, pid;     /* last thread seen, and its process */
	uint32_t pids_version; /* when pid was looked up */
	uint64_t written;      /* records in chunks already written out */
	uint64_t lost;	       /* loss that is not in the file yet... */
	uint64_t lost_after;   /* ...and the number of records before it */
	uint64_t lost_begin;   /* ticks of the record before it */
	bool loss_open;	       /* the end of the last loss in the file is not known yet */
	uint64_t last_ticks;
};

enum statement {
	META,
	PROCESS,
	PROCESS_END,
	EXEC,
	COMPLETE,
	THREAD,
	MODULE,
	MODULE_END,
	MODULE_NAME,
	UNHOOKED,
	UNHOOKED_CALLER,
	FUNCTION,
	TYPE,
	SITE,
	CLOCK,
	EVENT,
	LOSS,
	LOSS_END,
	PAUSE,
	CHANGE,
	HELD,
	WRITTEN,
	CHUNK,
	BEGIN,
	COMMIT,
	STATEMENTS
};

static const char *const statement_sql[STATEMENTS] = {
	[META] = "INSERT OR REPLACE INTO meta VALUES(?,?)",
	[PROCESS] = "INSERT INTO process VALUES(?,?,?,?,?,NULL,NULL)",
	[PROCESS_END] = "UPDATE process SET status=?, end_ticks=? WHERE rowid="
			"(SELECT max(rowid) FROM process WHERE pid=?)",
	[EXEC] = "INSERT INTO exec VALUES(?,?)",
	[COMPLETE] = "INSERT OR IGNORE INTO complete VALUES(?,?)",
	[THREAD] = "INSERT OR REPLACE INTO thread VALUES(?,?,?)",
	[MODULE] = "INSERT INTO module VALUES(NULL,?,?,?,?,?,?,?,?)",
	[MODULE_END] = "UPDATE module SET end_ticks=? WHERE id=?",
	[MODULE_NAME] = "INSERT INTO module_name VALUES(?,?)",
	[UNHOOKED] = "INSERT INTO unhooked VALUES(?,?,?,?)",
	[UNHOOKED_CALLER] = "INSERT OR IGNORE INTO unhooked_caller VALUES(?,?,?)",
	[TYPE] = "INSERT INTO type VALUES(NULL,?)",
	[FUNCTION] = "INSERT INTO function VALUES(NULL,?,?,?,?,?,?,?)",
	[SITE] = "INSERT INTO site VALUES(NULL,?,?,?,?,?,?,?)",
	[CLOCK] = "INSERT INTO clock VALUES(?,?,?)",
	[EVENT] = "INSERT INTO event VALUES(?,?,?,?,?)",
	[LOSS] = "INSERT INTO loss VALUES(?,?,?,?,?) ON CONFLICT(core, after) DO UPDATE SET "
		 "lost=lost+excluded.lost, begin_ticks=min(begin_ticks, excluded.begin_ticks), "
		 "end_ticks=excluded.end_ticks",
	[LOSS_END] = "UPDATE loss SET end_ticks=? WHERE core=? AND after=?",
	[PAUSE] = "INSERT INTO pause VALUES(?,?,?,?,?)",
	[CHANGE] = "INSERT INTO change VALUES(?,?,?,?)",
	[HELD] = "INSERT INTO hold VALUES(?,?,?,?)",
	[WRITTEN] = "INSERT INTO written VALUES(?,?,?,?)",
	[CHUNK] = "INSERT INTO chunk VALUES(NULL,?,?,?,?,?,?,?)",
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
};

struct dt_store {
	char *path;
	sqlite3 *db;
	sqlite3_stmt *statement[STATEMENTS];
	ZSTD_CCtx *cctx;
	dt_describe_fn *describe;
	void *ctx;
	struct core *core[65536];
	unsigned cores; /* highest core number seen, plus one */
	struct dt_sites sites;
	uint32_t targets;	   /* rows of sites for one target each */
	struct dt_sites functions; /* by module, in place of the pid, and address */
	struct dt_type_entry {
		uint64_t hash; /* of its text */
		int64_t row;
	} * type;
	size_t types;
	struct dt_pids pids;
	uint32_t pids_version;
	struct dt_bytes events, vals;
	bool in_transaction, failed;
	bool losses;  /* in the transaction; maybe behind records that are not in it yet */
	bool late;    /* in memory until it has records: another trace is at the path */
	bool patient; /* it was, when it was begun */
	bool has_records;
	bool closing;	 /* nothing comes after */
	const char *old; /* appended to the name of what was there; NULL: nothing was */
	bool keep_old;	 /* when the new one is complete, too */
	struct dt_error failure;
};

/* Every failure to write ends here: it is remembered, and said again by every later call. */
static int fail(struct dt_store *s, struct dt_error *e)
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

static int no_memory(struct dt_store *s, struct dt_error *e)
{
	s->failed = true;
	dt_fail(&s->failure, "%s: out of memory", s->path);
	return dt_fail(e, "%s", s->failure.text);
}

/* Runs a statement whose parameters are bound, and forgets them. */
static int run(struct dt_store *s, enum statement which, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[which];
	int rc = sqlite3_step(t);

	if (rc != SQLITE_DONE) {
		fail(s, e);
		sqlite3_reset(t);
		return -1;
	}
	sqlite3_reset(t);
	return 0;
}

static int begin(struct dt_store *s, struct dt_error *e)
{
	if (s->failed)
		return fail(s, e);
	if (s->in_transaction)
		return 0;
	if (run(s, BEGIN, e))
		return -1;
	s->in_transaction = true;
	return 0;
}

static void bind_text(sqlite3_stmt *t, int i, const char *text)
{
	sqlite3_bind_text(t, i, text ? text : "", -1, SQLITE_TRANSIENT);
}

static void bind_u64(sqlite3_stmt *t, int i, uint64_t v)
{
	sqlite3_bind_int64(t, i, (sqlite3_int64)v);
}

/* ---- creating and closing ---- */

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
		unlink(b); /* it would be taken for this one's */
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

/* Puts it aside; afterwards nothing is there. */
static int make_room(struct dt_store *s, struct dt_error *e)
{
	const char *end = s->keep_old ? ".old" : "-old";

	if (dt_store_check_room(s->path, e))
		return -1;
	/* kept under another name until the new one is done: see dt_store_discard() */
	if (move_all(s->path, "", s->path, end) == 0)
		s->old = end;
	else if (errno != ENOENT)
		return dt_fail(e, "%s: cannot replace it: %s", s->path, strerror(errno));
	return 0;
}

/* What was at the path is there again. */
static void move_back(const char *path, const char *old)
{
	remove_all(path, "");
	if (old)
		move_all(path, old, path, "");
}

/*
 * The tables, in a database that keeps a write-ahead log. The application's number comes first: who
 * wants to replace the file looks for it where it is, not in the log.
 */
static int make_tables(struct dt_store *s, struct dt_error *e)
{
	char sql[128];

	/* no journal beside it, ever: who is killed would leave one, and no reader undoes it
	 * (store/journal.h) */
	dt_format(
		sql, sizeof(sql),
		"PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA page_size=16384; PRAGMA application_id=%d;",
		DT_APPLICATION_ID);
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) ||
	    sqlite3_exec(s->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL) ||
	    sqlite3_exec(s->db, "BEGIN;" DT_SCHEMA_SQL, NULL, NULL, NULL))
		return fail(s, e);
	dt_format(sql, sizeof(sql), "PRAGMA user_version=%d; COMMIT", DT_STORE_SCHEMA);
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) ? fail(s, e) : 0;
}

static int prepare(struct dt_store *s, struct dt_error *e)
{
	if (sqlite3_exec(s->db, "PRAGMA synchronous=OFF", NULL, NULL, NULL))
		return fail(s, e);
	for (int i = 0; i < STATEMENTS; i++)
		if (sqlite3_prepare_v3(s->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
				       &s->statement[i], NULL))
			return fail(s, e);
	return 0;
}

static void destroy(struct dt_store *s)
{
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(s->statement[i]);
	sqlite3_close(s->db);
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
	free(s->type);
	dt_pids_free(&s->pids);
	free(s->events.p);
	free(s->vals.p);
	free(s->path);
	free(s);
}

/* An empty file for a new trace: the path's with that end. */
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

/* What was made under the name new comes to the path. */
static int put_new(struct dt_store *s, const char *new, struct dt_error *e)
{
	char side[4096];

	/* as late as can be: until then, who looks finds the old one */
	if (make_room(s, e) < 0)
		return -1;
	/* the log of a database that was removed without it must not be taken for this one's */
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
 * A new trace at path. It is made under another name first: whoever looks for it sees none, or a
 * whole one, and holds no lock that would be in our way.
 */
static int make_file(struct dt_store *s, struct dt_error *e)
{
	char new[4096];
	int rc;

	if (make_new(s->path, new, sizeof(new), e) < 0)
		return -1;
	if (sqlite3_open_v2(new, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL))
		rc = fail(s, e);
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
		       ? fail(s, e)
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
 * What is in memory becomes a file under the name new: with a log for what is still to come, or,
 * when that was all, without any file beside it that a reader of the old one could take for its
 * own.
 */
static int write_new(struct dt_store *s, const char *new, struct dt_error *e)
{
	sqlite3_stmt *q = NULL;
	sqlite3 *db = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(s->db, "VACUUM INTO ?", -1, &q, NULL) ||
	    sqlite3_bind_text(q, 1, new, -1, SQLITE_STATIC) || sqlite3_step(q) != SQLITE_DONE)
		rc = fail(s, e);
	sqlite3_finalize(q);
	if (s->closing)
		return rc == 0 ? sync_file(new, e) : rc;
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

/* The first records are there: from here on the trace is at its path. */
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
	s->failed = true; /* nothing can be written any more, and what was there still is */
	s->late = true;
	return dt_fail(e, "%s", s->failure.text);
}

static int commit(struct dt_store *s, struct dt_error *e)
{
	if (s->failed)
		return fail(s, e);
	if (!s->in_transaction)
		return 0;
	if (run(s, COMMIT, e))
		return -1;
	s->in_transaction = s->losses = false;
	return s->late && s->has_records ? publish(s, e) : 0;
}

static struct dt_store *new_store(const char *path, dt_describe_fn *describe, void *ctx,
				  struct dt_error *e)
{
	struct dt_store *s;

	if (dt_store_check_room(path, e))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->path = strdup(path)) || !(s->cctx = ZSTD_createCCtx())) {
		dt_fail(e, "%s: out of memory", path);
		if (s)
			destroy(s);
		return NULL;
	}
	s->describe = describe;
	s->ctx = ctx;
	ZSTD_CCtx_setParameter(s->cctx, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(s->cctx, ZSTD_c_checksumFlag, 1);
	return s;
}

struct dt_store *dt_store_create(const char *path, dt_describe_fn *describe, void *ctx,
				 struct dt_error *e)
{
	struct dt_store *s = new_store(path, describe, ctx, e);

	if (!s)
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

struct dt_store *dt_store_create_late(const char *path, bool keep_old, dt_describe_fn *describe,
				      void *ctx, struct dt_error *e)
{
	struct dt_store *s;
	struct stat st;
	char new[4096];

	if (stat(path, &st) < 0 || !st.st_size)
		return dt_store_create(path, describe, ctx, e);
	s = new_store(path, describe, ctx, e);
	if (!s)
		return NULL;
	/* what would fail later is better said now */
	if (make_new(path, new, sizeof(new), e) < 0) {
		destroy(s);
		return NULL;
	}
	remove_all(new, "");
	s->late = s->patient = true;
	s->keep_old = keep_old;
	if (sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL))
		fail(s, e);
	else if (make_tables(s, e) == 0 && prepare(s, e) == 0)
		return s;
	destroy(s);
	return NULL;
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

int dt_store_close(struct dt_store *s, struct dt_error *e)
{
	int rc;

	if (!s)
		return 0;
	s->closing = true;
	/*
	 * A child that has been there so briefly that nobody saw it: its program is not known.
	 * Before the rest is written: what was in memory until now is in the file then, and its
	 * tables have gone.
	 */
	if (!s->failed && s->db)
		sqlite3_exec(s->db,
			     "INSERT INTO process(pid, ppid, exe, cmdline)"
			     " SELECT DISTINCT pid, 0, '', '' FROM thread"
			     " WHERE pid > 0 AND pid NOT IN (SELECT pid FROM process)",
			     NULL, NULL, NULL);
	rc = dt_store_flush(s, e);
	if (dt_store_is_late(s)) {
		dt_store_discard(s);
		return rc;
	}
	finalize(s);
	if (!rc && s->db) {
		/* on the disk, and a single file again unless somebody is reading it just now */
		sqlite3_exec(s->db, "PRAGMA synchronous=FULL; PRAGMA journal_mode=MEMORY", NULL,
			     NULL, NULL);
	}
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

/* ---- records ---- */

static struct core *core_of(struct dt_store *s, unsigned core)
{
	struct core *c = s->core[core];

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->slots = 1024;
	c->generation = 1;
	c->tid = DT_NO_TID;
	c->slot = calloc(c->slots, sizeof(*c->slot));
	c->chunk = dt_encoder_new();
	if (!c->slot || !c->chunk) {
		dt_encoder_free(c->chunk);
		free(c->slot);
		free(c);
		return NULL;
	}
	s->core[core] = c;
	if (core >= s->cores)
		s->cores = core + 1;
	return c;
}

/* Forgets which dictionary entry belongs to which record. */
static void clear_slots(struct core *c)
{
	c->used = 0;
	if (++c->generation == 0) {
		memset(c->slot, 0, c->slots * sizeof(*c->slot));
		c->generation = 1;
	}
}

static inline struct slot *find_slot(const struct core *c, uint64_t pc, uint64_t target,
				     uint32_t pid, uint32_t tag)
{
	size_t i = dt_hash(pc + target);

	for (;; i++) {
		struct slot *k = &c->slot[i & (c->slots - 1)];

		if (k->generation != c->generation ||
		    (k->pc == pc && k->target == target && k->tag == tag && k->pid == pid))
			return k;
	}
}

static int grow_slots(struct core *c)
{
	struct slot *old = c->slot;
	uint32_t n = c->slots;

	c->slot = calloc(2 * (size_t)n, sizeof(*old));
	if (!c->slot) {
		c->slot = old;
		return -1;
	}
	c->slots = 2 * n;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].generation == c->generation)
			*find_slot(c, old[i].pc, old[i].target, old[i].pid, old[i].tag) = old[i];
	free(old);
	return 0;
}

static int set_slot(struct core *c, uint64_t pc, uint64_t target, uint32_t tag, uint32_t local)
{
	struct slot *k;

	if (2 * c->used >= c->slots && grow_slots(c))
		return -1;
	k = find_slot(c, pc, target, c->pid, tag);
	c->used += k->generation != c->generation;
	*k = (struct slot){pc, target, c->pid, tag, c->generation, local};
	return 0;
}

/* Of a record that tells where its jump leads, what its slot has as its target: not 0. */
static inline uint64_t target_of(const struct dt_record *r)
{
	return r->value[0] ? r->value[0] : 1;
}

/* Describes the site of a record and writes its row; *k is where it is kept, with by_target
 * another. */
static int new_site(struct dt_store *s, struct dt_site_entry **k, const struct dt_record *r,
		    struct dt_error *e)
{
	struct dt_site_row row = {.pc = r->pc, .kind = DT_SITE_UNKNOWN, .values = 0xf};
	sqlite3_stmt *t = s->statement[SITE];
	uint32_t pid = (*k)->pid;
	char text[2] = {0};

	if (begin(s, e))
		return -1;
	s->describe(s->ctx, r, &row);
	/* the callback may have put the process of a thread, but no site: k is still valid */
	if (row.by_target && !(*k)->target) {
		(*k)->by_target = true;
		if (r->value[0] && s->targets < DT_STORE_TARGETS)
			*k = dt_sites_find(&s->sites, pid, r->pc, r->value[0], r->kind);
		else
			row.target = 0;
		if (!*k)
			return no_memory(s, e);
		if ((*k)->row)
			return 0;
	}
	s->targets += (*k)->target != 0;
	(*k)->mask = row.values & 0xf;
	sqlite3_bind_int64(t, 1, pid);
	bind_u64(t, 2, row.pc);
	text[0] = (char)r->kind;
	if (r->kind > ' ' && r->kind <= '~')
		sqlite3_bind_text(t, 3, text, 1, SQLITE_TRANSIENT);
	else
		sqlite3_bind_int(t, 3, r->kind);
	sqlite3_bind_int64(t, 4, row.function);
	text[0] = (char)row.kind;
	sqlite3_bind_text(t, 5, text, 1, SQLITE_TRANSIENT);
	sqlite3_bind_int(t, 6, (*k)->mask);
	bind_u64(t, 7, row.target);
	if (s->failed || run(s, SITE, e))
		return fail(s, e);
	(*k)->row = (uint32_t)sqlite3_last_insert_rowid(s->db);
	return 0;
}

/* The row of a site that may not have been met yet, describing it if so. */
static struct dt_site_entry *site_of(struct dt_store *s, uint32_t pid, const struct dt_record *r,
				     struct dt_error *e)
{
	struct dt_site_entry *k = dt_sites_find(&s->sites, pid, r->pc, 0, r->kind);

	if (k && k->by_target && r->value[0]) {
		/* with too many of them there is one row for all others */
		struct dt_site_entry *to =
			s->targets < DT_STORE_TARGETS
				? dt_sites_find(&s->sites, pid, r->pc, r->value[0], r->kind)
				: dt_sites_known(&s->sites, pid, r->pc, r->value[0], r->kind);

		k = to || s->targets < DT_STORE_TARGETS ? to : k;
	}
	if (!k) {
		no_memory(s, e);
		return NULL;
	}
	return k->row || new_site(s, &k, r, e) == 0 ? k : NULL;
}

/* The slow half of the look-up: the record's entry is not in the open chunk's dictionary. */
static int new_local(struct dt_store *s, struct core *c, const struct dt_record *r, uint32_t tag,
		     struct dt_error *e)
{
	struct dt_site_entry *site = site_of(s, c->pid, r, e);
	uint64_t target = 0;
	int l;

	if (!site)
		return -1;
	l = dt_encoder_local(c->chunk, site->row, site->mask, r->flags);
	if (l < 0)
		return no_memory(s, e);
	if (site->target || site->by_target) {
		target = target_of(r);
		if (set_slot(c, r->pc, 0, tag, BY_TARGET))
			return no_memory(s, e);
	}
	return set_slot(c, r->pc, target, tag, (uint32_t)l) ? no_memory(s, e) : l;
}

static int write_loss(struct dt_store *s, unsigned core, struct core *c, uint64_t end_ticks,
		      struct dt_error *e)
{
	sqlite3_stmt *t;

	s->losses = true;
	if (c->lost) {
		if (begin(s, e))
			return -1;
		t = s->statement[LOSS];
		sqlite3_bind_int(t, 1, (int)core);
		bind_u64(t, 2, c->lost_after);
		bind_u64(t, 3, c->lost);
		bind_u64(t, 4, c->lost_begin);
		bind_u64(t, 5, end_ticks);
		if (run(s, LOSS, e))
			return -1;
	} else if (c->loss_open && end_ticks) {
		if (begin(s, e))
			return -1;
		t = s->statement[LOSS_END];
		bind_u64(t, 1, end_ticks);
		sqlite3_bind_int(t, 2, (int)core);
		bind_u64(t, 3, c->lost_after);
		if (run(s, LOSS_END, e))
			return -1;
	}
	c->loss_open = !end_ticks && (c->lost || c->loss_open);
	c->lost = 0;
	return 0;
}

static int write_chunk(struct dt_store *s, unsigned core, struct core *c, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[CHUNK];
	struct dt_encoder *k = c->chunk;
	int rc;

	if (!k->n)
		return 0;
	if (begin(s, e))
		return -1;
	if (dt_encoder_finish(k, core, s->cctx, &s->events, &s->vals, NULL))
		return no_memory(s, e);
	sqlite3_bind_int(t, 1, (int)core);
	bind_u64(t, 2, c->written);
	sqlite3_bind_int64(t, 3, k->n);
	bind_u64(t, 4, k->min_ticks);
	bind_u64(t, 5, k->max_ticks);
	sqlite3_bind_blob64(t, 6, s->events.p, s->events.n, SQLITE_STATIC);
	sqlite3_bind_blob64(t, 7, s->vals.p, s->vals.n, SQLITE_STATIC);
	rc = run(s, CHUNK, e);
	sqlite3_clear_bindings(t);
	if (rc)
		return -1;
	c->written += k->n;
	dt_encoder_reset(k);
	clear_slots(c);
	return 0;
}

/* Encodes as many records as the open chunk takes. */
static ssize_t put_some(struct dt_store *s, unsigned core, struct core *c,
			const struct dt_record *r, size_t n, struct dt_error *e)
{
	struct dt_encoder *k = c->chunk;
	size_t room = DT_CHUNK_MAX - k->n;

	if (n > room)
		n = room;
	for (size_t i = 0; i < n; i++) {
		uint32_t tag = r[i].kind | (uint32_t)r[i].flags << 8;
		struct slot *slot;
		unsigned l;

		if (__builtin_expect(r[i].tid != c->tid || c->pids_version != s->pids_version, 0)) {
			c->tid = r[i].tid;
			c->pid = dt_pids_get(&s->pids, c->tid);
			c->pids_version = s->pids_version;
		}
		slot = find_slot(c, r[i].pc, 0, c->pid, tag);
		if (__builtin_expect(slot->local == BY_TARGET, 0) &&
		    slot->generation == c->generation)
			slot = find_slot(c, r[i].pc, target_of(&r[i]), c->pid, tag);
		if (__builtin_expect(slot->generation == c->generation, 1)) {
			l = slot->local;
		} else {
			int new = new_local(s, c, &r[i], tag, e);

			if (new < 0)
				return -1;
			l = (unsigned)new;
		}
		dt_encoder_put(k, &r[i], l, core);
	}
	return (ssize_t)n;
}

static void note_loss(struct core *c, uint64_t lost, uint64_t begin)
{
	uint64_t after = c->written + c->chunk->n;

	if (!c->lost || begin < c->lost_begin)
		c->lost_begin = begin;
	c->lost += lost;
	c->lost_after = after;
}

/* The state of a core that may be new; NULL: it can not be written to. */
static struct core *usable(struct dt_store *s, unsigned core, struct dt_error *e)
{
	struct core *c;

	if (s->failed) {
		fail(s, e);
		return NULL;
	}
	if (core > DT_SHARED_CORE) {
		dt_fail(e, "%s: core %u: there are at most 65536", s->path, core);
		return NULL;
	}
	c = core_of(s, core);
	if (!c)
		no_memory(s, e);
	return c;
}

int dt_store_lose(struct dt_store *s, unsigned core, uint64_t lost, uint64_t begin_ticks,
		  struct dt_error *e)
{
	struct core *c = usable(s, core, e);

	if (!c)
		return -1;
	s->has_records |= lost != 0;
	if (lost)
		note_loss(c, lost, begin_ticks);
	return 0;
}

int dt_store_put(struct dt_store *s, unsigned core, const struct dt_record *r, size_t n,
		 uint64_t lost, struct dt_error *e)
{
	struct core *c = usable(s, core, e);

	if (!c)
		return -1;
	s->has_records |= n || lost;
	if (lost)
		note_loss(c, lost, c->last_ticks);
	if (!n)
		return 0;
	if ((c->lost || c->loss_open) && write_loss(s, core, c, r[0].ticks, e))
		return -1;
	while (n) {
		ssize_t done = put_some(s, core, c, r, n, e);

		if (done < 0)
			return -1;
		r += done;
		n -= (size_t)done;
		/* a loss is not in the file before the records in front of it, which another core
		 * holds */
		if (c->chunk->n == DT_CHUNK_MAX &&
		    (write_chunk(s, core, c, e) ||
		     (s->losses ? dt_store_flush(s, e) : commit(s, e))))
			return -1;
	}
	c->last_ticks = r[-1].ticks;
	return 0;
}

void dt_store_forget(struct dt_store *s, uint64_t low, uint64_t high)
{
	dt_sites_forget(&s->sites, low, high);
	dt_sites_forget(&s->functions, low, high);
	for (unsigned i = 0; i < s->cores; i++)
		if (s->core[i])
			clear_slots(s->core[i]);
}

int dt_store_flush(struct dt_store *s, struct dt_error *e)
{
	if (s->failed)
		return fail(s, e);
	for (unsigned i = 0; i < s->cores; i++) {
		struct core *c = s->core[i];

		if (c && (write_chunk(s, i, c, e) || write_loss(s, i, c, 0, e)))
			return -1;
	}
	return commit(s, e);
}

/* ---- descriptions ---- */

int dt_store_meta(struct dt_store *s, const char *key, const char *value, struct dt_error *e)
{
	if (begin(s, e))
		return -1;
	bind_text(s->statement[META], 1, key);
	bind_text(s->statement[META], 2, value);
	return run(s, META, e);
}

int64_t dt_store_module(struct dt_store *s, const struct dt_module_row *m, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[MODULE];

	if (begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, m->pid);
	bind_u64(t, 2, m->base);
	bind_u64(t, 3, m->low);
	bind_u64(t, 4, m->high);
	bind_text(t, 5, m->path);
	bind_text(t, 6, m->build_id);
	bind_u64(t, 7, m->begin_ticks);
	bind_u64(t, 8, m->end_ticks);
	return run(s, MODULE, e) ? -1 : sqlite3_last_insert_rowid(s->db);
}

int dt_store_module_end(struct dt_store *s, int64_t module, uint64_t end_ticks, struct dt_error *e)
{
	if (begin(s, e))
		return -1;
	bind_u64(s->statement[MODULE_END], 1, end_ticks);
	sqlite3_bind_int64(s->statement[MODULE_END], 2, module);
	return run(s, MODULE_END, e);
}

int dt_store_complete(struct dt_store *s, int64_t module, uint64_t ticks, struct dt_error *e)
{
	if (begin(s, e))
		return -1;
	sqlite3_bind_int64(s->statement[COMPLETE], 1, module);
	bind_u64(s->statement[COMPLETE], 2, ticks);
	return run(s, COMPLETE, e);
}

int dt_store_module_name(struct dt_store *s, int64_t module, const char *name, struct dt_error *e)
{
	if (begin(s, e))
		return -1;
	sqlite3_bind_int64(s->statement[MODULE_NAME], 1, module);
	bind_text(s->statement[MODULE_NAME], 2, name);
	return run(s, MODULE_NAME, e);
}

int dt_store_unhooked(struct dt_store *s, const char *path, uint64_t address, const char *name,
		      const char *reason, struct dt_error *e)
{
	if (begin(s, e))
		return -1;
	bind_text(s->statement[UNHOOKED], 1, path);
	bind_u64(s->statement[UNHOOKED], 2, address);
	bind_text(s->statement[UNHOOKED], 3, name);
	bind_text(s->statement[UNHOOKED], 4, reason);
	return run(s, UNHOOKED, e);
}

int dt_store_unhooked_caller(struct dt_store *s, const char *path, uint64_t caller, uint64_t callee,
			     struct dt_error *e)
{
	if (begin(s, e))
		return -1;
	bind_text(s->statement[UNHOOKED_CALLER], 1, path);
	bind_u64(s->statement[UNHOOKED_CALLER], 2, caller);
	bind_u64(s->statement[UNHOOKED_CALLER], 3, callee);
	return run(s, UNHOOKED_CALLER, e);
}

int64_t dt_store_function(struct dt_store *s, const struct dt_function_row *f, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[FUNCTION];
	struct dt_site_entry *known;

	if (begin(s, e))
		return -1;
	known = dt_sites_find(&s->functions, (uint32_t)f->module,
			      f->address ^ f->variant * 0x9e3779b97f4a7c15u, 0, 0);
	if (!known)
		return no_memory(s, e);
	if (known->row)
		return known->row;
	sqlite3_bind_int64(t, 1, f->module);
	bind_u64(t, 2, f->address);
	bind_u64(t, 3, f->size);
	bind_text(t, 4, f->name);
	bind_text(t, 5, f->file);
	sqlite3_bind_int64(t, 6, f->line);
	bind_text(t, 7, f->signature);
	if (run(s, FUNCTION, e))
		return -1;
	known->row = (uint32_t)sqlite3_last_insert_rowid(s->db);
	return known->row;
}

int64_t dt_store_type(struct dt_store *s, const char *text, struct dt_error *e)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
	struct dt_type_entry *more;

	for (const char *p = text; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
	for (size_t i = 0; i < s->types; i++)
		if (s->type[i].hash == hash)
			return s->type[i].row;
	if (begin(s, e))
		return -1;
	more = realloc(s->type, (s->types + 1) * sizeof(*more));
	if (!more)
		return no_memory(s, e);
	s->type = more;
	bind_text(s->statement[TYPE], 1, text);
	if (run(s, TYPE, e))
		return -1;
	s->type[s->types] = (struct dt_type_entry){hash, sqlite3_last_insert_rowid(s->db)};
	return s->type[s->types++].row;
}

int dt_store_process(struct dt_store *s, uint32_t pid, uint32_t ppid, const char *exe,
		     const char *cmdline, uint64_t begin_ticks, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[PROCESS];

	if (begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, pid);
	sqlite3_bind_int64(t, 2, ppid);
	bind_text(t, 3, exe);
	bind_text(t, 4, cmdline);
	bind_u64(t, 5, begin_ticks);
	return run(s, PROCESS, e);
}

int dt_store_process_end(struct dt_store *s, uint32_t pid, int status, uint64_t end_ticks,
			 struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[PROCESS_END];

	if (begin(s, e))
		return -1;
	sqlite3_bind_int(t, 1, status);
	bind_u64(t, 2, end_ticks);
	sqlite3_bind_int64(t, 3, pid);
	return run(s, PROCESS_END, e);
}

int dt_store_exec(struct dt_store *s, uint32_t pid, uint64_t ticks, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[EXEC];

	if (begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, pid);
	bind_u64(t, 2, ticks);
	return run(s, EXEC, e);
}

int dt_store_thread(struct dt_store *s, uint32_t tid, uint32_t pid, const char *name,
		    struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[THREAD];

	if (begin(s, e))
		return -1;
	if (dt_pids_set(&s->pids, tid, pid))
		return no_memory(s, e);
	s->pids_version++;
	sqlite3_bind_int64(t, 1, tid);
	sqlite3_bind_int64(t, 2, pid);
	bind_text(t, 3, name);
	return run(s, THREAD, e);
}

int dt_store_clock(struct dt_store *s, uint64_t ticks, uint64_t monotonic_ns, uint64_t realtime_ns,
		   struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[CLOCK];

	if (begin(s, e))
		return -1;
	bind_u64(t, 1, ticks);
	bind_u64(t, 2, monotonic_ns);
	bind_u64(t, 3, realtime_ns);
	return run(s, CLOCK, e);
}

int dt_store_pause(struct dt_store *s, const struct dt_pause *p, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[PAUSE];

	if (begin(s, e))
		return -1;
	bind_u64(t, 1, p->begin);
	bind_u64(t, 2, p->end);
	bind_text(t, 3, p->stopped ? "stopped" : "frozen");
	bind_u64(t, 4, p->times);
	if (p->missed == DT_NOT_KNOWN)
		sqlite3_bind_null(t, 5);
	else
		bind_u64(t, 5, p->missed);
	return run(s, PAUSE, e);
}

int dt_store_change(struct dt_store *s, const struct dt_change *c, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[CHANGE];

	if (begin(s, e))
		return -1;
	bind_u64(t, 1, c->begin);
	bind_u64(t, 2, c->end);
	bind_text(t, 3, c->command);
	sqlite3_bind_int(t, 4, c->off);
	return run(s, CHANGE, e);
}

int dt_store_held(struct dt_store *s, const struct dt_held_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[HELD];

	if (begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->tid);
	bind_u64(t, 2, row->begin);
	bind_u64(t, 3, row->end);
	bind_text(t, 4, row->why);
	return run(s, HELD, e);
}

int dt_store_written(struct dt_store *s, const struct dt_written_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[WRITTEN];

	if (begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->core);
	bind_text(t, 2, row->source);
	bind_u64(t, 3, row->records);
	bind_u64(t, 4, row->dropped);
	return run(s, WRITTEN, e);
}

int dt_store_event(struct dt_store *s, const struct dt_event_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[EVENT];

	if (begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->subsystem);
	if (row->event == DT_NO_EVENT)
		sqlite3_bind_null(t, 2);
	else
		sqlite3_bind_int64(t, 2, row->event);
	bind_text(t, 3, row->subsystem_name);
	bind_text(t, 4, row->name);
	bind_text(t, 5, row->description);
	return run(s, EVENT, e);
}
