/* SPDX-License-Identifier: MIT */
#include "filter/sums-table.h"

#include <stdlib.h>
#include <string.h>

#include "core/plain.h"
#include "filter/times.h"

const char *dt_sums_number(char *text, __int128 v)
{
	unsigned __int128 rest = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
	char *p = text + 47;

	*p = '\0';
	do
		*--p = (char)('0' + rest % 10);
	while (rest /= 10);
	if (v < 0)
		*--p = '-';
	return p;
}

/* ---- sorting ---- */

static double known(const struct dt_sums_row *row)
{
	return (double)(row->calls - row->unknown);
}

static double order_of(const struct dt_sums_row *row, enum dt_sums_sort by)
{
	switch (by) {
	case DT_SUMS_BY_SUM:
		return row->floating.sum;
	case DT_SUMS_BY_AVG:
		return known(row) > 0 ? row->floating.sum / known(row) : 0;
	case DT_SUMS_BY_MIN:
		return row->floating.least;
	case DT_SUMS_BY_MAX:
		return row->floating.greatest;
	default:
		return (double)row->calls;
	}
}

/* A row, and what it is sorted by. */
struct sorted {
	struct dt_sums_row *row;
	double value;
	char *text; /* of its keys; NULL: they are not asked for */
};

static int compare(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->text && y->text)
		return strcmp(x->text, y->text);
	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return x->row->number < y->row->number ? -1 : x->row->number > y->row->number;
}

/* Returns the texts of a row's keys, one after the other; NULL: out of memory. */
static char *keys_text(const struct dt_sums_table *t, const struct dt_sums_row *row,
		       const struct dt_sums_shown *how)
{
	char *text = NULL;
	size_t size, n = 0;
	uint32_t at = 0;
	FILE *f = open_memstream(&text, &size);

	for (; f && n < t->words.keys; n++) {
		struct dt_sums_part p = dt_sums_part(row, &at);

		fprintf(f, "%s\t", how->key(how->ctx, row, &t->words.key[n], &p));
	}
	if (f)
		fclose(f);
	return text;
}

void dt_sums_table_sort(struct dt_sums_table *t, const struct dt_sums_shown *how)
{
	enum dt_sums_sort by = how->sorted			      ? how->sort
			       : t->words.value.what == DT_SUMS_COUNT ? DT_SUMS_BY_CALLS
								      : DT_SUMS_BY_SUM;
	struct sorted *k = calloc(t->rows + 1, sizeof(*k));

	for (size_t i = 0; k && i < t->rows; i++)
		k[i] = (struct sorted){t->row[i], order_of(t->row[i], by),
				       by == DT_SUMS_BY_KEY ? keys_text(t, t->row[i], how) : NULL};
	if (k)
		qsort(k, t->rows, sizeof(*k), compare);
	for (size_t i = 0; k && i < t->rows; i++) {
		t->row[i] = k[i].row;
		free(k[i].text);
	}
	free(k);
}

/* ---- printing ---- */

static bool is_time(const struct dt_sums_table *t)
{
	return t->words.value.what == DT_SUMS_TIME || t->words.value.what == DT_SUMS_SELF;
}

/* The columns of a table, in their order. */
enum column { CALLS, SUM, AVG, MIN, MAX, COLUMNS };

/* How the columns of a table are laid out; width 0: the column is left out. */
struct layout {
	unsigned width[COLUMNS];
	unsigned room; /* columns for the keys; 0: there is no limit */
	bool apart;    /* the keys have a line of their own: there is no room behind the numbers */
};

static const char *const head[COLUMNS] = {"calls", "sum", "avg", "min", "max"};

static const char *value_text(char *text, const struct dt_sums_table *t,
			      const struct dt_sums_shown *how, __int128 v, double floating,
			      bool real)
{
	if (is_time(t))
		return dt_times_text(text, floating * how->ns_per_tick);
	if (!real)
		return dt_sums_number(text, v);
	snprintf(text, 48, "%.6g", floating);
	return text;
}

