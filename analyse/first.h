/* SPDX-License-Identifier: MIT */
/*
 * Which of the rows that are equal came first: a table of rows by what they are equal in, which its
 * user hashes and compares.
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

static inline uint32_t dt_first_hash(uint64_t seed, const char *text, size_t n)
{
	uint64_t h = seed ^ 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return (uint32_t)((h ^ h >> 29) * 0x9e3779b97f4a7c15u >> 32);
}

/* Where a row is that is equal to key, or free if there is none: there is a free one. */
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

/* Room for one more. -1: out of memory. */
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

/* Takes the free place that dt_first_find() gave. */
static inline void dt_first_put(struct dt_first *t, struct dt_first_entry *x, uint32_t id,
				uint32_t hash)
{
	*x = (struct dt_first_entry){id, hash};
	t->n++;
}

#endif
