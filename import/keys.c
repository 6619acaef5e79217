/* SPDX-License-Identifier: MIT */
#include "import/keys.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct key {
	uint64_t a, b;
	uint32_t number;
};

static int compare(const void *pa, const void *pb)
{
	const struct key *x = pa, *y = pb;

	return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

int64_t dt_key_find(const struct dt_key_list *l, uint64_t a, uint64_t b)
{
	struct key wanted = {.a = a, .b = b}, *const *found = tfind(&wanted, &l->root, compare);

	return found ? (int64_t)(*found)->number : -1;
}

int64_t dt_key_number(struct dt_key_list *l, uint64_t a, uint64_t b, struct dt_error *e)
{
	int64_t number = dt_key_find(l, a, b);
	struct key *k;

	if (number >= 0)
		return number;
	k = l->n < UINT32_MAX ? malloc(sizeof(*k)) : NULL;
	if (k)
		*k = (struct key){.a = a, .b = b, .number = l->n};
	if (!k || !tsearch(k, &l->root, compare)) {
		free(k);
		return dt_fail(e, "out of memory");
	}
	return l->n++;
}

void dt_key_list_free(struct dt_key_list *l)
{
	tdestroy(l->root, free);
	*l = (struct dt_key_list){0};
}

void *dt_key_room(void *array, uint32_t *size, int64_t number, size_t each, struct dt_error *e)
{
	uint64_t wanted = (uint64_t)number + 1, n = wanted + wanted / 2 + 16;
	char *p;

	if (wanted <= *size)
		return array;
	p = n <= UINT32_MAX ? realloc(array, n * each) : NULL;
	if (!p) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	memset(p + *size * each, 0, (n - *size) * each);
	*size = (uint32_t)n;
	return p;
}
