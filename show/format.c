/* SPDX-License-Identifier: MIT */
/* Printing calls. A signature is parsed once; printing a call is then copying and digits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/arch.h"
#include "show/format-work.h"
#include "show/failure.h"
#include "show/pointer.h"
#include "core/failure.h"
#include "core/text.h"

#define MAX_ITEMS     64    /* in a line: arguments (further ones are "..."), and the result */
#define MAX_SHAPES    8	    /* values in a line that are printed by their types' descriptions */
#define MAX_NAME      16384 /* longer names are cut */
#define MAX_SIGNATURE 8192  /* longer ones are ignored */

/* The same values come again and again, also in different functions: their text is kept. */
#define TEXTS 4096 /* a power of two */
#define KEPT  22   /* bytes of text */

struct dt_format_text {
	uint64_t value;
	char text[KEPT];
	uint8_t look; /* of the item */
	uint8_t n;    /* bytes of text; 0: none is kept, for the value has come only once */
};

_Static_assert(sizeof(struct dt_format_text) == 32, "two in a cache line");

/* Returns how a value of such a type is shown that takes up one of the record's values. */
static enum type shown_as(struct dt_signature_type t)
{
	switch (t.letter) {
	case 'i':
	case 'e':
		return SIGNED;
	case 'u':
		return UNSIGNED;
	case 'b':
		return BOOL;
	case 'c':
		return CHAR;
	case 'f':
		return t.size == 4 ? FLOAT : t.size == 8 ? DOUBLE : UNKNOWN;
	default:
		return POINTER;
	}
}

/* Returns where a value is and how it is to be shown. */
static struct dt_format_item item_of(const struct dt_signature_value *v)
{
	struct dt_format_item item = {.type = UNKNOWN, .size = 8, .second = NOWHERE};

	for (unsigned i = 0; i < v->places; i++)
		if (v->place[i].kind != DT_PLACE_VALUE || v->place[i].n > 3)
			return item;
	if (!dt_signature_whole(v))
		return item;
	item.place = (uint8_t)v->place[0].n;
	item.shape = v->type.row;
	item.size = v->type.size < 8 ? v->type.size : 8;
	item.type = (uint8_t)shown_as(v->type);
	if (v->places == 2) {
		item.type = WIDE;
		item.second = (uint8_t)v->place[1].n;
	}
	return item;
}

/* A format that is being made. */
struct builder {
	struct dt_call_format *c;
	struct dt_format_item item[MAX_ITEMS];
	uint32_t n, length, from, shapes;
};

static void add_text(struct builder *b, const char *s, size_t n)
{
	memcpy(b->c->text + b->length, s, n);
	b->length += (uint32_t)n;
}

/* Ends a piece of text: a value comes after it. */
static void add_item(struct builder *b, struct dt_format_item item)
{
	/* a line has room for MAX_SHAPES descriptions; a record has only four values */
	if (item.shape && b->shapes++ >= MAX_SHAPES)
		item.shape = 0;

	item.from = b->from;
	item.length = b->length - b->from;
	if (item.type != WIDE && item.type != REST && item.type != UNKNOWN && !item.shape)
		item.look = (uint8_t)(item.type << 4 | item.size | 0x80);
	memcpy(item.piece, b->c->text + item.from, item.length < COPIED ? item.length : COPIED);
	b->from = b->length;
	b->item[b->n++] = item;
}

static void parse_parameters(struct builder *b, const char *signature)
{
	struct dt_signature_value v;
	const char *p = signature;

	for (bool first = true; dt_signature_next(&p, &v); first = false) {
		struct dt_format_item item = item_of(&v);
		/* the last two places are for this and the result */
		bool full = b->n == MAX_ITEMS - 2;

		if (!first) {
			add_text(b, ", ", 2);
			item.when = v.when;
			item.bits = (uint32_t)v.when_bits;
		}
		if (v.rest || full) {
			item.type = REST;
		} else if (v.name_length) {
			add_text(b, v.name, v.name_length);
			add_text(b, "=", 1);
		}
		add_item(b, item);
		if (full)
			return;
	}
}

static void parse(struct builder *b, const char *name, const char *signature)
{
	struct dt_format_item result = {.type = POINTER, .size = 8, .second = NOWHERE};
	struct dt_signature_value v;

	add_text(b, name, strnlen(name, MAX_NAME));
	b->c->name_length = b->length;
	add_text(b, "(", 1);
	b->c->known = dt_signature_result(signature, &v);
	b->c->result = v;
	b->c->has_result = true;
	if (b->c->known) {
		parse_parameters(b, signature);
		b->c->has_result = v.type.letter != 'v';
		result = item_of(&v);
	} else {
		for (int i = 0; i < 4; i++) {
			struct dt_format_item item = {
				.type = POINTER, .size = 8, .place = (uint8_t)i, .second = NOWHERE};

			if (i)
				add_text(b, ", ", 2);
			add_item(b, item);
		}
	}
	/* the last piece of text is the closing parenthesis, and its item is the result */
	add_text(b, ")", 1);
	add_item(b, result);
}

