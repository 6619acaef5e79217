/* SPDX-License-Identifier: MIT */
#include "core/array.h"

#include <stdlib.h>
#include <string.h>

void *dt_array_grown(void *array, size_t n, size_t *room, size_t first, size_t size, bool *failed)
{
	size_t now = *room ? 2 * *room : first;
	void *more;

	if (n < *room)
		return array;
	more = reallocarray(array, now, size);
	if (!more) {
		*failed = true;
		return array;
	}
	*room = now;
	return more;
}

void *dt_array_copy(const void *from, size_t n, size_t size, bool *failed)
{
	void *to = malloc(n * size + 1);

	if (to && n)
		memcpy(to, from, n * size);
	*failed = *failed || !to;
	return to;
}
