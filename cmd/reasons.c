/* SPDX-License-Identifier: MIT */
#include "cmd/reasons.h"

#include <stdio.h>

#include "core/search.h"
#include "show/failure.h"

static bool is_same(const void *ctx, uint32_t id, const void *key)
{
	const struct dt_reasons *r = ctx;
	const struct dt_reason *x = &r->reason[id - 1], *y = key;

	return x->function == y->function && x->error == y->error;
}

/* Makes room for one more. Returns -1 without memory. */
static int grow(struct dt_reasons *r)
{
	size_t room = r->room ? 2 * r->room : 64;
	struct dt_reason *more;

	if (dt_first_room(&r->first))
		return -1;
	if (r->n < r->room)
		return 0;
	more = realloc(r->reason, room * sizeof(*more));
	if (!more)
		return -1;
	r->reason = more;
	r->room = room;
	return 0;
}

void dt_reasons_add(struct dt_reasons *r, uint32_t function, uint32_t error)
{
	const struct dt_reason key = {function, error, 1};
	uint32_t words[] = {function, error};
	uint32_t hash = dt_first_hash(0, (const char *)words, sizeof(words));
	struct dt_first_entry *x;

	if (r->no_memory || grow(r)) {
		r->no_memory = true;
		return;
	}
	x = dt_first_find(&r->first, hash, is_same, r, &key);
	if (x->id) {
		r->reason[x->id - 1].calls++;
		return;
	}
	r->reason[r->n++] = key;
	dt_first_put(&r->first, x, (uint32_t)r->n, hash);
}

/* Puts functions in order, and those of a function with most calls first. */
static int compare(const void *a, const void *b)
{
	const struct dt_reason *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x->error < y->error ? -1 : x->error > y->error;
}

void dt_reasons_sort(struct dt_reasons *r)
{
	if (r->n)
		qsort(r->reason, r->n, sizeof(*r->reason), compare);
}

/* Returns the index of the first reason of a function, if it has any. */
static size_t first_of(const struct dt_reasons *r, uint32_t function)
{
	return dt_count_before(r->n, i, r->reason[i].function < function);
}

void dt_reasons_print(const struct dt_reasons *r, uint32_t function)
{
	const char *separator = ": ";

	for (size_t i = first_of(r, function); i < r->n && r->reason[i].function == function; i++) {
		const struct dt_reason *x = &r->reason[i];
		const char *name = dt_failure_name(x->error);

		printf("%s%llu ", separator, (unsigned long long)x->calls);
		if (name)
			printf("%s", name);
		else if (x->error)
			printf("errno %u", x->error);
		else
			printf("for a reason that is not known");
		separator = ", ";
	}
}

void dt_reasons_json(const struct dt_reasons *r, uint32_t function)
{
	const char *separator = "";

	printf(", \"errors\": {");
	for (size_t i = first_of(r, function); i < r->n && r->reason[i].function == function; i++) {
		const struct dt_reason *x = &r->reason[i];
		const char *name = dt_failure_name(x->error);

		if (name || !x->error)
			printf("%s\"%s\": %llu", separator, name ? name : "",
			       (unsigned long long)x->calls);
		else
			printf("%s\"%u\": %llu", separator, x->error, (unsigned long long)x->calls);
		separator = ", ";
	}
	putchar('}');
}

void dt_reasons_free(struct dt_reasons *r)
{
	free(r->reason);
	free(r->first.entry);
	*r = (struct dt_reasons){0};
}
