/* SPDX-License-Identifier: MIT */
/* Lanes of bars, in a database. */
#include "store/bars.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "core/search.h"
#include "store/journal.h"
#include "store/varint.h"

#define BLOCK	   512	       /* bars */
#define CACHED	   1024	       /* decoded blocks that are kept, 37 MB */
#define BLOB_MAX   (64u << 20) /* bytes of a blob, uncompressed: more is damage */
#define COLUMNS	   10
#define QUEUED	   64 /* most blobs that wait to be compressed */
#define HEAD_ID	   1
#define BUSY_MS	   5000
#define TRACKS_MAX (1u << 20) /* more is damage */
#define MAGIC	   0x70647264 /* of the head */

struct block {
	int64_t id;
	uint64_t first, last;  /* least and greatest end of its bars */
	uint64_t since, until; /* least end in this block and all after it; greatest end in it and
				  all before it */
	uint32_t n;
};

struct lane {
	struct dt_lane key;
	struct block *block;
	size_t blocks, room;
	struct dt_bar *bar; /* bars that are in no block yet */
	uint32_t n, bar_room;
};

/* The lanes of one track, by level and single. */
struct lanes {
	struct lane *of[DT_LEVELS][2];
};

/* A decoded block. */
struct cached {
	int64_t id; /* 0: none */
	uint32_t n;
	struct dt_bar *bar; /* BLOCK of them */
};

/* A blob on its way into the database. */
struct job {
	int64_t id;
	struct dt_bytes bytes;
};

/*
 * Blobs are compressed and inserted by a thread of their own, which has the database and cctx to
 * itself as long as there are any. Everybody else calls settle() before using the database.
 */
struct keeper {
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock;	   /* protects everything below */
	pthread_cond_t come, gone; /* come: there is a job, or the end; gone: a job is done */
	struct job job[QUEUED];
	unsigned long put, taken; /* jobs put and taken, ever */
	bool end;
	struct dt_error error; /* the first error; "": none */
};

struct dt_bars {
	struct keeper keeper;
	int64_t last_id;
	sqlite3 *db;
	sqlite3_stmt *insert, *select;
	struct lanes **lane; /* by track; NULL: it has none */
	uint32_t tracks;
	uint64_t rows;	 /* rows that the database had when it was opened: each block has one */
	uint64_t blocks; /* blocks that the head has told of */
	struct cached *cache; /* by id % CACHED */
	struct dt_bytes scratch, packed;
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
};

static int sql_error(const struct dt_bars *b, struct dt_error *e)
{
	return dt_fail(e, "the summaries for the time line: %s", sqlite3_errmsg(b->db));
}

static int no_memory(struct dt_error *e)
{
	return dt_fail(e, "out of memory for the time line");
}

static int damaged(struct dt_error *e)
{
	return dt_fail(e, "the summaries for the time line are damaged");
}

/* ---- blobs ---- */

static int keep(struct dt_bars *b, const uint8_t *p, size_t n, int64_t id, struct dt_error *e)
{
	size_t bound = ZSTD_compressBound(n), size;
	int rc;

	b->packed.n = 0;
	if (dt_bytes_room(&b->packed, bound))
		return no_memory(e);
	size = ZSTD_compressCCtx(b->cctx, b->packed.p, bound, p, n, 1);
	if (ZSTD_isError(size))
		return dt_fail(e, "the summaries for the time line: %s", ZSTD_getErrorName(size));
	sqlite3_bind_int64(b->insert, 1, id);
	sqlite3_bind_blob64(b->insert, 2, b->packed.p, size, SQLITE_STATIC);
	rc = sqlite3_step(b->insert);
	sqlite3_reset(b->insert);
	return rc == SQLITE_DONE ? 0 : sql_error(b, e);
}

/* The keeper's thread. After an error it throws the rest away; the error is returned by the calls
 * that wait for it. */
