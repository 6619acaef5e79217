/* SPDX-License-Identifier: MIT */
/*
 * Parquet, which DuckDB, Spark, Dask, ClickHouse and others open. A file is groups of rows; a group
 * has each column by itself: a page of its different words, if it has words, and one of its values,
 * compressed by Zstandard. Where everything is stands at the end of the file, so that it is written
 * in one pass. Source: Apache Parquet, parquet-format: README.md, Encodings.md, parquet.thrift.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "export/parquet-encode.h"
#include "export/rows.h"
#include "export/thrift.h"

#define ROWS  131072u /* of a group: what a column holds in memory is at most 8 bytes for each, */
#define BYTES (8u << 20) /* and texts and words so many: a group ends where they are more */
#define LEVEL 1		 /* of Zstandard */

/* parquet.thrift's numbers */
enum { TYPE_INT32 = 1, TYPE_INT64, TYPE_DOUBLE = 5, TYPE_BYTES };
enum { IS_UTF8 = 0, IS_UINT32 = 13, IS_UINT64 = 14 }; /* ConvertedType */
enum { PLAIN = 0, RLE = 3, DELTAS = 5, DICTIONARY = 8 };
enum { PAGE_VALUES = 0, PAGE_DICTIONARY = 2 };
enum { CODEC_ZSTD = 6 };

enum column_kind { WORDS, NUMBERS, SIGNED, SMALL, REALS, TEXTS };

enum {
	HOST,
	BUILD,
	PROCESS,
	THREAD,
	CALL,
	CALLER,
	DEPTH,
	FUNCTION,
	MODULE,
	BEGIN,
	DURATION,
	SELF,
	ENDED,
	EARLY,
	LATE,
	TEXT,
	COLUMNS
};

static const struct {
	const char *name;
	enum column_kind kind;
	bool optional; /* a row may have none */
} columns[COLUMNS] = {
	[HOST] = {"host", WORDS, false},	   [BUILD] = {"build", WORDS, false},
	[PROCESS] = {"process", SMALL, false},	   [THREAD] = {"thread", SMALL, false},
	[CALL] = {"call", NUMBERS, false},	   [CALLER] = {"caller", NUMBERS, false},
	[DEPTH] = {"depth", SMALL, false},	   [FUNCTION] = {"function", WORDS, false},
	[MODULE] = {"module", WORDS, false},	   [BEGIN] = {"begin_ns", SIGNED, false},
	[DURATION] = {"duration_ns", REALS, true}, [SELF] = {"self_ns", REALS, true},
	[ENDED] = {"ended", WORDS, false},	   [EARLY] = {"early_ns", NUMBERS, true},
	[LATE] = {"late_ns", NUMBERS, true},	   [TEXT] = {"text", TEXTS, false},
};

/* A column of the group that is being filled. */
struct column {
	union {
		uint64_t *number; /* REALS: their bits */
		uint32_t *small;  /* WORDS: the place among those of this group */
	};
	uint32_t n;			 /* values; rows that have none are not among them */
	uint32_t *is;			 /* optional: for each row, 1: it has one */
	const struct dt_row_word **word; /* WORDS: those of this group */
	uint32_t words, word_room;
	uint32_t *place; /* by a word's number: 1 + its place in this group; 0: none */
	uint32_t places;
	struct dt_json text; /* TEXTS: as PLAIN has them */
};

struct parquet {
	FILE *f;
	uint64_t at; /* bytes written */
	struct column column[COLUMNS];
	uint32_t n;	       /* rows of the group so far */
	size_t bytes;	       /* of its texts and words */
	uint64_t rows;	       /* in groups that are written */
	struct dt_json groups; /* RowGroup structures */
	uint32_t group_count;
	struct dt_json page, head;
	uint8_t *packed;
	size_t packed_room;
	ZSTD_CCtx *zstd;
	bool no_memory;
};

static void put(struct parquet *p, const void *from, size_t n)
{
	fwrite(from, 1, n, p->f);
	p->at += n;
}

/* ---- filling a group ---- */

static bool new_column(struct column *c, unsigned i)
{
	enum column_kind kind = columns[i].kind;

	c->number = kind == TEXTS ? NULL : calloc(ROWS, kind == WORDS || kind == SMALL ? 4 : 8);
	c->is = columns[i].optional ? calloc(ROWS, sizeof(*c->is)) : NULL;
	return (kind == TEXTS || c->number) && (!columns[i].optional || c->is);
}

