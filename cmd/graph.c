/* SPDX-License-Identifier: MIT */
/* devtrace graph: callers and callees. */
#include "analyse/graph.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "analyse/same.h"
#include "cmd/commands.h"
#include "cmd/open.h"
#include "cmd/table.h"

#define FOCUSES 64 /* functions that are looked at in one pass: each call is noted for each */
/* levels that are printed: nothing that is drawn so far to the right is read */
#define DEEPEST 2000

static const char help[] =
	"usage: devtrace graph [OPTION]... [FILE] [FUNCTION]...\n"
	"Prints who calls whom: the tree of all calls by the time in them. With functions (shell\n"
	"patterns, as for -F): for each, the ways that lead to it, and the tree of what it calls.\n"
	"\n"
	"  -D, --depth N          at most N levels; 1: only callers and callees themselves\n"
	"  -m, --min PERCENT      what has less of the time is summed up in a line (0.5; --json: "
	"0)\n"
	"  -F, --function PAT     only functions that match the shell pattern; the time of others\n"
	"  -N, --no-function PAT  is that of the functions that called them\n"
	"      --thread TID       only this thread, this process; may be given several times\n"
	"      --process PID\n"
	"      --from TIME        begin there: 1.5ms after the first record, or a number of ticks\n"
	"      --to TIME          end there\n"
	"      --subtract         times without what recording cost\n"
	"      --dot              for Graphviz: functions as boxes, arrows from callers to "
	"callees\n"
	"      --json             as JSON, times in nanoseconds\n"
	"  -h, --help             show this\n"
	"\n"
	"Total: while a call was open; calls within each other count once. Self: without callees.\n"
	"A function that is called again further down is marked (again): those calls, and what\n"
	"they call, are in the line where it stood first. Unfinished calls count up to the end.\n"
	"FILE is devtrace.db when not given; the first word is a FILE when there is such a "
	"trace.\n";

enum form { TEXT, DOT, JSON };

struct graph {
	struct dt_reader *reader;
	struct dt_graph graph;
	struct dt_selection select;
	struct dt_range_options when;
	struct dt_table_threads threads;
	uint64_t depth;
	double min;	      /* per cent; negative: not given */
	bool subtract, first; /* first: of what is printed as JSON */
	bool cut;	      /* there are more than DEEPEST levels */
	enum form form;
	char branch[3 * 4 * DEEPEST]; /* what stands in front of a name */
};

static double ns_of(const struct graph *k, uint64_t ticks)
{
	return (double)ticks * dt_reader_ns_per_tick(k->reader);
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static const char *name_of(const struct graph *k, uint32_t function)
{
	return function == DT_GRAPH_NO_CALLER ? "(no caller in the trace)"
					      : dt_reader_function_name(k->reader, function);
}

/* ---- the order of a node's children ---- */

struct ordering {
	const struct graph *k;
	const struct dt_graph_tree *t;
};

static int by_total(const void *a, const void *b, void *ctx)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct ordering *o = ctx;
	const struct dt_graph_sum *x = &o->t->sum[i], *y = &o->t->sum[j];
	int names;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->sum != y->sum)
		return x->sum > y->sum ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	names = strcmp(name_of(o->k, o->t->way.node[i].function),
		       name_of(o->k, o->t->way.node[j].function));
	return names ? names : i < j ? -1 : 1;
}

/* Links the children of each node with the greatest first. False: no memory. */
static bool sort_tree(const struct graph *k, struct dt_graph_tree *t)
{
	struct ordering o = {k, t};
	uint32_t *child = calloc(t->way.n + 1, sizeof(*child));

	for (uint32_t i = 0; child && i < t->way.n; i++) {
		uint32_t n = 0;

		for (uint32_t c = t->way.node[i].child; c; c = t->way.node[c].next)
			child[n++] = c;
		qsort_r(child, n, sizeof(*child), by_total, &o);
		for (uint32_t c = 0; c < n; c++)
			t->way.node[child[c]].next = c + 1 < n ? child[c + 1] : 0;
		t->way.node[i].child = n ? child[0] : 0;
	}
	free(child);
	return child != NULL;
}

