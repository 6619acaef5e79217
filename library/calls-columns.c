/* SPDX-License-Identifier: MIT */
/* Calls by columns, many at a time: for callers to whom each call of a function costs much. */
#include "library/calls-work.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK (1u << 20)
#define TEXTS_MAX                                                                                  \
	(64u << 20) /* bytes of texts at a time: then fewer rows than asked for are filled */

static size_t texts_used(const struct devtrace_calls *c)
{
	size_t n = 0;

	for (const struct block *b = c->block; b; b = b->next)
		n += b->size;
	return n;
}

void dt_library_calls_forget_texts(struct devtrace_calls *c)
{
	while (c->block) {
		struct block *next = c->block->next;

		free(c->block);
		c->block = next;
	}
}

/* Keeps a text of n bytes until the next fill. NULL: out of memory. */
static const char *keep(struct devtrace_calls *c, const char *text, size_t n)
{
	struct block *b = c->block;
	char *to;

	if (!text)
		return NULL;
	if (!b || b->size - b->used < n + 1) {
		size_t size = n + 1 > BLOCK ? n + 1 : BLOCK;

		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct block){.next = c->block, .size = size};
		c->block = b;
	}
	to = b->bytes + b->used;
	memcpy(to, text, n);
	to[n] = '\0';
	b->used += n + 1;
	return to;
}

/* Fills a column with one member of struct dt_call. */
#define MEMBER(type, expression)                                                                   \
	do {                                                                                       \
		type *to = (type *)column->at + at;                                                \
		for (size_t i = 0; i < n; i++) {                                                   \
			const struct row *r = &row[i];                                             \
			const struct dt_call *x = &r->call;                                        \
			(void)x;                                                                   \
			to[i] = (expression);                                                      \
		}                                                                                  \
	} while (0)

static void fill_values(uint64_t (*to)[4], const struct row *row, size_t n, bool results)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &row[i];
		const uint64_t *from = results ? r->result : r->argument;

		if (results ? r->call.result != NULL : r->call.argument != NULL)
			memcpy(to[i], from, sizeof(to[i]));
		else
			memset(to[i], 0, sizeof(to[i]));
	}
}

static int fill_texts(struct devtrace_calls *c, const char **to, const struct row *row, size_t n,
		      bool named)
{
	for (size_t i = 0; i < n; i++) {
		const char *text = "";
		size_t length = 0;

		if (c->choice.flags & DEVTRACE_TEXTS)
			text = named ? dt_library_calls_named(c, &row[i], &length)
				     : dt_library_calls_text(c, &row[i], &length);
		to[i] = keep(c, text, length);
		if (!to[i])
			return -1;
	}
	return 0;
}

/* Fills a column of numbers from element `at' on with n rows. False: it is none of these. */
static bool fill_numbers(struct devtrace_calls *c, const struct devtrace_column *column, size_t at,
			 const struct row *row, size_t n)
{
	switch (column->which) {
	case DEVTRACE_COLUMN_ID:
		MEMBER(uint64_t, x->id);
		return true;
	case DEVTRACE_COLUMN_PARENT:
		MEMBER(uint64_t, x->parent);
		return true;
	case DEVTRACE_COLUMN_BEGIN_TICKS:
		MEMBER(uint64_t, x->begin);
		return true;
	case DEVTRACE_COLUMN_END_TICKS:
		MEMBER(uint64_t, x->end);
		return true;
	case DEVTRACE_COLUMN_THREAD:
		MEMBER(uint32_t, x->tid);
		return true;
	case DEVTRACE_COLUMN_PROCESS:
		MEMBER(uint32_t, dt_library_calls_process(c, x->tid));
		return true;
	case DEVTRACE_COLUMN_FUNCTION:
		MEMBER(uint32_t, x->function);
		return true;
	case DEVTRACE_COLUMN_DEPTH:
		MEMBER(uint32_t, x->depth);
		return true;
	case DEVTRACE_COLUMN_FLAGS:
		MEMBER(uint32_t, x->flags);
		return true;
	case DEVTRACE_COLUMN_CORE:
		MEMBER(uint16_t, r->core);
		return true;
	default:
		return false;
	}
}

