/* SPDX-License-Identifier: MIT */
#include "align/rate.h"

#include <math.h>

#include "align/net.h"

static double slope(const int64_t *x, const int64_t *low, const int64_t *high, size_t from,
		    size_t to)
{
	return (double)(high[to] - low[from]) / (double)(x[to] - x[from]);
}

/* Returns the least slope from the hull's points to (x[to], high[to]): as that point is right of
 * them all, slopes fall along the hull, and then rise. */
static double tangent(const int64_t *x, const int64_t *low, const int64_t *high, size_t to,
		      const size_t *hull, size_t points)
{
	size_t first = 0, last = points - 1;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (slope(x, low, high, hull[middle], to) >
		    slope(x, low, high, hull[middle + 1], to))
			first = middle + 1;
		else
			last = middle;
	}
	return slope(x, low, high, hull[first], to);
}

double dt_rate_most(const int64_t *x, const int64_t *low, const int64_t *high, size_t n,
		    size_t *hull)
{
	double most = INFINITY;
	size_t points = 0; /* of the upper hull of the points (x, low) before */

	for (size_t i = 0; i < n; i++) {
		if (points && high[i] < DT_NET_FAR)
			most = fmin(most, tangent(x, low, high, i, hull, points));
		if (low[i] <= -DT_NET_FAR)
			continue;
		while (points > 1 && slope(x, low, low, hull[points - 2], hull[points - 1]) <=
					     slope(x, low, low, hull[points - 1], i))
			points--;
		hull[points++] = i;
	}
	return most;
}
