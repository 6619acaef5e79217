/* SPDX-License-Identifier: MIT */
/* Keeps the names of functions sorted by hash. */
#include "symbols/names.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"

struct entry {
	uint64_t hash;
	const char *name; /* the symbol table's */
	const struct dt_function *function;
};

struct dt_names {
	const struct dt_symtab *table;
	struct entry *entry;
	size_t n, room;
	bool failed;
};

static uint64_t hash_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ull;
	return h;
}

static void add(struct dt_names *n, const char *name, const struct dt_function *f)
{
	if (n->n == n->room) {
		size_t room = n->room ? 2 * n->room : 1024;
		struct entry *more = realloc(n->entry, room * sizeof(*more));

		if (!more) {
			n->failed = true;
			return;
		}
		n->entry = more;
		n->room = room;
	}
	n->entry[n->n++] = (struct entry){hash_of(name), name, f};
}

static void add_alias(void *ctx, uint64_t address, const char *name)
{
	struct dt_names *n = ctx;
	const struct dt_function *f = dt_symtab_find(n->table, address);

	if (f)
		add(n, name, f);
}

static int by_hash(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

struct dt_names *dt_names_make(const struct dt_symtab *t)
{
	struct dt_names *n = calloc(1, sizeof(*n));
	const struct dt_function *f;
	size_t count;

	if (!n)
		return NULL;
	n->table = t;
	f = dt_symtab_functions(t, &count);
	for (size_t i = 0; i < count; i++) {
		add(n, f[i].name, &f[i]);
		if (f[i].full != f[i].name)
			add(n, f[i].full, &f[i]);
		if (strcmp(f[i].linkage, f[i].name) != 0)
			add(n, f[i].linkage, &f[i]);
	}
	dt_symtab_aliases(t, add_alias, n);
	if (n->failed) {
		dt_names_free(n);
		return NULL;
	}
	if (n->n)
		qsort(n->entry, n->n, sizeof(*n->entry), by_hash);
	return n;
}

void dt_names_free(struct dt_names *n)
{
	if (n)
		free(n->entry);
	free(n);
}

void dt_names_find(const struct dt_names *n, const char *name,
		   void (*fn)(void *ctx, const struct dt_function *f), void *ctx)
{
	uint64_t hash = hash_of(name);
	size_t low = dt_count_before(n->n, i, n->entry[i].hash < hash);

	for (; low < n->n && n->entry[low].hash == hash; low++)
		if (strcmp(n->entry[low].name, name) == 0)
			fn(ctx, n->entry[low].function);
}