/* ---- as text ---- */

static void print_head(void)
{
	printf("%12s %7s %12s %10s %12s  %s\n", "total", "share", "self", "calls", "mean",
	       "function");
}

static void print_mean(const struct graph *k, const struct dt_graph_sum *s)
{
	if (s->timed)
		dt_table_ns(ns_of(k, s->sum) / (double)s->timed);
	else
		printf("%12s", "-");
}

/* The columns before the name. */
static void print_sum(const struct graph *k, const struct dt_graph_sum *s, uint64_t of, bool self)
{
	if (s->total) {
		dt_table_time(k->reader, s->total);
		printf(" %6.1f%%", share(s->total, of));
	} else {
		printf("%12s %7s", "-", "-");
	}
	putchar(' ');
	if (self && s->timed)
		dt_table_time(k->reader, s->self);
	else
		printf("%12s", "-");
	printf(" %10llu ", (unsigned long long)s->calls);
	print_mean(k, s);
}

static void print_notes(const struct dt_graph_sum *s)
{
	if (s->open)
		printf("  (%llu unfinished)", (unsigned long long)s->open);
	if (s->timed < s->calls)
		printf("  (%llu of unknown time)", (unsigned long long)(s->calls - s->timed));
	if (s->exits)
		printf("  (%llu exits without an entry)", (unsigned long long)s->exits);
}

static bool is_small(const struct graph *k, const struct dt_graph_sum *s, uint64_t of)
{
	return k->min > 0 && share(s->total, of) < k->min;
}

static bool is_too_deep(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			uint64_t level)
{
	k->cut |= level >= DEEPEST && t->way.node[parent].child;
	return level >= DEEPEST;
}

static void print_rest(const struct graph *k, uint32_t n, const struct dt_graph_sum *s, uint64_t of,
		       uint64_t level)
{
	struct dt_graph_sum sum = *s;

	sum.timed = 0; /* neither self nor a mean of several functions says anything */
	print_sum(k, &sum, of, false);
	printf("  %s%s%u more below %g %%\n", k->branch, level == 1 ? "" : "└─ ", n, k->min);
}

/* The children of a node, one of which is printed in each line, `level' levels below the top. */
static void print_children(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			   uint64_t of, uint64_t level, bool self)
{
	struct dt_graph_sum rest = {0};
	size_t branch = strlen(k->branch);
	uint32_t small = 0;

	if (level > k->depth || is_too_deep(k, t, parent, level))
		return;
	/* what is small stands behind: they are sorted */
	for (uint32_t c = t->way.node[parent].child; c; c = t->way.node[c].next) {
		if (is_small(k, &t->sum[c], of)) {
			small++;
			rest.total += t->sum[c].total;
			rest.calls += t->sum[c].calls;
		}
	}
	for (uint32_t c = t->way.node[parent].child; c; c = t->way.node[c].next) {
		const struct dt_stack_node *n = &t->way.node[c];
		bool last = !n->next && !small;

		if (is_small(k, &t->sum[c], of))
			break;
		print_sum(k, &t->sum[c], of, self && !n->again);
		printf("  %s%s%s%s", k->branch,
		       level == 1 ? ""
		       : last	  ? "└─ "
				  : "├─ ",
		       name_of(k, n->function), n->again ? " (again)" : "");
		print_notes(&t->sum[c]);
		putchar('\n');
		if (level > 1)
			strcat(k->branch, last ? "   " : "│  ");
		print_children(k, t, c, of, level + 1, self);
		k->branch[branch] = '\0';
	}
	if (small)
		print_rest(k, small, &rest, of, level);
}

