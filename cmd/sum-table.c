/* SPDX-License-Identifier: MIT */
#include "cmd/sum-table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/open.h"
#include "cmd/sum-keys.h"
#include "cmd/table.h"
#include "core/plain.h"

/* ---- from a file ---- */

/* What the functions below read into. */
struct reading {
	struct dt_sum_table *table;
	size_t n;
	struct dt_error *e;
};

static int take_sum(void *ctx, const struct dt_sum_row *row)
{
	struct reading *k = ctx;
	struct dt_sum_table *more = realloc(k->table, (k->n + 1) * sizeof(*more));
	struct dt_sum_table *t;
	char *text = strdup(row->words);

	if (more)
		k->table = more;
	if (!more || !text) {
		free(text);
		return dt_fail(k->e, "out of memory");
	}
	t = &more[k->n];
	*t = (struct dt_sum_table){.text = text,
				   .calls = row->calls,
				   .others = row->others,
				   .missed = row->missed,
				   .owned = true};
	k->n++;
	if (row->sum != k->n - 1)
		return dt_fail(k->e, "damaged: sums are numbered wrongly");
	return dt_sums_parse(&t->words, text, k->e);
}

/* Returns whether the key of a line has as many parts as the words have keys, and nothing else. */
static bool is_sound(const struct dt_sums_words *w, const uint8_t *key, size_t n)
{
	size_t at = 0;
	uint16_t length;

	for (unsigned i = 0; i < w->keys; i++) {
		if (at >= n)
			return false;
		switch (key[at++]) {
		case DT_SUMS_UNKNOWN:
			break;
		case DT_SUMS_NUMBER:
		case DT_SUMS_REAL:
			at += 9;
			break;
		case DT_SUMS_BYTES:
		case DT_SUMS_PATH:
			if (at + sizeof(length) > n)
				return false;
			memcpy(&length, key + at, sizeof(length));
			at += sizeof(length) + length;
			break;
		default:
			return false;
		}
	}
	return at == n;
}

static int take_line(void *ctx, const struct dt_sum_line *line)
{
	struct reading *k = ctx;
	struct dt_sum_table *t = &k->table[k->n];
	struct dt_sums_row *row, **more;

	if (!is_sound(&t->words, line->key, line->key_n) || t->rows == DT_SUMS_ROWS ||
	    !line->calls || line->unknown > line->calls)
		return dt_fail(k->e, "damaged: a row of a sum");
	row = malloc(sizeof(*row) + line->key_n);
	more = realloc(t->row, (t->rows + 1) * sizeof(*more));
	if (more)
		t->row = more;
	if (!row || !more) {
		free(row);
		return dt_fail(k->e, "out of memory");
	}
	*row = (struct dt_sums_row){
		.function = line->function,
		.calls = line->calls,
		.unknown = line->unknown,
		.real = line->real,
		.number = line->row,
		.sum = line->number[0],
		.least = line->number[1],
		.greatest = line->number[2],
		.floating = {line->floating[0], line->floating[1], line->floating[2]},
		.n = (uint32_t)line->key_n};
	if (line->key_n)
		memcpy(row->key, line->key, line->key_n);
	t->row[t->rows++] = row;
	if (!line->bucket)
		return 0;
	row->bucket = malloc(DT_SUMS_BUCKETS * sizeof(*row->bucket));
	if (!row->bucket)
		return dt_fail(k->e, "out of memory");
	memcpy(row->bucket, line->bucket, DT_SUMS_BUCKETS * sizeof(*row->bucket));
	return 0;
}

long dt_sum_tables_read(struct dt_reader *r, struct dt_sum_table **t, struct dt_error *e)
{
	struct reading k = {.e = e};
	int rc = dt_sums_read(r, take_sum, &k, e);
	size_t n = k.n;

	*t = NULL;
	for (k.n = 0; !rc && k.n < n; k.n++)
		rc = dt_sums_read_lines(r, (unsigned)k.n, take_line, &k, e);
	if (rc) {
		dt_sum_tables_free(k.table, n);
		return -1;
	}
	*t = k.table;
	return (long)n;
}

void dt_sum_tables_free(struct dt_sum_table *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < t[i].rows && t[i].owned; k++) {
			free(t[i].row[k]->bucket);
			free(t[i].row[k]);
		}
		free(t[i].row);
		if (t[i].owned)
			free((char *)t[i].text);
	}
	free(t);
}

/* ---- sorting ---- */

static double known(const struct dt_sums_row *row)
{
	return (double)(row->calls - row->unknown);
}

