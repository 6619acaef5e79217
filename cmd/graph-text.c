/* SPDX-License-Identifier: MIT */
/* The graph as text: a tree, or a function between its callers and its callees. */
#include "cmd/graph-work.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/fit.h"
#include "export/export.h"
#include "filter/times.h"

/* The lines of the tree, in UTF-8 or as plain characters. */
static const char *last_branch(const struct graph *k)
{
	return k->terminal.utf8 ? "└─ " : "`- ";
}

static const char *other_branch(const struct graph *k)
{
	return k->terminal.utf8 ? "├─ " : "|- ";
}

#define GAP    2  /* blanks before a name */
#define WIDEST 60 /* columns of a name that columns of numbers are left out for */
#define NARROW 28 /* fewer columns than this: a share, and no time, stands before a name */
#define BARE   18 /* fewer: the name alone */

/* With little room the first ones come first. */
static const struct {
	enum dt_graph_column column;
	unsigned width;
	const char *head;
} columns[DT_GRAPH_COLUMNS] = {{DT_GRAPH_TOTAL, 12, "total"},	 {DT_GRAPH_SHARE, 8, "share"},
			       {DT_GRAPH_SELF, 13, "self"},	 {DT_GRAPH_CALLS, 11, "calls"},
			       {DT_GRAPH_WAITING, 8, "waiting"}, {DT_GRAPH_MEAN, 13, "mean"}};

/* Chooses the columns that there is room for beside names of so many columns. */
static void choose_columns(struct graph *k, unsigned names)
{
	unsigned terminal = k->terminal.columns, used = GAP, least;

	names = names < WIDEST ? names : WIDEST;
	for (unsigned i = 0; i < DT_GRAPH_COLUMNS; i++) {
		enum dt_graph_column c = columns[i].column;
		unsigned width = columns[i].width;

		/* the first four are worth that a long name is cut */
		least = i > 3 ? names : terminal >= 70 ? 30 : i > 1 ? 20 : 14;
		if (terminal < NARROW)
			least = c == DT_GRAPH_SHARE && terminal >= BARE ? 8 : names + terminal;
		least = names < least && terminal >= NARROW ? names : least;
		k->column[c] = (c != DT_GRAPH_WAITING || k->waits) &&
			       (!terminal || used + width + least <= terminal);
		used += k->column[c] ? width : 0;
	}
	if (used == GAP)
		used = 0;
	k->room = terminal > used ? terminal - used : terminal ? 1 : 0;
}

static void print_head(const struct graph *k)
{
	static const struct {
		enum dt_graph_column column;
		const char *text;
	} head[] = {{DT_GRAPH_TOTAL, "       total"}, {DT_GRAPH_SHARE, "   share"},
		    {DT_GRAPH_SELF, "         self"}, {DT_GRAPH_WAITING, " waiting"},
		    {DT_GRAPH_CALLS, "      calls"},  {DT_GRAPH_MEAN, "         mean"}};
	bool any = false;

	for (size_t i = 0; i < DT_GRAPH_COLUMNS; i++) {
		if (k->column[head[i].column])
			fputs(head[i].text, stdout);
		any |= k->column[head[i].column];
	}
	printf("%sfunction\n", any ? "  " : "");
}

static void print_mean(const struct graph *k, const struct dt_graph_sum *s)
{
	if (s->timed)
		dt_table_ns(dt_graph_ns_of(k, s->sum) / (double)s->timed);
	else
		printf("%12s", "-");
}

static void print_share(bool known, uint64_t part, uint64_t whole)
{
	if (known)
		printf(" %6.1f%%", dt_graph_share(part, whole));
	else
		printf("%8s", "-");
}

/* Prints the columns before the name; shares are of the time `of'. */
static void print_sum(const struct graph *k, const struct dt_graph_sum *s, uint64_t of, bool self)
{
	bool any = false;

	for (size_t i = 0; i < DT_GRAPH_COLUMNS; i++)
		any |= k->column[i];
	if (k->column[DT_GRAPH_TOTAL] && s->total)
		dt_table_time(k->reader, s->total);
	else if (k->column[DT_GRAPH_TOTAL])
		printf("%12s", "-");
	if (k->column[DT_GRAPH_SHARE])
		print_share(s->total, s->total, of);
	if (k->column[DT_GRAPH_SELF]) {
		putchar(' ');
		if (self && s->timed)
			dt_table_time(k->reader, s->self);
		else
			printf("%12s", "-");
	}
	if (k->column[DT_GRAPH_WAITING])
		print_share(s->total, s->waited, s->total);
	if (k->column[DT_GRAPH_CALLS])
		printf(" %10llu", (unsigned long long)s->calls);
	if (k->column[DT_GRAPH_MEAN]) {
		putchar(' ');
		print_mean(k, s);
	}
	printf("%s", any ? "  " : "");
}

/* Writes what is to be said behind a name; text has room for 256 bytes. */
static const char *notes_of(const struct dt_graph_sum *s, char *text)
{
	char *p = text;

	*p = '\0';
	if (s->open)
		p += sprintf(p, "  (%llu unfinished)", (unsigned long long)s->open);
	if (s->timed < s->calls)
		p += sprintf(p, "  (%llu of unknown time)",
			     (unsigned long long)(s->calls - s->timed));
	if (s->exits)
		sprintf(p, "  (%llu exits without an entry)", (unsigned long long)s->exits);
	return text;
}

/* Prints what stands behind the columns: a name's place in the tree, which gives way first, the
 * name, and notes. */