static void print_focus(struct graph *k, size_t i)
{
	uint32_t f = k->graph.focus[i];
	const struct dt_function_info *info = dt_reader_function(k->reader, f);
	const struct dt_graph_sum s = dt_graph_function(&k->graph, f);

	printf("%s%s", i ? "\n" : "", name_of(k, f));
	if (*dt_export_module(k->reader, f))
		printf("  %s", dt_export_module(k->reader, f));
	if (info && *info->file)
		printf("  %s:%u", info->file, info->line);
	printf("\n%llu calls", (unsigned long long)s.calls);
	if (s.recursive)
		printf(" (%llu recursive)", (unsigned long long)s.recursive);
	if (s.timed) {
		printf(", total");
		dt_table_time(k->reader, s.total);
		printf(" (%.1f %% of all), self", share(s.total, k->graph.self));
		dt_table_time(k->reader, s.self);
		printf(", mean");
		print_mean(k, &s);
	}
	print_notes(&s);
	printf("\n\ncalled by\n");
	print_head();
	print_children(k, &k->graph.above[i], 1, s.total, 1, true);
	printf("\ncalls\n");
	print_head();
	print_children(k, &k->graph.below[i], 1, s.total, 1, true);
}

static void print_text(struct graph *k)
{
	if (k->graph.focuses) {
		for (size_t i = 0; i < k->graph.focuses; i++)
			print_focus(k, i);
	} else if (k->graph.whole.way.n > 1) {
		print_head();
		print_children(k, &k->graph.whole, 0, k->graph.self, 1, true);
	} else {
		puts("no calls");
	}
	if (k->subtract)
		dt_table_costs(k->reader);
}

/* ---- as JSON ---- */

static void print_json_sum(struct graph *k, uint32_t function, const struct dt_graph_sum *s,
			   uint64_t of, bool self)
{
	const struct dt_function_info *info = dt_reader_function(k->reader, function);
	const struct dt_module_info *m = info ? dt_reader_module(k->reader, info->module) : NULL;

	printf("\"function\": ");
	if (function == DT_GRAPH_NO_CALLER)
		printf("null");
	else
		dt_table_json(name_of(k, function));
	printf(", \"module\": ");
	dt_table_json(m ? m->path : "");
	printf(", \"calls\": %llu, \"recursive\": %llu, \"timed\": %llu, \"unfinished\": %llu",
	       (unsigned long long)s->calls, (unsigned long long)s->recursive,
	       (unsigned long long)s->timed, (unsigned long long)s->open);
	if (!s->timed)
		return;
	printf(", \"total\": %.1f, \"share\": %.4f, \"mean\": %.1f", ns_of(k, s->total),
	       share(s->total, of), ns_of(k, s->sum) / (double)s->timed);
	if (self)
		printf(", \"self\": %.1f", ns_of(k, s->self));
}

/* Nodes stand before those below them. */
static void print_json_tree(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			    uint64_t of, uint64_t level)
{
	if (level > k->depth || t->way.n < 2 || is_too_deep(k, t, parent, level))
		return;
	for (uint32_t c = t->way.node[parent].child; c; c = t->way.node[c].next) {
		const struct dt_stack_node *n = &t->way.node[c];

		if (is_small(k, &t->sum[c], of))
			break;
		printf("%s\n  {\"depth\": %llu, \"again\": %s, ", k->first ? "" : ",",
		       (unsigned long long)level, n->again ? "true" : "false");
		k->first = false;
		print_json_sum(k, n->function, &t->sum[c], of, !n->again);
		putchar('}');
		print_json_tree(k, t, c, of, level + 1);
	}
}

static void print_json_list(struct graph *k, const char *name, const struct dt_graph_tree *t,
			    uint32_t parent, uint64_t of)
{
	printf("\"%s\": [", name);
	k->first = true;
	print_json_tree(k, t, parent, of, 1);
	putchar(']');
}

static void print_json(struct graph *k)
{
	if (!k->graph.focuses) {
		putchar('{');
		print_json_list(k, "tree", &k->graph.whole, 0, k->graph.self);
		puts("}");
		return;
	}
	puts("[");
	for (size_t i = 0; i < k->graph.focuses; i++) {
		const struct dt_graph_sum s = dt_graph_function(&k->graph, k->graph.focus[i]);

		printf("%s {", i ? ",\n" : "");
		print_json_sum(k, k->graph.focus[i], &s, k->graph.self, true);
		printf(",\n ");
		print_json_list(k, "called_by", &k->graph.above[i], 1, s.total);
		printf(",\n ");
		print_json_list(k, "callees", &k->graph.below[i], 1, s.total);
		putchar('}');
	}
	puts("\n]");
}

