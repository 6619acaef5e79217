/* SPDX-License-Identifier: MIT */
/* Keeps what each function's signature says of its failures. */
#include "filter/failures.h"

#include <stdlib.h>
#include <string.h>

#include "core/failure.h"

struct dt_failing {
	bool known;
	struct dt_signature_value *result; /* NULL: nothing is said of failures */
};

static void read_result(struct dt_failures *f, uint32_t function, struct dt_failing *x)
{
	const struct dt_function_info *info = f->meanings.function(f->meanings.ctx, function);
	struct dt_signature_value v;

	x->known = true;
	if (!info || !dt_signature_result(info->signature, &v) || !v.failure.when)
		return;
	v.name = v.typed = ""; /* the signature's text may move */
	x->result = malloc(sizeof(v));
	if (x->result)
		*x->result = v;
	else
		f->no_memory = true;
}

static struct dt_failing *failing_of(struct dt_failures *f, uint32_t function)
{
	if (function >= f->functions) {
		uint32_t n = function + 1 + function / 2;
		struct dt_failing *more = realloc(f->function, n * sizeof(*more));

		if (!more) {
			f->no_memory = true;
			return NULL;
		}
		memset(more + f->functions, 0, (n - f->functions) * sizeof(*more));
		f->function = more;
		f->functions = n;
	}
	if (!f->function[function].known)
		read_result(f, function, &f->function[function]);
	return &f->function[function];
}

enum dt_outcome dt_failures_outcome(struct dt_failures *f, uint32_t function,
				    const uint64_t *result, uint32_t *error)
{
	const struct dt_failing *x = result ? failing_of(f, function) : NULL;

	*error = 0;
	if (!x || !x->result)
		return DT_OUTCOME_UNKNOWN;
	if (!dt_failure_is(x->result, result))
		return DT_OUTCOME_GOOD;
	*error = dt_failure_error(x->result, result);
	return DT_OUTCOME_FAILED;
}

void dt_failures_free(struct dt_failures *f)
{
	for (uint32_t i = 0; i < f->functions; i++)
		free(f->function[i].result);
	free(f->function);
	*f = (struct dt_failures){0};
}
