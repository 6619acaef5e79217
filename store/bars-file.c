/* SPDX-License-Identifier: MIT */
/* Bars in a trace file, and their head: the user's bytes, and where each lane's blocks are. */
#include "store/bars-work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/journal.h"
#include "store/varint.h"

#define TRACKS_MAX (1u << 20) /* more is damage */
#define MAGIC	   0x70647264 /* of the head */
#define BUSY_MS	   5000

/* ---- writing ---- */

static int write_lane(struct dt_bytes *out, const struct lane *l)
{
	uint64_t end = 0;
	int64_t id = 0;

	if (DT_PUT(out, l->key.track + 1, l->key.level, l->key.single, l->blocks))
		return -1;
	for (size_t i = 0; i < l->blocks; i++) {
		const struct block *x = &l->block[i];

		if (DT_PUT(out, dt_zigzag((uint64_t)(x->id - id)), dt_zigzag(x->first - end),
			   x->last - x->first, x->n))
			return -1;
		id = x->id;
		end = x->last;
	}
	return 0;
}

static int write_head(struct dt_bars *b, const uint8_t *head, size_t n, struct dt_error *e)
{
	struct dt_bytes out = {0};
	sqlite3_stmt *move = NULL;
	int64_t id;
	int rc = -1;

	if (DT_PUT(&out, MAGIC, n) || dt_bytes_room(&out, n))
		goto memory;
	memcpy(out.p + out.n, head, n);
	out.n += n;
	for (uint32_t t = 0; t < b->tracks; t++)
		for (unsigned i = 0; i < 2 * DT_LEVELS && b->lane[t]; i++) {
			struct lane *l = b->lane[t]->of[i / 2][i % 2];

			if (l && l->n && dt_bars_write_block(b, l, e) < 0)
				goto out;
			if (l && l->blocks && write_lane(&out, l))
				goto memory;
		}
	if (DT_PUT(&out, 0))
		goto memory;
	if (dt_bars_keep(b, out.p, out.n, &id, e) < 0 || dt_bars_settle(b, e) < 0)
		goto out;
	rc = sqlite3_exec(b->db, "DELETE FROM pyramid WHERE id=1", NULL, NULL, NULL) ||
			     sqlite3_prepare_v2(b->db, "UPDATE pyramid SET id=1 WHERE id=?1", -1,
						&move, NULL) ||
			     sqlite3_bind_int64(move, 1, id) || sqlite3_step(move) != SQLITE_DONE
		     ? dt_bars_sql_error(b, e)
		     : 0;
	sqlite3_finalize(move);
	goto out;
memory:
	dt_bars_no_memory(e);
out:
	free(out.p);
	return rc;
}

int dt_bars_save(struct dt_bars *b, const char *path, const uint8_t *head, size_t n,
		 struct dt_error *e)
{
	static const char copy[] = "BEGIN IMMEDIATE;"
				   "DROP TABLE IF EXISTS file.pyramid;"
				   "CREATE TABLE file.pyramid(id INTEGER PRIMARY KEY, data BLOB);"
				   "INSERT INTO file.pyramid SELECT * FROM main.pyramid; COMMIT";
	char *attach;
	int rc;

