/* SPDX-License-Identifier: MIT */
#include "cmd/sum-table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/fit.h"
#include "cmd/object.h"
#include "cmd/open.h"
#include "cmd/sum-keys.h"
#include "core/plain.h"

/* ---- from a file ---- */

/* What the functions below read into. */
struct reading {
	struct dt_sums_table *table;
	size_t n;
	struct dt_error *e;
};

static int take_sum(void *ctx, const struct dt_sum_row *row)
{
	struct reading *k = ctx;
	struct dt_sums_table *more = realloc(k->table, (k->n + 1) * sizeof(*more));
	struct dt_sums_table *t;
	char *text = strdup(row->words);

	if (more)
		k->table = more;
	if (!more || !text) {
		free(text);
		return dt_fail(k->e, "out of memory");
	}
	t = &more[k->n];
	*t = (struct dt_sums_table){.text = text,
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
	struct dt_sums_table *t = &k->table[k->n];
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

long dt_sum_tables_read(struct dt_reader *r, struct dt_sums_table **t, struct dt_error *e)
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

void dt_sum_tables_free(struct dt_sums_table *t, size_t n)
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

/* ---- names ---- */

static const char *key_text(void *ctx, const struct dt_sums_row *row,
			    const struct dt_sums_term *term, const struct dt_sums_part *part)
{
	return dt_sum_key_text(ctx, row, term, part);
}

void dt_sum_table_names(struct dt_sums_shown *how, struct dt_formats *formats)
{
	how->ctx = formats;
	how->key = key_text;
	how->ns_per_tick = dt_reader_ns_per_tick(formats->reader);
}

/* ---- a terminal ---- */

static unsigned width(const void *terminal, const char *text)
{
	return dt_terminal_width(terminal, text, strlen(text));
}

static void cut(const void *terminal, const char *text, unsigned columns)
{
	dt_fit_print(terminal, text, columns);
}

static void line(const void *terminal, const char *text)
{
	dt_fit_line(terminal, text);
}

void dt_sum_table_fit(struct dt_sums_shown *how, struct dt_sums_fit *fit,
		      const struct dt_terminal *t)
{
	*fit = (struct dt_sums_fit){t->columns, t, width, cut, line};
	how->fit = t->columns ? fit : NULL;
}

/* ---- JSON ---- */

static bool is_time(const struct dt_sums_table *t)
{
	return t->words.value.what == DT_SUMS_TIME || t->words.value.what == DT_SUMS_SELF;
}

static double known(const struct dt_sums_row *row)
{
	return (double)(row->calls - row->unknown);
}

static void json_value(const struct dt_sums_table *t, const struct dt_sums_shown *how,
		       const char *name, __int128 v, double floating, bool real)
{
	char text[48];

	if (is_time(t)) {
		dt_object_ns(name, floating * how->ns_per_tick);
		return;
	}
	dt_object_member(name);
	if (real && floating - floating != 0) /* JSON has no infinity, and no NaN */
		fputs("null", stdout);
	else if (real)
		printf("%.17g", floating);
	else
		fputs(dt_sums_number(text, v), stdout);
}

static void json_row(const struct dt_sums_table *t, const struct dt_sums_shown *how,
		     const struct dt_sums_row *row)
{
	const char *separator = "";
	uint32_t at = 0;
	double n = known(row);
	char text[48];

	dt_object_begin("row");
	dt_object_text("sum", t->text);
	dt_object_member("key");
	putchar('{');
	for (unsigned i = 0; i < t->words.keys; i++) {
		struct dt_sums_part p = dt_sums_part(row, &at);

		printf("%s\"%s\": ", i ? ", " : "", t->words.key[i].name);
		dt_sum_key_json(how->ctx, row, &t->words.key[i], &p);
	}
	putchar('}');
	dt_object_number("calls", row->calls);
	if (t->words.value.what != DT_SUMS_COUNT)
		dt_object_number("unknown", row->unknown);
	if (t->words.value.what != DT_SUMS_COUNT && n > 0) {
		json_value(t, how, "total", row->sum, row->floating.sum, row->real);
		json_value(t, how, "avg", 0, row->floating.sum / n, true);
		json_value(t, how, "min", row->least, row->floating.least, row->real);
		json_value(t, how, "max", row->greatest, row->floating.greatest, row->real);
	}
	if (row->bucket) {
		dt_object_member(is_time(t) ? "buckets_ns" : "buckets");
		putchar('[');
		for (unsigned i = 0; i < DT_SUMS_BUCKETS; i++) {
			if (!row->bucket[i])
				continue;
			printf("%s[%s, %lu]", separator, dt_sums_number(text, dt_sums_lowest(i)),
			       (unsigned long)row->bucket[i]);
			separator = ", ";
		}
		putchar(']');
	}
	dt_object_end();
}

void dt_sum_table_json(struct dt_sums_table *t, const struct dt_sums_shown *how)
{
	size_t n = how->rows && how->rows < t->rows ? (size_t)how->rows : t->rows;

	dt_sums_table_sort(t, how);
	dt_object_begin("sum");
	dt_object_text("sum", t->text);
	dt_object_number("calls", t->calls);
	dt_object_number("others", t->others);
	dt_object_number("missed", t->missed);
	dt_object_number("rows", n);
	dt_object_end();
	for (size_t i = 0; i < n; i++)
		json_row(t, how, t->row[i]);
}
