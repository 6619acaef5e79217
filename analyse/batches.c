/* SPDX-License-Identifier: MIT */
#include "analyse/batches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void dt_batches_add(struct dt_batches *b, uint64_t ticks)
{
	b->per = b->per ? b->per : 1;
	b->rest += ticks;
	if (++b->calls < b->per)
		return;
	b->sum[b->n++] = b->rest;
	b->rest = b->calls = 0;
	if (b->n < DT_BATCHES)
		return;
	for (unsigned i = 0; i < DT_BATCHES / 2; i++)
		b->sum[i] = b->sum[2 * i] + b->sum[2 * i + 1];
	b->n = DT_BATCHES / 2;
	b->per *= 2;
}

struct ranked {
	double mean;
	unsigned run;
};

static int by_mean(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->mean < y->mean ? -1 : x->mean > y->mean;
}

static int by_sum(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

double dt_batches_median(const struct dt_batches *b)
{
	uint64_t sum[DT_BATCHES];

	if (!b->n)
		return 0;
	memcpy(sum, b->sum, sizeof(sum));
	qsort(sum, b->n, sizeof(*sum), by_sum);
	return ((double)sum[b->n / 2] + (double)sum[(b->n - 1) / 2]) / 2 / (double)b->per;
}

double dt_batches_compare(const struct dt_batches *const b[2], const double unit[2])
{
	struct ranked all[2 * DT_BATCHES];
	unsigned n = b[0]->n + b[1]->n;
	double ranks = 0, ties = 0, expected, variance, distance;

	if (b[0]->n < DT_BATCHES_LEAST || b[1]->n < DT_BATCHES_LEAST)
		return 1;
	for (unsigned run = 0, at = 0; run < 2; run++)
		for (unsigned i = 0; i < b[run]->n; i++)
			all[at++] = (struct ranked){
				(double)b[run]->sum[i] / (double)b[run]->per * unit[run], run};
	qsort(all, n, sizeof(*all), by_mean);
	/* equal ones have the mean of their ranks */
	for (unsigned i = 0, end; i < n; i = end) {
		double equal;

		for (end = i + 1; end < n && all[end].mean == all[i].mean;)
			end++;
		equal = end - i;
		ties += equal * equal * equal - equal;
		for (unsigned k = i; k < end; k++)
			ranks += all[k].run ? 0 : (i + 1 + end) / 2.0;
	}
	expected = b[0]->n * (n + 1) / 2.0;
	variance = b[0]->n * b[1]->n / 12.0 * (n + 1 - ties / (n * (n - 1.0)));
	distance = fabs(ranks - expected) - 0.5;
	return variance <= 0 || distance <= 0 ? 1 : erfc(distance / sqrt(2 * variance));
}
