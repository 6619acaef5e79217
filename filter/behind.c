/* SPDX-License-Identifier: MIT */
#include "filter/behind.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "core/signature.h"
#include "store/text-piece.h"

/* Adds one to the call's, if there is room; NULL: there is none. *failed: out of memory. */
static struct dt_behind *add(struct dt_behind **list, uint32_t *all, uint32_t function,
			     bool *failed)
{
	unsigned before = *list ? (*list)->before + 1u : 0;
	struct dt_behind *x;

	if (before >= DT_BEHIND_CALL || *all >= DT_BEHIND_MOST)
		return NULL;
	x = calloc(1, sizeof(*x));
	*failed = !x;
	if (!x)
		return NULL;
	x->function = function;
	x->before = (uint16_t)before;
	x->next = *list;
	++*all;
	return *list = x;
}

static bool take_text(struct dt_behind **list, uint32_t *all, const struct dt_store_place *at,
		      const uint64_t value[4], bool fault)
{
	size_t room, full, n;
	const char *bytes = dt_text_bytes(at->place, value, &room, &full);
	struct dt_behind *x = *list;
	bool failed = false;

	n = bytes ? strnlen(bytes, room) : 0;
	while (x && (x->is_values || x->function != at->function))
		x = x->next;
	if (!x) {
		if (!bytes || (!n && fault)) /* one that could not be read is none */
			return true;
		x = add(list, all, at->function, &failed);
		if (!x)
			return !failed;
	}
	if (x->ended)
		return true;
	x->ended = n < full;
	if (n > sizeof(x->bytes) - x->n)
		n = sizeof(x->bytes) - x->n;
	memcpy(x->bytes + x->n, bytes, n);
	x->n = (uint16_t)(x->n + n);
	return true;
}

bool dt_behind_take(struct dt_behind **list, uint32_t *all, const struct dt_store_place *at,
		    const uint64_t value[4], bool fault)
{
	struct dt_behind *x;
	bool failed = false;

	if (at->place != DT_SITE_POINT_MORE)
		return take_text(list, all, at, value, fault);
	x = add(list, all, at->function, &failed);
	if (x) {
		x->is_values = true;
		memcpy(x->value, value, sizeof(x->value));
	}
	return !failed;
}

void dt_behind_free(struct dt_behind **list, uint32_t *all)
{
	struct dt_behind *next;

	for (struct dt_behind *x = *list; x; x = next) {
		next = x->next;
		free(x);
		--*all;
	}
	*list = NULL;
}

static const char *signature_of(const struct dt_behind *x, const struct dt_meanings *m)
{
	const struct dt_function_info *f = m->function(m->ctx, x->function);

	return f ? f->signature : "";
}

const char *dt_behind_text(const struct dt_behind *list, const struct dt_meanings *m,
			   const char *name, size_t *n)
{
	size_t length = strlen(name);

	for (const struct dt_behind *x = list; x; x = x->next) {
		struct dt_signature_value v;

		/* what is no text are bytes whose meaning is not known here: addresses, streams */
		if (!x->is_values && dt_signature_parameter(signature_of(x, m), 0, &v) &&
		    v.type.letter == 's' && v.name_length == length &&
		    !strncmp(v.name, name, length)) {
			*n = x->n;
			return x->bytes;
		}
	}
	return NULL;
}

int dt_behind_matches(const struct dt_behind *list, const struct dt_meanings *m, const char *name,
		      const char *pattern)
{
	char line[DT_BEHIND_TEXT + 1];
	size_t n = 0;
	const char *text = dt_behind_text(list, m, name, &n);

	if (!text)
		return -1;
	memcpy(line, text, n);
	line[n] = '\0';
	return fnmatch(pattern, line, 0) == 0;
}

bool dt_behind_number(const struct dt_behind *list, const struct dt_meanings *m, const char *name,
		      struct dt_call_number *n)
{
	const struct dt_call_operand o = {.what = DT_OPERAND_NAMED, .name = name};
	struct dt_call_operand_place place;

	for (const struct dt_behind *x = list; x; x = x->next) {
		if (!x->is_values)
			continue;
		dt_operand_find(&place, signature_of(x, m), &o);
		if (dt_operand_number(&place, x->value, n))
			return true;
	}
	return false;
}