/* Returns which of the record's four values are shown by n items: bits 0-3. */
static unsigned values_in(const struct dt_format_item *item, unsigned n)
{
	unsigned values = 0;

	for (unsigned i = 0; i < n; i++) {
		if (item[i].type != REST && item[i].type != UNKNOWN)
			values |= 1u << item[i].place;
		if (item[i].second != NOWHERE)
			values |= 1u << item[i].second;
		if (item[i].bits)
			values |= 1u << item[i].when;
	}
	return values;
}

static struct dt_call_format *make_format(struct dt_formats *f, uint32_t function)
{
	const struct dt_function_info *info = dt_reader_function(f->reader, function);
	const char *name = dt_reader_function_name(f->reader, function);
	const char *signature = info ? info->signature : "";
	const struct dt_module_info *module;
	struct dt_call_format *c;
	struct builder b = {0};

	if (!f->text && !(f->text = calloc(TEXTS, sizeof(*f->text))))
		return NULL;
	if (function >= f->functions) {
		uint32_t n = function + 1024;

		c = realloc(f->function, n * sizeof(*c));
		if (!c)
			return NULL;
		memset(c + f->functions, 0, (n - f->functions) * sizeof(*c));
		f->function = c;
		f->functions = n;
	}
	c = &f->function[function];
	if (strlen(signature) > MAX_SIGNATURE)
		signature = "";
	/* room for the names, and for ", " and "=" at each of them */
	c->text = malloc(strnlen(name, MAX_NAME) + 4 * strlen(signature) + 64 + COPIED);
	if (!c->text)
		return NULL;
	module = info ? dt_reader_module(f->reader, info->module) : NULL;
	c->pid = module ? module->pid : 0;
	b.c = c;
	parse(&b, name, signature);
	c->item = malloc(b.n * sizeof(*c->item));
	if (!c->item) {
		free(c->text);
		c->text = NULL;
		return NULL;
	}
	memcpy(c->item, b.item, b.n * sizeof(*c->item));
	c->items = (uint16_t)b.n;
	c->values = (uint8_t)values_in(b.item, b.n - 1);
	if (c->has_result)
		c->values |= (uint8_t)(values_in(&b.item[b.n - 1], 1) << 4);
	if (c->result.failure.has_error)
		c->values |= (uint8_t)(1u << (4 + c->result.failure.error));
	c->ready = true;
	return c;
}

/* NULL: out of memory. */
static inline struct dt_call_format *format_of(struct dt_formats *f, uint32_t function)
{
	if (function < f->functions && f->function[function].ready)
		return &f->function[function];
	return make_format(f, function);
}

static uint64_t unsigned_of(uint64_t v, unsigned size)
{
	return size >= 8 ? v : v & (((uint64_t)1 << 8 * size) - 1);
}

static int64_t signed_of(uint64_t v, unsigned size)
{
	unsigned shift = size >= 8 ? 0 : 64 - 8 * size;

	return (int64_t)(v << shift) >> shift;
}

