/* SPDX-License-Identifier: MIT */
/* The graph as a drawing, for Graphviz. */
#include "cmd/graph-work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct edge {
	uint32_t from, to; /* functions */
	uint64_t calls, total;
};

struct drawing {
	struct graph *k;
	struct edge *edge;
	size_t edges;
	bool *used;  /* by function */
	uint64_t of; /* ticks: what shares are of */
};

static int by_functions(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* Adds the arrows of a tree; up: it is a tree of callers. */
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

/* Adds up the arrows between the same two functions. */
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

/* Prints the callees that were chosen but could not be hooked: they have no box, and their time is
 * in the function's self time. */
static void print_left_out(const struct drawing *d, uint32_t function)
{
	char names[160];

	if (!dt_reader_unhooked(d->k->reader, function, names, sizeof(names)))
		return;
	printf("\\nself includes, not hooked: ");
	print_quoted(names);
}

/* Prints a function's box, which is the darker the greater its self time is. */
static void print_box(const struct drawing *d, uint32_t function, const struct dt_graph_sum *s)
{
	double part = dt_graph_share(s->self, d->k->graph.all) / 100;

	printf("\tf%u [label=\"", function);
	print_quoted(dt_graph_name_of(d->k, function));
	printf("\\n%llu calls\\ntotal", (unsigned long long)s->calls);
	dt_table_time(d->k->reader, s->total);
	printf(" (%.1f %%)\\nself", dt_graph_share(s->total, d->k->graph.all));
	dt_table_time(d->k->reader, s->self);
	print_left_out(d, function);
	printf("\", fillcolor=\"0.08 %.3f 1.0\"];\n", part > 1	    ? 1.0
						      : part < 0.02 ? 0.02
								    : sqrt(part));
}

static void print_arrow(const struct drawing *d, const struct edge *x)
{
	double part = dt_graph_share(x->total, d->k->graph.all) / 100;

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
		if (dt_graph_is_small(d->k, &s, d->of) && !g->focuses) {
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

int dt_graph_draw(struct graph *k)
{
	const struct dt_graph *g = &k->graph;
	struct drawing d = {.k = k, .of = g->all};
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
