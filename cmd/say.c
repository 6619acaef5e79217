/* SPDX-License-Identifier: MIT */
/* Calls as text. */
#include "cmd/say.h"

static char line[2 * DT_CALL_TEXT];

/* A function that the trace has gained since it was opened. */
static void look(struct dt_formats *f, uint32_t function)
{
	if (function && !dt_reader_function(f->reader, function))
		dt_reader_refresh((struct dt_reader *)(uintptr_t)f->reader, NULL);
}

void dt_say_call(void *ctx, struct dt_json *t, uint32_t function, const uint64_t *argument)
{
	char *end;

	look(ctx, function);
	end = dt_format_call(ctx, line, function, argument);

	dt_json_bytes(t, line, (size_t)(end - line));
}

void dt_say_result(void *ctx, struct dt_json *t, uint32_t function, const uint64_t *result)
{
	char *end = dt_format_result(ctx, line, function, result);

	dt_json_bytes(t, line, (size_t)(end - line));
}

void dt_say_each(void *ctx, uint32_t function, const uint64_t *value, bool faults,
		 void (*fn)(void *to, const char *name, size_t n, const char *text, size_t length),
		 void *to)
{
	dt_format_each(ctx, function, value, faults, fn, to);
}
