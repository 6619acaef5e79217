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

static void print_value(FILE *out, const struct dt_sums_table *t, const struct dt_sums_shown *how,
			__int128 v, double floating, bool real)
{
	char text[48];

	if (is_time(t))
		fprintf(out, " %s", dt_times_text(text, floating * how->ns_per_tick));
	else if (real)
		fprintf(out, " %14.6g", floating);
	else
		fprintf(out, " %14s", dt_sums_number(text, v));
}

static void print_values(FILE *out, const struct dt_sums_table *t, const struct dt_sums_shown *how,
			 const struct dt_sums_row *row)
{
	double n = known(row);

	if (n == 0) {
		for (int i = 0; i < 4; i++)
			fprintf(out, is_time(t) ? " %11s" : " %14s", "-");
		return;
	}
	print_value(out, t, how, row->sum, row->floating.sum, row->real);
	print_value(out, t, how, 0, row->floating.sum / n, true);
	print_value(out, t, how, row->least, row->floating.least, row->real);
	print_value(out, t, how, row->greatest, row->floating.greatest, row->real);
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

#define BAR 40

/* Prints how the values of a row are distributed: a line for each bucket between the first and the
 * last that have any. */
static void print_buckets(FILE *out, const struct dt_sums_table *t, const struct dt_sums_row *row)
{
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
		unsigned length = (unsigned)((double)row->bucket[i] * BAR / (double)most);
		__int128 below =
			i + 1 < DT_SUMS_BUCKETS ? dt_sums_lowest(i + 1) : (__int128)1 << 64;
		char low[48], high[48], range[112];

		dt_format(range, sizeof(range), "[%s, %s)", bound(t, dt_sums_lowest(i), low),
			  bound(t, below, high));
		fprintf(out, "  %24s %10lu |%.*s%*s|\n", range, (unsigned long)row->bucket[i],
			(int)length, "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@",
			(int)(BAR - length), "");
	}
}

static void print_keys(FILE *out, const struct dt_sums_table *t, const struct dt_sums_shown *how,
		       const struct dt_sums_row *row)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < t->words.keys; i++) {
		struct dt_sums_part p = dt_sums_part(row, &at);
		const char *text = how->key(how->ctx, row, &t->words.key[i], &p);

		fprintf(out, "%s%s", i ? "  " : "", text);
	}
}

static void print_head(FILE *out, const struct dt_sums_table *t)
{
	static const char *const column[] = {"sum", "avg", "min", "max"};
	char text[1024];

	dt_format(text, sizeof(text), "%s", t->text);
	dt_plain_cut(text, false);
	fprintf(out, "%s\n%12s", text, "calls");
	for (int i = 0; i < 4 && t->words.value.what != DT_SUMS_COUNT; i++)
		fprintf(out, is_time(t) ? " %11s" : " %14s", column[i]);
	for (unsigned i = 0; i < t->words.keys; i++)
		fprintf(out, "  %s", t->words.key[i].name);
	fputc('\n', out);
}

/* Says what is not in the table. */
static void print_rest(FILE *out, const struct dt_sums_table *t, const struct dt_sums_shown *how,
		       size_t shown)
{
	if (!t->calls)
		fputs("no call counted\n", out);
	if (shown < t->rows)
		fprintf(out, "%12s  %zu more rows: %s\n", "", t->rows - shown, how->more);
	if (t->others)
		fprintf(out, "%12lu  calls with other keys: a sum has %u rows, of %u MB, at most\n",
			(unsigned long)t->others, DT_SUMS_ROWS, DT_SUMS_ROOM >> 20);
	if (t->missed)
		fprintf(out,
			"%12lu  calls were not looked at, since too many were open at a time\n",
			(unsigned long)t->missed);
}

void dt_sums_table_print(FILE *out, struct dt_sums_table *t, const struct dt_sums_shown *how)
{
	size_t n = how->rows && how->rows < t->rows ? (size_t)how->rows : t->rows;

	dt_sums_table_sort(t, how);
	print_head(out, t);
	for (size_t i = 0; i < n; i++) {
		const struct dt_sums_row *row = t->row[i];

		fprintf(out, "%12lu", (unsigned long)row->calls);
		if (t->words.value.what != DT_SUMS_COUNT)
			print_values(out, t, how, row);
		fputs("  ", out);
		print_keys(out, t, how, row);
		if (row->unknown)
			fprintf(out, "  (of %lu it is not known)", (unsigned long)row->unknown);
		fputc('\n', out);
		if (row->bucket)
			print_buckets(out, t, row);
	}
	print_rest(out, t, how, n);
}
