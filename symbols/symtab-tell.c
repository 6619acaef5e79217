/* SPDX-License-Identifier: MIT */
#include "symbols/symtab-tell.h"

#include <stdlib.h>
#include <string.h>

#include "elf/debug-cache.h"
#include "symbols/code-apart.h"
#include "symbols/dwarf.h"
#include "symbols/symtab-question.h"
#include "symbols/symtab-work.h"

/* Bytes that are put one after the other. */
struct pool {
	char *p;
	size_t n, room;
	bool failed;
};

static void *add(struct pool *o, const void *bytes, size_t n)
{
	if (o->n + n > o->room) {
		size_t room = 2 * (o->n + n) + 4096;
		char *more = realloc(o->p, room);

		if (!more) {
			o->failed = true;
			return NULL;
		}
		o->p = more;
		o->room = room;
	}
	memcpy(o->p + o->n, bytes, n);
	o->n += n;
	return o->p + o->n - n;
}

static uint32_t add_text(struct pool *o, const char *text)
{
	size_t at = o->n;

	return add(o, text, strlen(text) + 1) && at < DT_TOLD_MOST ? (uint32_t)at : DT_TOLD_SAME;
}

/* Makes an answer of both pools, one after the other, and frees them. */
static struct dt_told told_pools(int64_t result, struct pool *first, struct pool *second)
{
	struct dt_told told = {result, NULL, 0};

	if (second->n)
		add(first, second->p, second->n);
	add(first, "", 1);
	if (!first->failed && !second->failed)
		told = (struct dt_told){result, first->p, first->n - 1};
	else
		free(first->p);
	free(second->p);
	return told;
}

static struct dt_told told(int64_t result, const void *bytes, size_t n)
{
	struct pool one = {0}, none = {0};

	if (n)
		add(&one, bytes, n);
	return told_pools(result, &one, &none);
}

static struct dt_told tell_all(struct dt_symtab *t)
{
	struct dt_told_all head = {.functions = t->functions, .aliases = t->aliases};
	struct pool out = {0}, text = {0};

	dt_format(head.build_id, sizeof(head.build_id), "%s", t->main.build_id);
	head.named = t->named_whole;
	if (!dt_symtab_lacks(t, head.lacks))
		head.lacks[0] = '\0';
	add(&out, &head, sizeof(head));
	for (size_t i = 0; i < t->functions; i++) {
		const struct dt_function *f = &t->function[i];
		const struct dt_told_function one = {f->address, f->size,
						     add_text(&text, f->linkage),
						     f->label | f->start << 1 | f->go << 2};

		add(&out, &one, sizeof(one));
	}
	for (size_t i = 0; i < t->aliases; i++) {
		const struct dt_told_alias one = {t->alias[i].address,
						  add_text(&text, t->alias[i].linkage), 0};

		add(&out, &one, sizeof(one));
	}
	if (!out.failed)
		((struct dt_told_all *)(void *)out.p)->text = text.n;
	return told_pools(0, &out, &text);
}

struct naming {
	struct pool at, text;
	const char *last; /* the linkage name passed last */
};

/*
 * Takes a name of an alias. Each alias is passed with its linkage name, and again with its
 * demangled name if it has one.
 */
static void name_alias(void *ctx, uint64_t address, const char *name)
{
	struct naming *n = ctx;
	uint32_t at = DT_TOLD_SAME;

	if (n->last) { /* the demangled name of that alias */
		at = add_text(&n->text, name);
		memcpy(n->at.p + n->at.n - sizeof(at), &at, sizeof(at));
		n->last = NULL;
		return;
	}
	add(&n->at, &at, sizeof(at));
	n->last = name;
}

static struct dt_told tell_names(struct dt_symtab *t)
{
	struct naming n = {0};
	size_t functions;
	const struct dt_function *f = dt_symtab_functions(t, &functions);

	for (size_t i = 0; i < functions; i++) {
		uint32_t at =
			f[i].full == f[i].linkage ? DT_TOLD_SAME : add_text(&n.text, f[i].full);

		add(&n.at, &at, sizeof(at));
	}
	for (size_t i = 0; i < t->aliases && !n.at.failed; i++) {
		struct dt_symtab one = {
			.alias = &t->alias[i], .aliases = 1, .channel = -1, .kept = t->kept};

		n.last = NULL;
		dt_symtab_aliases(&one, name_alias, &n);
		t->kept = one.kept;
	}
	return told_pools(0, &n.at, &n.text);
}

static const struct dt_function *function_at(struct dt_symtab *t, uint64_t address)
{
	const struct dt_function *f = dt_symtab_find(t, address);

	return f && f->address == address ? f : NULL;
}

static struct dt_told tell_name(struct dt_symtab *t, uint64_t address)
{
	const struct dt_function *f = function_at(t, address);
	bool other = f && f->full != f->linkage;

	return told(other, other ? f->full : "", other ? strlen(f->full) : 0);
}

/*
 * Answers with the line and also the signature, as the code that describes a function asks for that
 * next.
 */
static struct dt_told tell_line(struct dt_symtab *t, uint64_t address)
{
	const struct dt_function *f = function_at(t, address);
	char text[2 * DT_TOLD_ONE] = "";
	const char *file = "";
	unsigned line = 0;
	bool known;
	size_t n;