static double order_of(const struct dt_sums_row *row, enum dt_sum_sort by)
{
	switch (by) {
	case DT_SUM_SUM:
		return row->floating.sum;
	case DT_SUM_AVG:
		return known(row) > 0 ? row->floating.sum / known(row) : 0;
	case DT_SUM_MIN:
		return row->floating.least;
	case DT_SUM_MAX:
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
static char *keys_text(const struct dt_sum_table *t, const struct dt_sums_row *row,
		       const struct dt_sum_shown *how)
{
	char *text = NULL;
	size_t size, n = 0;
	uint32_t at = 0;
	FILE *f = open_memstream(&text, &size);

	for (; f && n < t->words.keys; n++) {
		struct dt_sums_part p = dt_sums_part(row, &at);

		fprintf(f, "%s\t", dt_sum_key_text(how->formats, row, &t->words.key[n], &p));
	}
	if (f)
		fclose(f);
	return text;
}

static void sort(struct dt_sum_table *t, const struct dt_sum_shown *how)
{
	enum dt_sum_sort by = how->sorted			     ? how->sort
			      : t->words.value.what == DT_SUMS_COUNT ? DT_SUM_CALLS
								     : DT_SUM_SUM;
	struct sorted *k = calloc(t->rows + 1, sizeof(*k));

	for (size_t i = 0; k && i < t->rows; i++)
		k[i] = (struct sorted){t->row[i], order_of(t->row[i], by),
				       by == DT_SUM_KEY ? keys_text(t, t->row[i], how) : NULL};
	if (k)
		qsort(k, t->rows, sizeof(*k), compare);
	for (size_t i = 0; k && i < t->rows; i++) {
		t->row[i] = k[i].row;
		free(k[i].text);
	}
	free(k);
}

/* ---- printing ---- */

static bool is_time(const struct dt_sum_table *t)
{
	return t->words.value.what == DT_SUMS_TIME || t->words.value.what == DT_SUMS_SELF;
}

static double ns_of(const struct dt_sum_shown *how)
{
	return dt_reader_ns_per_tick(how->formats->reader);
}

static void print_value(const struct dt_sum_table *t, const struct dt_sum_shown *how, __int128 v,
			double floating, bool real)
{
	char text[48];

	if (is_time(t))
		dt_table_ns(floating * ns_of(how));
	else if (real)
		printf(" %14.6g", floating);
	else
		printf(" %14s", dt_sum_number(text, v));
}

static void print_values(const struct dt_sum_table *t, const struct dt_sum_shown *how,
			 const struct dt_sums_row *row)
{
	double n = known(row);

	if (n == 0) {
		for (int i = 0; i < 4; i++)
			printf(is_time(t) ? " %11s" : " %14s", "-");
		return;
	}
	print_value(t, how, row->sum, row->floating.sum, row->real);
	print_value(t, how, 0, row->floating.sum / n, true);
	print_value(t, how, row->least, row->floating.least, row->real);
	print_value(t, how, row->greatest, row->floating.greatest, row->real);
}

/* Writes the least value of a bucket, as a time or a number with a prefix. */
static const char *bound(const struct dt_sum_table *t, __int128 v, char *text)
{
	static const char prefix[] = " KMGTPEZ";
	unsigned i = 0;
	char number[48];

	if (is_time(t)) {
		const char *p = dt_table_ns_text(text, (double)v);

		return p + strspn(p, " ");
	}
	while (v && v % 1024 == 0 && prefix[i + 1]) {
		v /= 1024;
		i++;
	}
	dt_format(text, 48, "%s%.*s", dt_sum_number(number, v), i ? 1 : 0, prefix + i);
	return text;
}

#define BAR 40

/* Prints how the values of a row are distributed: a line for each bucket between the first and the
 * last that have any. */
static void print_buckets(const struct dt_sum_table *t, const struct dt_sums_row *row)
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
		printf("  %24s %10lu |%.*s%*s|\n", range, (unsigned long)row->bucket[i],
		       (int)length, "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@", (int)(BAR - length),
		       "");
	}
}

static void print_keys(const struct dt_sum_table *t, const struct dt_sum_shown *how,
		       const struct dt_sums_row *row)
{
	uint32_t at = 0;

	for (unsigned i = 0; i < t->words.keys; i++) {
		struct dt_sums_part p = dt_sums_part(row, &at);
		const char *text = dt_sum_key_text(how->formats, row, &t->words.key[i], &p);

		printf("%s%s", i ? "  " : "", text);
	}
}