/* Returns the place of a word among those of the group, where it is put if it is new. */
static uint32_t word_place(struct parquet *p, struct column *c, const struct dt_row_word *w)
{
	uint32_t n = w->number + 1 + w->number / 2, *places;
	const struct dt_row_word **more;

	if (w->number >= c->places) {
		places = realloc(c->place, n * sizeof(*places));
		if (!places)
			goto fail;
		memset(places + c->places, 0, (n - c->places) * sizeof(*places));
		c->place = places;
		c->places = n;
	}
	if (c->place[w->number])
		return c->place[w->number] - 1;
	if (c->words == c->word_room) {
		n = c->word_room ? 2 * c->word_room : 64;
		more = realloc(c->word, n * sizeof(*more));
		if (!more)
			goto fail;
		c->word = more;
		c->word_room = n;
	}
	c->word[c->words] = w;
	p->bytes += w->n;
	c->place[w->number] = ++c->words;
	return c->words - 1;
fail:
	p->no_memory = true;
	return 0;
}

static void add_word(struct parquet *p, unsigned i, const struct dt_row_word *w)
{
	struct column *c = &p->column[i];

	c->small[c->n++] = word_place(p, c, w);
}

static void add_small(struct parquet *p, unsigned i, uint32_t v)
{
	p->column[i].small[p->column[i].n++] = v;
}

static void add_number(struct parquet *p, unsigned i, bool is, uint64_t v)
{
	struct column *c = &p->column[i];

	if (c->is)
		c->is[p->n] = is;
	if (is)
		c->number[c->n++] = v;
}

static void add_real(struct parquet *p, unsigned i, bool is, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	add_number(p, i, is, bits);
}

/* ---- writing a group ---- */

static void page_head(struct parquet *p, bool dictionary, uint32_t values, int encoding,
		      size_t size, size_t packed)
{
	struct dt_thrift t = {.to = &p->head};

	p->head.bytes.n = 0;
	dt_thrift_i32(&t, 1, dictionary ? PAGE_DICTIONARY : PAGE_VALUES);
	dt_thrift_i32(&t, 2, (int32_t)size);
	dt_thrift_i32(&t, 3, (int32_t)packed);
	dt_thrift_begin(&t, dictionary ? 7 : 5);
	dt_thrift_i32(&t, 1, (int32_t)values);
	dt_thrift_i32(&t, 2, encoding);
	if (!dictionary) {
		dt_thrift_i32(&t, 3, RLE);
		dt_thrift_i32(&t, 4, RLE);
	}
	dt_thrift_end(&t);
	dt_thrift_end(&t);
	p->no_memory |= p->head.failed;
}

/* Compresses p->page and writes it with its head. *size grows by what it takes uncompressed. */
static void put_page(struct parquet *p, bool dictionary, uint32_t values, int encoding,
		     uint64_t *size)
{
	size_t n = p->page.bytes.n, bound = ZSTD_compressBound(n), packed;
	uint8_t *more;

	if (bound > p->packed_room) {
		more = realloc(p->packed, bound);
		if (!more) {
			p->no_memory = true;
			return;
		}
		p->packed = more;
		p->packed_room = bound;
	}
	packed = ZSTD_compressCCtx(p->zstd, p->packed, bound, p->page.bytes.p, n, LEVEL);
	if (ZSTD_isError(packed) || p->page.failed) {
		p->no_memory = true;
		return;
	}
	page_head(p, dictionary, values, encoding, n, packed);
	put(p, p->head.bytes.p, p->head.bytes.n);
	put(p, p->packed, packed);
	*size += p->head.bytes.n + n;
}

static void put_dictionary(struct parquet *p, const struct column *c, uint64_t *size)
{
	p->page.bytes.n = 0;
	for (uint32_t i = 0; i < c->words; i++) {
		dt_json_bytes(&p->page, &c->word[i]->n, sizeof(c->word[i]->n));
		dt_json_bytes(&p->page, c->word[i]->text, c->word[i]->n);
	}
	put_page(p, true, c->words, PLAIN, size);
}

static int encoding_of(enum column_kind kind)
{
	return kind == WORDS ? DICTIONARY : kind == NUMBERS || kind == SIGNED ? DELTAS : PLAIN;
}