static int fill(struct devtrace_calls *c, const struct devtrace_column *column, size_t at,
		const struct row *row, size_t n)
{
	switch (column->which) {
	case DEVTRACE_COLUMN_BEGIN_NS:
		MEMBER(int64_t, dt_library_calls_begin(c, x));
		return 0;
	case DEVTRACE_COLUMN_END_NS:
		MEMBER(int64_t, dt_library_calls_end(c, x));
		return 0;
	case DEVTRACE_COLUMN_DURATION_NS:
		MEMBER(double, dt_library_calls_duration(c, x));
		return 0;
	case DEVTRACE_COLUMN_SELF_NS:
		MEMBER(double, dt_library_calls_self(c, x));
		return 0;
	case DEVTRACE_COLUMN_ARGUMENTS_KNOWN:
		MEMBER(uint8_t, x->argument ? dt_library_calls_known(c, x->entry) : 0);
		return 0;
	case DEVTRACE_COLUMN_RESULTS_KNOWN:
		MEMBER(uint8_t, x->result ? dt_library_calls_known(c, x->exit) : 0);
		return 0;
	case DEVTRACE_COLUMN_ARGUMENT:
	case DEVTRACE_COLUMN_RESULT:
		fill_values((uint64_t(*)[4])column->at + at, row, n,
			    column->which == DEVTRACE_COLUMN_RESULT);
		return 0;
	case DEVTRACE_COLUMN_TEXT:
	case DEVTRACE_COLUMN_ARGUMENTS_TEXT:
		return fill_texts(c, (const char **)column->at + at, row, n,
				  column->which == DEVTRACE_COLUMN_ARGUMENTS_TEXT);
	default:
		return fill_numbers(c, column, at, row, n) ? 0 : 1;
	}
}

/* Says which of the columns is none; 0: all are known. */
static int check(const struct devtrace_column *column, unsigned columns, struct dt_error *e)
{
	for (unsigned i = 0; i < columns; i++)
		if (column[i].which < DEVTRACE_COLUMN_ID ||
		    column[i].which > DEVTRACE_COLUMN_ARGUMENTS_TEXT || !column[i].at)
			return dt_fail(e,
				       "column %u is none that this version of libdevtrace has, or "
				       "has no array",
				       i);
	return 0;
}

PUBLIC int64_t devtrace_calls_fill(struct devtrace_calls *c, const struct devtrace_column *column,
				   unsigned columns, size_t rows, uint32_t *flags,
				   struct devtrace_error *e)
{
	bool texts = c->choice.flags & DEVTRACE_TEXTS;
	struct dt_error why = {""};
	size_t filled = 0;
	uint32_t all = 0;
	int rc = 1;

	c->current = NULL;
	dt_library_calls_forget_texts(c);
	if (check(column, columns, &why))
		return dt_library_fail(e, &why);
	while (filled < rows && (!texts || texts_used(c) < TEXTS_MAX) &&
	       (rc = dt_library_calls_more(c)) > 0) {
		const struct row *row = &c->row[c->first];
		size_t n = c->n - c->first < rows - filled ? c->n - c->first : rows - filled;

		/* each may have a long text */
		n = texts && n > 64 ? 64 : n;
		for (unsigned i = 0; i < columns; i++) {
			if (fill(c, &column[i], filled, row, n) == 0)
				continue;
			dt_fail(&why, "out of memory");
			return dt_library_fail(e, &why);
		}
		for (size_t i = 0; i < n; i++)
			all |= row[i].call.flags |
			       (dt_library_calls_process(c, row[i].call.tid) == DEVTRACE_NONE
					? DEVTRACE_SOME_UNKNOWN
					: 0);
		c->first += n;
		filled += n;
	}
	/* what has been filled is given first; the error comes again */
	if (rc < 0 && !filled)
		return dt_library_fail(e, &c->why);
	if (flags)
		*flags = all;
	return (int64_t)filled;
}
