/* SPDX-License-Identifier: MIT */
/* The graph as JSON lines: doc/json.md. */
#include "cmd/graph-work.h"

#include <stdio.h>

#include "cmd/object.h"

static const char *name_of(const struct graph *k, uint32_t function)
{
	const struct dt_function_info *info = dt_reader_function(k->reader, function);

	if (function == DT_GRAPH_NO_CALLER)
		return NULL;
	return info && *info->name ? info->name : "?";
}

static void put_host(const struct graph *k)
{
	if (k->host)
		dt_object_text("host", k->host);
}

static void print_sum(struct graph *k, uint32_t function, const struct dt_graph_sum *s, uint64_t of,
		      bool self)
{
	const struct dt_function_info *info = dt_reader_function(k->reader, function);
	const struct dt_module_info *m = info ? dt_reader_module(k->reader, info->module) : NULL;

	dt_object_text("function", name_of(k, function));
	dt_object_text("module", m ? m->path : "");
	dt_object_number("calls", s->calls);
	dt_object_number("recursive", s->recursive);
	dt_object_number("timed", s->timed);
	dt_object_number("unfinished", s->open);
	if (!s->timed)
		return;
	dt_object_ns("total", dt_graph_ns_of(k, s->total));
	dt_object_real("share", dt_graph_share(s->total, of));
	dt_object_ns("avg", dt_graph_ns_of(k, s->sum) / (double)s->timed);
	if (k->waits)
		dt_object_ns("wait", dt_graph_ns_of(k, s->waited));
	if (self)
		dt_object_ns("self", dt_graph_ns_of(k, s->self));
	if (self && k->waits)
		dt_object_ns("self_wait", dt_graph_ns_of(k, s->self_waited));
}

/* What the nodes of a tree are. */
struct branch {
	const struct dt_graph_tree *tree;
	const char *type;  /* "node"; "caller", "callee" */
	uint32_t function; /* of which they are that */
	uint64_t total;	   /* of which their shares are */
};

/* Prints the children of a node, a line for each, before the lines of those below it. */
static void print_tree(struct graph *k, const struct branch *b, uint32_t parent, uint64_t level)
{
	const struct dt_graph_tree *t = b->tree;

	if (level > k->depth || t->way.n < 2 || dt_graph_is_too_deep(k, t, parent, level))
		return;
	for (uint32_t c = t->way.node[parent].child; c; c = t->way.node[c].next) {
		const struct dt_stack_node *n = &t->way.node[c];

		if (dt_graph_is_small(k, &t->sum[c], b->total))
			break;
		dt_object_begin(b->type);
		put_host(k);
		if (b->function)
			dt_object_text("of", name_of(k, b->function));
		dt_object_number("depth", level);
		dt_object_bool("again", n->again);
		print_sum(k, n->function, &t->sum[c], b->total, !n->again);
		dt_object_end();
		print_tree(k, b, c, level + 1);
	}
}

void dt_graph_print_json(struct graph *k)
{
	const struct branch whole = {&k->graph.whole, "node", 0, k->graph.all};

	if (!k->graph.focuses)
		print_tree(k, &whole, 0, 1);
	for (size_t i = 0; i < k->graph.focuses; i++) {
		uint32_t f = k->graph.focus[i];
		const struct dt_graph_sum s = dt_graph_function(&k->graph, f);
		const struct branch above = {&k->graph.above[i], "caller", f, s.total},
				    below = {&k->graph.below[i], "callee", f, s.total};

		dt_object_begin("function");
		put_host(k);
		print_sum(k, f, &s, k->graph.all, true);
		dt_object_end();
		print_tree(k, &above, 1, 1);
		print_tree(k, &below, 1, 1);
	}
}
