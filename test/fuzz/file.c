/* SPDX-License-Identifier: MIT */
/*
 * Whole trace files, read as the commands read them (test/tool/walk.h). What is changed has
 * structure: cells of tables, keys of tables, columns of chunks and numbers of pyramids and
 * snapshots, which are compressed again; SQLite's own pages only now and then.
 */
#include <sqlite3.h>
#include <zstd.h>

#include "store/layout.h"
#include "store/varint.h"
#include "test/fuzz/fuzz.h"
#include "test/tool/walk.h"

#define COLUMN_MAX  (1u << 24) /* bytes of a frame that are looked at */
#define NUMBERS_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_begin();
	walk(fuzz_file("input", data, size));
	return 0;
}

/* ---- SQL ---- */

/* A statement, with its name or number put in; NULL: there is no such thing in this file. */
static sqlite3_stmt *prepare(sqlite3 *db, const char *format, ...)
{
	sqlite3_stmt *q = NULL;
	va_list ap;
	char *sql;

	va_start(ap, format);
	sql = sqlite3_vmprintf(format, ap);
	va_end(ap);
	if (sql)
		sqlite3_prepare_v2(db, sql, -1, &q, NULL);
	sqlite3_free(sql);
	return q;
}

static void run(sqlite3_stmt *q)
{
	while (q && sqlite3_step(q) == SQLITE_ROW)
		;
	sqlite3_finalize(q);
}

static int64_t number(sqlite3_stmt *q)
{
	int64_t v = q && sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;

	sqlite3_finalize(q);
	return v;
}

/* One of the first column's values of a query that takes OFFSET, as text; NULL: it has none. */
static char *some_text(uint64_t *seed, sqlite3 *db, const char *what)
{
	int64_t n = number(prepare(db, "SELECT count(*) FROM (%s)", what));
	sqlite3_stmt *q = n > 0 ? prepare(db, "%s LIMIT 1 OFFSET %lld", what,
					  (long long)fuzz_random(seed, (uint64_t)n))
				: NULL;
	char *text = NULL;

	if (q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0))
		text = sqlite3_mprintf("%s", sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return text;
}

static char *some_table(uint64_t *seed, sqlite3 *db)
{
	static const char *const more[] = {"chunk", "loss", "site", "function", "thread"};
	uint64_t at = fuzz_random(seed, 10);

	if (at < 5)
		return sqlite3_mprintf("%s", more[at]);
	return some_text(
		seed, db,
		"SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'");
}

/* ---- rows ---- */

static void bind_another(uint64_t *seed, sqlite3_stmt *q, int64_t old)
{
	static const char *const text[] = {"",
					   "word",
					   "99999999999999999999999999999",
					   "\x1b[2J\n",
					   "f.cold",
					   "a\nb",
					   "i4#00000001",
					   "-1",
					   "#1:a#2:i4@0+1=v",
					   "x:u4#1@2?1&64;i4@0!-/-5@3",
					   "f:x;A=0/3,B=1/3,C=64",
					   "n:sockaddr;",
					   "x%sx%n"};

	switch (fuzz_random(seed, 8)) {
	case 0:
		sqlite3_bind_text(q, 1, text[fuzz_random(seed, sizeof(text) / sizeof(*text))], -1,
				  SQLITE_STATIC);
		break;
	case 1:
		sqlite3_bind_null(q, 1);
		break;
	case 2:
		sqlite3_bind_double(q, 1, fuzz_random(seed, 2) ? 1e300 : -0.5);
		break;
	case 3:
		sqlite3_bind_zeroblob(q, 1, (int)fuzz_random(seed, 300));
		break;
	default:
		sqlite3_bind_int64(q, 1, (int64_t)fuzz_another(seed, (uint64_t)old));
	}
}

/* One cell of a table, or a column of all rows. */
static void change_cell(uint64_t *seed, sqlite3 *db)
{
	char *table = some_table(seed, db), *column = NULL, *what = NULL;
	int64_t rows = table ? number(prepare(db, "SELECT count(*) FROM \"%w\"", table)) : 0;
	long long at = (long long)fuzz_random(seed, (uint64_t)(rows ? rows : 1));
	sqlite3_stmt *q = NULL;
	int64_t old;

	if (rows <= 0)
		goto out;
	what = sqlite3_mprintf("SELECT name FROM pragma_table_info('%q')", table);
	column = some_text(seed, db, what);
	if (!column)
		goto out;
	old = number(
		prepare(db, "SELECT \"%w\" FROM \"%w\" LIMIT 1 OFFSET %lld", column, table, at));
	if (fuzz_random(seed, 5) == 0)
		q = prepare(db, "UPDATE OR IGNORE \"%w\" SET \"%w\"=?1", table, column);
	else
		q = prepare(
			db,
			"UPDATE OR IGNORE \"%w\" SET \"%w\"=?1 WHERE rowid=(SELECT rowid FROM \"%w\" LIMIT 1 OFFSET %lld)",
			table, column, table, at);
	if (!q) /* without rowids */
		q = prepare(db, "UPDATE OR IGNORE \"%w\" SET \"%w\"=?1 WHERE \"%w\" IS %lld", table,
			    column, column, (long long)old);
	if (q)
		bind_another(seed, q, old);
	run(q);
out:
	sqlite3_free(what);
	sqlite3_free(column);
	sqlite3_free(table);
}

