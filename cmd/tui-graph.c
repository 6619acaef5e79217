/* SPDX-License-Identifier: MIT */
/*
 * devtrace tui: the tree of all calls summed up, and the callers and callees of one function, as
 * devtrace graph has them.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/chosen.h"
#include "analyse/feed.h"
#include "analyse/same.h"
#include "cmd/tui-work.h"
#include "filter/times.h"

enum { TOTAL, SELF, CALLS, MEAN, WAITING, NAME };

static const struct dt_tui_key keys[] = {{'t', "total", TOTAL},
					 {'s', "self", SELF},
					 {'c', "calls", CALLS},
					 {'m', "mean", MEAN},
					 {'w', "waiting", WAITING},
					 {'n', "name", NAME},
					 {0}};

/* A tree, or a part of the view that is only a line. */
struct section {
	const struct dt_graph_tree *tree; /* NULL: only the title */
	uint32_t root;			  /* its children are the first level */
	const char *title;		  /* NULL: none */
	uint64_t of;			  /* ticks that shares are of */
	bool *unfolded;			  /* by node */
};

/* A row: a node, or with node 0 the title of a section. */
struct shown {
	uint32_t section, node, level;
};

struct dt_tui_graph {
	struct dt_graph graph;
	struct dt_chosen_calls chosen;
	uint32_t focus;
	bool *wanted; /* by function row: all */
	struct section section[3];
	uint32_t sections;
	struct shown *shown;
	size_t n, room;
	bool no_memory;
};

static struct dt_tui_graph **graph_of(struct tui *t)
{
	return t->view == DT_TUI_AROUND ? &t->around : &t->graph;
}

static void free_graph(struct dt_tui_graph **at)
{
	struct dt_tui_graph *g = *at;

	*at = NULL;
	if (!g)
		return;
	dt_graph_free(&g->graph);
	dt_chosen_free(&g->chosen);
	for (uint32_t i = 0; i < g->sections; i++)
		free(g->section[i].unfolded);
	free(g->wanted);
	free(g->shown);
	free(g);
}

static const char *name_of(const struct tui *t, uint32_t function)
{
	return function == DT_GRAPH_NO_CALLER ? "(no caller in the trace)"
					      : dt_reader_function_name(t->reader, function);
}

/* ---- which rows there are ---- */

struct ordering {
	const struct tui *t;
	const struct dt_graph_tree *tree;
	int by;
	bool reversed;
};

static double value_of(const struct dt_graph_sum *s, int by)
{
	switch (by) {
	case SELF:
		return (double)s->self;
	case CALLS:
		return (double)s->calls;
	case MEAN:
		return s->timed ? (double)s->sum / (double)s->timed : 0;
	case WAITING:
		return (double)s->waited;
	default:
		return (double)s->total;
	}
}

static int compare(const void *a, const void *b, void *ctx)
{
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct ordering *o = ctx;
	double x = value_of(&o->tree->sum[i], o->by), y = value_of(&o->tree->sum[j], o->by);
	int c = o->by == NAME || x == y ? strcmp(name_of(o->t, o->tree->way.node[i].function),
						 name_of(o->t, o->tree->way.node[j].function))
		: x > y			? -1
					: 1;

	c = c ? c : i < j ? -1 : 1;
	return o->reversed ? -c : c;
}

static void add_shown(struct dt_tui_graph *g, struct shown x)
{
	if (g->n == g->room) {
		size_t room = g->room ? 2 * g->room : 256;
		struct shown *more = realloc(g->shown, room * sizeof(*more));

		if (!more) {
			g->no_memory = true;
			return;
		}
		g->shown = more;
		g->room = room;
	}
	g->shown[g->n++] = x;
}

/* Adds the rows below a node; all: also those that are folded. It calls itself for each level:
 * a function stands on a way only once, so these are no more than there are functions, and the
 * stack is cut at a bound that no program with such ways of calling needs. */
