/* SPDX-License-Identifier: MIT */
#include "analyse/usage.h"

#include "core/search.h"

/* A time between two readings, with what was used meanwhile. */
struct piece {
	uint64_t begin, end; /* ticks; end is the beginning of the next */
	double value;
};

static bool read_piece(const struct dt_usage_row *x, enum dt_usage_what what, double ns_per_tick,
		       struct piece *p)
{
	*p = (struct piece){.begin = x->ticks, .end = x[1].ticks, .value = (double)x->memory};
	if (p->end <= p->begin)
		return false;
	if (what == DT_USAGE_PROCESSORS) {
		if (x[1].cpu_ns < x->cpu_ns) /* a file that is damaged */
			return false;
		p->value = (double)(x[1].cpu_ns - x->cpu_ns) /
			   ((double)(p->end - p->begin) * ns_per_tick);
	}
	return true;
}

/* Adds a piece to a column, `part' ticks of it. weight: of the column so far. */
static void add(struct dt_plot_cell *c, const struct piece *p, uint64_t part, double *weight)
{
	long double v = (long double)p->value;

	c->min = c->n && c->min < v ? c->min : v;
	c->max = c->n && c->max > v ? c->max : v;
	c->sum += v * (long double)part;
	*weight += (double)part;
	c->calls = ++c->n;
}

/* A column of a picture of so many: columns are of one width, the last ones a tick shorter. */
static uint64_t edge(const struct dt_plot_asked *a, unsigned i)
{
	__extension__ typedef unsigned __int128 wide;

	return a->from + (uint64_t)((wide)(a->to - a->from) * i / a->columns);
}

static void add_even(struct dt_plot_asked *a, const struct piece *p, double weight[])
{
	uint64_t begin = p->begin > a->from ? p->begin : a->from;
	uint64_t end = p->end < a->to ? p->end : a->to;
	unsigned i = (unsigned)dt_count_before(a->columns, k, edge(a, (unsigned)k + 1) <= begin);

	for (; i < a->columns && edge(a, i) < end; i++) {
		uint64_t low = edge(a, i), high = edge(a, i + 1);

		low = low > begin ? low : begin;
		high = high < end ? high : end;
		if (high > low)
			add(&a->column[i], p, high - low, &weight[i]);
	}
}

void dt_usage_plot(const struct dt_usages *u, uint32_t pid, enum dt_usage_what what,
		   double ns_per_tick, struct dt_plot_asked *a)
{
	size_t first = dt_count_before(u->n, k, u->row[k].pid < pid);
	size_t end = dt_count_before(u->n, k, u->row[k].pid <= pid);
	double weight[DT_PLOT_COLUMNS] = {0};
	size_t low, high;
	struct piece p;

	/* the readings whose pieces have a part in the range: the last one has none */
	low = dt_count_before(u->n, k, k < first || (k + 1 < end && u->row[k + 1].ticks < a->from));
	high = dt_count_before(u->n, k, k < first || (k + 1 < end && u->row[k].ticks <= a->to));
	a->n = 0;
	a->done = 1;
	a->even = high - low > a->columns;
	if (a->even)
		for (unsigned i = 0; i < a->columns; i++)
			a->column[i] =
				(struct dt_plot_cell){.begin = edge(a, i), .end = edge(a, i + 1)};
	for (size_t i = low; i < high; i++) {
		if (!read_piece(&u->row[i], what, ns_per_tick, &p))
			continue;
		if (a->even) {
			add_even(a, &p, weight);
			continue;
		}
		a->column[a->n] = (struct dt_plot_cell){.begin = p.begin, .end = p.end - 1};
		add(&a->column[a->n], &p, 1, &weight[a->n]);
		a->n++;
	}
	if (a->even)
		a->n = a->columns;
	for (unsigned i = 0; i < a->n; i++)
		if (a->column[i].n)
			a->column[i].sum *= (long double)a->column[i].n / (long double)weight[i];
}