/* Rows once more, under other numbers; or none. */
static void change_rows(uint64_t *seed, sqlite3 *db)
{
	static const char *const sql[] = {
		"INSERT OR IGNORE INTO function SELECT id+%d, module, address, size, name, file, line, signature FROM function",
		"INSERT OR IGNORE INTO site SELECT id+%d, pid, pc, kind, function, place, mask, target FROM site",
		"INSERT OR IGNORE INTO chunk SELECT id+%d, core, first+records, records, min_ticks, max_ticks, events, vals FROM chunk",
		"INSERT OR IGNORE INTO chunk SELECT id+%d, core+1, first, records, min_ticks, max_ticks, events, vals FROM chunk",
		"INSERT OR IGNORE INTO loss SELECT core, first+%d, 9, min_ticks, max_ticks FROM chunk",
		"INSERT OR IGNORE INTO pause SELECT min_ticks+%d, max_ticks, 'frozen', 1, 2 FROM chunk",
		"INSERT OR IGNORE INTO hold SELECT tid, %d, 1<<40, 'room' FROM thread",
		"INSERT OR IGNORE INTO exec SELECT pid, %d FROM process",
		"INSERT OR IGNORE INTO clock SELECT ticks+%d, monotonic_ns-5, realtime_ns FROM clock",
		"INSERT OR IGNORE INTO thread SELECT tid+%d, pid, name FROM thread",
		"INSERT OR IGNORE INTO event SELECT id, %d, 's', 'e', 'd' FROM function",
		"INSERT OR IGNORE INTO unhooked SELECT 'p', id, 'n', 'r%d' FROM function",
		"INSERT OR IGNORE INTO unhooked_caller SELECT 'p', id, id+%d FROM function",
		"INSERT OR IGNORE INTO type SELECT id, 'a%d 0:4:i4:x' FROM function",
		"INSERT OR IGNORE INTO module_name SELECT id, 'n%d' FROM module",
		"INSERT OR IGNORE INTO function_name SELECT id+%d, name FROM function",
		"DELETE FROM site WHERE id%%7=%d",
		"DELETE FROM function WHERE id%%5=%d",
		"DELETE FROM thread WHERE tid%%2=%d",
		"DELETE FROM module WHERE 1 OR %d",
		"DELETE FROM chunk WHERE id%%2=%d",
		"DELETE FROM pyramid WHERE id=1+%d",
	};
	static const int step[] = {1, 0, 7, 100, 70000, 1 << 30};

	run(prepare(db, sql[fuzz_random(seed, sizeof(sql) / sizeof(*sql))],
		    step[fuzz_random(seed, 6)]));
}

/* A table without its keys and indices, with its rows not at all, once or twice. */
static void drop_keys(uint64_t *seed, sqlite3 *db)
{
	char *table = some_table(seed, db);

	if (!table)
		return;
	run(prepare(db, "CREATE TABLE fuzzed AS SELECT * FROM \"%w\"", table));
	if (fuzz_random(seed, 3) == 0)
		run(prepare(db, "DELETE FROM fuzzed"));
	else if (fuzz_random(seed, 2))
		run(prepare(db, "INSERT INTO fuzzed SELECT * FROM \"%w\"", table));
	run(prepare(db, "DROP TABLE \"%w\"", table));
	run(prepare(db, "ALTER TABLE fuzzed RENAME TO \"%w\"", table));
	if (fuzz_random(seed, 4))
		run(prepare(
			db,
			"CREATE INDEX chunk_order ON chunk(core, first, records, min_ticks, max_ticks)"));
	sqlite3_free(table);
}

/* ---- blobs ---- */

