/* SPDX-License-Identifier: MIT */
/* Rows as text. A table's columns are as wide as the first rows need; wider cells that come later
 * shift the rest of their line. */
#include "cmd/rows.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/fit.h"
#include "show/csv.h"
#include "show/json.h"
#include "core/plain.h"
#include "store/varint.h"

#define WIDTH_ROWS  256	      /* rows by which the widths of columns are chosen at most, */
#define WIDTH_BYTES (1 << 20) /* and bytes of these rows */
#define WIDEST	    100	      /* columns are padded to no more than this width */
/* A text at a terminal keeps so many columns, before names of columns are cut, and at the least */
#define SHORT	 12
#define SHORTEST 6

struct cell {
	size_t at; /* offset into dt_rows.text */
	unsigned width;
	bool number;
};

struct dt_rows {
	FILE *f;
	const struct dt_terminal *terminal;
	enum dt_rows_form form;
	bool header, kept; /* kept: rows are being kept, since the widths are not chosen yet */
	int columns;
	char **name;
	unsigned *width;
	bool *texts;	     /* of the first rows: the column has a text, which may be cut */
	bool apart;	     /* there is no room for the columns: each value has a line */
	uint64_t row;	     /* rows that have been printed so */
	unsigned *row_width; /* room for those of a row */
	bool *row_texts;
	/* rows that are kept: their cells, and the cells' texts, each ended by a NUL */
	struct cell *cell;
	size_t cells, cell_room;
	struct dt_json text;
	bool no_memory;
};

struct dt_rows *dt_rows_new(const struct dt_terminal *t, enum dt_rows_form form, bool header)
{
	struct dt_rows *r = calloc(1, sizeof(*r));

	if (r) {
		r->f = stdout;
		r->terminal = t;
		r->form = form;
		r->header = header;
	}
	return r;
}

static void forget(struct dt_rows *r)
{
	for (int i = 0; i < r->columns && r->name; i++)
		free(r->name[i]);
	free(r->name);
	free(r->width);
	free(r->texts);
	free(r->row_width);
	free(r->row_texts);
	r->name = NULL;
	r->width = NULL;
	r->texts = NULL;
	r->row_width = NULL;
	r->row_texts = NULL;
	r->columns = 0;
	r->cells = 0;
	r->text.bytes.n = 0;
}

void dt_rows_free(struct dt_rows *r)
{
	if (!r)
		return;
	forget(r);
	free(r->cell);
	free(r->text.bytes.p);
	free(r);
}

/* Returns how many columns a text takes; where no terminal's are to be filled, the number of UTF-8
 * characters. */
