/* SPDX-License-Identifier: MIT */
#include "analyse/missed.h"

#include <stdlib.h>

#include "store/budget.h"

static int take(void *ctx, const struct dt_budget_row *row)
{
	struct dt_missed *m = ctx;
	struct dt_budget_row *more = m->row;

	if ((m->n & (m->n - 1)) == 0)
		more = realloc(m->row, (m->n ? 2 * m->n : 1) * sizeof(*more));
	if (!more) {
		m->no_memory = true;
		return 1;
	}
	m->row = more;
	m->row[m->n] = *row;
	m->row[m->n].function = m->same.first[row->function];
	if (!row->end)
		m->row[m->n].end = m->last;
	if (m->row[m->n].end < row->begin)
		m->row[m->n].end = row->begin;
	m->has[m->row[m->n++].function] = true;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct dt_budget_row *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

int dt_missed_read(struct dt_missed *m, struct dt_reader *r, struct dt_error *e)
{
	struct dt_summary s;
	int rc;

	*m = (struct dt_missed){0};
	if (!dt_reader_meta(r, "budget"))
		return 0;
	if (dt_same_update(&m->same, r) || !(m->has = calloc(m->same.n + 1, sizeof(*m->has))))
		return dt_fail(e, "out of memory");
	m->functions = m->same.n;
	m->last = dt_reader_summary(r, &s, NULL) ? 0 : s.max_ticks;
	rc = dt_budget_read(r, take, m, e);
	if (m->no_memory)
		return dt_fail(e, "out of memory");
	if (m->n)
		qsort(m->row, m->n, sizeof(*m->row), by_begin);
	return rc < 0 ? -1 : 0;
}

void dt_missed_free(struct dt_missed *m)
{
	free(m->row);
	free(m->has);
	dt_same_free(&m->same);
	*m = (struct dt_missed){0};
}

struct dt_missed_sum dt_missed_of(const struct dt_missed *m, uint32_t function, uint64_t from,
				  uint64_t to)
{
	struct dt_missed_sum sum = {0};

	if (!dt_missed_has(m, function))
		return sum;
	for (size_t i = 0; i < m->n && m->row[i].begin <= to; i++) {
		const struct dt_budget_row *x = &m->row[i];
		uint64_t begin = x->begin > from ? x->begin : from, end = x->end < to ? x->end : to;
		uint64_t all = x->end - x->begin;

		if (x->function != function || x->end < from || end < begin)
			continue;
		sum.times++;
		sum.ticks += end - begin;
		sum.calls +=
			all && end - begin < all
				? (uint64_t)((double)x->calls * (double)(end - begin) / (double)all)
				: x->calls;
	}
	return sum;
}