static void add_below(const struct tui *t, struct dt_tui_graph *g, uint32_t section,
		      uint32_t parent, uint32_t level, bool all)
{
	const struct dt_tui_place *p = &t->place[g->focus ? DT_TUI_AROUND : DT_TUI_GRAPH];
	const struct section *x = &g->section[section];
	const struct dt_stack_node *node = x->tree->way.node;
	struct ordering o = {t, x->tree, keys[p->sort].value, p->reversed};
	uint32_t n = 0, *child;

	for (uint32_t c = node[parent].child; c; c = node[c].next)
		n++;
	child = n ? malloc(n * sizeof(*child)) : NULL;
	if (!child) {
		g->no_memory |= n > 0;
		return;
	}
	n = 0;
	for (uint32_t c = node[parent].child; c; c = node[c].next)
		child[n++] = c;
	qsort_r(child, n, sizeof(*child), compare, &o);
	for (uint32_t i = 0; i < n && !g->no_memory; i++) {
		add_shown(g, (struct shown){section, child[i], level});
		if ((all || x->unfolded[child[i]]) && level < 20000)
			add_below(t, g, section, child[i], level + 1, all);
	}
	free(child);
}

static void flatten(const struct tui *t, struct dt_tui_graph *g, bool all)
{
	g->n = 0;
	for (uint32_t i = 0; i < g->sections; i++) {
		const struct section *x = &g->section[i];

		if (x->title)
			add_shown(g, (struct shown){i, 0, 0});
		if (x->tree && x->root < x->tree->way.n)
			add_below(t, g, i, x->root, 0, all);
	}
}

/* ---- reading ---- */

static bool add_section(struct dt_tui_graph *g, const struct dt_graph_tree *tree, uint32_t root,
			const char *title, uint64_t of)
{
	struct section *x = &g->section[g->sections++];

	*x = (struct section){tree, root, title, of, NULL};
	if (!tree)
		return true;
	x->unfolded = calloc(tree->way.n + 1, sizeof(*x->unfolded));
	if (!x->unfolded)
		return false;
	/* what there is only one of is unfolded: the way to where it branches */
	for (uint32_t at = root; at < tree->way.n;) {
		uint32_t c = tree->way.node[at].child;

		if (!c || tree->way.node[c].next)
			break;
		x->unfolded[c] = true;
		at = c;
	}
	return true;
}

static bool add_sections(struct dt_tui_graph *g)
{
	struct dt_graph_sum s;

	if (!g->focus)
		return add_section(g, &g->graph.whole, 0, NULL, g->graph.all);
	s = dt_graph_function(&g->graph, g->focus);
	return add_section(g, NULL, 0, "", s.total) &&
	       add_section(g, &g->graph.above[0], 1, "called by", s.total) &&
	       add_section(g, &g->graph.below[0], 1, "calls", s.total);
}

static int choose(struct tui *t, struct dt_tui_graph *g, const struct dt_reader_range *range,
		  struct dt_error *e)
{
	struct dt_filter *f;
	int rc;

	if (!t->filter[0])
		return 0;
	f = dt_meanings_filter(t->filter, t->reader, e);
	if (!f)
		return -1;
	t->total *= 2; /* two passes */
	rc = dt_chosen_read(&g->chosen, f, t->reader, range, NULL, NULL, e);
	dt_filter_free(f);
	g->graph.chosen = &g->chosen;
	return rc;
}

/* Returns the row that stands for a function's row; 0: out of memory. */
static uint32_t first_row(const struct tui *t, uint32_t function)
{
	struct dt_same same = {0};
	uint32_t first = dt_same_update(&same, t->reader) ? 0 : same.first[function];

	dt_same_free(&same);
	return first;
}

