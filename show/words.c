/* SPDX-License-Identifier: MIT */
/* Calls as text. */
#include "show/words.h"

#include "show/entry-records.h"

static char line[2 * DT_CALL_TEXT];

/* Reads the trace's tables again if they do not have the function: a live trace has gained it. */
static void look(struct dt_formats *f, uint32_t function)
{
	if (function && !dt_reader_function(f->reader, function))
		dt_reader_refresh((struct dt_reader *)(uintptr_t)f->reader, NULL);
}

void dt_words_call(struct dt_formats *f, struct dt_json *t, uint32_t function,
		   const uint64_t *argument)
{
	char *end;

	look(f, function);
	end = dt_format_call(f, line, function, argument);

	dt_json_bytes(t, line, (size_t)(end - line));
}

void dt_words_full(struct dt_formats *f, struct dt_json *t, uint32_t function,
		   const uint64_t *argument, const struct dt_full *full)
{
	char *end;

	look(f, function);
	end = dt_format_full(f, line, function, argument, full);
	dt_json_bytes(t, line, (size_t)(end - line));
}

struct filling {
	struct dt_fulls fulls; /* of a single call, with the id 1 */
	const struct dt_reader *reader;
	const uint64_t *argument;
};

static void fill_text(void *ctx, const struct dt_text *t)
{
	struct filling *f = ctx;

	dt_entry_records_text(&f->fulls, 1, f->reader, t, f->argument);
}

void dt_words_more(struct dt_formats *f, struct dt_json *t, uint32_t function,
		   const uint64_t *argument, const struct dt_more *more, size_t n)
{
	struct filling filling = {.reader = f->reader, .argument = argument};
	struct dt_texts texts = {.fn = fill_text, .ctx = &filling};
	const struct dt_full *full;
	char *end;

	look(f, function);
	for (size_t i = 0; i < n; i++) {
		const struct dt_site *site = dt_reader_site(f->reader, more[i].site);

		if (!dt_texts_take(&texts, site, &more[i].record))
			dt_entry_records_values(&filling.fulls, 1, f, site, &more[i].record,
						argument);
	}
	dt_texts_end(&texts);
	full = dt_full_of(&filling.fulls, 1);
	end = full ? dt_format_full(f, line, function, argument, full)
		   : dt_format_call(f, line, function, argument);
	dt_json_bytes(t, line, (size_t)(end - line));
	t->failed |= texts.failed || filling.fulls.failed;
	dt_fulls_free(&filling.fulls);
}

void dt_words_result(struct dt_formats *f, struct dt_json *t, uint32_t function,
		     const uint64_t *result)
{
	char *end = dt_format_outcome(f, line, function, result);

	dt_json_bytes(t, line, (size_t)(end - line));
}