/* Writes the page of a column's values. */
static void put_values(struct parquet *p, unsigned i, uint64_t *size)
{
	const struct column *c = &p->column[i];
	enum column_kind kind = columns[i].kind;
	struct dt_json *to = &p->page;
	uint8_t width;
	uint32_t n;

	to->bytes.n = 0;
	if (c->is) { /* which rows have one: its length, then a bit for each */
		dt_json_bytes(to, "\0\0\0", 4);
		dt_parquet_bits(to, c->is, p->n, 1);
		n = (uint32_t)to->bytes.n - 4;
		if (!to->failed)
			memcpy(to->bytes.p, &n, sizeof(n));
	}
	if (kind == WORDS) {
		width = (uint8_t)dt_parquet_width(c->words);
		dt_json_bytes(to, &width, 1);
		dt_parquet_bits(to, c->small, c->n, width);
	} else if (kind == NUMBERS || kind == SIGNED) {
		dt_parquet_deltas(to, c->number, c->n);
	} else if (kind == SMALL) {
		dt_json_bytes(to, c->small, c->n * sizeof(*c->small));
	} else if (kind == REALS) {
		dt_json_bytes(to, c->number, c->n * sizeof(*c->number));
	} else {
		dt_json_bytes(to, c->text.bytes.p, c->text.bytes.n);
	}
	put_page(p, false, p->n, encoding_of(kind), size);
}

static int type_of(enum column_kind kind)
{
	return kind == SMALL			   ? TYPE_INT32
	       : kind == NUMBERS || kind == SIGNED ? TYPE_INT64
	       : kind == REALS			   ? TYPE_DOUBLE
						   : TYPE_BYTES;
}

/* Writes a column, and what is said of it at the end of the file. */
static void put_column(struct parquet *p, unsigned i, struct dt_thrift *t, uint64_t *total)
{
	uint64_t begin = p->at, values = begin, size = 0;
	bool words = columns[i].kind == WORDS;

	if (words) {
		put_dictionary(p, &p->column[i], &size);
		values = p->at;
	}
	put_values(p, i, &size);
	*total += size;
	dt_thrift_begin(t, 0); /* ColumnChunk */
	dt_thrift_i64(t, 2, (int64_t)begin);
	dt_thrift_begin(t, 3); /* ColumnMetaData */
	dt_thrift_i32(t, 1, type_of(columns[i].kind));
	dt_thrift_list(t, 2, DT_THRIFT_I32, words ? 3 : 2);
	dt_thrift_zigzag(t, RLE);
	dt_thrift_zigzag(t, encoding_of(columns[i].kind));
	if (words)
		dt_thrift_zigzag(t, PLAIN);
	dt_thrift_list(t, 3, DT_THRIFT_BINARY, 1);
	dt_thrift_bytes(t, columns[i].name);
	dt_thrift_i32(t, 4, CODEC_ZSTD);
	dt_thrift_i64(t, 5, p->n);
	dt_thrift_i64(t, 6, (int64_t)size);
	dt_thrift_i64(t, 7, (int64_t)(p->at - begin));
	dt_thrift_i64(t, 9, (int64_t)values);
	if (words)
		dt_thrift_i64(t, 11, (int64_t)begin);
	dt_thrift_end(t);
	dt_thrift_end(t);
}

static void put_group(struct parquet *p)
{
	struct dt_thrift t = {.to = &p->groups};
	uint64_t total = 0;

	if (!p->n)
		return;
	dt_thrift_begin(&t, 0);
	dt_thrift_list(&t, 1, DT_THRIFT_STRUCT, COLUMNS);
	for (unsigned i = 0; i < COLUMNS; i++)
		put_column(p, i, &t, &total);
	dt_thrift_i64(&t, 2, (int64_t)total);
	dt_thrift_i64(&t, 3, p->n);
	dt_thrift_end(&t);
	p->no_memory |= p->groups.failed;
	for (unsigned i = 0; i < COLUMNS; i++) {
		struct column *c = &p->column[i];

		for (uint32_t k = 0; k < c->words; k++)
			c->place[c->word[k]->number] = 0;
		c->words = c->n = 0;
		c->text.bytes.n = 0;
	}
	p->group_count++;
	p->rows += p->n;
	p->n = 0;
	p->bytes = 0;
}

