/* SPDX-License-Identifier: MIT */
/* What the parts of the command graph share; for nobody else. */
#ifndef DT_CMD_GRAPH_WORK_H
#define DT_CMD_GRAPH_WORK_H

#include "analyse/graph.h"
#include "cmd/open.h"
#include "cmd/table.h"

#define FOCUSES 64 /* functions that are looked at in one pass: each call is noted for each */
/* levels that are printed: nothing that is drawn so far to the right is read */
#define DEEPEST 2000

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

double dt_graph_ns_of(const struct graph *k, uint64_t ticks);
double dt_graph_share(uint64_t part, uint64_t whole);
const char *dt_graph_name_of(const struct graph *k, uint32_t function);
bool dt_graph_is_small(const struct graph *k, const struct dt_graph_sum *s, uint64_t of);
bool dt_graph_is_too_deep(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			  uint64_t level);
void dt_graph_print_text(struct graph *k);
void dt_graph_print_json(struct graph *k);
int dt_graph_draw(struct graph *k);

#endif
