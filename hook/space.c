/* SPDX-License-Identifier: MIT */
/* See space.h. */
#include "hook/space.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"

/* Makes room for n extents; false: no memory. */
static bool reserve(struct dt_space *s, size_t n)
{
	struct dt_extent *p;

	if (n <= s->room)
		return true;
	p = realloc(s->free, 2 * n * sizeof(*p));
	if (!p)
		return false;
	s->free = p;
	s->room = 2 * n;
	return true;
}

int dt_space_add(struct dt_space *s, uint64_t low, uint64_t high, struct dt_error *e)
{
	if (low >= high)
		return 0;
	if (!reserve(s, s->n + 1))
		return dt_fail(e, "out of memory looking for room for trampolines");
	s->free[s->n++] = (struct dt_extent){low, high};
	return 0;
}

void dt_space_free(struct dt_space *s)
{
	free(s->free);
	*s = (struct dt_space){0};
}

/* Returns the index of the first extent that ends after address. */
static size_t find(const struct dt_space *s, uint64_t address)
{
	return dt_count_before(s->n, i, s->free[i].high <= address);
}

bool dt_space_claim(void *space, uint64_t low, uint64_t high, size_t size, uint64_t *at)
{
	struct dt_space *s = space;

	if (!reserve(s, s->n + 1))
		return false;
	for (size_t i = find(s, low); i < s->n && s->free[i].low <= high; i++) {
		struct dt_extent *x = &s->free[i];
		uint64_t start = x->low > low ? x->low : low, end = start + size;

		if (end > x->high || end < start)
			continue;
		*at = start;
		if (start == x->low) {
			x->low = end;
			if (x->low == x->high) {
				memmove(x, x + 1, (s->n - i - 1) * sizeof(*x));
				s->n--;
			}
			return true;
		}
		if (end < x->high) {
			memmove(x + 1, x, (s->n - i) * sizeof(*x));
			s->n++;
			x[1].low = end;
		}
		x->high = start;
		return true;
	}
	return false;
}
