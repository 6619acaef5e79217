/* SPDX-License-Identifier: MIT */
/* The texts of calls; arguments that came in records after the entry are part of them. */
#include "library/calls-work.h"

#include <stdlib.h>

#include "sql/arguments.h"

void dt_library_calls_on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct devtrace_calls *c = ctx;

	(void)depth;
	dt_further_take(&c->further, s, i);
	c->failed |= dt_further_failed(&c->further);
}

static const uint64_t *arguments_of(const struct row *r)
{
	return r->call.argument ? r->argument : NULL;
}

const char *dt_library_calls_text(struct devtrace_calls *c, const struct row *r, size_t *n)
{
	uint32_t function = r->call.function;
	char *end;

	if (!c->text && !(c->text = malloc(2 * DT_CALL_TEXT + 1)))
		return NULL;
	end = r->full.n ? dt_format_full(&c->formats, c->text, function, arguments_of(r), &r->full)
			: dt_format_call(&c->formats, c->text, function, arguments_of(r));
	end = dt_format_outcome(&c->formats, end, function, r->call.result ? r->result : NULL);
	*end = '\0';
	*n = (size_t)(end - c->text);
	return c->text;
}

const char *dt_library_calls_named(struct devtrace_calls *c, const struct row *r, size_t *n)
{
	c->json.bytes.n = 0;
	c->json.failed = false;
	if (r->call.argument)
		dt_sql_call_arguments(&c->formats, &c->json, r->call.function, r->argument,
				      r->full.n ? &r->full : NULL);
	*n = c->json.bytes.n;
	dt_json_bytes(&c->json, "", 1);
	return c->json.failed ? NULL : (const char *)c->json.bytes.p;
}

PUBLIC const char *devtrace_calls_text(struct devtrace_calls *c)
{
	size_t n;

	return c->current && c->choice.flags & DEVTRACE_TEXTS
		       ? dt_library_calls_text(c, c->current, &n)
		       : "";
}

PUBLIC const char *devtrace_calls_arguments(struct devtrace_calls *c)
{
	size_t n;

	return c->current && c->choice.flags & DEVTRACE_TEXTS
		       ? dt_library_calls_named(c, c->current, &n)
		       : "";
}

void dt_library_calls_free_texts(struct devtrace_calls *c)
{
	dt_further_free(&c->further);
	dt_formats_free(&c->formats);
	free(c->json.bytes.p);
	free(c->text);
}