static int read_graph(struct tui *t, struct dt_tui_graph *g, struct dt_error *e)
{
	struct dt_reader_range range = {.order = DT_BY_THREAD};
	int rc;

	g->graph.functions = dt_reader_functions(t->reader) + 1;
	g->wanted = malloc(g->graph.functions);
	if (!g->wanted)
		return dt_fail(e, "out of memory");
	memset(g->wanted, true, g->graph.functions);
	g->graph.shown = g->wanted;
	if (g->focus) {
		g->focus = first_row(t, g->focus);
		if (!g->focus)
			return dt_fail(e, "out of memory");
		g->graph.focus = &g->focus;
		g->graph.focuses = 1;
	}
	dt_reader_watch(t->reader, dt_tui_step, t);
	rc = choose(t, g, &range, e);
	rc = rc ? rc : dt_graph_read(&g->graph, t->reader, &range, e);
	dt_reader_watch(t->reader, NULL, NULL);
	if (!rc && !add_sections(g))
		rc = dt_fail(e, "out of memory");
	return rc;
}

static bool make(struct tui *t)
{
	struct dt_tui_graph **at = graph_of(t), *g;
	struct dt_error e = {""};
	int rc;

	if (*at)
		return true;
	g = *at = calloc(1, sizeof(*g));
	if (!g) {
		dt_tui_warn(t, "out of memory");
		return false;
	}
	g->focus = t->view == DT_TUI_AROUND ? t->focus : 0;
	dt_tui_begin(t, g->focus ? "reading who calls it" : "reading who calls whom",
		     t->summary.records);
	rc = read_graph(t, g, &e);
	dt_tui_end(t);
	if (rc) {
		if (!t->stopped)
			dt_tui_warn(t, "%s", e.text);
		free_graph(at);
		return false;
	}
	t->waits = dt_feed_has_switches(t->reader);
	flatten(t, g, false);
	if (g->graph.whole.way.n <= 1)
		dt_tui_say(t, t->filter[0] ? "no call is one that -f means" : "no calls");
	return true;
}

static void drop_whole(struct tui *t)
{
	free_graph(&t->graph);
}

static void drop_around(struct tui *t)
{
	free_graph(&t->around);
}

/* ---- rows ---- */

static size_t rows(struct tui *t)
{
	return *graph_of(t) ? (*graph_of(t))->n : 0;
}