/* The bytes of one; the caller frees them. */
static uint8_t *blob_of(sqlite3 *db, const char *table, const char *column, int64_t id, size_t *n)
{
	sqlite3_stmt *q = prepare(db, "SELECT \"%w\" FROM \"%w\" WHERE id=%lld", column, table,
				  (long long)id);
	uint8_t *p = NULL;

	*n = 0;
	if (q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_blob(q, 0)) {
		*n = (size_t)sqlite3_column_bytes(q, 0);
		p = fuzz_copy(sqlite3_column_blob(q, 0), *n);
	}
	sqlite3_finalize(q);
	return p;
}

static void put_blob(sqlite3 *db, const char *table, const char *column, int64_t id, const void *p,
		     size_t n)
{
	sqlite3_stmt *q = prepare(db, "UPDATE \"%w\" SET \"%w\"=?1 WHERE id=%lld", table, column,
				  (long long)id);

	if (q)
		sqlite3_bind_blob(q, 1, p, (int)n, SQLITE_TRANSIENT);
	run(q);
}

static void add_frame(struct dt_bytes *out, const uint8_t *p, size_t n)
{
	size_t done;

	fuzz_must(dt_bytes_room(out, ZSTD_compressBound(n)) == 0);
	done = ZSTD_compress(out->p + out->n, out->size - out->n, p, n, 1);
	if (!ZSTD_isError(done))
		out->n += done;
}

/* What is in a frame; the caller frees it. NULL: it is none, or too long. */
static uint8_t *content(const uint8_t *p, size_t n, size_t *length)
{
	unsigned long long is = ZSTD_getFrameContentSize(p, n);
	uint8_t *out = is <= COLUMN_MAX ? malloc(is + 8) : NULL;

	*length = out ? ZSTD_decompress(out, is, p, n) : 0;
	if (out && !ZSTD_isError(*length))
		return out;
	free(out);
	return NULL;
}

static void change_column(uint64_t *seed, uint8_t *p, size_t n)
{
	if (fuzz_random(seed, 2) && n >= 8) {
		size_t at = 4 * fuzz_random(seed, (n - 4) / 4);
		uint64_t v;

		memcpy(&v, p + at, sizeof(v));
		v = fuzz_another(seed, v);
		memcpy(p + at, &v, n - at < sizeof(v) ? n - at : sizeof(v));
		return;
	}
	for (uint64_t k = 1 + fuzz_random(seed, 4) * fuzz_random(seed, 10); n && k; k--)
		p[fuzz_random(seed, n)] = (uint8_t)fuzz_another(seed, 0);
}

/* One column of a chunk, or a number of its head. */
static void change_chunk(uint64_t *seed, sqlite3 *db)
{
	bool vals = fuzz_random(seed, 3) == 0;
	const char *column = vals ? "vals" : "events";
	size_t head = vals ? sizeof(struct dt_vals_head) : sizeof(struct dt_events_head), n, at;
	char *id = some_text(seed, db, "SELECT id FROM chunk");
	uint8_t *p = id ? blob_of(db, "chunk", column, atoll(id), &n) : NULL;
	struct dt_bytes out = {0};
	unsigned which = (unsigned)fuzz_random(seed, 12);

	if (!p || n < head)
		goto out;
	/* no frame follows the head: it is the longer one, of a chunk with pieces of texts */
	if (vals && n >= head + sizeof(struct dt_pieces_head) &&
	    ZSTD_isError(ZSTD_findFrameCompressedSize(p + head, n - head)))
		head += sizeof(struct dt_pieces_head);
	fuzz_must(dt_bytes_room(&out, n) == 0);
	memcpy(out.p, p, out.n = head);
	if (fuzz_random(seed, 5) == 0) {
		uint32_t v;

		at = 4 * fuzz_random(seed, head / 4);
		memcpy(&v, out.p + at, sizeof(v));
		v = (uint32_t)fuzz_another(seed, v);
		memcpy(out.p + at, &v, sizeof(v));
	}
	for (at = head; at < n; which--) {
		size_t frame = ZSTD_findFrameCompressedSize(p + at, n - at), length;
		uint8_t *in = ZSTD_isError(frame) ? NULL : content(p + at, frame, &length);

		if (!in)
			break;
		if (which == 0)
			change_column(seed, in, length);
		add_frame(&out, in, length);
		free(in);
		at += frame;
	}
	put_blob(db, "chunk", column, atoll(id), out.p, out.n);
out:
	free(out.p);
	free(p);
	sqlite3_free(id);
}

struct numbers {
	uint64_t *v;
	size_t n;
};

