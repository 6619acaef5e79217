/* SPDX-License-Identifier: MIT */
/* Arrays in memory of malloc(): room for one more element, and copies. */
#ifndef DT_CORE_ARRAY_H
#define DT_CORE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the array with room for element n, which was in use up to there. *room: how many elements
 * there is room for, 0 at first; it is doubled, or set to `first'. size: of an element, bytes.
 * Without memory the array is as it was, and *failed is set.
 */
void *dt_array_grown(void *array, size_t n, size_t *room, size_t first, size_t size, bool *failed);
/* Returns a copy of n elements, which is never NULL unless *failed is set: there is no memory. */
void *dt_array_copy(const void *from, size_t n, size_t size, bool *failed);

#endif
