/* SPDX-License-Identifier: MIT */
#include "cmd/sum-keys.h"

#include <stdio.h>
#include <string.h>

#include "cmd/open.h"
#include "cmd/table.h"
#include "core/plain.h"
#include "core/signature.h"
#include "filter/operand.h"
#include "filter/sums-table.h"
#include "show/failure.h"

#define TEXT 4096u

static const char *name_of(const struct dt_formats *f, uint64_t function)
{
	return function && function <= dt_reader_functions(f->reader)
		       ? dt_reader_function_name(f->reader, (uint32_t)function)
		       : "?";
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- values, by their types ---- */

/* One argument among those that a format has. */
struct wanted {
	const char *name;
	size_t n;
	char *text;
	bool found;
};

static void take(void *ctx, const char *name, size_t n, const char *text, size_t length)
{
	struct wanted *w = ctx;

	if (w->found || n != w->n || strncmp(name, w->name, n) != 0)
		return;
	w->found = true;
	dt_format(w->text, TEXT, "%.*s", length < TEXT ? (int)length : (int)TEXT - 1, text);
}

/* Writes a value as calls of the function show it, such as "SEEK_SET". False: nothing is known of
 * it. */
static bool put_typed(struct dt_formats *f, uint32_t function, const struct dt_sums_term *t,
		      uint64_t v, char *text)
{
	const struct dt_function_info *info = dt_reader_function(f->reader, function);
	const struct dt_call_operand o = {.what = t->what == DT_SUMS_RESULT ? DT_OPERAND_RESULT
						  : t->index == UINT32_MAX  ? DT_OPERAND_NAMED
									    : DT_OPERAND_ARGUMENT,
					  .index = t->index,
					  .name = t->name};
	struct dt_call_operand_place place;
	struct dt_signature_value value;
	struct wanted w = {.text = text};
	uint64_t values[4] = {0};
	static char line[DT_CALL_TEXT];
	char *end;

	if (!info || !dt_signature_known(info->signature))
		return false;
	dt_operand_find(&place, info->signature, &o);
	if (place.place > 3 || place.second != 0xff || place.letter == 'f')
		return false;
	values[place.place] = v;
	if (t->what == DT_SUMS_RESULT) {
		end = dt_format_result(f, line, function, values);
		if (end - line <= 3)
			return false;
		dt_format(text, TEXT, "%.*s", (int)(end - line - 3), line + 3);
		return true;
	}
	if (t->index == UINT32_MAX) {
		w.name = t->name;
		w.n = strlen(t->name);
	} else if (dt_signature_parameter(info->signature, t->index, &value)) {
		w.name = value.name;
		w.n = value.name_length;
	} else {
		return false;
	}
	dt_format_each_full(f, function, values, NULL, take, &w);
	return w.found;
}

static const char *number_text(const struct dt_sums_part *p, char *text)
{
	return dt_sums_number(text,
			      p->negative ? (__int128)(int64_t)p->number : (__int128)p->number);
}

/* ---- for people ---- */

static void put_path(const struct dt_formats *f, const struct dt_sums_part *p, char *text)
{
	size_t n = 0;

	*text = '\0';
	for (uint32_t i = 0; i + 4 <= p->n && n + 4 < TEXT; i += 4) {
		uint32_t function;

		memcpy(&function, p->bytes + i, sizeof(function));
		n += dt_format(text + n, TEXT - n, "%s%s", i ? " < " : "", name_of(f, function));
	}
}

static void put_bytes(const struct dt_sums_part *p, char *text)
{
	size_t n = p->n < TEXT - 3 ? p->n : TEXT - 3;

	text[0] = '"';
	memcpy(text + 1, p->bytes, n);
	strcpy(text + 1 + n, "\"");
}

static void put_thread(const struct dt_formats *f, uint64_t tid, char *text)
{
	const struct dt_thread_info *t = dt_reader_thread(f->reader, (uint32_t)tid);

	if (tid == DT_NO_TID)
		strcpy(text, "no thread");
	else
		dt_format(text, TEXT, "%lu%s%s",
			  (unsigned long)dt_reader_number(f->reader, (uint32_t)tid),
			  t && *t->name ? " " : "", t ? t->name : "");
}

static void put_process(const struct dt_formats *f, uint64_t pid, char *text)
{
	const struct dt_process_info *p = dt_reader_process(f->reader, (uint32_t)pid);

	if (!pid)
		strcpy(text, "?");
	else
		dt_format(text, TEXT, "%lu%s%s",
			  (unsigned long)dt_reader_number(f->reader, (uint32_t)pid),
			  p && *p->exe ? " " : "", p ? base_of(p->exe) : "");
}

static void put_error(uint64_t error, char *text)
{
	const char *name = error ? dt_failure_name((uint32_t)error) : "none";

	if (name)
		strcpy(text, name);
	else
		dt_format(text, TEXT, "errno %lu", (unsigned long)error);
}

static double real_of(const struct dt_sums_part *p)
{
	double v;

	memcpy(&v, &p->number, sizeof(v));
	return v;
}

const char *dt_sum_key_text(struct dt_formats *f, const struct dt_sums_row *row,
			    const struct dt_sums_term *t, const struct dt_sums_part *p)
{
	static char text[TEXT];
	char number[48];

	strcpy(text, "?");
	if (p->kind == DT_SUMS_REAL) {
		dt_format(text, TEXT, "%.9g", real_of(p));
	} else if (p->kind == DT_SUMS_BYTES) {
		put_bytes(p, text);
	} else if (p->kind == DT_SUMS_PATH) {
		put_path(f, p, text);
	} else if (p->kind == DT_SUMS_NUMBER) {
		switch (t->what) {
		case DT_SUMS_FUNCTION:
		case DT_SUMS_CALLER:
			dt_format(text, TEXT, "%s", name_of(f, p->number));
			break;
		case DT_SUMS_THREAD:
			put_thread(f, p->number, text);
			break;
		case DT_SUMS_PROCESS:
			put_process(f, p->number, text);
			break;
		case DT_SUMS_ERROR:
			put_error(p->number, text);
			break;
		default:
			if ((t->what != DT_SUMS_RESULT && t->what != DT_SUMS_ARGUMENT) ||
			    !put_typed(f, row->function, t, p->number, text))
				strcpy(text, number_text(p, number));
		}
	}
	return dt_cmd_plain(text);
}

/* ---- for programs ---- */

void dt_sum_key_json(struct dt_formats *f, const struct dt_sums_row *row,
		     const struct dt_sums_term *t, const struct dt_sums_part *p)
{
	static char text[TEXT];
	char number[48];

	switch (p->kind) {
	case DT_SUMS_BYTES:
		dt_format(text, TEXT, "%.*s", p->n < TEXT ? (int)p->n : (int)TEXT - 1,
			  (const char *)p->bytes);
		dt_table_json(text);
		return;
	case DT_SUMS_PATH:
		putchar('[');
		for (uint32_t i = 0; i + 4 <= p->n; i += 4) {
			uint32_t function;

			memcpy(&function, p->bytes + i, sizeof(function));
			fputs(i ? ", " : "", stdout);
			dt_table_json(name_of(f, function));
		}
		putchar(']');
		return;
	case DT_SUMS_REAL:
		if (real_of(p) - real_of(p) == 0)
			printf("%.17g", real_of(p));
		else /* JSON has no infinity, and no NaN */
			printf("\"%g\"", real_of(p));
		return;
	case DT_SUMS_UNKNOWN:
		fputs("null", stdout);
		return;
	default:
		break;
	}
	if (t->what == DT_SUMS_FUNCTION || t->what == DT_SUMS_CALLER)
		dt_table_json(name_of(f, p->number));
	else if (t->what == DT_SUMS_ERROR)
		dt_table_json(dt_sum_key_text(f, row, t, p));
	else
		fputs(number_text(p, number), stdout);
}