static bool on_row(void *ctx, const struct dt_row *row)
{
	struct parquet *p = ctx;
	uint32_t n;
	struct dt_json *text = &p->column[TEXT].text;
	size_t at;

	if (!row) {
		put_group(p);
		return false;
	}
	add_word(p, HOST, row->host);
	add_word(p, BUILD, row->build);
	add_small(p, PROCESS, row->process);
	add_small(p, THREAD, row->thread);
	add_number(p, CALL, true, row->call);
	add_number(p, CALLER, true, row->caller);
	add_small(p, DEPTH, row->depth);
	add_word(p, FUNCTION, row->function);
	add_word(p, MODULE, row->module);
	add_number(p, BEGIN, true, (uint64_t)row->begin);
	add_real(p, DURATION, row->timed, row->duration);
	add_real(p, SELF, row->timed, row->self);
	add_word(p, ENDED, row->ended);
	add_number(p, EARLY, row->bounded, row->early);
	add_number(p, LATE, row->bounded, row->late);
	at = text->bytes.n;
	dt_json_bytes(text, "\0\0\0", 4); /* its length, when that is known */
	dt_json_utf8(text, row->text, row->text_n);
	n = (uint32_t)(text->bytes.n - at - 4);
	if (!text->failed)
		memcpy(text->bytes.p + at, &n, sizeof(n));
	p->no_memory |= text->failed;
	p->bytes += n;
	p->n++;
	if (p->n == ROWS || p->bytes > BYTES)
		put_group(p);
	return !p->no_memory && !ferror(p->f);
}

/* ---- the end of the file ---- */

static void put_schema(struct dt_thrift *t)
{
	dt_thrift_list(t, 2, DT_THRIFT_STRUCT, COLUMNS + 1);
	dt_thrift_begin(t, 0);
	dt_thrift_text(t, 4, "calls");
	dt_thrift_i32(t, 5, COLUMNS);
	dt_thrift_end(t);
	for (unsigned i = 0; i < COLUMNS; i++) {
		enum column_kind kind = columns[i].kind;

		dt_thrift_begin(t, 0);
		dt_thrift_i32(t, 1, type_of(kind));
		dt_thrift_i32(t, 3, columns[i].optional);
		dt_thrift_text(t, 4, columns[i].name);
		if (kind == WORDS || kind == TEXTS)
			dt_thrift_i32(t, 6, IS_UTF8);
		else if (kind == SMALL || kind == NUMBERS)
			dt_thrift_i32(t, 6, kind == SMALL ? IS_UINT32 : IS_UINT64);
		dt_thrift_end(t);
	}
}

static void put_foot(struct parquet *p)
{
	struct dt_thrift t = {.to = &p->head};
	uint32_t n;

	p->head.bytes.n = 0;
	dt_thrift_i32(&t, 1, 2);
	put_schema(&t);
	dt_thrift_i64(&t, 3, (int64_t)p->rows);
	dt_thrift_list(&t, 4, DT_THRIFT_STRUCT, p->group_count);
	dt_json_bytes(&p->head, p->groups.bytes.p, p->groups.bytes.n);
	dt_thrift_text(&t, 6, "devtrace");
	dt_thrift_end(&t);
	p->no_memory |= p->head.failed;
	n = (uint32_t)p->head.bytes.n;
	put(p, p->head.bytes.p, n);
	put(p, &n, sizeof(n));
	put(p, "PAR1", 4);
}

int dt_export_parquet(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		      const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	struct parquet *p = calloc(1, sizeof(*p));
	int rc = -1;

	if (!p)
		return dt_fail(e, "out of memory");
	p->f = f;
	p->zstd = ZSTD_createCCtx();
	p->no_memory = !p->zstd;
	for (unsigned i = 0; i < COLUMNS && !p->no_memory; i++)
		p->no_memory = !new_column(&p->column[i], i);
	put(p, "PAR1", 4);
	if (!p->no_memory && !dt_rows_run(r, formats, chosen,
					  &(struct dt_rows_events){.row = on_row, .ctx = p}, e)) {
		put_foot(p);
		rc = 0;
	}
	if (p->no_memory)
		rc = dt_fail(e, "out of memory");
	for (unsigned i = 0; i < COLUMNS; i++) {
		free(p->column[i].number);
		free(p->column[i].is);
		free(p->column[i].word);
		free(p->column[i].place);
		free(p->column[i].text.bytes.p);
	}
	ZSTD_freeCCtx(p->zstd);
	free(p->groups.bytes.p);
	free(p->page.bytes.p);
	free(p->head.bytes.p);
	free(p->packed);
	free(p);
	return rc;
}