/* ---- for Graphviz ---- */

struct edge {
	uint32_t from, to; /* functions */
	uint64_t calls, total;
};

struct drawing {
	struct graph *k;
	struct edge *edge;
	size_t edges;
	bool *used; /* by function */
	uint64_t of;
};

static int by_functions(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* The arrows of a tree; up: it is one of callers. */
static void take_edges(struct drawing *d, const struct dt_graph_tree *t, bool up)
{
	for (uint32_t i = 1; i < t->way.n; i++) {
		const struct dt_stack_node *n = &t->way.node[i], *p = &t->way.node[n->parent];
		uint64_t total = t == &d->k->graph.whole ? t->sum[i].outer : t->sum[i].total;

		if (n->function == DT_GRAPH_NO_CALLER || !n->parent)
			continue;
		d->edge[d->edges++] =
			up ? (struct edge){n->function, p->function, t->sum[i].calls, total}
			   : (struct edge){p->function, n->function, t->sum[i].here, total};
	}
}

/* Those of the same functions together. */
static void join_edges(struct drawing *d)
{
	size_t n = 0;

	qsort(d->edge, d->edges, sizeof(*d->edge), by_functions);
	for (size_t i = 0; i < d->edges; i++) {
		if (n && !by_functions(&d->edge[n - 1], &d->edge[i])) {
			d->edge[n - 1].calls += d->edge[i].calls;
			d->edge[n - 1].total += d->edge[i].total;
		} else {
			d->edge[n++] = d->edge[i];
		}
	}
	d->edges = n;
}

static void print_quoted(const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		if ((unsigned char)*s >= ' ')
			putchar(*s);
	}
}

/* What is in a function's own time and has no box: it was chosen, and could not be hooked. */
static void print_left_out(const struct drawing *d, uint32_t function)
{
	char names[160];

	if (!dt_reader_unhooked(d->k->reader, function, names, sizeof(names)))
		return;
	printf("\\nself includes, not hooked: ");
	print_quoted(names);
}

/* The more time, the darker. */
static void print_box(const struct drawing *d, uint32_t function, const struct dt_graph_sum *s)
{
	double part = share(s->self, d->k->graph.self) / 100;

	printf("\tf%u [label=\"", function);
	print_quoted(name_of(d->k, function));
	printf("\\n%llu calls\\ntotal", (unsigned long long)s->calls);
	dt_table_time(d->k->reader, s->total);
	printf(" (%.1f %%)\\nself", share(s->total, d->k->graph.self));
	dt_table_time(d->k->reader, s->self);
	print_left_out(d, function);
	printf("\", fillcolor=\"0.08 %.3f 1.0\"];\n", part > 1	    ? 1.0
						      : part < 0.02 ? 0.02
								    : sqrt(part));
}

static void print_arrow(const struct drawing *d, const struct edge *x)
{
	double part = share(x->total, d->k->graph.self) / 100;

	printf("\tf%u -> f%u [label=\"%llu\\n", x->from, x->to, (unsigned long long)x->calls);
	if (x->total)
		dt_table_time(d->k->reader, x->total);
	else
		printf("recursive");
	printf("\", penwidth=%.1f];\n", 1 + 4 * (part > 1 ? 1 : part));
}

