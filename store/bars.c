/* SPDX-License-Identifier: MIT */
/* Lanes of bars, in a database. */
#include "store/bars-work.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "store/journal.h"

/* ---- lanes ---- */

static struct lane *find_lane(const struct dt_bars *b, struct dt_lane key)
{
	return key.track < b->tracks && key.level < DT_LEVELS && b->lane[key.track]
		       ? b->lane[key.track]->of[key.level][key.single]
		       : NULL;
}

struct lane *dt_bars_make_lane(struct dt_bars *b, struct dt_lane key)
{
	struct lane *l;

	if (key.level >= DT_LEVELS)
		return NULL;
	if (key.track >= b->tracks) {
		uint32_t n = key.track + key.track / 4 + 64;
		void *more = realloc(b->lane, n * sizeof(*b->lane));

		if (!more)
			return NULL;
		b->lane = more;
		memset(b->lane + b->tracks, 0, (n - b->tracks) * sizeof(*b->lane));
		b->tracks = n;
	}
	if (!b->lane[key.track] && !(b->lane[key.track] = calloc(1, sizeof(**b->lane))))
		return NULL;
	l = b->lane[key.track]->of[key.level][key.single];
	if (!l && (l = calloc(1, sizeof(*l)))) {
		l->key = key;
		b->lane[key.track]->of[key.level][key.single] = l;
	}
	return l;
}

int dt_bars_put(struct dt_bars *b, struct dt_lane key, const struct dt_bar *bar, struct dt_error *e)
{
	struct lane *l = find_lane(b, key);

	if (!l && !(l = dt_bars_make_lane(b, key)))
		return dt_bars_no_memory(e);
	if (l->n == l->bar_room) {
		uint32_t room =
			l->bar_room ? 2 * l->bar_room : 2; /* most lanes have one bar per level */
		struct dt_bar *more;

		if (l->n == BLOCK) {
			if (dt_bars_write_block(b, l, e) < 0)
				return -1;
		} else if (!(more = realloc(l->bar, room * sizeof(*more)))) {
			return dt_bars_no_memory(e);
		} else {
			l->bar = more;
			l->bar_room = room;
		}
	}
	l->bar[l->n++] = *bar;
	return 0;
}

/* Returns the first block that can have a bar which ends at `from' or later. */
static size_t first_block(const struct lane *l, uint64_t from)
{
	return dt_count_before(l->blocks, i, l->block[i].until < from);
}

int dt_bars_each(struct dt_bars *b, struct dt_lane key, uint64_t from, uint64_t to,
		 bool (*fn)(void *ctx, const struct dt_bar *bar), void *ctx, struct dt_error *e)
{
	const struct lane *l = find_lane(b, key);

	if (!l)
		return 0;
	for (size_t i = first_block(l, from); i < l->blocks && l->block[i].since <= to; i++) {
		const struct cached *c;

		if (l->block[i].first > to || l->block[i].last < from)
			continue;
		c = dt_bars_read_block(b, &l->block[i], e);
		if (!c)
			return -1;
		for (uint32_t k = 0; k < c->n; k++)
			if (c->bar[k].end >= from && c->bar[k].end <= to && !fn(ctx, &c->bar[k]))
				return 0;
	}
	for (uint32_t k = 0; k < l->n; k++)
		if (l->bar[k].end >= from && l->bar[k].end <= to && !fn(ctx, &l->bar[k]))
			return 0;
	return 0;
}

/* ---- opening and closing ---- */

int dt_bars_prepare(struct dt_bars *b, struct dt_error *e)
{
	if (sqlite3_prepare_v3(b->db, "SELECT data FROM pyramid WHERE id=?1", -1,
			       SQLITE_PREPARE_PERSISTENT, &b->select, NULL))
		return dt_bars_sql_error(b, e);
	return 0;
}

struct dt_bars *dt_bars_allocate(struct dt_error *e)
{
	struct dt_bars *b = calloc(1, sizeof(*b));

	if (b)
		dt_keeper_begin(&b->keeper);
	if (b && (b->cache = calloc(CACHED, sizeof(*b->cache))) && (b->cctx = ZSTD_createCCtx()) &&
	    (b->dctx = ZSTD_createDCtx()))
		return b;
	dt_bars_free(b);
	dt_bars_no_memory(e);
	return NULL;
}

/* SQLite takes the name "" for a file that nobody else sees, and that is removed when the
 * connection is closed. */
struct dt_bars *dt_bars_new(struct dt_error *e)
{
	struct dt_bars *b = dt_bars_allocate(e);

	if (!b)
		return NULL;
	/* row 1 is kept for the head */
	if (sqlite3_open_v2("", &b->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    dt_journal_vfs()) ||
	    sqlite3_exec(b->db,
			 "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-8000;"
			 "CREATE TABLE pyramid(id INTEGER PRIMARY KEY, data BLOB);"
			 "INSERT INTO pyramid VALUES(1, NULL); BEGIN",
			 NULL, NULL, NULL) ||
	    sqlite3_prepare_v3(b->db, "INSERT INTO pyramid VALUES(?1, ?2)", -1,
			       SQLITE_PREPARE_PERSISTENT, &b->insert, NULL)) {
		dt_bars_sql_error(b, e);
		goto fail;
	}
	b->last_id = HEAD_ID;
	if (dt_bars_prepare(b, e) == 0)
		return b;
fail:
	dt_bars_free(b);
	return NULL;
}

void dt_bars_free(struct dt_bars *b)
{
	if (!b)
		return;
	dt_keeper_end(&b->keeper);
	sqlite3_finalize(b->insert);
	sqlite3_finalize(b->select);
	sqlite3_close(b->db);
	for (uint32_t t = 0; t < b->tracks; t++) {
		for (unsigned i = 0; i < 2 * DT_LEVELS && b->lane[t]; i++) {
			struct lane *l = b->lane[t]->of[i / 2][i % 2];

			if (!l)
				continue;
			free(l->block);
			free(l->bar);
			free(l);
		}
		free(b->lane[t]);
	}
	for (size_t i = 0; b->cache && i < CACHED; i++)
		free(b->cache[i].bar);
	free(b->cache);
	free(b->lane);
	free(b->scratch.p);
	free(b->packed.p);
	ZSTD_freeCCtx(b->cctx);
	ZSTD_freeDCtx(b->dctx);
	free(b);
}