	if (access(path, W_OK) < 0)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	if (write_head(b, head, n, e) < 0)
		return -1;
	attach = sqlite3_mprintf("COMMIT; ATTACH %Q AS file", path);
	if (!attach)
		return dt_bars_no_memory(e);
	sqlite3_busy_timeout(b->db, BUSY_MS);
	rc = sqlite3_exec(b->db, attach, NULL, NULL, NULL) ||
			     sqlite3_exec(b->db, copy, NULL, NULL, NULL)
		     ? dt_fail(e, "%s: %s", path, sqlite3_errmsg(b->db))
		     : 0;
	sqlite3_free(attach);
	if (!sqlite3_get_autocommit(b->db))
		sqlite3_exec(b->db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_exec(b->db, "DETACH file; BEGIN", NULL, NULL, NULL);
	return rc;
}

/* ---- reading ---- */

static int read_lane(struct dt_bars *b, struct dt_cursor_bytes *c, uint64_t track)
{
	struct dt_lane key = {.track = (uint32_t)(track - 1)};
	uint64_t n, end = 0;
	int64_t id = 0;
	struct lane *l;

	key.level = (uint8_t)dt_get_varint(c);
	key.single = dt_get_varint(c);
	n = dt_get_varint(c);
	if (c->bad || track > TRACKS_MAX || n > (size_t)(c->end - c->p) / 4 ||
	    n > b->rows - b->blocks)
		return -1;
	b->blocks += n;
	l = dt_bars_make_lane(b, key);
	if (!l || l->blocks || !(l->block = calloc(n + 1, sizeof(*l->block))))
		return -1;
	l->room = n + 1;
	while (l->blocks < n) {
		struct block *x = &l->block[l->blocks++];

		x->id = id += (int64_t)dt_unzigzag(dt_get_varint(c));
		x->first = end + dt_unzigzag(dt_get_varint(c));
		x->last = end = x->first + dt_get_varint(c);
		x->n = (uint32_t)dt_get_varint(c);
		if (x->n > BLOCK || c->bad)
			return -1;
	}
	dt_bars_order_blocks(l);
	return 0;
}

static int read_head(struct dt_bars *b, struct dt_bytes *head, struct dt_error *e)
{
	struct dt_bytes all = {0};
	struct dt_cursor_bytes c;
	uint64_t n, track;
	int rc = -1;

	if (dt_bars_load(b, HEAD_ID, &all, e) < 0)
		goto out;
	c = (struct dt_cursor_bytes){all.p, all.p + all.n, false};
	if (dt_get_varint(&c) != MAGIC)
		goto bad;
	n = dt_get_varint(&c);
	if (c.bad || n > (size_t)(c.end - c.p))
		goto bad;
	if (dt_bytes_room(head, n)) {
		dt_bars_no_memory(e);
		goto out;
	}
	memcpy(head->p + head->n, c.p, n);
	head->n += n;
	c.p += n;
	while ((track = dt_get_varint(&c)) != 0)
		if (read_lane(b, &c, track) < 0)
			goto bad;
	rc = c.bad ? -1 : 0;
bad:
	if (rc < 0)
		dt_bars_damaged(e);
out:
	free(all.p);
	return rc;
}

uint64_t dt_bars_rows(const struct dt_bars *b)
{
	return b->rows;
}

/* Counts the rows of the table. Returns -1 if it cannot be read. */
static int count_rows(struct dt_bars *b)
{
	sqlite3_stmt *q = NULL;
	int rc = -1;

	if (sqlite3_prepare_v2(b->db, "SELECT count(*) FROM pyramid", -1, &q, NULL) == SQLITE_OK &&
	    sqlite3_step(q) == SQLITE_ROW) {
		b->rows = (uint64_t)sqlite3_column_int64(q, 0);
		rc = 0;
	}
	sqlite3_finalize(q);
	return rc;
}

struct dt_bars *dt_bars_open(const char *path, struct dt_bytes *head, struct dt_error *e)
{
	struct dt_bars *b = dt_bars_allocate(e);
	sqlite3_stmt *q = NULL;
	bool there;

	if (!b)
		return NULL;
	if (sqlite3_open_v2(path, &b->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
			    dt_journal_vfs())) {
		dt_bars_sql_error(b, e);
		goto fail;
	}
	sqlite3_busy_timeout(b->db, BUSY_MS);
	sqlite3_exec(b->db, "PRAGMA query_only=ON; PRAGMA cell_size_check=ON", NULL, NULL, NULL);
	sqlite3_db_config(b->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	there = sqlite3_prepare_v2(
			b->db, "SELECT 1 FROM sqlite_schema WHERE name='pyramid' AND type='table'",
			-1, &q, NULL) == SQLITE_OK &&
		sqlite3_step(q) == SQLITE_ROW;
	sqlite3_finalize(q);
	if (there && count_rows(b) == 0 && dt_bars_prepare(b, e) == 0 && read_head(b, head, e) == 0)
		return b;
fail:
	dt_bars_free(b);
	return NULL;
}