	if (!dt_symtab_has_debug(t))
		return told(DT_TOLD_BARE, "", 0);
	known = dt_symtab_line(t, address, &file, &line) && file;
	n = dt_format(text, DT_TOLD_ONE, "%s", known ? file : "");
	if (n >= DT_TOLD_ONE)
		n = DT_TOLD_ONE - 1;
	if (f)
		dt_symtab_described(t, f, text + n + 1, DT_TOLD_ONE);
	return told(known ? (int64_t)line : -1, text, n + 1 + strlen(text + n + 1));
}

static struct dt_told tell_address(struct dt_symtab *t, unsigned line, const char *file, size_t n)
{
	uint64_t address = 0;
	bool known = dt_symtab_address(t, file, n, line, &address);

	return told(known, &address, sizeof(address));
}

static struct dt_told tell_signature(struct dt_symtab *t, const struct dt_apart_ask *a)
{
	const struct dt_function *f = function_at(t, a->number[0]);
	char text[DT_TOLD_ONE] = "";

	if (f && a->number[1] == DT_SIGNATURE_PLAIN)
		dt_symtab_signature(t, f, text, sizeof(text));
	else if (f && a->number[1] == DT_SIGNATURE_KEYS)
		dt_symtab_described(t, f, text, sizeof(text));
	else if (f)
		dt_symtab_places(t, f, text, sizeof(text));
	return told(0, text, strlen(text));
}

static struct dt_told tell_type(struct dt_symtab *t, uint64_t key, uint64_t bytes)
{
	size_t size = bytes < DT_TOLD_ONE ? (size_t)bytes : DT_TOLD_ONE;
	char text[DT_TOLD_ONE] = "";
	bool known = dt_symtab_type(t, key, text, size);

	return told(known, text, known ? strlen(text) : 0);
}

static struct dt_told tell_object(struct dt_symtab *t, uint64_t address)
{
	const struct dt_object *o = dt_symtab_object(t, address);
	struct dt_told_object one = {0};
	struct pool out = {0}, text = {0};

	if (o) {
		one = (struct dt_told_object){o->address, o->size};
		add_text(&text, o->name);
	}
	add(&out, &one, sizeof(one));
	return told_pools(o != NULL, &out, &text);
}

static struct dt_told tell_variable(struct dt_symtab *t, uint64_t address, const char *expression)
{
	struct dt_variable v = {.type = ""};
	struct dt_error e = {""};

	if (dt_variable_find(t, address, expression, &v, &e) < 0)
		return told(-1, e.text, strlen(e.text));
	v.item.from.symbol = NULL; /* a pointer into this process's memory */
	return told(0, &v, sizeof(v));
}

static struct dt_told tell_tried(void)
{
	const struct dt_symfile_tried *t = dt_symfile_tries;
	struct pool out = {0}, none = {0};

	for (size_t i = 0; t && i < t->n; i++) {
		add(&out, t->there[i] ? "\1" : "", 1);
		add_text(&out, t->path[i]);
	}
	return told_pools(t && !t->spoiled ? 0 : -1, &out, &none);
}

static struct dt_told tell_unwind(struct dt_symtab *t, uint64_t address)
{
	struct dt_unwind_row row = {.start = 0};
	int result = dt_symtab_unwind(t, address, &row);

	return told(result, &row, sizeof(row));
}

struct dt_told dt_symtab_told(struct dt_symtab *t, const struct dt_apart_ask *a, const char *more)
{
	switch (a->what) {
	case DT_ASK_ALL:
		return tell_all(t);
	case DT_ASK_NAMES:
		return tell_names(t);
	case DT_ASK_NAME:
		return tell_name(t, a->number[0]);
	case DT_ASK_LINE:
		return tell_line(t, a->number[0]);
	case DT_ASK_ADDRESS:
		return tell_address(t, (unsigned)a->number[0], more, a->bytes);
	case DT_ASK_SIGNATURE:
		return tell_signature(t, a);
	case DT_ASK_TYPE:
		return tell_type(t, a->number[0], a->number[1]);
	case DT_ASK_OBJECT:
		return tell_object(t, a->number[0]);
	case DT_ASK_VARIABLE:
		return tell_variable(t, a->number[0], more);
	case DT_ASK_CODE:
		return dt_code_told(t->main.fd, t->main.path, t);
	case DT_ASK_TRIED:
		return tell_tried();
	case DT_ASK_UNWIND:
		return tell_unwind(t, a->number[0]);
	default:
		return (struct dt_told){0, NULL, 0};
	}
}

void dt_symtab_tell(int channel, const struct dt_apart_file *file)
{
	struct dt_symfile_tried tried = {.n = 0};
	struct dt_error e = {""};
	struct dt_apart_ask ask;
	struct dt_symtab *t;
	char *more;
	bool ok = true;

	/* it may not look for files, nor ask for them, but gets them */
	dt_debug_cache_off = true;
	dt_symtab_fetches = NULL;
	_Static_assert(DT_SYMFILE_HANDED == DT_APART_HANDED, "as many as are handed over");
	memcpy(dt_symfile_handed, file->handed, sizeof(dt_symfile_handed));
	dt_symfile_tries = &tried;
	t = dt_symtab_open_file(file->fd, file->path, NULL, &e);
	while (ok && (more = dt_apart_next(channel, &ask))) {
		struct dt_told one =
			t ? dt_symtab_told(t, &ask, more) : told(-1, e.text, strlen(e.text));

		ok = one.text && dt_apart_tell(channel, one.result, one.text, one.bytes);
		free(one.text);
		free(more);
	}
	dt_symtab_close(t);
	dt_symfile_tries = NULL;
	dt_symfile_tried_free(&tried);
}
