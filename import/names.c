/* SPDX-License-Identifier: MIT */
#include "import/names.h"

#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The tree's keys are pointers to texts; a text in it lies within its struct. */
static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static struct dt_name_text *make(struct dt_name_list *l, const char *text)
{
	size_t length = strlen(text);
	struct dt_name_text *t = malloc(sizeof(*t) + length + 1);

	if (!t)
		return NULL;
	t->number = l->n;
	memcpy(t->text, text, length + 1);
	return t;
}

int64_t dt_name_number(struct dt_name_list *l, const char *text, struct dt_error *e)
{
	char *const *found = tfind(text, &l->root, compare);
	struct dt_name_text *t;

	if (found)
		return ((struct dt_name_text *)(*found - offsetof(struct dt_name_text, text)))
			->number;
	if (l->n == l->size) {
		uint32_t size = l->size ? l->size * 2 : 64;
		struct dt_name_text **at =
			size > l->size ? realloc(l->at, size * sizeof(*at)) : NULL;

		if (!at)
			return dt_fail(e, "out of memory");
		l->at = at;
		l->size = size;
	}
	t = make(l, text);
	if (!t || !tsearch(t->text, &l->root, compare)) {
		free(t);
		return dt_fail(e, "out of memory");
	}
	l->at[l->n++] = t;
	return t->number;
}

int64_t dt_name_pair(struct dt_name_list *l, const char *a, const char *b, struct dt_error *e)
{
	int first = (int)strcspn(a, "\n");
	size_t size = (size_t)first + strlen(b) + 2;
	char *text = malloc(size);
	int64_t number;

	if (!text)
		return dt_fail(e, "out of memory");
	dt_format(text, size, "%.*s\n%s", first, a, b);
	number = dt_name_number(l, text, e);
	free(text);
	return number;
}

static void keep(void *text)
{
	(void)text;
}

void dt_name_list_free(struct dt_name_list *l)
{
	tdestroy(l->root, keep);
	for (uint32_t i = 0; i < l->n; i++)
		free(l->at[i]);
	free(l->at);
	*l = (struct dt_name_list){0};
}
