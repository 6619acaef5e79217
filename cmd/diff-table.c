/* SPDX-License-Identifier: MIT */
/* The table of devtrace diff. */
#include "cmd/diff-work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/object.h"
#include "cmd/table.h"
#include "export/export.h"

#define GAP   2	 /* blanks before the name */
#define LEAST 24 /* columns for names, before a column is left out */

const char *const dt_diff_key_name[DT_DIFF_KEYS] = {"self", "total", "calls", "avg", "name"};

const char *dt_diff_verdict(enum verdict v)
{
	static const char *const word[VERDICTS] = {
		[NEW] = "new", [GONE] = "gone", [SLOWER] = "slower", [FASTER] = "faster"};

	return word[v] ? word[v] : "";
}

static double average(const struct sums *s)
{
	return s->timed ? s->sum / (double)s->timed : 0;
}

double dt_diff_value(int key, const struct sums *s)
{
	switch (key) {
	case DT_DIFF_TOTAL:
		return s->total;
	case DT_DIFF_CALLS:
		return (double)s->calls;
	case DT_DIFF_AVG:
		return average(s);
	default:
		return s->self;
	}
}

/* ---- columns ---- */

enum {
	SELF_A,
	SELF_B,
	DIFFERENCE,
	RATIO,
	TOTAL_A,
	TOTAL_B,
	CALLS_A,
	CALLS_B,
	AVG_A,
	AVG_B,
	CHANCE,
	VERDICT,
	COLUMNS
};

static const struct {
	const char *head;
	unsigned width; /* with the blank before it */
	unsigned need;	/* where there is little room, the least come first */
} column[COLUMNS] = {
	[SELF_A] = {"self A", 12, 2},	      [SELF_B] = {"self B", 12, 3},
	[DIFFERENCE] = {"difference", 13, 5}, [RATIO] = {"ratio", 9, 1},
	[TOTAL_A] = {"total A", 12, 10},      [TOTAL_B] = {"total B", 12, 11},
	[CALLS_A] = {"calls A", 11, 6},	      [CALLS_B] = {"calls B", 11, 7},
	[AVG_A] = {"avg A", 12, 8},	      [AVG_B] = {"avg B", 12, 9},
	[CHANCE] = {"chance", 8, 4},	      [VERDICT] = {"change", 8, 0},
};

/* Chooses the columns that a terminal has room for; elsewhere there are all. Returns their width.
 */
static unsigned choose(const struct table *t, bool *chosen)
{
	unsigned room = t->diff->terminal.columns, used = GAP;

	for (unsigned need = 0; need < COLUMNS; need++)
		for (unsigned i = 0; i < COLUMNS; i++) {
			chosen[i] =
				chosen[i] || (column[i].need == need &&
					      (!room || used + column[i].width + LEAST <= room));
			used += column[i].need == need && chosen[i] ? column[i].width : 0;
		}
	return used;
}

static void print_time(const struct sums *s, double ns)
{
	if (s->timed)
		dt_table_ns(ns);
	else
		printf("%12s", "-");
}

static void print_difference(int key, const struct sums *in)
{
	double change = dt_diff_value(key, &in[1]) - dt_diff_value(key, &in[0]);
	double size = fabs(change);

	if (key == DT_DIFF_CALLS)
		printf(" %+12.0f", change);
	else if (in[0].timed || in[1].timed)
		printf("  %+8.3f %s",
		       size < 1e6   ? change / 1e3
		       : size < 1e9 ? change / 1e6
				    : change / 1e9,
		       size < 1e6   ? "us"
		       : size < 1e9 ? "ms"
				    : "s ");
	else
		printf("%13s", "-");
}

static void print_ratio(int key, const struct sums *in)
{
	double a = dt_diff_value(key, &in[0]), b = dt_diff_value(key, &in[1]);

	if (a > 0 && in[1].calls)
		printf(" %8.2f", b / a);
	else
		printf(" %8s", "-");
}

static void print_chance(const struct row *x)
{
	if (isnan(x->p))
		printf("%8s", "-");
	else if (x->p < 0.001)
		printf("%8s", "<0.001");
	else
		printf("%8.3f", x->p);
}

static void print_column(unsigned i, int key, const struct row *x)
{
	const struct sums *in = x->in;

	switch (i) {
	case SELF_A:
	case SELF_B:
		print_time(&in[i == SELF_B], in[i == SELF_B].self);
		break;
	case DIFFERENCE:
		print_difference(key, in);
		break;
	case RATIO:
		print_ratio(key, in);
		break;
	case TOTAL_A:
	case TOTAL_B:
		print_time(&in[i == TOTAL_B], in[i == TOTAL_B].total);
		break;
	case CALLS_A:
	case CALLS_B:
		printf(" %10llu", (unsigned long long)in[i == CALLS_B].calls);
		break;
	case AVG_A:
	case AVG_B:
		print_time(&in[i == AVG_B], average(&in[i == AVG_B]));
		break;
	case CHANCE:
		print_chance(x);
		break;
	default:
		printf("%8s", dt_diff_verdict(x->verdict));
	}
}

