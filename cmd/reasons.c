/* SPDX-License-Identifier: MIT */
/* A function has few reasons, and they come again and again: the last ones are looked at first. */
#include "cmd/reasons.h"

#include <stdio.h>
#include <stdlib.h>

#include "show/failure.h"

void dt_reasons_add(struct dt_reasons *r, uint32_t function, uint32_t error)
{
	for (size_t i = r->n; i-- > 0;)
		if (r->reason[i].function == function && r->reason[i].error == error) {
			r->reason[i].calls++;
			return;
		}
	if (r->n == r->room) {
		size_t room = r->room ? 2 * r->room : 64;
		struct dt_reason *more = realloc(r->reason, room * sizeof(*more));

		if (!more) {
			r->no_memory = true;
			return;
		}
		r->reason = more;
		r->room = room;
	}
	r->reason[r->n++] = (struct dt_reason){function, error, 1};
}

static int by_calls(const void *a, const void *b)
{
	const struct dt_reason *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x->error < y->error ? -1 : x->error > y->error;
}

void dt_reasons_print(struct dt_reasons *r, uint32_t function)
{
	const char *separator = ": ";

	qsort(r->reason, r->n, r->n ? sizeof(*r->reason) : 1, by_calls);
	for (size_t i = 0; i < r->n; i++) {
		const struct dt_reason *x = &r->reason[i];
		const char *name = dt_failure_name(x->error);

		if (x->function != function)
			continue;
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

void dt_reasons_json(struct dt_reasons *r, uint32_t function)
{
	const char *separator = "";

	printf(", \"errors\": {");
	qsort(r->reason, r->n, r->n ? sizeof(*r->reason) : 1, by_calls);
	for (size_t i = 0; i < r->n; i++) {
		const struct dt_reason *x = &r->reason[i];
		const char *name = dt_failure_name(x->error);

		if (x->function != function)
			continue;
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
	*r = (struct dt_reasons){0};
}