/* Returns what a row has in a column; text has room for 48 bytes. */
static const char *cell(char *text, const struct dt_sums_table *t, const struct dt_sums_shown *how,
			const struct dt_sums_row *row, enum column column)
{
	double n = known(row);

	if (column == CALLS)
		return dt_sums_number(text, row->calls);
	if (n == 0)
		return "-";
	switch (column) {
	case SUM:
		return value_text(text, t, how, row->sum, row->floating.sum, row->real);
	case AVG:
		return value_text(text, t, how, 0, row->floating.sum / n, true);
	case MIN:
		return value_text(text, t, how, row->least, row->floating.least, row->real);
	default:
		return value_text(text, t, how, row->greatest, row->floating.greatest, row->real);
	}
}

static bool has_column(const struct dt_sums_table *t, enum column c)
{
	return c == CALLS || t->words.value.what != DT_SUMS_COUNT;
}

/* Writes the least value of a bucket, as a time or a number with a prefix. */
static const char *bound(const struct dt_sums_table *t, __int128 v, char *text)
{
	static const char prefix[] = " KMGTPEZ";
	unsigned i = 0;
	char number[48];

	if (is_time(t)) {
		const char *p = dt_times_text(text, (double)v);

		return p + strspn(p, " ");
	}
	while (v && v % 1024 == 0 && prefix[i + 1]) {
		v /= 1024;
		i++;
	}
	dt_format(text, 48, "%s%.*s", dt_sums_number(number, v), i ? 1 : 0, prefix + i);
	return text;
}

#define BAR    40
#define RANGES 40 /* columns in front of a bar */

/* Prints how the values of a row are distributed: a line for each bucket between the first and the
 * last that have any. */
static void print_buckets(FILE *out, const struct dt_sums_table *t, const struct dt_sums_shown *how,
			  const struct dt_sums_row *row)
{
	unsigned columns = how->fit ? how->fit->columns : RANGES + BAR + 1;
	/* where there is no room for a bar, there is some for the beginnings of the ranges */
	unsigned bar = columns > RANGES + BAR ? BAR
		       : columns > RANGES + 4 ? columns - RANGES - 1
					      : 0;
	unsigned first = DT_SUMS_BUCKETS, last = 0;
	uint64_t most = 1;

	for (unsigned i = 0; i < DT_SUMS_BUCKETS; i++) {
		if (!row->bucket[i])
			continue;
		first = first < i ? first : i;
		last = i;
		most = row->bucket[i] > most ? row->bucket[i] : most;
	}
	for (unsigned i = first; i <= last && i < DT_SUMS_BUCKETS; i++) {
		unsigned length = (unsigned)((double)row->bucket[i] * bar / (double)most);
		__int128 below =
			i + 1 < DT_SUMS_BUCKETS ? dt_sums_lowest(i + 1) : (__int128)1 << 64;
		char low[48], high[48], range[112];

		if (!bar) {
			fprintf(out, "%11s.. %lu\n", bound(t, dt_sums_lowest(i), low),
				(unsigned long)row->bucket[i]);
			continue;
		}
		dt_format(range, sizeof(range), "[%s, %s)", bound(t, dt_sums_lowest(i), low),
			  bound(t, below, high));
		fprintf(out, "  %24s %10lu |%.*s%*s|\n", range, (unsigned long)row->bucket[i],
			(int)length, "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@",
			(int)(bar - length), "");
	}
}

/* ---- rows ---- */

/* The texts of a row's keys; each is one line. */
struct keys {
	char *text[DT_SUMS_KEYS];
	unsigned width[DT_SUMS_KEYS]; /* what it is cut to */
	unsigned n, all;	      /* all: with the blanks between them */
};

static struct keys take_keys(const struct dt_sums_table *t, const struct dt_sums_shown *how,
			     const struct dt_sums_row *row)
{
	struct keys k = {.n = t->words.keys};
	uint32_t at = 0;

	for (unsigned i = 0; i < k.n; i++) {
		struct dt_sums_part p = dt_sums_part(row, &at);

		k.text[i] = strdup(how->key(how->ctx, row, &t->words.key[i], &p));
		if (how->fit && k.text[i])
			k.width[i] = how->fit->width(how->fit->terminal, k.text[i]);
		k.all += k.width[i] + (i ? 2 : 0);
	}
	return k;
}