static void head(struct tui *t, char *text, size_t size)
{
	int sort = keys[t->place[t->view].sort].value;

	dt_tui_append(text, size, "%c%10s %7s %c%10s ", sort == TOTAL ? '>' : ' ', "total", "share",
		      sort == SELF ? '>' : ' ', "self");
	if (t->waits)
		dt_tui_append(text, size, "%c%7s ", sort == WAITING ? '>' : ' ', "waiting");
	dt_tui_append(text, size, "%c%9s %c%10s  %cfunction", sort == CALLS ? '>' : ' ', "calls",
		      sort == MEAN ? '>' : ' ', "mean", sort == NAME ? '>' : ' ');
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Writes the columns of a sum; shares are of the time `of'. */
static void put_sum(const struct tui *t, struct dt_tui_row *to, const struct dt_graph_sum *s,
		    uint64_t of, bool self)
{
	size_t size = sizeof(to->columns);
	char text[32];

	if (s->total) {
		dt_tui_ticks(t, to->columns, size, s->total);
		dt_tui_append(to->columns, size, " %6.1f%% ", share(s->total, of));
	} else {
		dt_tui_append(to->columns, size, "%11s %7s ", "-", "-");
	}
	if (self && s->timed)
		dt_tui_ticks(t, to->columns, size, s->self);
	else
		dt_tui_append(to->columns, size, "%11s", "-");
	if (t->waits && s->total)
		dt_tui_append(to->columns, size, " %7.1f%%", share(s->waited, s->total));
	else if (t->waits)
		dt_tui_append(to->columns, size, " %8s", "-");
	dt_tui_append(to->columns, size, " %10llu ", (unsigned long long)s->calls);
	if (s->timed)
		dt_tui_append(
			to->columns, size, "%s",
			dt_times_text(text, (double)s->sum * dt_reader_ns_per_tick(t->reader) /
						    (double)s->timed));
	else
		dt_tui_append(to->columns, size, "%11s", "-");
	dt_tui_append(to->columns, size, "  ");
}

static void put_notes(struct dt_tui_row *to, const struct dt_graph_sum *s)
{
	size_t size = sizeof(to->text);

	if (s->open)
		dt_tui_append(to->text, size, "  (%llu unfinished)", (unsigned long long)s->open);
	if (s->timed < s->calls)
		dt_tui_append(to->text, size, "  (%llu of unknown time)",
			      (unsigned long long)(s->calls - s->timed));
	if (s->exits)
		dt_tui_append(to->text, size, "  (%llu exits without an entry)",
			      (unsigned long long)s->exits);
}

/* The line of the function that callers and callees are shown of. */
static void put_focus(struct tui *t, const struct dt_tui_graph *g, struct dt_tui_row *to)
{
	const struct dt_function_info *info = dt_reader_function(t->reader, g->focus);
	const struct dt_module_info *m = info ? dt_reader_module(t->reader, info->module) : NULL;
	const struct dt_graph_sum s = dt_graph_function(&g->graph, g->focus);
	size_t size = sizeof(to->text);

	to->style = DT_STYLE_BOLD;
	put_sum(t, to, &s, g->graph.all, true);
	dt_tui_append(to->text, size, "%s", name_of(t, g->focus));
	if (m)
		dt_tui_append(to->text, size, "  %s", m->file);
	if (info && *info->file)
		dt_tui_append(to->text, size, "  %s:%u", info->file, info->line);
	if (s.recursive)
		dt_tui_append(to->text, size, "  (%llu recursive)",
			      (unsigned long long)s.recursive);
	put_notes(to, &s);
}

static void row(struct tui *t, size_t i, struct dt_tui_row *to)
{
	const struct dt_tui_graph *g = *graph_of(t);
	const struct shown *x = &g->shown[i];
	const struct section *in = &g->section[x->section];
	const struct dt_stack_node *n;

	if (!x->node && !in->tree) {
		put_focus(t, g, to);
		return;
	}
	if (!x->node) {
		to->style = DT_STYLE_BOLD;
		dt_tui_append(to->text, sizeof(to->text), "%s", in->title);
		if (!in->tree->way.node || in->root >= in->tree->way.n ||
		    !in->tree->way.node[in->root].child)
			dt_tui_append(to->text, sizeof(to->text), ": nothing");
		return;
	}
	n = &in->tree->way.node[x->node];
	put_sum(t, to, &in->tree->sum[x->node], in->of, !n->again);
	dt_tui_indent(to->text, sizeof(to->text), x->level,
		      !n->child		      ? ' '
		      : in->unfolded[x->node] ? '-'
					      : '+');
	dt_tui_append(to->text, sizeof(to->text), "%s%s", name_of(t, n->function),
		      n->again ? " (again)" : "");
	put_notes(to, &in->tree->sum[x->node]);
}

static uint32_t function(struct tui *t, size_t i)
{
	const struct dt_tui_graph *g = *graph_of(t);
	const struct shown *x = &g->shown[i];
	uint32_t f = x->node ? g->section[x->section].tree->way.node[x->node].function : g->focus;

	return f == DT_GRAPH_NO_CALLER ? 0 : f;
}

/* ---- folding ---- */

/* Moves the cursor to a node's row. */
static void go_to(struct tui *t, uint32_t section, uint32_t node)
{
	const struct dt_tui_graph *g = *graph_of(t);

	for (size_t i = 0; i < g->n; i++)
		if (g->shown[i].section == section && g->shown[i].node == node)
			t->place[t->view].at = i;
}

static bool is_below(const struct dt_graph_tree *tree, uint32_t node, uint32_t top)
{
	while (node && node != top)
		node = tree->way.node[node].parent;
	return node == top;
}

/* Unfolds or folds all that is below a node, which has a greater number than it. */
static void fold_all(struct tui *t, const struct section *x, uint32_t top, bool open)
{
	uint32_t n = 0;

	x->unfolded[top] = open;
	for (uint32_t i = top + 1; i < x->tree->way.n; i++) {
		if (!is_below(x->tree, i, top))
			continue;
		if (open && ++n > DT_TUI_UNFOLD) {
			dt_tui_say(t, "unfolded as far as %u lines", DT_TUI_UNFOLD);
			return;
		}
		x->unfolded[i] = open;
	}
}

static void up(struct tui *t, size_t i)
{
	const struct dt_tui_graph *g = *graph_of(t);
	const struct shown *x = &g->shown[i];
	const struct dt_graph_tree *tree = g->section[x->section].tree;
	uint32_t parent = x->node ? tree->way.node[x->node].parent : 0;

	if (!parent || parent == g->section[x->section].root)
		dt_tui_say(t, "nothing is above this line");
	else
		go_to(t, x->section, parent);
}

static void fold(struct tui *t, size_t i, enum dt_tui_fold how)
{
	struct dt_tui_graph *g = *graph_of(t);
	const struct shown x = g->shown[i];
	const struct section *in = &g->section[x.section];
	bool *open;

	if (!x.node || !in->tree->way.node[x.node].child) {
		if (how == DT_FOLD_CLOSE && x.node)
			up(t, i);
		return;
	}
	open = &in->unfolded[x.node];
	if (how == DT_FOLD_CLOSE && !*open) {
		up(t, i);
		return;
	}
	if (how == DT_FOLD_OPEN_ALL || how == DT_FOLD_CLOSE_ALL)
		fold_all(t, in, x.node, how == DT_FOLD_OPEN_ALL);
	else
		*open = how == DT_FOLD_TOGGLE ? !*open : how == DT_FOLD_OPEN;
	flatten(t, g, false);
	go_to(t, x.section, x.node);
}

static void find(struct tui *t, bool forward)
{
	struct dt_tui_graph *g = *graph_of(t);
	struct dt_tui_place *p = &t->place[t->view];
	struct shown from = p->at < g->n ? g->shown[p->at] : (struct shown){0}, found = {0};
	size_t at = 0;

	flatten(t, g, true);
	for (size_t i = 0; i < g->n; i++)
		if (g->shown[i].section == from.section && g->shown[i].node == from.node)
			at = i;
	for (size_t k = 1; k <= g->n && !found.node; k++) {
		size_t i = (at + (forward ? k : g->n - k)) % g->n;
		const struct shown *x = &g->shown[i];

		if (!x->node ||
		    !dt_tui_matches(
			    t, name_of(t, g->section[x->section].tree->way.node[x->node].function)))
			continue;
		found = *x;
		if (forward ? i <= at : i >= at)
			dt_tui_say(t, "searched on from the other end");
	}
	if (found.node) {
		const struct section *x = &g->section[found.section];

		from = found;
		for (uint32_t i = x->tree->way.node[found.node].parent; i;
		     i = x->tree->way.node[i].parent)
			x->unfolded[i] = true;
	} else {
		dt_tui_say(t, "no function with '%s' in its name is in the tree", t->search);
	}
	flatten(t, g, false);
	go_to(t, from.section, from.node);
}

static void sort(struct tui *t)
{
	struct dt_tui_graph *g = *graph_of(t);
	struct dt_tui_place *p = &t->place[t->view];
	struct shown at = g && p->at < g->n ? g->shown[p->at] : (struct shown){0};

	if (keys[p->sort].value == WAITING && !t->waits) {
		dt_tui_warn(t, "no switches in this trace: record with -S");
		p->sort = 0;
	}
	if (!g)
		return;
	flatten(t, g, false);
	go_to(t, at.section, at.node);
}

#define KIND(its_name, its_drop)                                                                   \
	{                                                                                          \
		.name = its_name, .keys = keys, .make = make, .drop = its_drop, .rows = rows,      \
		.head = head, .row = row, .function = function, .fold = fold, .up = up,            \
		.find = find, .sort = sort                                                         \
	}

const struct dt_tui_kind dt_tui_graph = KIND("graph", drop_whole);
const struct dt_tui_kind dt_tui_around = KIND("callers, callees", drop_around);
