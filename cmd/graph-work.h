/* SPDX-License-Identifier: MIT */
/* What the files of the command graph share; no other file includes this. */
#ifndef DT_CMD_GRAPH_WORK_H
#define DT_CMD_GRAPH_WORK_H

#include "analyse/graph.h"
#include "cmd/open.h"
#include "cmd/table.h"
#include "cmd/terminal.h"

#define FOCUSES 64 /* functions that one command can ask for: each call is counted for each */
/* levels that are printed at most: nobody reads what is drawn further to the right */
#define DEEPEST 2000

enum form { TEXT, DOT, JSON };

/* The columns of numbers before a name. */
enum dt_graph_column {
	DT_GRAPH_TOTAL,
	DT_GRAPH_SHARE,
	DT_GRAPH_SELF,
	DT_GRAPH_WAITING,
	DT_GRAPH_CALLS,
	DT_GRAPH_MEAN,
	DT_GRAPH_COLUMNS
};

struct graph {
	struct dt_reader *reader;
	struct dt_graph graph;
	struct dt_selection select;
	const char *filter; /* NULL: all calls are wanted */
	struct dt_range_options when;
	struct dt_table_threads threads;
	uint64_t depth;
	double min;	      /* per cent; negative: not given */
	bool subtract, first; /* first: no element of the JSON list has been printed yet */
	bool cut;	      /* some levels below DEEPEST were not printed */
	bool waits;	      /* the trace has switches: it is known what was waiting */
	enum form form;
	bool by_host;	  /* --by host: a graph for each machine of a fleet */
	const char *host; /* whose graph this is; NULL: it is not of a fleet */
	bool has_focus;	  /* some of the functions that are asked for are there */
	struct dt_terminal terminal;
	/* of the text: the columns that are printed, and how much room names have (0: all) */
	bool column[DT_GRAPH_COLUMNS];
	unsigned room;
	char branch[3 * 4 * DEEPEST]; /* the lines of the tree before a name, UTF-8 */
};

/* Returns a time in nanoseconds. */
double dt_graph_ns_of(const struct graph *k, uint64_t ticks);
/* Returns how many per cent of the whole the part is; of 0 it is 0. */
double dt_graph_share(uint64_t part, uint64_t whole);
/* Returns the name of a function row, also of DT_GRAPH_NO_CALLER. */
const char *dt_graph_name_of(const struct graph *k, uint32_t function);
/* Says whether s has less than --min per cent of the time `of', in ticks. */
bool dt_graph_is_small(const struct graph *k, const struct dt_graph_sum *s, uint64_t of);
/* Says whether the children of node `parent', which are at that level, are not to be printed
 * because of DEEPEST, and notes it in k->cut when there are any. */
bool dt_graph_is_too_deep(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			  uint64_t level);
/* Makes the graph of k->reader, and prints it; word: functions. Returns the exit status. With
 * k->host, functions that are not there are left out. */
int dt_graph_run(struct graph *k, char **word, int words);
/* Makes and prints a graph for each machine of a fleet. Returns the exit status. */
int dt_graph_fleet(struct graph *k, const char *path, char **word, int words);
/* Each prints the graph on standard output; the last one, for Graphviz, returns the exit status. */
void dt_graph_print_text(struct graph *k);
void dt_graph_print_json(struct graph *k);
int dt_graph_draw(struct graph *k);

#endif