static struct numbers read_numbers(sqlite3 *db, int64_t id)
{
	struct numbers all = {0};
	size_t n, length;
	uint8_t *p = blob_of(db, "pyramid", "data", id, &n),
		*in = p ? content(p, n, &length) : NULL;
	struct dt_cursor_bytes c;

	free(p);
	if (!in)
		return all;
	c = (struct dt_cursor_bytes){in, in + length, false};
	all.v = malloc((length + 64) * sizeof(*all.v));
	fuzz_must(all.v);
	while (c.p < c.end && !c.bad && all.n < NUMBERS_MAX)
		all.v[all.n++] = dt_get_varint(&c);
	free(in);
	return all;
}

static void put_numbers(sqlite3 *db, int64_t id, const struct numbers *all)
{
	struct dt_bytes in = {0}, out = {0};

	fuzz_must(dt_put_varints(&in, all->v, all->n) == 0);
	add_frame(&out, in.p, in.n);
	put_blob(db, "pyramid", "data", id, out.p, out.n);
	free(in.p);
	free(out.p);
}

/* Numbers of the head of what view has kept, of its bars, its sums, or its snapshots. */
static void change_pyramid(uint64_t *seed, sqlite3 *db)
{
	/* snapshots are long, and few; the head is the first */
	static const char *const some[] = {
		"SELECT 1", "SELECT id FROM pyramid",
		"SELECT id FROM (SELECT id FROM pyramid ORDER BY length(data) DESC LIMIT 12)"};
	char *id = some_text(seed, db, some[fuzz_random(seed, 3)]);
	struct numbers all = id ? read_numbers(db, atoll(id)) : (struct numbers){0};

	for (uint64_t k = 1 + fuzz_random(seed, 3); all.n && k; k--) {
		/* where counts are: often the first ones */
		size_t at = fuzz_random(seed, fuzz_random(seed, 2) && all.n > 60 ? 60 : all.n);

		all.v[at] = fuzz_another(seed, all.v[at]);
	}
	if (all.n && fuzz_random(seed, 10) == 0)
		all.n = fuzz_random(seed, all.n);
	if (all.v)
		put_numbers(db, atoll(id), &all);
	free(all.v);
	sqlite3_free(id);
}

/* ---- snapshots that are made up: threads and segments as there may be, and as there may not ----
 */

struct made {
	uint64_t *seed;
	struct numbers all;
	unsigned harm; /* of 100 numbers */
	uint64_t functions;
};

static void make(struct made *m, uint64_t v)
{
	if (m->all.n + 1 < NUMBERS_MAX)
		m->all.v[m->all.n++] =
			fuzz_random(m->seed, 100) < m->harm ? fuzz_another(m->seed, v) : v;
}

