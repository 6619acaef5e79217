/* SPDX-License-Identifier: MIT */
/* Pairs of numbers by number: each pair has one, from 0 on in the order in which they were met. */
#ifndef DT_IMPORT_KEYS_H
#define DT_IMPORT_KEYS_H

#include "core/error.h"

/* Zeroed: none. */
struct dt_key_list {
	void *root; /* a tree (tsearch(3)): no choice of pairs makes it slow */
	uint32_t n;
};

/* Returns the number of a pair, which it adds if it is new; -1: out of memory. */
int64_t dt_key_number(struct dt_key_list *l, uint64_t a, uint64_t b, struct dt_error *e);
/* Returns the number of a pair; -1: it has none. */
int64_t dt_key_find(const struct dt_key_list *l, uint64_t a, uint64_t b);
void dt_key_list_free(struct dt_key_list *l);

/*
 * Makes room in an array whose elements have `each' bytes for the one at `number'; new elements are
 * zeroed. *size: elements that there is room for. Returns the array, which may have moved; NULL:
 * out of memory, and the array is as it was.
 */
void *dt_key_room(void *array, uint32_t *size, int64_t number, size_t each, struct dt_error *e);

#endif