static void free_keys(struct keys *k)
{
	for (unsigned i = 0; i < k->n; i++)
		free(k->text[i]);
}

/* Returns how narrow a key may be: of a number nothing is cut, nor of one that a text begins with,
 * of which the first half is kept. */
static unsigned least_of(const char *text, unsigned width)
{
	unsigned digits = (unsigned)strspn(text, "0123456789");

	if (!text[strspn(text, "-0123456789.")] || 2 * digits + 2 > width)
		return width;
	return digits > 1 ? 2 * digits + 2 : 4;
}

/* Lets the keys have so many columns together: the widest ones give most, numbers nothing. */
static void narrow(struct keys *k, unsigned room)
{
	while (k->all > room) {
		unsigned widest = k->n;

		for (unsigned i = 0; i < k->n; i++)
			if (k->text[i] && k->width[i] > least_of(k->text[i], k->width[i]) &&
			    (widest == k->n || k->width[i] > k->width[widest]))
				widest = i;
		if (widest == k->n)
			return;
		k->width[widest]--;
		k->all--;
	}
}

/* Prints what stands behind the columns of numbers. */
static void print_keys(FILE *out, const struct dt_sums_table *t, const struct dt_sums_shown *how,
		       const struct dt_sums_row *row, unsigned room)
{
	struct keys k = take_keys(t, how, row);
	char note[64] = "";

	if (row->unknown)
		dt_format(note, sizeof(note), "  (of %lu it is not known)",
			  (unsigned long)row->unknown);
	/* a note is worth that a long key is shorter */
	if (room && row->unknown)
		room -= room >= strlen(note) + 12 ? (unsigned)strlen(note) : 0;
	if (room)
		narrow(&k, room);
	for (unsigned i = 0; i < k.n; i++) {
		fputs(i ? "  " : "", out);
		if (room && k.text[i])
			how->fit->cut(how->fit->terminal, k.text[i], k.width[i]);
		else
			fputs(k.text[i] ? k.text[i] : "?", out);
	}
	fprintf(out, "%s\n", note);
	free_keys(&k);
}

/* ---- the layout ---- */

/* Returns how many columns the widest keys take, of the rows that are shown. */
static unsigned widest_keys(const struct dt_sums_table *t, const struct dt_sums_shown *how,
			    size_t rows)
{
	unsigned most = 0;

	for (unsigned i = 0; i < t->words.keys; i++)
		most += (unsigned)strlen(t->words.key[i].name) + (i ? 2 : 0);
	for (size_t i = 0; i < rows; i++) {
		struct keys k = take_keys(t, how, t->row[i]);

		most = k.all > most ? k.all : most;
		free_keys(&k);
	}
	return most;
}

/* Returns how wide a column has to be for the rows that are shown, with a blank in front. */
static unsigned needs(const struct dt_sums_table *t, const struct dt_sums_shown *how, size_t rows,
		      enum column c)
{
	unsigned most = (unsigned)strlen(head[c]);
	char text[48];

	for (size_t i = 0; i < rows; i++) {
		const char *p = cell(text, t, how, t->row[i], c);
		unsigned n = (unsigned)strlen(p + strspn(p, " "));

		most = n > most ? n : most;
	}
	return most + (c ? 1 : 0);
}

static enum column sorted_by(const struct dt_sums_table *t, const struct dt_sums_shown *how)
{
	enum column c = !how->sorted		      ? SUM
			: how->sort <= DT_SUMS_BY_MAX ? (enum column)how->sort
						      : SUM;

	return has_column(t, c) ? c : CALLS;
}

/* Lays the columns out: at a terminal where they do not fit in their usual width, as narrow as the
 * numbers are, and the least important ones not at all. */