static void print_drawing(struct drawing *d)
{
	const struct dt_graph *g = &d->k->graph;
	uint32_t functions = dt_reader_functions(d->k->reader) + 1, small = 0;

	puts("digraph devtrace {\n\tnode [shape=box, style=\"filled,rounded\", "
	     "fontname=\"sans-serif\"];\n"
	     "\tedge [fontname=\"sans-serif\", fontsize=10];");
	for (uint32_t f = 0; f < functions; f++) {
		struct dt_graph_sum s;

		if (!d->used[f])
			continue;
		s = dt_graph_function(g, f);
		if (is_small(d->k, &s, d->of) && !g->focuses) {
			d->used[f] = false;
			small++;
		} else {
			print_box(d, f, &s);
		}
	}
	for (size_t i = 0; i < d->edges; i++)
		if (d->used[d->edge[i].from] && d->used[d->edge[i].to])
			print_arrow(d, &d->edge[i]);
	if (small)
		printf("\tlabel=\"without %u functions below %g %% of the time\";\n", small,
		       d->k->min);
	puts("}");
}

static int draw(struct graph *k)
{
	const struct dt_graph *g = &k->graph;
	struct drawing d = {.k = k, .of = g->self};
	size_t room = g->whole.way.n + 1;

	if (g->focuses)
		room += g->below[0].way.n + g->above[0].way.n;
	d.edge = calloc(room, sizeof(*d.edge));
	d.used = calloc(dt_reader_functions(k->reader) + 1, sizeof(*d.used));
	if (d.edge && d.used) {
		if (g->focuses) {
			take_edges(&d, &g->below[0], false);
			take_edges(&d, &g->above[0], true);
			d.used[g->focus[0]] = true;
		} else {
			take_edges(&d, &g->whole, false);
			for (uint32_t i = 1; i < g->whole.way.n; i++)
				d.used[g->whole.way.node[i].function] = true;
		}
		join_edges(&d);
		for (size_t i = 0; i < d.edges; i++)
			d.used[d.edge[i].from] = d.used[d.edge[i].to] = true;
		print_drawing(&d);
	}
	free(d.edge);
	free(d.used);
	return d.edge && d.used ? 0 : dt_cmd_fail("out of memory");
}

/* ---- the command ---- */

/* Which rows stand for functions that were called. calloc'ed; NULL: no memory. */
static uint32_t *called_rows(const struct dt_reader *r)
{
	uint32_t n = dt_reader_functions(r) + 1;
	uint32_t *row = calloc(n, sizeof(*row));
	struct dt_same same = {0};

	if (row && dt_same_update(&same, r)) {
		free(row);
		row = NULL;
	}
	for (uint32_t i = 1; row && i <= dt_reader_sites(r); i++) {
		const struct dt_site *s = dt_reader_site(r, i);

		if (s && (s->kind == DT_ENTRY || s->kind == DT_EXIT) && s->function < n)
			row[s->function] = same.first[s->function];
	}
	dt_same_free(&same);
	return row;
}

/* The functions that a word means; 0, or an exit status with an error said. */
static int take_word(struct graph *k, struct dt_selection *of, const char *word,
		     const uint32_t *row, uint32_t *focus)
{
	struct dt_graph *g = &k->graph;
	struct dt_near near;
	struct dt_error e;
	bool *meant, any = false;

	if (dt_selection_add(of, word, false, &e)) {
		dt_cmd_fail("%s", e.text);
		return 2;
	}
	meant = dt_cmd_shown(k->reader, of);
	if (!meant)
		return dt_cmd_fail("out of memory");
	dt_near_start(&near, word);
	for (uint32_t i = 1; i <= dt_reader_functions(k->reader) && g->focuses < FOCUSES + 1; i++) {
		size_t at = 0;

		if (!row[i] || !k->graph.shown[i])
			continue;
		dt_near_offer(&near, name_of(k, i));
		if (!meant[i])
			continue;
		any = true;
		while (at < g->focuses && focus[at] != row[i])
			at++;
		focus[at] = row[i];
		g->focuses += at == g->focuses;
	}
	free(meant);
	if (g->focuses > FOCUSES)
		return dt_cmd_fail("'%s': more than %u functions match; say more exactly which",
				   word, FOCUSES);
	if (any)
		return 0;
	return near.n ? dt_cmd_fail("no function that was called is '%s'; one is %s", word,
				    near.name[0])
		      : dt_cmd_fail("no function that was called is '%s'", word);
}