static void print_name(const struct graph *k, const char *branch, const char *name,
		       const char *notes)
{
	const struct dt_terminal *t = &k->terminal;
	unsigned lines, own, line = 3, after = (unsigned)strlen(notes), most;

	if (!k->room) {
		printf("%s%s%s%s\n", k->branch, branch, name, notes);
		return;
	}
	own = dt_terminal_width(t, name, strlen(name));
	line = *branch ? 3 : 0;
	lines = dt_terminal_width(t, k->branch, strlen(k->branch));
	/* at least the mark of what is cut off, where there is a tree */
	most = k->room > own + line + 1 ? k->room - own - line : 1;
	dt_fit_print_end(t, k->branch, lines < most ? lines : most);
	lines = lines < most ? lines : most;
	fputs(branch, stdout);
	most = k->room > lines + line ? k->room - lines - line : 1;
	/* notes are worth that a long name is shorter */
	most -= most >= after + 12 ? after : 0;
	dt_fit_print(t, name, most);
	puts(notes);
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
	char text[64];

	sum.timed = 0; /* self and mean would be meaningless for several functions together */
	print_sum(k, &sum, of, false);
	snprintf(text, sizeof(text), "%u more below %g %%", n, k->min);
	/* what it is can be seen where the others are, too */
	if (k->room && strlen(text) + 4 > k->room)
		dt_format(text, sizeof(text), "%u more", n);
	print_name(k, level == 1 ? "" : last_branch(k), text, "");
}

/* Prints the children of a node, one in each line, and what is below them; they are `level' levels
 * below the top. */
static void print_children(struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			   uint64_t of, uint64_t level, bool self)
{
	struct dt_graph_sum rest = {0};
	size_t branch = strlen(k->branch);
	char notes[256], again[sizeof(notes) + 16];
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
		dt_format(again, sizeof(again), "%s%s", n->again ? " (again)" : "",
			  notes_of(&t->sum[c], notes));
		print_name(k,
			   level == 1 ? ""
			   : last     ? last_branch(k)
				      : other_branch(k),
			   dt_graph_name_of(k, n->function), again);
		if (level > 1)
			strcat(k->branch, last ? "   " : k->terminal.utf8 ? "│  " : "|  ");
		print_children(k, t, c, of, level + 1, self);
		k->branch[branch] = '\0';
	}
	if (small)
		print_rest(k, small, &rest, of, level);
}

/* Returns how many columns the longest name of a tree takes, with its place in it, of what is
 * printed; no more than WIDEST are of interest. */
static unsigned longest(const struct graph *k, const struct dt_graph_tree *t, uint32_t parent,
			uint64_t of, uint64_t level)
{
	unsigned most = 0, below;

	for (uint32_t c = t->way.node[parent].child; c && level <= k->depth && most < WIDEST;
	     c = t->way.node[c].next) {
		const char *name = dt_graph_name_of(k, t->way.node[c].function);

		if (dt_graph_is_small(k, &t->sum[c], of))
			break;
		below = dt_terminal_width(&k->terminal, name, strlen(name)) +
			3 * (unsigned)(level - 1);
		most = below > most ? below : most;
		/* a level deeper takes three columns more */
		below = level < WIDEST / 3 ? longest(k, t, c, of, level + 1) : WIDEST;
		most = below > most && t->way.node[c].child ? below : most;
	}
	return most;
}

/* Prints the line of totals of a function. */
static void print_totals(const struct graph *k, const struct dt_graph_sum *s)
{
	double ns = dt_reader_ns_per_tick(k->reader);
	char *text = NULL, time[32], notes[256];
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return;
	fprintf(f, "%llu calls", (unsigned long long)s->calls);
	if (s->recursive)
		fprintf(f, " (%llu recursive)", (unsigned long long)s->recursive);
	if (s->timed) {
		fprintf(f, ", total %s", dt_times_text(time, (double)s->total * ns));
		fprintf(f, " (%.1f %% of all), self %s", dt_graph_share(s->total, k->graph.all),
			dt_times_text(time, (double)s->self * ns));
		if (k->waits)
			fprintf(f, ", waiting %.1f %%", dt_graph_share(s->waited, s->total));
		fprintf(f, ", mean %s",
			dt_times_text(time, dt_graph_ns_of(k, s->sum) / (double)s->timed));
	}
	fputs(notes_of(s, notes), f);
	if (!fclose(f))
		dt_fit_line(&k->terminal, text);
	free(text);
}

static void print_focus(struct graph *k, size_t i)
{
	uint32_t f = k->graph.focus[i];
	const struct dt_function_info *info = dt_reader_function(k->reader, f);
	const struct dt_graph_sum s = dt_graph_function(&k->graph, f);
	unsigned above = longest(k, &k->graph.above[i], 1, s.total, 1),
		 below = longest(k, &k->graph.below[i], 1, s.total, 1);

	printf("%s%s", i ? "\n" : "", dt_graph_name_of(k, f));
	if (*dt_export_module(k->reader, f))
		printf("  %s", dt_export_module(k->reader, f));
	if (info && *info->file)
		printf("  %s:%u", info->file, info->line);
	putchar('\n');
	print_totals(k, &s);
	choose_columns(k, above > below ? above : below);
	printf("\ncalled by\n");
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
		choose_columns(k, longest(k, &k->graph.whole, 0, k->graph.all, 1));
		print_head(k);
		print_children(k, &k->graph.whole, 0, k->graph.all, 1, true);
	} else {
		puts("no calls");
	}
	if (k->subtract)
		dt_table_costs(k->reader);
}