static struct layout lay_out(const struct dt_sums_table *t, const struct dt_sums_shown *how,
			     size_t rows)
{
	const enum column order[] = {sorted_by(t, how), CALLS, SUM, AVG, MAX, MIN};
	struct layout l = {{0}, 0, false};
	unsigned keys, used = 2, columns = how->fit ? how->fit->columns : 0;

	for (enum column c = 0; c < COLUMNS; c++) {
		l.width[c] = !has_column(t, c) ? 0 : c == CALLS ? 12 : is_time(t) ? 12 : 15;
		used += l.width[c];
	}
	if (!columns)
		return l;
	keys = widest_keys(t, how, rows);
	if (used + keys > columns) {
		memset(l.width, 0, sizeof(l.width));
		used = 2;
		for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
			enum column c = order[i];
			unsigned width = has_column(t, c) ? needs(t, how, rows, c) : 0;
			unsigned least = columns >= 70 ? 30 : columns / 2;

			least = keys < least ? keys : least;
			if (!l.width[c] && (!i || used + width + least <= columns)) {
				l.width[c] = width;
				used += width;
			}
		}
	}
	/* the first one has no blank in front of it */
	for (enum column c = 0; c < COLUMNS && !l.width[CALLS]; c++)
		if (l.width[c]) {
			l.width[c]--;
			used--;
			break;
		}
	l.apart = used + 4 > columns;
	l.room = l.apart ? columns : columns - used;
	return l;
}

/* ---- the table ---- */

/* Prints a line: whatever stands at a terminal, it is broken there. */
static void print_line(FILE *out, const struct dt_sums_shown *how, const char *text)
{
	if (how->fit)
		how->fit->line(how->fit->terminal, text);
	else
		fprintf(out, "%s\n", text);
}

static void print_head(FILE *out, const struct dt_sums_table *t, const struct dt_sums_shown *how,
		       const struct layout *l)
{
	char text[1024];

	dt_format(text, sizeof(text), "%s", t->text);
	dt_plain_cut(text, false);
	print_line(out, how, text);
	for (enum column c = 0; c < COLUMNS; c++)
		if (l->width[c])
			fprintf(out, "%*s", (int)l->width[c], head[c]);
	for (unsigned i = 0; i < t->words.keys; i++)
		fprintf(out, "%s%s", i || !l->apart ? "  " : "\n", t->words.key[i].name);
	fputc('\n', out);
}

/* Says what is not in the table. */
static void print_rest(FILE *out, const struct dt_sums_table *t, const struct dt_sums_shown *how,
		       size_t shown)
{
	char text[256];

	if (!t->calls)
		fputs("no call counted\n", out);
	if (shown < t->rows) {
		dt_format(text, sizeof(text), "%12s  %zu more rows: %s", "", t->rows - shown,
			  how->more);
		print_line(out, how, text);
	}
	if (t->others) {
		dt_format(text, sizeof(text),
			  "%12lu  calls with other keys: a sum has %u rows, of %u MB, at most",
			  (unsigned long)t->others, DT_SUMS_ROWS, DT_SUMS_ROOM >> 20);
		print_line(out, how, text);
	}
	if (t->missed) {
		dt_format(text, sizeof(text),
			  "%12lu  calls were not looked at, since too many were open at a time",
			  (unsigned long)t->missed);
		print_line(out, how, text);
	}
}

void dt_sums_table_print(FILE *out, struct dt_sums_table *t, const struct dt_sums_shown *how)
{
	size_t n = how->rows && how->rows < t->rows ? (size_t)how->rows : t->rows;
	struct layout l;
	char text[48];

	dt_sums_table_sort(t, how);
	l = lay_out(t, how, n);
	print_head(out, t, how, &l);
	for (size_t i = 0; i < n; i++) {
		const struct dt_sums_row *row = t->row[i];

		for (unsigned c = 0, printed = 0; c < COLUMNS; c++) {
			const char *p = l.width[c] ? cell(text, t, how, row, (enum column)c) : NULL;

			if (p)
				fprintf(out, "%s%*s", printed ? " " : "",
					(int)(l.width[c] - printed), p + strspn(p, " "));
			printed |= l.width[c] != 0;
		}
		fputs(l.apart ? "\n" : "  ", out);
		print_keys(out, t, how, row, l.room);
		if (row->bucket)
			print_buckets(out, t, how, row);
	}
	print_rest(out, t, how, n);
}