static void print_head(const struct dt_sum_table *t)
{
	static const char *const column[] = {"sum", "avg", "min", "max"};
	char text[1024];

	dt_format(text, sizeof(text), "%s", t->text);
	dt_plain_cut(text, false);
	printf("%s\n%12s", text, "calls");
	for (int i = 0; i < 4 && t->words.value.what != DT_SUMS_COUNT; i++)
		printf(is_time(t) ? " %11s" : " %14s", column[i]);
	for (unsigned i = 0; i < t->words.keys; i++)
		printf("  %s", t->words.key[i].name);
	putchar('\n');
}

/* Says what is not in the table. */
static void print_rest(const struct dt_sum_table *t, size_t shown)
{
	if (!t->calls)
		puts("no call counted");
	if (shown < t->rows)
		printf("%12s  %zu more rows: without -n all are shown\n", "", t->rows - shown);
	if (t->others)
		printf("%12lu  calls with other keys: a sum has %u rows, of %u MB, at most\n",
		       (unsigned long)t->others, DT_SUMS_ROWS, DT_SUMS_ROOM >> 20);
	if (t->missed)
		printf("%12lu  calls were not looked at, since too many were open at a time\n",
		       (unsigned long)t->missed);
}

void dt_sum_table_print(struct dt_sum_table *t, const struct dt_sum_shown *how)
{
	size_t n = how->rows && how->rows < t->rows ? (size_t)how->rows : t->rows;

	sort(t, how);
	print_head(t);
	for (size_t i = 0; i < n; i++) {
		const struct dt_sums_row *row = t->row[i];

		printf("%12lu", (unsigned long)row->calls);
		if (t->words.value.what != DT_SUMS_COUNT)
			print_values(t, how, row);
		fputs("  ", stdout);
		print_keys(t, how, row);
		if (row->unknown)
			printf("  (of %lu it is not known)", (unsigned long)row->unknown);
		putchar('\n');
		if (row->bucket)
			print_buckets(t, row);
	}
	print_rest(t, n);
}

/* ---- JSON ---- */

static void json_value(const struct dt_sum_table *t, const struct dt_sum_shown *how,
		       const char *name, __int128 v, double floating, bool real)
{
	char text[48];

	printf(", \"%s\": ", name);
	if (is_time(t))
		printf("%.1f", floating * ns_of(how));
	else if (real && floating - floating != 0) /* JSON has no infinity, and no NaN */
		fputs("null", stdout);
	else if (real)
		printf("%.17g", floating);
	else
		fputs(dt_sum_number(text, v), stdout);
}

static void json_row(const struct dt_sum_table *t, const struct dt_sum_shown *how,
		     const struct dt_sums_row *row)
{
	const char *separator = "";
	uint32_t at = 0;
	double n = known(row);
	char text[48];

	fputs("{\"key\": {", stdout);
	for (unsigned i = 0; i < t->words.keys; i++) {
		struct dt_sums_part p = dt_sums_part(row, &at);

		printf("%s\"%s\": ", i ? ", " : "", t->words.key[i].name);
		dt_sum_key_json(how->formats, row, &t->words.key[i], &p);
	}
	printf("}, \"calls\": %lu", (unsigned long)row->calls);
	if (t->words.value.what != DT_SUMS_COUNT)
		printf(", \"unknown\": %lu", (unsigned long)row->unknown);
	if (t->words.value.what != DT_SUMS_COUNT && n > 0) {
		json_value(t, how, "sum", row->sum, row->floating.sum, row->real);
		json_value(t, how, "avg", 0, row->floating.sum / n, true);
		json_value(t, how, "min", row->least, row->floating.least, row->real);
		json_value(t, how, "max", row->greatest, row->floating.greatest, row->real);
	}
	if (row->bucket) {
		fputs(", \"buckets\": [", stdout);
		for (unsigned i = 0; i < DT_SUMS_BUCKETS; i++) {
			if (!row->bucket[i])
				continue;
			printf("%s[%s, %lu]", separator, dt_sum_number(text, dt_sums_lowest(i)),
			       (unsigned long)row->bucket[i]);
			separator = ", ";
		}
		putchar(']');
	}
	putchar('}');
}

void dt_sum_table_json(struct dt_sum_table *t, const struct dt_sum_shown *how)
{
	size_t n = how->rows && how->rows < t->rows ? (size_t)how->rows : t->rows;

	sort(t, how);
	fputs("{\"words\": ", stdout);
	dt_table_json(t->text);
	printf(", \"calls\": %lu, \"others\": %lu, \"missed\": %lu, \"rows\": [",
	       (unsigned long)t->calls, (unsigned long)t->others, (unsigned long)t->missed);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",\n  " : "\n  ", stdout);
		json_row(t, how, t->row[i]);
	}
	fputs("]}", stdout);
}