static char *put_signed(char *p, int64_t v)
{
	if (v < 0)
		*p++ = '-';
	return p + dt_text_decimal(p, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

static char *put_hex(char *p, uint64_t v)
{
	*p++ = '0';
	*p++ = 'x';
	return p + dt_text_hex(p, v);
}

static char *put_char(char *p, uint8_t c)
{
	if (c < ' ' || c >= 127)
		return put_signed(p, (int8_t)c);
	*p++ = '\'';
	*p++ = (char)c;
	*p++ = '\'';
	return p;
}

/* Writes a value by its type, at most 48 bytes. */
static char *put_value(char *p, const struct dt_format_item *i, const uint64_t *value)
{
	uint64_t v = value[i->place];
	double d;
	float f;

	switch (i->type) {
	case SIGNED:
		return put_signed(p, signed_of(v, i->size));
	case UNSIGNED:
		return p + dt_text_decimal(p, unsigned_of(v, i->size));
	case BOOL:
		return stpcpy(p, v & 0xff ? "true" : "false");
	case CHAR:
		return put_char(p, (uint8_t)v);
	case POINTER:
		return put_hex(p, v);
	case FLOAT:
		memcpy(&f, &v, sizeof(f));
		return p + sprintf(p, "%.9g", (double)f);
	case DOUBLE:
		memcpy(&d, &v, sizeof(d));
		return p + sprintf(p, "%.17g", d);
	case WIDE:
		p = put_hex(p, value[i->second]);
		*p++ = ':';
		return put_hex(p, v);
	case REST:
		return stpcpy(p, "...");
	default:
		*p++ = '?';
		return p;
	}
}

/* Writes a member of a structure, by its type's letter (dt_shape_plain_fn). */
static char *put_plain(char *p, char letter, unsigned size, uint64_t v)
{
	struct dt_signature_type type = {.letter = letter, .size = (uint8_t)size};
	struct dt_format_item item = {.type = (uint8_t)shown_as(type), .size = (uint8_t)size};

	return put_value(p, &item, &v);
}

/* Writes a value by its type's description. NULL: the trace has no description of the type, or no
 * name for the value. */
static char *put_shaped(struct dt_formats *f, char *p, const struct dt_format_item *i,
			const uint64_t *value)
{
	f->shapes.reader = f->reader;
	f->shapes.record = value;
	return dt_shape_put(&f->shapes, p, i->shape, i->size, value[i->place],
			    i->second == NOWHERE ? 0 : value[i->second], put_plain);
}

/* Writes a value whose text is not kept in t; keeps it there if the value was the last one to come
 * for t, otherwise notes that it has come. */
static __attribute__((noinline)) char *put_new(struct dt_formats *f, uint32_t pid,
					       struct dt_format_text *t, char *p,
					       const struct dt_format_item *i,
					       const uint64_t *value)
{
	uint64_t v = value[i->place];
	char *end = i->shape ? put_shaped(f, p, i, value) : NULL;

	if (!end)
		end = put_value(p, i, value);
	if (!i->look)
		return end;
	/* what a pointer leads to depends on the process: its text is not kept */
	if (i->type == POINTER && v && !f->plain) {
		if (!f->pointers)
			f->pointers = dt_pointers_new(f->reader);
		if (f->pointers && dt_pointers_any(f->pointers, v))
			return dt_pointers_put(f->pointers, end, pid, v);
	}
	if (t->value == v && t->look == i->look && end - p <= KEPT) {
		memcpy(t->text, p, KEPT);
		t->n = (uint8_t)(end - p);
	} else {
		t->value = v;
		t->look = i->look;
		t->n = 0;
	}
	return end;
}

/*
 * Writes a value, and keeps its text when the value comes for the second time. It is not kept the
 * first time, because reading text back just after it was written, in pieces of other sizes, takes
 * the processor longer than making it again. p needs room for KEPT bytes even if the text is
 * shorter.
 */
static inline char *put_kept(struct dt_formats *f, uint32_t pid, char *p,
			     const struct dt_format_item *i, const uint64_t *value)
{
	uint64_t v = value[i->place];
	uint64_t hash = (v + ((uint64_t)i->look << 32)) * 0x9e3779b97f4a7c15u;
	struct dt_format_text *t = &f->text[hash / (UINT64_MAX / TEXTS + 1)];

	if (__builtin_expect(t->value == v && t->look == i->look && t->n, 1)) {
		memcpy(p, t->text, KEPT);
		return p + t->n;
	}
	return put_new(f, pid, t, p, i, value);
}

/* Copies n bytes, rounded up to COPIED: pieces are short, so that this is faster than memcpy(). */
static inline char *put_text(char *p, const char *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += COPIED)
		memcpy(p + i, from + i, COPIED);
	return p + n;
}

static inline char *put_piece(char *p, const struct dt_call_format *c, unsigned i)
{
	const struct dt_format_item *item = &c->item[i];

	if (__builtin_expect(item->length > COPIED, 0))
		return put_text(p, c->text + item->from, item->length);
	memcpy(p, item->piece, COPIED);
	return p + item->length;
}

unsigned dt_format_new_values(struct dt_formats *f, uint32_t function)
{
	const struct dt_call_format *c = format_of(f, function);

	return c ? c->values : 0xf;
}

char *dt_format_name(struct dt_formats *f, char *p, uint32_t function)
{
	const struct dt_call_format *c = format_of(f, function);

	return c ? put_text(p, c->text, c->name_length) : p;
}

char *dt_format_call(struct dt_formats *f, char *p, uint32_t function, const uint64_t *argument)
{
	const struct dt_call_format *c = format_of(f, function);
	unsigned i = 0;

	if (!c || !argument) {
		const char *name = dt_reader_function_name(f->reader, function);
		size_t n = strnlen(name, MAX_NAME);

		memcpy(p, name, n);
		return stpcpy(p + n, "(...)");
	}
	for (; i + 1 < c->items; i++)
		if (dt_format_passed(&c->item[i], argument))
			p = put_kept(f, c->pid, put_piece(p, c, i), &c->item[i], argument);
	return put_piece(p, c, i);
}

/* Returns the name of an item, from its piece of text, which is "f(name=" or ", name="; *n 0: it
 * has none. */
static const char *name_of(const struct dt_call_format *c, unsigned i, size_t *n)
{
	const struct dt_format_item *item = &c->item[i];
	const char *end = c->text + item->from + item->length, *p = end;

	*n = 0;
	if (!item->length || end[-1] != '=')
		return end;
	while (p > c->text + item->from && p[-1] != ' ' && p[-1] != '(')
		p--;
	*n = (size_t)(end - 1 - p);
	return p;
}

static bool is_number(const struct dt_format_item *i)
{
	return i->type == SIGNED || i->type == UNSIGNED || i->type == BOOL || i->type == CHAR;
}

/* Writes a text that could not be read: "0x1234?", its address, where that is known. What is
 * declared as a number is written as one: 0 is not NULL there. */
static char *put_unread(char *p, const struct dt_format_item *i, const uint64_t *argument)
{
	if (i->type == UNKNOWN || i->type == REST)
		return stpcpy(p, "?");
	if (!argument[i->place] && !is_number(i))
		return stpcpy(p, "NULL");
	p = put_value(p, i, argument);
	return stpcpy(p, "?");
}

#define REST_NAME "..." /* of the values for a variadic function's further arguments */

/*
 * Returns what the records behind the entry say of an item; NULL: nothing. "?": it is not known,
 * "": there are no further arguments.
 */
static const char *full_value(const struct dt_call_format *c, unsigned i,
			      const struct dt_full *full)
{
	size_t n;
	const char *name = name_of(c, i, &n), *value;

	if (c->item[i].type != REST)
		return n ? dt_full_value(full, name, n) : NULL;
	value = dt_full_value(full, REST_NAME, strlen(REST_NAME));
	return value && strcmp(value, "?") ? value : NULL;
}

/* Says whether a parameter has this name. */
static bool is_parameter(const struct dt_call_format *c, const char *name)
{
	for (unsigned i = 0; i + 1 < c->items; i++) {
		size_t n;
		const char *of = name_of(c, i, &n);

		if (c->item[i].type == REST && !strcmp(name, REST_NAME))
			return true;
		if (n && n == strlen(name) && memcmp(of, name, n) == 0)
			return true;
	}
	return false;
}

char *dt_format_full(struct dt_formats *f, char *p, uint32_t function, const uint64_t *argument,
		     const struct dt_full *full)
{
	const struct dt_call_format *c = format_of(f, function);
	bool any = false;

	if (!c || !argument)
		return dt_format_call(f, p, function, argument);
	for (unsigned i = 0; i + 1 < c->items; i++) {
		const char *value = full_value(c, i, full);

		/* the first one's piece has the function's name */
		if (value ? !*value && i : !dt_format_passed(&c->item[i], argument))
			continue;
		p = put_piece(p, c, i);
		any = true;
		if (!value)
			p = put_kept(f, c->pid, p, &c->item[i], argument);
		else if (!strcmp(value, "?"))
			p = put_unread(p, &c->item[i], argument);
		else
			p = stpcpy(p, value);
	}
	p = put_piece(p, c, c->items - 1u);
	/* what belongs to no parameter goes before the closing parenthesis */
	for (const char *name = full->text, *value; name && name < full->text + full->n;
	     name = value + strlen(value) + 1) {
		value = name + strlen(name) + 1;
		if (is_parameter(c, name) || !strcmp(name, DT_FULL_RESULT))
			continue;
		p = stpcpy(p - 1, any ? ", " : "");
		p = stpcpy(stpcpy(stpcpy(stpcpy(p, name), "="), value), ")");
		any = true;
	}
	return p;
}

/* Returns room for the text of a value; NULL: out of memory. */
static char *room_of(struct dt_formats *f)
{
	return f->room ? f->room : (f->room = malloc(DT_CALL_TEXT));
}

void dt_format_each_full(struct dt_formats *f, uint32_t function, const uint64_t *argument,
			 const struct dt_full *full,
			 void (*fn)(void *ctx, const char *name, size_t n, const char *text,
				    size_t length),
			 void *ctx)
{
	const struct dt_call_format *c = format_of(f, function);
	char *text = room_of(f);

	if (!full) {
		dt_format_each(f, function, argument, false, fn, ctx);
		return;
	}
	for (unsigned i = 0; c && text && i + 1 < c->items; i++) {
		size_t n;
		const char *name = name_of(c, i, &n), *value = full_value(c, i, full);
		char *end;

		if (value ? !*value : !dt_format_passed(&c->item[i], argument))
			continue;
		if (!value)
			end = put_kept(f, c->pid, text, &c->item[i], argument);
		else if (!strcmp(value, "?"))
			end = put_unread(text, &c->item[i], argument);
		else
			end = stpcpy(text, value);
		f->at = &c->item[i];
		fn(ctx, name, n, text, (size_t)(end - text));
	}
	f->at = NULL;
	for (const char *name = full->text, *value; c && name && name < full->text + full->n;
	     name = value + strlen(value) + 1) {
		value = name + strlen(name) + 1;
		if (!is_parameter(c, name))
			fn(ctx, name, strlen(name), value, strlen(value));
	}
}

/* Could a value of a record with faults not be read, or one of its halves? */
static bool is_bad(const struct dt_format_item *i, const uint64_t *value)
{
	return dt_capture_is_bad(value[i->place]) ||
	       (i->second != NOWHERE && dt_capture_is_bad(value[i->second]));
}

void dt_format_each(struct dt_formats *f, uint32_t function, const uint64_t *value, bool faults,
		    void (*fn)(void *ctx, const char *name, size_t n, const char *text,
			       size_t length),
		    void *ctx)
{
	const struct dt_call_format *c = format_of(f, function);
	char *text = room_of(f);

	for (unsigned i = 0; c && text && i + 1 < c->items; i++) {
		const struct dt_format_item *item = &c->item[i];
		bool bad = faults && is_bad(item, value);
		char *end = bad ? stpcpy(text, "?") : put_kept(f, c->pid, text, &c->item[i], value);
		size_t n;
		const char *name = name_of(c, i, &n);

		if (!dt_format_passed(&c->item[i], value))
			continue;
		f->at = bad ? NULL : item;
		fn(ctx, name, n, text, (size_t)(end - text));
	}
}

/* Writes "name(a=1, b=2", without the closing piece. */
static char *put_values(struct dt_formats *f, char *p, const struct dt_call_format *c,
			const uint64_t *value, bool faults)
{
	for (unsigned i = 0; i + 1 < c->items; i++) {
		p = put_piece(p, c, i);
		if (faults && is_bad(&c->item[i], value))
			*p++ = '?';
		else
			p = put_kept(f, c->pid, p, &c->item[i], value);
	}
	return p;
}

char *dt_format_point(struct dt_formats *f, char *p, uint32_t function, const uint64_t *value,
		      bool faults)
{
	const struct dt_call_format *c = format_of(f, function);

	return c ? put_piece(put_values(f, p, c, value, faults), c, c->items - 1u) : p;
}

char *dt_format_more(struct dt_formats *f, char *p, uint32_t function, const uint64_t *value,
		     bool faults)
{
	const struct dt_call_format *c = format_of(f, function);
	char *end = c ? put_values(f, p, c, value, faults) : p;
	size_t name = c ? c->name_length + 1u : 0; /* and the parenthesis */

	if (end > p)
		memmove(p, p + name, (size_t)(end - p) - name);
	return end > p ? end - name : p;
}

char *dt_format_result(struct dt_formats *f, char *p, uint32_t function, const uint64_t *result)
{
	const struct dt_call_format *c = format_of(f, function);

	if (!c || !c->has_result || !result)
		return p;
	memcpy(p, " = ", 3);
	return put_kept(f, c->pid, p + 3, &c->item[c->items - 1], result);
}

bool dt_format_failed(struct dt_formats *f, uint32_t function, const uint64_t *result,
		      uint32_t *error)
{
	const struct dt_call_format *c = format_of(f, function);

	*error = 0;
	if (!c || !result || !dt_failure_is(&c->result, result))
		return false;
	*error = dt_failure_error(&c->result, result);
	return true;
}

char *dt_format_outcome(struct dt_formats *f, char *p, uint32_t function, const uint64_t *result)
{
	uint32_t error;

	p = dt_format_result(f, p, function, result);
	if (!dt_format_failed(f, function, result, &error) || !error)
		return p;
	return dt_failure_put(p, error);
}

void dt_formats_free(struct dt_formats *f)
{
	for (uint32_t i = 0; i < f->functions; i++) {
		free(f->function[i].text);
		free(f->function[i].item);
	}
	free(f->function);
	free(f->text);
	free(f->room);
	dt_pointers_free(f->pointers);
	dt_shapes_free(&f->shapes);
}