/* Says whether a column makes sense for all functions together. */
static bool is_of_all(unsigned i, int key)
{
	return i == SELF_A || i == SELF_B || i == CALLS_A || i == CALLS_B ||
	       ((i == DIFFERENCE || i == RATIO) && key != DT_DIFF_TOTAL && key != DT_DIFF_AVG);
}

static void print_name(const struct table *t, const char *name, unsigned used)
{
	const struct dt_terminal *terminal = &t->diff->terminal;
	char text[4096 + 8];
	size_t n = strlen(name);

	if (terminal->columns && n < sizeof(text) - 8)
		n = dt_terminal_middle(terminal, text, name, n,
				       terminal->columns > used ? terminal->columns - used : 1);
	else
		memcpy(text, name, n = n < sizeof(text) ? n : sizeof(text));
	printf("%*s%.*s\n", GAP, "", (int)n, text);
}

static void print_rows(const struct table *t, const bool *chosen, unsigned used)
{
	struct row all = {.p = NAN, .verdict = SAME};
	int key = t->diff->key;

	for (size_t i = 0; i < t->rows; i++) {
		const struct row *x = &t->row[i];

		for (unsigned side = 0; side < 2; side++) {
			all.in[side].calls += x->in[side].calls;
			all.in[side].timed += x->in[side].timed;
			all.in[side].self += x->in[side].self;
		}
		if (t->diff->rows && i >= t->diff->rows)
			continue;
		for (unsigned k = 0; k < COLUMNS; k++)
			if (chosen[k])
				print_column(k, key, x);
		print_name(t, x->name, used);
	}
	for (unsigned k = 0; k < COLUMNS; k++)
		if (chosen[k] && is_of_all(k, key))
			print_column(k, key, &all);
		else if (chosen[k])
			printf("%*s", (int)column[k].width, "");
	printf("%*s(all)\n", GAP, "");
}

/* Says in a line what has changed. */
static void print_verdicts(const struct table *t)
{
	printf("%zu new, %zu gone, %zu slower, %zu faster", t->count[NEW], t->count[GONE],
	       t->count[SLOWER], t->count[FASTER]);
	if (t->count[TOO_FEW])
		printf("; of %zu in both there are too few calls to tell", t->count[TOO_FEW]);
	putchar('\n');
}

void dt_diff_print_table(const struct table *t)
{
	bool chosen[COLUMNS] = {false};
	int key = t->diff->key;
	unsigned used = choose(t, chosen);

	printf("difference and ratio: of %s, B to A\n",
	       dt_diff_key_name[key == DT_DIFF_NAME ? DT_DIFF_SELF : key]);
	for (unsigned k = 0; k < COLUMNS; k++)
		if (chosen[k])
			printf("%*s", (int)column[k].width, column[k].head);
	printf("%*sfunction\n", GAP, "");
	if (t->rows) {
		print_rows(t, chosen, used);
		print_verdicts(t);
	} else {
		puts("no calls");
	}
	for (unsigned side = 0; side < 2 && t->diff->subtract; side++) {
		printf("%c:\n", 'A' + (int)side);
		dt_table_costs(t->diff->reader[side]);
	}
}

/* ---- JSON lines: doc/json.md ---- */

static void print_json_sums(const char *name, const struct sums *s)
{
	dt_object_member(name);
	printf("{\"calls\": %llu, \"timed\": %llu", (unsigned long long)s->calls,
	       (unsigned long long)s->timed);
	if (s->timed) {
		dt_object_ns("total", s->total);
		dt_object_ns("self", s->self);
		dt_object_ns("avg", average(s));
	}
	putchar('}');
}

void dt_diff_print_json(const struct table *t)
{
	static const char *const word[VERDICTS] = {[SAME] = "same", [TOO_FEW] = "too few calls"};

	for (size_t i = 0; i < t->rows && (!t->diff->rows || i < t->diff->rows); i++) {
		const struct row *x = &t->row[i];
		const uint32_t *row = t->match.function[x->function].row;
		unsigned side = !row[0];

		dt_object_begin("function");
		dt_object_text("function", x->name);
		dt_object_text("module", dt_export_module(t->diff->reader[side], row[side]));
		dt_object_text("change",
			       word[x->verdict] ? word[x->verdict] : dt_diff_verdict(x->verdict));
		dt_object_real("chance", x->p);
		print_json_sums("a", &x->in[0]);
		print_json_sums("b", &x->in[1]);
		dt_object_end();
	}
}
