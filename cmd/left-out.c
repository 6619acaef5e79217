/* SPDX-License-Identifier: MIT */
#include "cmd/left-out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/object.h"
#include "cmd/open.h"
#include "cmd/table.h"
#include "store/left-out.h"

/* The rows. */
struct rows {
	struct dt_reader *reader;
	const bool *shown;
	struct dt_left_out_row *row;
	size_t n;
	bool no_memory;
};

static void collect(void *ctx, const struct dt_left_out_row *row)
{
	struct rows *k = ctx;
	struct dt_left_out_row *more;

	if (!k->shown[row->function <= dt_reader_functions(k->reader) ? row->function : 0])
		return;
	more = realloc(k->row, (k->n + 1) * sizeof(*more));
	if (!more) {
		k->no_memory = true;
		return;
	}
	k->row = more;
	k->row[k->n++] = *row;
}

static int by_total(const void *a, const void *b)
{
	const struct dt_left_out_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (x->calls + x->untimed != y->calls + y->untimed)
		return x->calls + x->untimed < y->calls + y->untimed ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static const char *name_of(const struct rows *k, uint32_t function)
{
	return dt_reader_function_name(k->reader, function);
}

static void print_table(const struct rows *k, size_t n)
{
	printf("%11s %11s %10s %11s %11s %11s  %s\n", "total", "self", "calls", "avg", "min", "max",
	       "function");
	for (size_t i = 0; i < n; i++) {
		const struct dt_left_out_row *x = &k->row[i];

		if (x->calls) {
			dt_table_time(k->reader, x->total);
			dt_table_time(k->reader, x->self);
			printf(" %10lu", (unsigned long)(x->calls + x->untimed));
			dt_table_time(k->reader, x->total / x->calls);
			dt_table_time(k->reader, x->min);
			dt_table_time(k->reader, x->max);
		} else {
			printf("%11s %11s %10lu %11s %11s %11s", "-", "-",
			       (unsigned long)x->untimed, "-", "-", "-");
		}
		printf("  %s", name_of(k, x->function));
		if (x->untimed)
			printf("  (of %lu it is not known how long they took)",
			       (unsigned long)x->untimed);
		putchar('\n');
	}
}

static void print_json(const struct rows *k, size_t n)
{
	double ns = dt_reader_ns_per_tick(k->reader);

	for (size_t i = 0; i < n; i++) {
		const struct dt_left_out_row *x = &k->row[i];

		dt_object_begin("left_out");
		dt_object_text("function", name_of(k, x->function));
		dt_object_number("calls", x->calls + x->untimed);
		dt_object_number("timed", x->calls);
		if (x->calls) {
			dt_object_ns("total", (double)x->total * ns);
			dt_object_ns("self", (double)x->self * ns);
			dt_object_ns("avg", (double)x->total * ns / (double)x->calls);
			dt_object_ns("min", (double)x->min * ns);
			dt_object_ns("max", (double)x->max * ns);
		}
		dt_object_end();
	}
}

int dt_left_out_table(struct dt_reader *r, struct dt_selection *select, uint64_t rows, bool json)
{
	struct rows k = {.reader = r};
	bool *shown = dt_cmd_shown(r, select);
	struct dt_error e;
	int status = 1;
	size_t n;

	k.shown = shown;
	if (!shown || dt_left_out_read(r, collect, &k, &e) || k.no_memory) {
		dt_cmd_fail("%s", shown && !k.no_memory ? e.text : "out of memory");
		goto out;
	}
	if (k.n)
		qsort(k.row, k.n, sizeof(*k.row), by_total);
	n = rows && rows < k.n ? (size_t)rows : k.n;
	if (json)
		print_json(&k, n);
	else if (!k.n)
		puts("no call was left out while this was recorded");
	else
		print_table(&k, n);
	status = fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table") : 0;
	if (n < k.n)
		dt_cmd_fail("note: %zu more functions: without -n all are shown", k.n - n);
out:
	free(shown);
	free(k.row);
	return status;
}