static void *keeper_main(void *bars)
{
	struct dt_bars *b = bars;
	struct keeper *k = &b->keeper;

	pthread_mutex_lock(&k->lock);
	for (;;) {
		struct job *j = &k->job[k->taken % QUEUED];
		struct dt_error e = {""};

		while (k->put == k->taken && !k->end)
			pthread_cond_wait(&k->come, &k->lock);
		if (k->put == k->taken)
			break;
		if (!k->error.text[0]) {
			pthread_mutex_unlock(&k->lock);
			keep(b, j->bytes.p, j->bytes.n, j->id, &e);
			pthread_mutex_lock(&k->lock);
			if (e.text[0])
				k->error = e;
		}
		k->taken++;
		pthread_cond_signal(&k->gone);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* Waits until at most n blobs are on their way. Returns -1 if one could not be kept. */
static int wait_for(struct dt_bars *b, unsigned long n, struct dt_error *e)
{
	struct keeper *k = &b->keeper;
	int rc = 0;

	if (!k->runs)
		return 0;
	pthread_mutex_lock(&k->lock);
	while (k->put - k->taken > n)
		pthread_cond_wait(&k->gone, &k->lock);
	if (k->error.text[0])
		rc = dt_fail(e, "%s", k->error.text);
	pthread_mutex_unlock(&k->lock);
	return rc;
}

static int settle(struct dt_bars *b, struct dt_error *e)
{
	return wait_for(b, 0, e);
}

int dt_bars_keep(struct dt_bars *b, const uint8_t *p, size_t n, int64_t *id, struct dt_error *e)
{
	struct keeper *k = &b->keeper;
	struct job *j;

	*id = ++b->last_id;
	if (!k->runs)
		k->runs = pthread_create(&k->thread, NULL, keeper_main, b) == 0;
	if (!k->runs)
		return keep(b, p, n, *id, e);
	if (wait_for(b, QUEUED - 1, e) < 0)
		return -1;
	/* the keeper does not look at this place before `put' counts it */
	j = &k->job[k->put % QUEUED];
	j->id = *id;
	j->bytes.n = 0;
	if (dt_bytes_room(&j->bytes, n))
		return no_memory(e);
	memcpy(j->bytes.p, p, n);
	j->bytes.n = n;
	pthread_mutex_lock(&k->lock);
	k->put++;
	pthread_cond_signal(&k->come);
	pthread_mutex_unlock(&k->lock);
	return 0;
}

static void end_keeper(struct keeper *k)
{
	if (k->runs) {
		pthread_mutex_lock(&k->lock);
		k->end = true;
		pthread_cond_signal(&k->come);
		pthread_mutex_unlock(&k->lock);
		pthread_join(k->thread, NULL);
	}
	pthread_cond_destroy(&k->come);
	pthread_cond_destroy(&k->gone);
	pthread_mutex_destroy(&k->lock);
	for (unsigned i = 0; i < QUEUED; i++)
		free(k->job[i].bytes.p);
}

int dt_bars_load(struct dt_bars *b, int64_t id, struct dt_bytes *out, struct dt_error *e)
{
	unsigned long long size;
	const void *p;
	size_t n, got;
	int rc = -1;

	if (settle(b, e) < 0)
		return -1;
	sqlite3_bind_int64(b->select, 1, id);
	switch (sqlite3_step(b->select)) {
	case SQLITE_ROW:
		break;
	case SQLITE_DONE:
		sqlite3_reset(b->select);
		return damaged(e);
	default:
		sqlite3_reset(b->select);
		return sql_error(b, e);
	}
	p = sqlite3_column_blob(b->select, 0);
	n = (size_t)sqlite3_column_bytes(b->select, 0);
	size = ZSTD_getFrameContentSize(p, n);
	if (size > BLOB_MAX) { /* or the size is not known */
		damaged(e);
	} else if (dt_bytes_room(out, (size_t)size)) {
		no_memory(e);
	} else {
		got = ZSTD_decompressDCtx(b->dctx, out->p + out->n, (size_t)size, p, n);
		rc = got == size ? 0 : damaged(e);
		out->n += rc == 0 ? got : 0;
	}
	sqlite3_reset(b->select);
	return rc;
}

/* ---- blocks ---- */

static uint64_t column(const struct dt_bar *x, unsigned c, const struct dt_bar *before)
{
	switch (c) {
	case 0:
		return dt_zigzag(x->end - before->end);
	case 1:
		return x->end - x->begin;
	case 2:
		return x->count;
	case 3:
		return dt_zigzag(x->end - x->begin - x->busy);
	case 4:
		return x->busy - x->most;
	case 5:
		return x->what;
	case 6:
		return x->flags;
	case 7:
		return x->depth;
	case 8:
		return dt_zigzag(x->low);
	default:
		return dt_zigzag(x->high - x->low);
	}
}

static void set_column(struct dt_bar *x, unsigned c, uint64_t v, const struct dt_bar *before)
{
	switch (c) {
	case 0:
		x->end = before->end + dt_unzigzag(v);
		break;
	case 1:
		x->begin = x->end - v;
		break;
	case 2:
		x->count = v;
		break;
	case 3:
		x->busy = x->end - x->begin - dt_unzigzag(v);
		break;
	case 4:
		x->most = x->busy - v;
		break;
	case 5:
		x->what = (uint32_t)v;
		break;
	case 6:
		x->flags = (uint32_t)v;
		break;
	case 7:
		x->depth = (uint32_t)v;
		break;
	case 8:
		x->low = dt_unzigzag(v);
		break;
	default:
		x->high = x->low + dt_unzigzag(v);
	}
}

/* Brings since and until up to date after a block was added at the end: bars are nearly in the
 * order of their ends, but not quite. */
static void order_block(struct lane *l)
{
	struct block *x = &l->block[l->blocks - 1];

	x->since = x->first;
	x->until = x->last;
	if (l->blocks > 1 && x[-1].until > x->until)
		x->until = x[-1].until;
	for (size_t i = l->blocks - 1; i-- > 0 && l->block[i].since > x->first;)
		l->block[i].since = x->first;
}

/* Sets until and since of all blocks, in two passes: so it takes no longer however little the bars
 * are in order. */
static void order_blocks(struct lane *l)
{
	for (size_t i = 0; i < l->blocks; i++) {
		struct block *x = &l->block[i];

		x->until = i && x[-1].until > x->last ? x[-1].until : x->last;
	}
	for (size_t i = l->blocks; i-- > 0;) {
		struct block *x = &l->block[i];

		x->since = i + 1 < l->blocks && x[1].since < x->first ? x[1].since : x->first;
	}
}

static inline __attribute__((always_inline)) void put_each(struct dt_bytes *to,
							   const struct lane *l, unsigned c)
{
	static const struct dt_bar none;

	dt_put_varint(to, column(&l->bar[0], c, &none));
	for (uint32_t i = 1; i < l->n; i++)
		dt_put_varint(to, column(&l->bar[i], c, &l->bar[i - 1]));
}

/* Appends a column of the bars. There is a loop for each column, so that it need not be asked for
 * every bar which one it is. The caller has made room. */
static void put_column(struct dt_bytes *to, const struct lane *l, unsigned c)
{
	switch (c) {
	case 0:
		put_each(to, l, 0);
		break;
	case 1:
		put_each(to, l, 1);
		break;
	case 2:
		put_each(to, l, 2);
		break;
	case 3:
		put_each(to, l, 3);
		break;
	case 4:
		put_each(to, l, 4);
		break;
	case 5:
		put_each(to, l, 5);
		break;
	case 6:
		put_each(to, l, 6);
		break;
	case 7:
		put_each(to, l, 7);
		break;
	case 8:
		put_each(to, l, 8);
		break;
	default:
		put_each(to, l, 9);
	}
}

static int write_block(struct dt_bars *b, struct lane *l, struct dt_error *e)
{
	struct block *x;

	if (l->blocks == l->room) {
		size_t room = l->room ? 2 * l->room : 1;
		struct block *more = realloc(l->block, room * sizeof(*more));

		if (!more)
			return no_memory(e);
		l->block = more;
		l->room = room;
	}
	b->scratch.n = 0;
	if (dt_bytes_room(&b->scratch, (size_t)l->n * COLUMNS * DT_VARINT_MAX))
		return no_memory(e);
	for (unsigned c = 0; c < COLUMNS; c++)
		put_column(&b->scratch, l, c);
	x = &l->block[l->blocks];
	*x = (struct block){.first = UINT64_MAX, .n = l->n};
	for (uint32_t i = 0; i < l->n; i++) {
		x->first = l->bar[i].end < x->first ? l->bar[i].end : x->first;
		x->last = l->bar[i].end > x->last ? l->bar[i].end : x->last;
	}
	if (dt_bars_keep(b, b->scratch.p, b->scratch.n, &x->id, e) < 0)
		return -1;
	l->blocks++;
	order_block(l);
	l->n = 0;
	return 0;
}

static const struct cached *read_block(struct dt_bars *b, const struct block *x, struct dt_error *e)
{
	static const struct dt_bar none;
	struct cached *c = &b->cache[(uint64_t)x->id % CACHED];
	struct dt_cursor_bytes at;

	if (c->id == x->id)
		return c;
	c->id = 0;
	if (!c->bar && !(c->bar = malloc(BLOCK * sizeof(*c->bar)))) {
		no_memory(e);
		return NULL;
	}
	b->scratch.n = 0;
	if (dt_bars_load(b, x->id, &b->scratch, e) < 0)
		return NULL;
	at = (struct dt_cursor_bytes){b->scratch.p, b->scratch.p + b->scratch.n, false};
	for (unsigned k = 0; k < COLUMNS; k++)
		for (uint32_t i = 0; i < x->n; i++)
			set_column(&c->bar[i], k, dt_get_varint(&at), i ? &c->bar[i - 1] : &none);
	if (at.bad) {
		damaged(e);
		return NULL;
	}
	c->n = x->n;
	c->id = x->id;
	return c;
}

/* ---- lanes ---- */

static struct lane *find_lane(const struct dt_bars *b, struct dt_lane key)
{
	return key.track < b->tracks && key.level < DT_LEVELS && b->lane[key.track]
		       ? b->lane[key.track]->of[key.level][key.single]
		       : NULL;
}

static struct lane *make_lane(struct dt_bars *b, struct dt_lane key)
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

	if (!l && !(l = make_lane(b, key)))
		return no_memory(e);
	if (l->n == l->bar_room) {
		uint32_t room =
			l->bar_room ? 2 * l->bar_room : 2; /* most lanes have one bar per level */
		struct dt_bar *more;

		if (l->n == BLOCK) {
			if (write_block(b, l, e) < 0)
				return -1;
		} else if (!(more = realloc(l->bar, room * sizeof(*more)))) {
			return no_memory(e);
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
		c = read_block(b, &l->block[i], e);
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

static int prepare(struct dt_bars *b, struct dt_error *e)
{
	if (sqlite3_prepare_v3(b->db, "SELECT data FROM pyramid WHERE id=?1", -1,
			       SQLITE_PREPARE_PERSISTENT, &b->select, NULL))
		return sql_error(b, e);
	return 0;
}

static struct dt_bars *allocate(struct dt_error *e)
{
	struct dt_bars *b = calloc(1, sizeof(*b));

	if (b) {
		pthread_mutex_init(&b->keeper.lock, NULL);
		pthread_cond_init(&b->keeper.come, NULL);
		pthread_cond_init(&b->keeper.gone, NULL);
	}
	if (b && (b->cache = calloc(CACHED, sizeof(*b->cache))) && (b->cctx = ZSTD_createCCtx()) &&
	    (b->dctx = ZSTD_createDCtx()))
		return b;
	dt_bars_free(b);
	no_memory(e);
	return NULL;
}

/* SQLite takes the name "" for a file that nobody else sees, and that is removed when the
 * connection is closed. */
struct dt_bars *dt_bars_new(struct dt_error *e)
{
	struct dt_bars *b = allocate(e);

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
		sql_error(b, e);
		goto fail;
	}
	b->last_id = HEAD_ID;
	if (prepare(b, e) == 0)
		return b;
fail:
	dt_bars_free(b);
	return NULL;
}

void dt_bars_free(struct dt_bars *b)
{
	if (!b)
		return;
	end_keeper(&b->keeper);
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

/* ---- the head: the user's bytes, and where each lane's blocks are ---- */

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

			if (l && l->n && write_block(b, l, e) < 0)
				goto out;
			if (l && l->blocks && write_lane(&out, l))
				goto memory;
		}
	if (DT_PUT(&out, 0))
		goto memory;
	if (dt_bars_keep(b, out.p, out.n, &id, e) < 0 || settle(b, e) < 0)
		goto out;
	rc = sqlite3_exec(b->db, "DELETE FROM pyramid WHERE id=1", NULL, NULL, NULL) ||
			     sqlite3_prepare_v2(b->db, "UPDATE pyramid SET id=1 WHERE id=?1", -1,
						&move, NULL) ||
			     sqlite3_bind_int64(move, 1, id) || sqlite3_step(move) != SQLITE_DONE
		     ? sql_error(b, e)
		     : 0;
	sqlite3_finalize(move);
	goto out;
memory:
	no_memory(e);
out:
	free(out.p);
	return rc;
}

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
	l = make_lane(b, key);
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
	order_blocks(l);
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
		no_memory(e);
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
		damaged(e);
out:
	free(all.p);
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
		return no_memory(e);
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
	struct dt_bars *b = allocate(e);
	sqlite3_stmt *q = NULL;
	bool there;

	if (!b)
		return NULL;
	if (sqlite3_open_v2(path, &b->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
			    dt_journal_vfs())) {
		sql_error(b, e);
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
	if (there && count_rows(b) == 0 && prepare(b, e) == 0 && read_head(b, head, e) == 0)
		return b;
fail:
	dt_bars_free(b);
	return NULL;
}
