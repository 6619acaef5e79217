/* SPDX-License-Identifier: MIT */
/*
 * Which one of several equal rows came first: a hash table of rows. Its user says what makes them
 * equal: it computes the hash and compares.
 */
#ifndef DT_ANALYSE_FIRST_H
#define DT_ANALYSE_FIRST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct dt_first {
	struct dt_first_entry {
		uint32_t id; /* 0: free */
		uint32_t hash;
	} * entry;
	uint32_t n, size; /* size: a power of two */
};

/* Returns a hash of the text, which also depends on seed, so that several texts can be chained. */
static inline uint32_t dt_first_hash(uint64_t seed, const char *text, size_t n)
{
	uint64_t h = seed ^ 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (uint32_t)((h ^ h >> 29) * 0x9e3779b97f4a7c15u >> 32);
}

/* Returns the place of the row that is equal to key or, if there is none, a free one. The caller
 * has called dt_first_room(). */
static inline struct dt_first_entry *dt_first_find(const struct dt_first *t, uint32_t hash,
						   bool (*equal)(const void *ctx, uint32_t id,
								 const void *key),
						   const void *ctx, const void *key)
{
	for (uint32_t i = hash;; i++) {
		struct dt_first_entry *x = &t->entry[i & (t->size - 1)];

		if (!x->id || (x->hash == hash && equal(ctx, x->id, key)))
			return x;
	}
}

/* Makes room for one more row. Returns -1 when out of memory. */
static inline int dt_first_room(struct dt_first *t)
{
	struct dt_first more = {.n = t->n, .size = t->size ? 2 * t->size : 1024};

	if (2 * (t->n + 1) <= t->size)
		return 0;
	more.entry = calloc(more.size, sizeof(*more.entry));
	if (!more.entry)
		return -1;
	for (uint32_t i = 0; i < t->size; i++)
		for (uint32_t k = t->entry[i].hash; t->entry[i].id; k++)
			if (!more.entry[k & (more.size - 1)].id) {
				more.entry[k & (more.size - 1)] = t->entry[i];
				break;
			}
	free(t->entry);
	*t = more;
	return 0;
}

/* Puts a row into the free place that dt_first_find() returned. */
static inline void dt_first_put(struct dt_first *t, struct dt_first_entry *x, uint32_t id,
				uint32_t hash)
{
	*x = (struct dt_first_entry){id, hash};
	t->n++;
}

#endif