static int take_words(struct graph *k, char **word, int n, uint32_t *focus)
{
	uint32_t *row = called_rows(k->reader);
	int status = row ? 0 : dt_cmd_fail("out of memory");

	for (int i = 0; i < n && !status; i++) {
		struct dt_selection of = {0};

		status = take_word(k, &of, word[i], row, focus);
		dt_selection_clear(&of);
	}
	free(row);
	k->graph.focus = focus;
	if (!status && k->form == DOT && k->graph.focuses > 1)
		return dt_cmd_fail(
			"--dot draws one function's callers and callees, or all; here %zu "
			"functions match",
			k->graph.focuses);
	return status;
}

static bool sort_all(struct graph *k)
{
	bool ok = sort_tree(k, &k->graph.whole);

	for (size_t i = 0; i < k->graph.focuses; i++)
		ok = ok && sort_tree(k, &k->graph.below[i]) && sort_tree(k, &k->graph.above[i]);
	return ok;
}

static int print(struct graph *k)
{
	int status = 0;

	if (k->min < 0)
		k->min = k->form == JSON ? 0 : 0.5;
	if (k->form == TEXT)
		print_text(k);
	else if (k->form == JSON)
		print_json(k);
	else
		status = draw(k);
	if (fflush(stdout) || ferror(stdout))
		status = dt_cmd_fail("cannot write the graph");
	if (k->cut)
		dt_cmd_fail("note: what is called deeper than %u levels is not printed",
			    DEEPEST - 1);
	return status;
}

static void mark(const struct dt_graph_tree *t, bool *used)
{
	for (uint32_t i = 1; i < t->way.n; i++)
		if (t->way.node[i].function != DT_GRAPH_NO_CALLER)
			used[t->way.node[i].function] = true;
}

/* Says of the functions that are printed what is in their own times. */
static void say_left_out(struct graph *k)
{
	const struct dt_graph *g = &k->graph;
	bool *used = calloc(dt_reader_functions(k->reader) + 1, sizeof(*used));

	if (!used)
		return;
	if (!g->focuses)
		mark(&g->whole, used);
	for (size_t i = 0; i < g->focuses; i++) {
		used[g->focus[i]] = true;
		mark(&g->below[i], used);
		mark(&g->above[i], used);
	}
	dt_cmd_unhooked(k->reader, used, NULL);
	free(used);
}

static int run(struct graph *k, char **word, int words)
{
	struct dt_reader_range range = {.order = DT_BY_THREAD};
	uint32_t focus[FOCUSES + 1];
	bool *shown = dt_cmd_shown(k->reader, &k->select);
	struct dt_error e;
	double cost[256];
	int status;

	k->threads.reader = k->reader;
	k->graph.shown = shown;
	k->graph.functions = shown ? dt_reader_functions(k->reader) + 1 : 0;
	k->graph.wanted = dt_table_wanted;
	k->graph.ctx = &k->threads;
	k->graph.cost = k->subtract ? cost : NULL;
	if (!dt_cmd_range(k->reader, &k->when, &range) ||
	    (k->subtract && !dt_cmd_costs(k->reader, cost)))
		status = 2;
	else if (!shown)
		status = dt_cmd_fail("out of memory");
	else
		status = take_words(k, word, words, focus);
	if (!status && dt_graph_read(&k->graph, k->reader, &range, &e))
		status = dt_cmd_fail("%s", e.text);
	if (!status && !sort_all(k))
		status = dt_cmd_fail("out of memory");
	if (!status)
		status = print(k);
	if (!status)
		say_left_out(k);
	dt_graph_free(&k->graph);
	free(shown);
	return status;
}

