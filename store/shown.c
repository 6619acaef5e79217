/* SPDX-License-Identifier: MIT */
/*
 * Functions of one name are in a list that begins at the name's slot. While all of them are in the
 * same file, the list's first one stands for that file, so adding a function compares two paths
 * only.
 */
#include "store/shown.h"

#include <stdlib.h>
#include <string.h>

#include "core/plain.h"
#include "symbols/pattern.h"

struct dt_shown_function {
	uint64_t hash;	/* of its name */
	uint32_t next;	/* the one before it with its name; 0: none */
	uint32_t last;	/* of the first one in a slot: the latest with its name */
	bool ambiguous; /* of the first one in a slot: the others are in several files */
};

static struct dt_function_info *function_of(const struct dt_shown_rows *t, uint32_t row)
{
	return &t->function[row - 1];
}

/* NULL: the file is not known. */
static const struct dt_module_info *module_of(const struct dt_shown_rows *t, uint32_t row)
{
	uint32_t module = function_of(t, row)->module;

	return module ? &t->module[module - 1] : NULL;
}

static bool is_same_file(const struct dt_shown_rows *t, uint32_t a, uint32_t b)
{
	const struct dt_module_info *x = module_of(t, a), *y = module_of(t, b);

	return x == y || (x && y && !strcmp(x->path, y->path));
}

/* ---- modules ---- */

static int by_file(const void *a, const void *b, void *rows)
{
	const struct dt_shown_rows *t = rows;
	const struct dt_module_info *x = &t->module[*(const uint32_t *)a],
				    *y = &t->module[*(const uint32_t *)b];
	int order;

	order = strcmp(x->file, y->file);
	return order ? order : strcmp(x->path, y->path);
}

/* Finds the modules whose name another one has, too. Returns -1 when out of memory. */
static int find_clashes(struct dt_shown *s, const struct dt_shown_rows *t)
{
	const struct dt_module_info *m = t->module;
	size_t n = t->modules, end;
	uint32_t *row;
	bool *clash;

	if (s->modules == n)
		return 0;
	row = malloc(n * sizeof(*row));
	clash = row ? realloc(s->clash, n * sizeof(*clash)) : NULL;
	if (!clash) {
		free(row);
		return -1;
	}
	s->clash = clash;
	for (size_t i = 0; i < n; i++)
		row[i] = (uint32_t)i;
	qsort_r(row, n, sizeof(*row), by_file, (void *)(uintptr_t)t);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && !strcmp(m[row[i]].file, m[row[end]].file);)
			end++;
		for (size_t k = i; k < end; k++)
			s->clash[row[k]] = strcmp(m[row[i]].path, m[row[end - 1]].path) != 0;
	}
	s->modules = n;
	free(row);
	return 0;
}

/* ---- names ---- */

static uint64_t hash_of(const struct dt_shown *s, const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull ^ s->seed; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ull;
	return h ^ h >> 32;
}

static int grow(struct dt_shown *s)
{
	size_t n = s->slots ? 2 * s->slots : 1024;
	uint32_t *slot = calloc(n, sizeof(*slot));

	if (!slot)
		return -1;
	for (size_t i = 0; i < s->slots; i++) {
		size_t k;

		if (!s->slot[i])
			continue;
		k = s->function[s->slot[i]].hash & (n - 1);
		while (slot[k])
			k = (k + 1) & (n - 1);
		slot[k] = s->slot[i];
	}
	free(s->slot);
	s->slot = slot;
	s->slots = n;
	return 0;
}

/* Returns the slot of the function's name, which is free if the name is new. */
static uint32_t *slot_of(const struct dt_shown *s, const struct dt_shown_rows *t, uint32_t row)
{
	size_t k = s->function[row].hash & (s->slots - 1);

	for (; s->slot[k]; k = (k + 1) & (s->slots - 1))
		if (s->function[s->slot[k]].hash == s->function[row].hash &&
		    !strcmp(function_of(t, s->slot[k])->name, function_of(t, row)->name))
			break;
	return &s->slot[k];
}

/* Returns "module:name" as plain text; NULL: out of memory. */
static const char *join(struct dt_shown *s, const char *module, const char *name)
{
	size_t m = strlen(module), n = strlen(name), plain;
	char *both = malloc(m + n + 2), *text = NULL;

	if (!both)
		return NULL;
	if (s->texts == s->text_room) {
		size_t room = s->text_room ? 2 * s->text_room : 64;
		char **more = realloc(s->text, room * sizeof(*more));

		if (!more)
			goto out;
		s->text = more;
		s->text_room = room;
	}
	memcpy(both, module, m);
	both[m] = ':';
	memcpy(both + m + 1, name, n + 1);
	plain = dt_plain(NULL, both, m + n + 1);
	text = malloc(plain + 1);
	if (!text)
		goto out;
	dt_plain(text, both, m + n + 1);
	text[plain] = '\0';
	s->text[s->texts++] = text;
out:
	free(both);
	return text;
}

/* Has the function shown with its module. Returns -1 when out of memory. */
static int tell_module(struct dt_shown *s, const struct dt_shown_rows *t, uint32_t row)
{
	struct dt_function_info *f = function_of(t, row);
	const struct dt_module_info *m = module_of(t, row);
	const char *shown;

	if (!m || f->shown != f->name)
		return 0;
	if (find_clashes(s, t))
		return -1;
	shown = join(s, s->clash[f->module - 1] ? m->path : m->file, f->name);
	f->shown = shown ? shown : f->name;
	return shown ? 0 : -1;
}

static int add(struct dt_shown *s, const struct dt_shown_rows *t, uint32_t row)
{
	struct dt_shown_function *x = &s->function[row], *first;
	const char *name = function_of(t, row)->name;
	uint32_t *slot;

	/* USDT probes are called by their providers already */
	if (!*name || dt_pattern_prefix_end(name))
		return 0;
	if (2 * s->names >= s->slots && grow(s))
		return -1;
	x->hash = hash_of(s, name);
	if (t->second && row >= t->second)
		x->hash = ~x->hash;
	slot = slot_of(s, t, row);
	if (!*slot) {
		*slot = x->last = row;
		s->names++;
		return 0;
	}
	first = &s->function[*slot];
	x->next = first->last;
	first->last = row;
	if (first->ambiguous)
		return tell_module(s, t, row);
	if (is_same_file(t, *slot, row))
		return 0;
	first->ambiguous = true;
	for (uint32_t i = row; i; i = s->function[i].next)
		if (tell_module(s, t, i))
			return -1;
	return 0;
}

int dt_shown_update(struct dt_shown *s, const struct dt_shown_rows *t)
{
	size_t n = t->functions + 1; /* row 0 is none */

	if (n > s->room) {
		size_t room = n + n / 2 + 64;
		struct dt_shown_function *more = realloc(s->function, room * sizeof(*more));

		if (!more)
			return -1;
		memset(more + s->room, 0, (room - s->room) * sizeof(*more));
		s->function = more;
		s->room = room;
		s->seed = s->seed ? s->seed : (uintptr_t)more * 0x9e3779b97f4a7c15u;
	}
	for (size_t row = s->functions ? s->functions : 1; row < n; row++) {
		if (add(s, t, (uint32_t)row))
			return -1;
		s->functions = row + 1;
	}
	return 0;
}

void dt_shown_free(struct dt_shown *s)
{
	while (s->texts)
		free(s->text[--s->texts]);
	free(s->text);
	free(s->slot);
	free(s->function);
	free(s->clash);
}