static uint64_t zigzag(int64_t d)
{
	return (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
}

static void make_frame(struct made *m, int64_t sp)
{
	uint64_t *s = m->seed;

	make(m, fuzz_random(s, 1u << 20));
	make(m, 0);
	make(m, fuzz_random(s, m->functions + 1));
	make(m, fuzz_random(s, 9));
	make(m, 0);
	make(m, zigzag((int64_t)fuzz_random(s, 108) - 9));
	make(m, zigzag(sp));
	for (int i = 0; i < 3; i++)
		make(m, 0);
	make(m, fuzz_random(s, 3));
	make(m, fuzz_random(s, m->functions));
	make(m, 0);
	make(m, 0);
}

static void make_thread(struct made *m, uint64_t tid)
{
	uint64_t *s = m->seed, segments = fuzz_random(s, 6);

	make(m, tid);
	make(m, fuzz_random(s, 4) == 0);
	make(m, fuzz_random(s, 1000));
	for (int i = 0; i < 3; i++)
		make(m, 0);
	make(m, fuzz_random(s, 3) ? 0 : 0x7ffd00000000);
	make(m, 0);
	make(m, 0);
	make(m, fuzz_random(s, segments + 1));
	make(m, segments);
	for (uint64_t i = 0; i < segments; i++) {
		static const int64_t top[] = {8, 0x7ffd00000000, 0x7ffd00100000,
					      (int64_t)0xffff800000001000};
		uint64_t frames = fuzz_random(s, 4);
		int64_t sp = top[fuzz_random(s, 4)];

		make(m, frames);
		make(m, fuzz_random(s, 9));
		make(m, fuzz_random(s, segments + 1));
		make(m, 1);
		make(m, fuzz_random(s, 2) ? 0 : fuzz_random(s, 4));
		for (uint64_t k = 0; k < frames; k++)
			make_frame(m, k ? -16 * (int64_t)fuzz_random(s, 4) : sp);
	}
}

/* The region's that the head tells of; which numbers of it that are: analyse/pyramid-file.c. */
static void make_snapshot(uint64_t *seed, sqlite3 *db)
{
	struct numbers head = read_numbers(db, 1);
	static const unsigned harm[] = {0, 2, 20};
	struct made m = {.seed = seed, .harm = harm[fuzz_random(seed, 3)]};
	sqlite3_stmt *q = prepare(db, "SELECT tid FROM thread UNION SELECT 7 LIMIT 100");
	size_t first, region;

	m.functions = (uint64_t)number(prepare(db, "SELECT count(*) FROM function"));
	m.all.v = malloc(NUMBERS_MAX * sizeof(*m.all.v));
	fuzz_must(m.all.v);
	if (head.n < 13 || head.v[10] > 1000 || head.v[11] > 1000 || !head.v[11])
		goto out;
	first = 13 + 7 * head.v[10];
	region = first + 6 * fuzz_random(seed, head.v[11]);
	if (region + 6 > head.n)
		goto out;
	for (int i = 0; i < 3; i++)
		make(&m, 0);
	make(&m, 1u << 20);
	make(&m,
	     (uint64_t)number(prepare(
		     db,
		     "SELECT count(*) FROM (SELECT tid FROM thread UNION SELECT 7 LIMIT 100)")));
	while (q && sqlite3_step(q) == SQLITE_ROW)
		make_thread(&m, (uint64_t)sqlite3_column_int64(q, 0));
	put_numbers(db, (int64_t)head.v[region + 3], &m.all);
out:
	sqlite3_finalize(q);
	free(m.all.v);
	free(head.v);
}

/* Bytes of the numbers from first to behind last. */
static uint64_t bytes_of(const struct numbers *all, uint64_t first, uint64_t last)
{
	uint64_t n = 0;

	for (uint64_t i = first; i < last && i < all->n; i++)
		n += all->v[i] ? (70 - (uint64_t)__builtin_clzll(all->v[i])) / 7 : 1;
	return n;
}

/* Keeps what view has kept that of this trace, when what it is told by has changed. */
static void stamp(sqlite3 *db)
{
	struct numbers all = read_numbers(db, 1);

	if (all.n > 13) {
		all.v[3] = (uint64_t)number(prepare(db, "SELECT sum(records) FROM chunk"));
		all.v[4] = (uint64_t)number(prepare(db, "SELECT count(*) FROM chunk"));
		all.v[5] = (uint64_t)number(prepare(db, "SELECT max(max_ticks) FROM chunk"));
		all.v[6] = (uint64_t)number(prepare(db, "SELECT max(id) FROM function"));
		if (all.v[10] < NUMBERS_MAX && all.v[11] < NUMBERS_MAX && all.v[12] < NUMBERS_MAX)
			all.v[1] = bytes_of(&all, 2,
					    13 + 7 * all.v[10] + 6 * all.v[11] + 11 * all.v[12]);
		put_numbers(db, 1, &all);
	}
	free(all.v);
}

/* ---- the whole ---- */

static void change(uint64_t *seed, sqlite3 *db)
{
	static void (*const kinds[])(uint64_t * seed, sqlite3 * db) = {
		change_cell,  change_cell,    change_rows,    drop_keys,     change_chunk,
		change_chunk, change_pyramid, change_pyramid, make_snapshot,
	};

	for (uint64_t n = 1 + fuzz_random(seed, 3); n; n--)
		kinds[fuzz_random(seed, sizeof(kinds) / sizeof(*kinds))](seed, db);
	if (fuzz_random(seed, 5))
		stamp(db);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned from)
{
	uint64_t seed = from;
	sqlite3 *db = NULL;
	sqlite3_int64 n = 0;
	unsigned char *copy, *out = NULL;

	if (fuzz_random(&seed, 20) == 0)
		return LLVMFuzzerMutate(data, size, max);
	sqlite3_open(":memory:", &db);
	copy = sqlite3_malloc64(size + 1);
	fuzz_must(db && copy);
	memcpy(copy, data, size);
	sqlite3_deserialize(db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
			    SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
	/* writing the schema as well as the rest */
	sqlite3_exec(db, "PRAGMA journal_mode=OFF; PRAGMA page_size", NULL, NULL, NULL);
	sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
	change(&seed, db);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	out = sqlite3_serialize(db, "main", &n, 0);
	if (out && n > 0 && (size_t)n <= max)
		memcpy(data, out, size = (size_t)n);
	else
		size = LLVMFuzzerMutate(data, size, max);
	sqlite3_free(out);
	sqlite3_close(db);
	return size;
}
