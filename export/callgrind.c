/* SPDX-License-Identifier: MIT */
/*
 * Callgrind's format (valgrind's manual, "Callgrind Format Specification"): for each function its
 * own cost, and for each function that it calls how often it did, and what those calls cost in all.
 * The cost is time in ns.
 */
#include <stdlib.h>

#include "export/export.h"
#include "analyse/same.h"
#include "analyse/stacks.h"

/* Calls from one function to another: of one node, or summed over all nodes of the two. */
struct edge {
	uint32_t from, to;
	uint64_t calls, total;
};

static int by_functions(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* Writes a name: in full the first time, then only by its number. */
static void write_name(FILE *f, const char *key, struct dt_reader *r, uint32_t function, bool *told)
{
	const struct dt_function_info *info = dt_reader_function(r, function);

	fprintf(f, "%s=(%u)", key, function + 1);
	if (!told[function])
		fprintf(f, " %s", info && *info->name ? info->name : "?");
	putc('\n', f);
	told[function] = true;
}

static void write_function(FILE *f, struct dt_reader *r, uint32_t function, uint64_t own, double ns,
			   bool *told)
{
	const struct dt_function_info *info = dt_reader_function(r, function);
	const char *module = dt_export_module(r, function);

	fprintf(f, "\nob=%s\nfl=%s\n", *module ? module : "???",
		info && *info->file ? info->file : "???");
	write_name(f, "fn", r, function, told);
	fprintf(f, "%u %lu\n", info ? info->line : 0, (unsigned long)((double)own * ns + 0.5));
}

static void write_edge(FILE *f, struct dt_reader *r, const struct edge *x, double ns, bool *told)
{
	const struct dt_function_info *from = dt_reader_function(r, x->from),
				      *to = dt_reader_function(r, x->to);
	const char *module = dt_export_module(r, x->to);

	fprintf(f, "cob=%s\ncfi=%s\n", *module ? module : "???",
		to && *to->file ? to->file : "???");
	write_name(f, "cfn", r, x->to, told);
	fprintf(f, "calls=%lu %u\n%u %lu\n", (unsigned long)x->calls, to ? to->line : 0,
		from ? from->line : 0, (unsigned long)((double)x->total * ns + 0.5));
}

int dt_export_callgrind(struct dt_reader *r, FILE *f, struct dt_formats *formats,
			const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	double ns = dt_reader_ns_per_tick(r);
	struct dt_stacks s = {.chosen = chosen};
	struct edge *edge = NULL;
	uint64_t *own = NULL;
	bool *told = NULL;
	size_t edges = 0, at = 0;
	uint32_t functions;
	int rc = dt_stacks_read(&s, r, &(struct dt_reader_range){.order = DT_BY_THREAD}, e);

	if (rc < 0)
		goto out;
	functions = dt_reader_functions(r) + 1;
	own = calloc(functions, sizeof(*own));
	told = calloc(functions, sizeof(*told));
	edge = calloc(s.n + 1, sizeof(*edge));
	if (!own || !told || !edge) {
		rc = dt_fail(e, "out of memory");
		goto out;
	}
	for (uint32_t i = 1; i < s.n; i++) {
		const struct dt_stack_node *n = &s.node[i], *up = &s.node[n->parent];

		if (n->thread)
			continue;
		own[n->function] += n->self;
		if (n->parent && !up->thread)
			edge[edges++] =
				(struct edge){up->function, n->function, n->calls, n->total};
	}
	qsort(edge, edges, sizeof(*edge), by_functions);
	fprintf(f,
		"# callgrind format\nversion: 1\ncreator: devtrace\npositions: line\nevents: ns\n");
	for (uint32_t i = 0; i < functions; i++) {
		if (!own[i] && (at == edges || edge[at].from != i))
			continue;
		write_function(f, r, i, own[i], ns, told);
		while (at < edges && edge[at].from == i) {
			struct edge sum = edge[at++];

			while (at < edges && edge[at].from == i && edge[at].to == sum.to) {
				sum.calls += edge[at].calls;
				sum.total += edge[at++].total;
			}
			write_edge(f, r, &sum, ns, told);
		}
	}
out:
	dt_stacks_free(&s);
	free(edge);
	free(own);
	free(told);
	return rc;
}
