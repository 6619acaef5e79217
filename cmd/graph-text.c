/* SPDX-License-Identifier: MIT */
/* The graph as text: a tree, or a function between its callers and its callees. */
#include "cmd/graph-work.h"

#include <string.h>

#include "export/export.h"

/* The lines of the tree, in UTF-8 or as plain characters. */
static const char *last_branch(const struct graph *k)
{
	return k->terminal.utf8 ? "└─ " : "`- ";
}

static const char *other_branch(const struct graph *k)
{
	return k->terminal.utf8 ? "├─ " : "|- ";
}

static void print_head(const struct graph *k)
{
	printf("%12s %7s %12s ", "total", "share", "self");
	if (k->waits)
		printf("%7s ", "waiting");
	printf("%10s %12s  %s\n", "calls", "mean", "function");
}

static void print_mean(const struct graph *k, const struct dt_graph_sum *s)
{
	if (s->timed)
		dt_table_ns(dt_graph_ns_of(k, s->sum) / (double)s->timed);
	else
		printf("%12s", "-");
}

/* Prints the columns before the name; shares are of the time `of'. */
static void print_sum(const struct graph *k, const struct dt_graph_sum *s, uint64_t of, bool self)
{
	if (s->total) {
		dt_table_time(k->reader, s->total);
		printf(" %6.1f%%", dt_graph_share(s->total, of));
	} else {
		printf("%12s %7s", "-", "-");
	}
	putchar(' ');
	if (self && s->timed)
		dt_table_time(k->reader, s->self);
	else
		printf("%12s", "-");
	putchar(' ');
	if (k->waits && s->total)
		printf("%6.1f%% ", dt_graph_share(s->waited, s->total));
	else if (k->waits)
		printf("%7s ", "-");
	printf("%10llu ", (unsigned long long)s->calls);
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

bool dt_graph_is_small(const struct graph *k, const struct dt_graph_sum *s, uint64_t of)
{
	return k->min > 0 && dt_graph_share(s->total, of) < k->min;
}

bool dt_graph_is_too_deep(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			  uint64_t level)
{
	k->cut |= level >= DEEPEST && t->way.node[parent].child;
	return level >= DEEPEST;
}

static void print_rest(const struct graph *k, uint32_t n, const struct dt_graph_sum *s, uint64_t of,
		       uint64_t level)
{
	struct dt_graph_sum sum = *s;

	sum.timed = 0; /* self and mean would be meaningless for several functions together */
	print_sum(k, &sum, of, false);
	printf("  %s%s%u more below %g %%\n", k->branch, level == 1 ? "" : last_branch(k), n,
	       k->min);
}

/* Prints the children of a node, one in each line, and what is below them; they are `level' levels
 * below the top. */
static void print_children(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			   uint64_t of, uint64_t level, bool self)
{
	struct dt_graph_sum rest = {0};
	size_t branch = strlen(k->branch);
	uint32_t small = 0;

	if (level > k->depth || dt_graph_is_too_deep(k, t, parent, level))
		return;
	/* children are sorted, so the small ones come last: they share one line */
	for (uint32_t c = t->way.node[parent].child; c; c = t->way.node[c].next) {
		if (dt_graph_is_small(k, &t->sum[c], of)) {
			small++;
			rest.total += t->sum[c].total;
			rest.waited += t->sum[c].waited;
			rest.calls += t->sum[c].calls;
		}
	}
	for (uint32_t c = t->way.node[parent].child; c; c = t->way.node[c].next) {
		const struct dt_stack_node *n = &t->way.node[c];
		bool last = !n->next && !small;

		if (dt_graph_is_small(k, &t->sum[c], of))
			break;
		print_sum(k, &t->sum[c], of, self && !n->again);
		printf("  %s%s%s%s", k->branch,
		       level == 1 ? ""
		       : last	  ? last_branch(k)
				  : other_branch(k),
		       dt_graph_name_of(k, n->function), n->again ? " (again)" : "");
		print_notes(&t->sum[c]);
		putchar('\n');
		if (level > 1)
			strcat(k->branch, last ? "   " : k->terminal.utf8 ? "│  " : "|  ");
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

	printf("%s%s", i ? "\n" : "", dt_graph_name_of(k, f));
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
		printf(" (%.1f %% of all), self", dt_graph_share(s.total, k->graph.self));
		dt_table_time(k->reader, s.self);
		if (k->waits)
			printf(", waiting %.1f %%", dt_graph_share(s.waited, s.total));
		printf(", mean");
		print_mean(k, &s);
	}
	print_notes(&s);
	printf("\n\ncalled by\n");
	print_head(k);
	print_children(k, &k->graph.above[i], 1, s.total, 1, true);
	printf("\ncalls\n");
	print_head(k);
	print_children(k, &k->graph.below[i], 1, s.total, 1, true);
}

void dt_graph_print_text(struct graph *k)
{
	if (k->graph.focuses) {
		for (size_t i = 0; i < k->graph.focuses; i++)
			print_focus(k, i);
	} else if (k->graph.whole.way.n > 1) {
		print_head(k);
		print_children(k, &k->graph.whole, 0, k->graph.self, 1, true);
	} else {
		puts("no calls");
	}
	if (k->subtract)
		dt_table_costs(k->reader);
}
