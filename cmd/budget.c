/* SPDX-License-Identifier: MIT */
#include "cmd/budget.h"

#include <stdio.h>
#include <stdlib.h>

#include "cmd/commands.h"
#include "cmd/object.h"
#include "cmd/open.h"
#include "store/budget.h"

/* The rows, and the recording's beginning and end: ticks. */
struct rows {
	struct dt_reader *reader;
	const bool *shown;
	struct dt_budget_row *row;
	size_t n;
	uint64_t begin, end;
};

static int collect(void *ctx, const struct dt_budget_row *row)
{
	struct rows *k = ctx;
	struct dt_budget_row *more;

	if (!k->shown[row->function])
		return 0;
	if ((k->n & (k->n - 1)) == 0) {
		more = realloc(k->row, (k->n ? 2 * k->n : 1) * sizeof(*more));
		if (!more)
			return 1;
		k->row = more;
	}
	k->row[k->n++] = *row;
	return 0;
}

static int by_calls(const void *a, const void *b)
{
	const struct dt_budget_row *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Returns the seconds from the first record to a tick. */
static double seconds(const struct rows *k, uint64_t ticks)
{
	return (double)(int64_t)(ticks - k->begin) * dt_reader_ns_per_tick(k->reader) / 1e9;
}

/* Returns how many calls they would be at a rate. */
static unsigned long long at(const struct dt_budget_row *x, double rate)
{
	return (unsigned long long)(rate * (double)x->cpu_ns / 1e9 + 0.5);
}

static void print_row(const struct rows *k, const struct dt_budget_row *x)
{
	const char *name = dt_reader_function_name(k->reader, x->function);
	double end = seconds(k, x->end ? x->end : k->end);

	printf("%s: not recorded from %.3f s to %s", name, seconds(k, x->begin),
	       x->end ? "" : "the end, ");
	printf("%.3f s; %llu calls estimated by the rate%s before", end,
	       (unsigned long long)x->calls, x->rate_after < 0 ? "" : "s");
	if (x->rate_after < 0) {
		printf(" (%.0f in a second of the program's processor time)\n", x->rate);
		return;
	}
	printf(" and after (%.0f and %.0f in a second of the program's processor time: %llu and "
	       "%llu calls)\n",
	       x->rate, x->rate_after, at(x, x->rate), at(x, x->rate_after));
}

static void print_json(const struct rows *k, const struct dt_budget_row *x)
{
	dt_object_begin("budget_off");
	dt_object_text("function", dt_reader_function_name(k->reader, x->function));
	dt_object_ns("from", seconds(k, x->begin) * 1e9);
	if (x->end)
		dt_object_ns("to", seconds(k, x->end) * 1e9);
	dt_object_number("calls_estimated", x->calls);
	dt_object_text("estimated_by",
		       x->rate_after < 0 ? "rate before" : "rates before and after");
	dt_object_number("calls_by_rate_before", x->cpu_ns ? at(x, x->rate) : x->calls);
	if (x->rate_after >= 0)
		dt_object_number("calls_by_rate_after", at(x, x->rate_after));
	dt_object_end();
}

int dt_budget_table(struct dt_reader *r, struct dt_selection *select, uint64_t rows, bool json)
{
	struct rows k = {.reader = r};
	bool *shown = dt_cmd_shown(r, select);
	struct dt_summary s = {0};
	struct dt_error e = {"out of memory"};
	int status = 1;
	size_t n;

	k.shown = shown;
	if (!shown || dt_reader_summary(r, &s, &e) || dt_budget_read(r, collect, &k, &e)) {
		dt_cmd_fail("%s", e.text);
		goto out;
	}
	k.begin = s.min_ticks;
	k.end = s.max_ticks;
	if (k.n)
		qsort(k.row, k.n, sizeof(*k.row), by_calls);
	n = rows && rows < k.n ? (size_t)rows : k.n;
	for (size_t i = 0; i < n; i++)
		(json ? print_json : print_row)(&k, &k.row[i]);
	if (!k.n && !json)
		puts(dt_reader_meta(r, "budget")
			     ? "no function was switched off: all fitted into the budget"
			     : "this was recorded without a budget (--budget)");
	status = fflush(stdout) || ferror(stdout) ? dt_cmd_fail("cannot write the table") : 0;
	if (n < k.n)
		dt_cmd_fail("note: %zu more times: without -n all are shown", k.n - n);
out:
	free(shown);
	free(k.row);
	return status;
}