/* Is the first word a trace, not a function? There may be a program of the function's name. */
static bool is_file(const char *word)
{
	static const char head[] = "SQLite format 3";
	char begin[sizeof(head)] = "";
	size_t n = strlen(word);
	FILE *f = fopen(word, "re");

	if (f) {
		if (fread(begin, 1, sizeof(begin), f) < sizeof(begin))
			begin[0] = '\0';
		fclose(f);
	}
	return !memcmp(begin, head, sizeof(head)) || strchr(word, '/') ||
	       (n > 3 && !strcmp(word + n - 3, ".db"));
}

static bool parse_min(struct graph *k, const char *text)
{
	char *end;

	k->min = strtod(text, &end);
	if (text[0] >= '0' && text[0] <= '9' && (!*end || !strcmp(end, "%")) && k->min <= 100)
		return true;
	dt_cmd_fail("--min %s: say per cent of the time, 0 to 100", text);
	return false;
}

/* True: the option is done with, or *status says the exit status. */
static bool parse_option(struct graph *k, int c, int *status)
{
	struct dt_error e;

	switch (c) {
	case 'D':
		*status = dt_table_number(optarg, "levels", &k->depth) ? -1 : 2;
		return true;
	case 'm':
		*status = parse_min(k, optarg) ? -1 : 2;
		return true;
	case 'F':
	case 'N':
		if (!dt_selection_add(&k->select, optarg, c == 'N', &e))
			return true;
		dt_cmd_fail("%s", e.text);
		*status = 2;
		return true;
	case 1:
		*status = dt_table_add_thread(&k->threads, optarg) ? -1 : 2;
		return true;
	case 2:
		*status = dt_table_add_process(&k->threads, optarg) ? -1 : 2;
		return true;
	case 3:
		k->when.from = optarg;
		return true;
	case 4:
		k->when.to = optarg;
		return true;
	case 5:
		k->subtract = true;
		return true;
	default:
		return false;
	}
}

/* -1: go on; otherwise the exit status. */
static int parse(int argc, char **argv, struct graph *k)
{
	static const struct option options[] = {{"depth", required_argument, NULL, 'D'},
						{"min", required_argument, NULL, 'm'},
						{"function", required_argument, NULL, 'F'},
						{"no-function", required_argument, NULL, 'N'},
						{"thread", required_argument, NULL, 1},
						{"process", required_argument, NULL, 2},
						{"from", required_argument, NULL, 3},
						{"to", required_argument, NULL, 4},
						{"subtract", no_argument, NULL, 5},
						{"dot", no_argument, NULL, 6},
						{"json", no_argument, NULL, 7},
						{"help", no_argument, NULL, 'h'},
						{0}};
	int c, status = -1;

	while (status < 0 && (c = getopt_long(argc, argv, "D:m:F:N:h", options, NULL)) != -1) {
		if (parse_option(k, c, &status))
			continue;
		if (c == 6 || c == 7) {
			enum form form = c == 6 ? DOT : JSON;

			if (k->form != TEXT && k->form != form) {
				dt_cmd_fail("graph: --dot or --json, not both");
				status = dt_cmd_usage("graph");
			}
			k->form = form;
		} else if (c == 'h') {
			status = fputs(help, stdout) == EOF;
		} else {
			status = dt_cmd_usage("graph");
		}
	}
	return status;
}

int dt_cmd_graph(int argc, char **argv)
{
	struct graph k = {.depth = UINT64_MAX, .min = -1};
	struct dt_needs needs = {.n = 0};
	int status = parse(argc, argv, &k);

	if (status < 0) {
		bool file = optind < argc && is_file(argv[optind]);
		const char *path = file ? argv[optind++] : DT_DEFAULT_FILE;
		struct dt_error e;

		dt_needs_add(&needs, DT_NEED_TRACE, path);
		status = dt_cmd_confine(&needs);
		k.reader = status ? NULL : dt_reader_open(path, &e);
		status = status	    ? status
			 : k.reader ? run(&k, argv + optind, argc - optind)
				    : dt_cmd_fail("%s", e.text);
		if (k.reader)
			dt_cmd_say_lost(k.reader);
		dt_reader_close(k.reader);
	}
	dt_selection_clear(&k.select);
	dt_table_threads_free(&k.threads);
	return status;
}
