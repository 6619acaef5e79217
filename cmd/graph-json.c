/* SPDX-License-Identifier: MIT */
/* The graph as JSON. */
#include "cmd/graph-work.h"

#include <stdio.h>

static void print_json_sum(struct graph *k, uint32_t function, const struct dt_graph_sum *s,
			   uint64_t of, bool self)
{
	const struct dt_function_info *info = dt_reader_function(k->reader, function);
	const struct dt_module_info *m = info ? dt_reader_module(k->reader, info->module) : NULL;

	printf("\"function\": ");
	if (function == DT_GRAPH_NO_CALLER)
		printf("null");
	else
		dt_table_json(info && *info->name ? info->name : "?");
	printf(", \"module\": ");
	dt_table_json(m ? m->path : "");
	printf(", \"calls\": %llu, \"recursive\": %llu, \"timed\": %llu, \"unfinished\": %llu",
	       (unsigned long long)s->calls, (unsigned long long)s->recursive,
	       (unsigned long long)s->timed, (unsigned long long)s->open);
	if (!s->timed)
		return;
	printf(", \"total\": %.1f, \"share\": %.4f, \"mean\": %.1f", dt_graph_ns_of(k, s->total),
	       dt_graph_share(s->total, of), dt_graph_ns_of(k, s->sum) / (double)s->timed);
	if (k->waits)
		printf(", \"wait\": %.1f", dt_graph_ns_of(k, s->waited));
	if (self)
		printf(", \"self\": %.1f", dt_graph_ns_of(k, s->self));
	if (self && k->waits)
		printf(", \"self_wait\": %.1f", dt_graph_ns_of(k, s->self_waited));
}

/* Prints the children of a node as elements of one list, each before those below it. */
static void print_json_tree(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			    uint64_t of, uint64_t level)
{
	if (level > k->depth || t->way.n < 2 || dt_graph_is_too_deep(k, t, parent, level))
		return;
	for (uint32_t c = t->way.node[parent].child; c; c = t->way.node[c].next) {
		const struct dt_stack_node *n = &t->way.node[c];

		if (dt_graph_is_small(k, &t->sum[c], of))
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

void dt_graph_print_json(struct graph *k)
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