static unsigned width_of(const struct dt_rows *r, const char *s)
{
	unsigned n = 0;

	if (r->terminal->columns)
		return dt_terminal_width(r->terminal, s, strlen(s));
	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

void dt_rows_begin(struct dt_rows *r, int columns)
{
	forget(r);
	r->columns = columns;
	r->name = calloc((size_t)columns + 1, sizeof(*r->name));
	r->width = calloc((size_t)columns + 1, sizeof(*r->width));
	r->texts = calloc((size_t)columns + 1, sizeof(*r->texts));
	r->row_width = calloc((size_t)columns + 1, sizeof(*r->row_width));
	r->row_texts = calloc((size_t)columns + 1, sizeof(*r->row_texts));
	r->no_memory = !r->name || !r->width || !r->texts || !r->row_width || !r->row_texts;
	r->kept = true;
	r->apart = false;
	r->row = 0;
}

void dt_rows_name(struct dt_rows *r, int column, const char *name)
{
	if (r->no_memory)
		return;
	r->name[column] = strdup(name);
	r->no_memory = !r->name[column];
	if (r->header && !r->no_memory)
		r->width[column] = width_of(r, name);
}

/* ---- CSV ---- */

static void csv_header(struct dt_rows *r)
{
	for (int i = 0; i < r->columns; i++) {
		if (i)
			putc(',', r->f);
		dt_csv_words(r->f, r->name[i], strlen(r->name[i]), false);
	}
	fputs("\r\n", r->f);
}

static void csv_row(struct dt_rows *r, sqlite3_stmt *s)
{
	for (int i = 0; i < r->columns; i++) {
		const char *text = (const char *)sqlite3_column_text(s, i);

		if (i)
			putc(',', r->f);
		if (text && (sqlite3_column_type(s, i) == SQLITE_INTEGER ||
			     sqlite3_column_type(s, i) == SQLITE_FLOAT))
			fputs(text, r->f);
		else if (text)
			dt_csv_words(r->f, text, (size_t)sqlite3_column_bytes(s, i), false);
	}
	fputs("\r\n", r->f);
}

/* ---- JSON ---- */

static void json_value(struct dt_json *t, sqlite3_stmt *s, int i)
{
	const uint8_t *p;
	double v;

	switch (sqlite3_column_type(s, i)) {
	case SQLITE_NULL:
		dt_json_bytes(t, "null", 4);
		break;
	case SQLITE_FLOAT:
		v = sqlite3_column_double(s, i);
		/* JSON has no number for infinity */
		if (v - v != 0)
			dt_json_bytes(t, "null", 4);
		else
			dt_json_bytes(t, sqlite3_column_text(s, i),
				      (size_t)sqlite3_column_bytes(s, i));
		break;
	case SQLITE_INTEGER:
		dt_json_print(t, "%lld", (long long)sqlite3_column_int64(s, i));
		break;
	case SQLITE_BLOB:
		p = sqlite3_column_blob(s, i);
		dt_json_bytes(t, "\"", 1);
		for (int k = 0; k < sqlite3_column_bytes(s, i); k++)
			dt_json_print(t, "%02x", p[k]);
		dt_json_bytes(t, "\"", 1);
		break;
	default:
		dt_json_string(t, (const char *)sqlite3_column_text(s, i));
	}
}

static int json_row(struct dt_rows *r, sqlite3_stmt *s)
{
	struct dt_json *t = &r->text;

	t->bytes.n = 0;
	for (int i = 0; i < r->columns; i++) {
		dt_json_bytes(t, i ? "," : "{", 1);
		dt_json_string(t, r->name[i]);
		dt_json_bytes(t, ":", 1);
		json_value(t, s, i);
	}
	dt_json_bytes(t, "}\n", 2);
	if (t->failed)
		return -1;
	fwrite(t->bytes.p, 1, t->bytes.n, r->f);
	return 0;
}

/* ---- a table ---- */

/* Adds a cell's text. A row must stay one line: characters that would end it, or move about, are
 * written as in C (core/plain.h). */
static void cell_text(struct dt_json *t, const char *s)
{
	size_t n = strlen(s), plain = dt_plain(NULL, s, n);

	if (dt_bytes_room(&t->bytes, plain + 1)) {
		t->failed = true;
		return;
	}
	dt_plain((char *)t->bytes.p + t->bytes.n, s, n);
	t->bytes.n += plain;
	dt_json_bytes(t, "", 1);
}

static int keep_row(struct dt_rows *r, sqlite3_stmt *s)
{
	if (r->cells + (size_t)r->columns > r->cell_room) {
		size_t room = 2 * r->cell_room + (size_t)r->columns;
		struct cell *more = realloc(r->cell, room * sizeof(*more));

		if (!more)
			return -1;
		r->cell = more;
		r->cell_room = room;
	}
	for (int i = 0; i < r->columns; i++) {
		struct cell *c = &r->cell[r->cells++];
		const char *text = (const char *)sqlite3_column_text(s, i);
		int type = sqlite3_column_type(s, i);

		*c = (struct cell){.at = r->text.bytes.n,
				   .number = type == SQLITE_INTEGER || type == SQLITE_FLOAT};
		cell_text(&r->text, text ? text : "");
		if (r->text.failed)
			return -1;
		c->width = width_of(r, (const char *)r->text.bytes.p + c->at);
		if (r->kept && c->width > r->width[i])
			r->width[i] = c->width;
		r->texts[i] |= r->kept && !c->number && c->width;
	}
	return 0;
}

static void spaces(FILE *f, unsigned n)
{
	while (n--)
		putc(' ', f);
}

/* Prints a cell in so many columns, of which a text takes no more at a terminal. */
static void put_cell(struct dt_rows *r, int i, const char *text, unsigned width, unsigned want,
		     bool right)
{
	if (i)
		fputs("  ", r->f);
	if (right)
		spaces(r->f, want > width ? want - width : 0);
	if (!right && width > want)
		width = dt_fit_print(r->terminal, text, want);
	else
		fputs(text, r->f);
	if (!right && i + 1 < r->columns)
		spaces(r->f, want > width ? want - width : 0);
}

/* Returns how many columns a line takes. */
static unsigned line_width(const struct dt_rows *r, const unsigned *width)
{
	unsigned all = 0;

	for (int i = 0; i < r->columns; i++)
		all += width[i] + (i ? 2 : 0);
	return all;
}

/* Takes columns from the widest texts until a line fits, but leaves them at least so many. */
static void narrow(const struct dt_rows *r, unsigned *width, const bool *texts, unsigned least)
{
	unsigned all = line_width(r, width);

	while (all > r->terminal->columns) {
		int widest = -1;

		for (int i = 0; i < r->columns; i++)
			if (texts[i] && width[i] > least &&
			    (widest < 0 || width[i] > width[widest]))
				widest = i;
		if (widest < 0)
			return;
		width[widest]--;
		all--;
	}
}

/* Fits the columns into those of the terminal, when the first rows are known. */
static void fit(struct dt_rows *r)
{
	unsigned columns = r->terminal->columns;

	for (int i = 0; i < r->columns; i++)
		r->width[i] = r->width[i] < WIDEST ? r->width[i] : WIDEST;
	if (!columns || line_width(r, r->width) <= columns)
		return;
	narrow(r, r->width, r->texts, SHORT);
	/* a column's name may be cut, too, but to be known by it */
	for (int i = 0; i < r->columns && line_width(r, r->width) > columns; i++) {
		unsigned most = r->width[i] < 4 ? r->width[i] : 4;

		for (size_t k = (size_t)i; k < r->cells && !r->texts[i]; k += (size_t)r->columns)
			most = r->cell[k].width > most ? r->cell[k].width : most;
		r->width[i] = r->texts[i] ? r->width[i] : most;
	}
	narrow(r, r->width, r->texts, SHORTEST);
	r->apart = line_width(r, r->width) > columns;
}

/* Prints each value of a row on a line, behind its name. */
static void print_apart(struct dt_rows *r, const struct cell *c)
{
	unsigned names = 0, columns = r->terminal->columns;

	for (int i = 0; i < r->columns && r->header; i++) {
		unsigned width = width_of(r, r->name[i]);

		names = width > names ? width : names;
	}
	names = names < columns / 2 ? names : columns / 2;
	if (r->row++)
		putc('\n', r->f);
	for (int i = 0; i < r->columns; i++, c++) {
		const char *text = (const char *)r->text.bytes.p + c->at;
		unsigned room = columns - names - 2, width;

		if (r->header && names) {
			width = dt_fit_print(r->terminal, r->name[i], names);
			spaces(r->f, names - width + 2);
			/* a number is not cut */
			if (c->number && c->width > room)
				putc('\n', r->f);
		}
		if (c->number)
			fputs(text, r->f);
		else
			dt_fit_print(r->terminal, text, r->header && names ? room : columns);
		putc('\n', r->f);
	}
}

static void print_row(struct dt_rows *r, const struct cell *c)
{
	unsigned columns = r->terminal->columns, *width = r->row_width;
	bool *texts = r->row_texts;

	/* numbers that are wider than those of the first rows are not cut: texts are, in this row
	 */
	for (int i = 0; i < r->columns; i++) {
		width[i] = c[i].number && c[i].width > r->width[i] ? c[i].width : r->width[i];
		texts[i] = !c[i].number;
	}
	if (columns && line_width(r, width) > columns)
		narrow(r, width, texts, SHORTEST);
	if (r->apart || (columns && line_width(r, width) > columns)) {
		print_apart(r, c);
		return;
	}
	for (int i = 0; i < r->columns; i++)
		put_cell(r, i, (const char *)r->text.bytes.p + c[i].at, c[i].width,
			 columns || c[i].number ? width[i] : r->width[i], c[i].number);
	putc('\n', r->f);
}

static void print_rows(struct dt_rows *r)
{
	if (r->kept) {
		fit(r);
		/* names are aligned like the cells below them */
		for (int i = 0; r->header && !r->apart && i < r->columns; i++) {
			bool right = (size_t)i < r->cells && r->cell[i].number;
			unsigned used = width_of(r, r->name[i]);

			put_cell(r, i, r->name[i], used, r->width[i], right && used <= r->width[i]);
		}
		if (r->header && !r->apart)
			putc('\n', r->f);
		r->kept = false;
	}
	for (size_t i = 0; i < r->cells; i += (size_t)r->columns)
		print_row(r, &r->cell[i]);
	r->cells = 0;
	r->text.bytes.n = 0;
}

/* ---- all ---- */

int dt_rows_row(struct dt_rows *r, sqlite3_stmt *row)
{
	if (r->no_memory)
		return -1;
	switch (r->form) {
	case DT_ROWS_JSON:
		return json_row(r, row);
	case DT_ROWS_CSV:
		if (r->kept && r->header)
			csv_header(r);
		r->kept = false;
		csv_row(r, row);
		return 0;
	default:
		if (keep_row(r, row) < 0)
			return -1;
		if (!r->kept || r->cells >= (size_t)WIDTH_ROWS * (size_t)r->columns ||
		    r->text.bytes.n > WIDTH_BYTES)
			print_rows(r);
		return 0;
	}
}

int dt_rows_end(struct dt_rows *r)
{
	if (r->columns && !r->no_memory && r->form == DT_ROWS_TABLE)
		print_rows(r);
	if (r->columns && !r->no_memory && r->form == DT_ROWS_CSV && r->kept && r->header)
		csv_header(r);
	return ferror(r->f) ? -1 : 0;
}
