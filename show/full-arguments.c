/* SPDX-License-Identifier: MIT */
/* Values that are kept for the line of their call. */
#include "show/full-arguments.h"

#include <stdlib.h>
#include <string.h>

static struct dt_full *find(const struct dt_fulls *f, uint64_t call)
{
	for (size_t i = f->n; i-- > 0;)
		if (f->full[i].call == call)
			return &f->full[i];
	return NULL;
}

static struct dt_full *new_full(struct dt_fulls *f, uint64_t call)
{
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 16;
		struct dt_full *more = realloc(f->full, room * sizeof(*more));

		if (!more)
			return NULL;
		f->full = more;
		f->room = room;
	}
	f->full[f->n] = (struct dt_full){.call = call};
	return &f->full[f->n++];
}

static bool make_room(struct dt_full *x, size_t size)
{
	size_t room = 2 * (x->n + size);
	char *more;

	if (x->n + size <= x->room)
		return true;
	more = realloc(x->text, room);
	if (!more)
		return false;
	x->text = more;
	x->room = room;
	return true;
}

/* Tells whether the last value that was added has that name, and is a structure. */
static bool ends_with_structure(const struct dt_full *x, const char *name, size_t n)
{
	const char *p = x->text, *last = NULL;

	for (const char *value; p < x->text + x->n; p = value + strlen(value) + 1) {
		last = p;
		value = p + strlen(p) + 1;
	}
	return last && x->n > 2 && x->text[x->n - 2] == '}' && strlen(last) == n &&
	       memcmp(last, name, n) == 0;
}

/* Appends two pieces of text, and a NUL, to the last value. */
static void append(struct dt_fulls *f, struct dt_full *x, const char *a, size_t a_n, const char *b,
		   size_t b_n)
{
	if (!make_room(x, a_n + b_n + 1)) {
		f->failed = true;
		return;
	}
	memcpy(x->text + x->n, a, a_n);
	memcpy(x->text + x->n + a_n, b, b_n);
	x->n += a_n + b_n;
	x->text[x->n++] = '\0';
}

void dt_full_add(struct dt_fulls *f, uint64_t call, const char *name, size_t name_n,
		 const char *value, size_t n)
{
	struct dt_full *x = find(f, call);
	size_t size;

	/* further members of a structure of which some have been added: "{a=1" and ", b=2}" */
	if (x && n > 2 && value[0] == '{' && x->n + n + 2 <= DT_FULL_TEXT &&
	    ends_with_structure(x, name, name_n)) {
		x->n -= 2;
		value++;
		n--;
		append(f, x, ", ", 2, value, n);
		return;
	}
	if (!x)
		x = new_full(f, call);
	if (x && x->n + name_n + n + 2 > DT_FULL_TEXT) {
		value = "...";
		n = 3;
	}
	size = name_n + n + 2;
	if (!x || !make_room(x, size)) {
		f->failed = true;
		return;
	}
	memcpy(x->text + x->n, name, name_n);
	x->text[x->n + name_n] = '\0';
	memcpy(x->text + x->n + name_n + 1, value, n);
	x->text[x->n + size - 1] = '\0';
	x->n += size;
}

const struct dt_full *dt_full_of(const struct dt_fulls *f, uint64_t call)
{
	return find(f, call);
}

const char *dt_full_value(const struct dt_full *f, const char *name, size_t n)
{
	const char *found = NULL;

	for (const char *p = f->text, *value; p && p < f->text + f->n;
	     p = value + strlen(value) + 1) {
		value = p + strlen(p) + 1;
		if (strlen(p) == n && memcmp(p, name, n) == 0)
			found = value;
	}
	return found;
}

struct dt_full dt_full_take(struct dt_fulls *f, uint64_t call)
{
	struct dt_full *x = find(f, call), taken = {0};

	if (x) {
		taken = *x;
		memmove(x, x + 1, (size_t)(f->full + f->n - (x + 1)) * sizeof(*x));
		f->n--;
	}
	return taken;
}

void dt_full_forget(struct dt_fulls *f, uint64_t call)
{
	free(dt_full_take(f, call).text);
}

void dt_fulls_free(struct dt_fulls *f)
{
	while (f->n)
		free(f->full[--f->n].text);
	free(f->full);
	*f = (struct dt_fulls){0};
}
