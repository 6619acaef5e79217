/* SPDX-License-Identifier: MIT */
/* Turns parameters of functions into items of a point. */
#include "session/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "core/signature.h"
#include "symbols/described.h"

#define PARAMETERS 64
#define SIGNATURE  4096

/* ---- which ---- */

static bool is_type(const char *s, size_t n)
{
	static const char *const known[] = {"str", "i1", "i2", "i4", "i8", "u1", "u2", "u4",
					    "u8",  "f4", "f8", "b",  "c",  "p",	 "s"};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i]) == n && memcmp(known[i], s, n) == 0)
			return true;
	return false;
}

int dt_arguments_check(const char *which, struct dt_error *e)
{
	for (const char *p = which;; p++) {
		size_t n = strcspn(p, ","), name = strcspn(p, ":,");

		if (name == 0)
			return dt_fail(
				e,
				"devtrace: '%s': behind @ are arguments, such as path:str,mode or 1:str",
				which);
		if (p[name] == ':' && !is_type(p + name + 1, n - name - 1))
			return dt_fail(
				e,
				"devtrace: '%.*s' is no way to show an argument; str, i1 to i8, "
				"u1 to u8, f4, f8, b, c and p are",
				(int)(n - name - 1), p + name + 1);
		p += n;
		if (!*p)
			return 0;
	}
}

/* Returns the list's entry for parameter i (counted from 0); NULL: it is not in the list. */
static const char *entry_of(const char *which, const struct dt_signature_value *p, unsigned i)
{
	for (const char *w = which; *w;) {
		size_t n = strcspn(w, ","), name = strcspn(w, ":,");
		char *end;

		if (name == p->name_length && memcmp(w, p->name, name) == 0)
			return w;
		if (strtoul(w, &end, 10) == i + 1 && end == w + name)
			return w;
		w += n + (w[n] == ',');
	}
	return NULL;
}

static unsigned index_of(const char *which, const char *entry)
{
	unsigned n = 0;

	for (; which < entry; which++)
		n += *which == ',';
	return n;
}

void dt_arguments_missing(const char *which, uint64_t had, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned i = 0; i < 64 && *which && used < size; i++) {
		size_t n = strcspn(which, ","), name = strcspn(which, ":,");

		if (!(had >> i & 1))
			used += dt_format(out + used, size - used, "%s%.*s", used ? ", " : "",
					  (int)name, which);
		which += n + (which[n] == ',');
	}
}

/* ---- items ---- */

/* second: it is the second of two pieces. */
static struct dt_item item_at(struct dt_signature_place place, bool second)
{
	struct dt_item item = {.from = {.kind = DT_OPERAND_REGISTER,
					.size = 8,
					.base = DT_REGISTER_NONE,
					.index = DT_REGISTER_NONE}};

	if (place.kind == DT_PLACE_MEMORY) {
		item.from.kind = DT_OPERAND_MEMORY;
		item.from.base = DT_ABI_SP;
		item.from.value = place.n;
	} else if (place.kind == DT_PLACE_VECTOR) {
		item.from.reg = (uint8_t)(DT_REGISTER_XMM0 + place.n);
	} else {
		item.from.reg = dt_abi_register[place.n < DT_ABI_INTEGERS ? place.n : 0];
	}
	if (place.kind == DT_PLACE_POINTED) {
		item.steps = 1;
		item.step[0].add = second ? 8 : 0;
		item.step[0].size = 8;
	}
	return item;
}

static void set_type(struct dt_item *item, const char *type)
{
	struct dt_signature_type t;

	if (dt_signature_type(type, strcspn(type, "#"), &t) && t.size && t.size <= 8)
		item->from.size = t.size;
	item->from.is_signed = type[0] == 'i' || type[0] == 'e';
	item->from.is_float = type[0] == 'f';
}

/* Tells whether the record of the function's entry holds a parameter. */
static bool is_recorded(const struct dt_signature_value *p)
{
	for (unsigned i = 0; i < p->places; i++)
		if (p->place[i].kind != DT_PLACE_VALUE || p->place[i].n > 3)
			return false;
	return true;
}

/* Says what the function does with the text that the parameter points to. buffer: the text is one
 * whose length is the bound. */
static void set_reads(struct dt_item *item, const struct dt_signature_reads *r, bool buffer)
{
	if (item->from.kind != DT_OPERAND_REGISTER)
		return;
	item->sure = r->sure == 'a' ? DT_SURE_ALL : r->sure == 'f' ? DT_SURE_FIRST : DT_SURE_NOT;
	item->differ = r->differ;
	item->bounds = r->bounds;
	item->buffer = r->bounds && buffer;
	for (unsigned i = 0; i < r->bounds; i++) {
		item->bound[i].reg = dt_abi_register[r->bound[i].n];
		item->bound[i].low = r->bound[i].low;
	}
}

/* Makes the item that of a stream: of the values that the parameter leads to. */
static void set_stream(struct dt_item *item, const struct dt_signature_value *p)
{
	item->stream = p->reads.sure == 't' ? DT_STREAM_TEXTS
		       : p->rest	    ? DT_STREAM_ARGUMENTS
					    : DT_STREAM_LIST;
	item->stream_register = (uint8_t)p->place[0].n;
	if (p->rest) /* they begin behind the format */
		item->stream_register++;
	if (item->stream != DT_STREAM_TEXTS)
		item->from.reg = dt_abi_register[p->reads.bound[0].n];
}

/* Is the parameter one whose values are recorded as a stream? */
static bool is_stream(const struct dt_signature_value *p)
{
	return (p->reads.sure == 'p' || p->reads.sure == 't') && p->places == 1 &&
	       p->place[0].kind == DT_PLACE_VALUE && p->place[0].n < DT_ABI_INTEGERS;
}

/* Is it a buffer, of as many bytes as other parameters say? */
static bool is_buffer(const struct dt_signature_value *p)
{
	return p->type.keyed && p->reads.bounds && p->places == 1 &&
	       p->place[0].kind == DT_PLACE_VALUE && !is_stream(p);
}

static void words_of(const struct dt_signature_value *p, const char *entry, char *name,
		     size_t name_size, char *type, size_t type_size)
{
	size_t skip = entry ? strcspn(entry, ":,") : 0;

	dt_format(name, name_size, "%.*s", (int)p->name_length, p->name);
	dt_format(type, type_size, "%.*s", (int)p->typed_length, p->typed);
	if (entry && entry[skip] == ':')
		dt_format(type, type_size, "%.*s", (int)strcspn(entry + skip + 1, ","),
			  entry + skip + 1);
	if (strcmp(type, "str") == 0)
		strcpy(type, "s");
}

/* Items are added in three passes: first parameters of two values, which have to be in one record,
 * then single values, then texts. */
enum pass { PAIRS, VALUES, TEXTS };

static int add_parameter(struct dt_point *point, const struct dt_signature_value *p,
			 const char *entry, enum pass pass)
{
	/* what a pointer leads to is only shown as it is declared */
	bool typed = entry && entry[strcspn(entry, ":,")] == ':';
	bool pointer = typed && p->place[0].kind == DT_PLACE_POINTED;
	bool second = p->places == 2 && !pointer;
	struct dt_signature_place place = p->place[0];
	char name[64], type[24];
	struct dt_item item;

	if (!p->places)
		return 0;
	if (pointer)
		place.kind = DT_PLACE_VALUE;
	words_of(p, entry, name, sizeof(name), type, sizeof(type));
	item = item_at(place, false);
	if (p->rest && typed) /* they can be shown in no other way */
		return 0;
	if (type[0] == 's' || (!typed && (is_stream(p) || is_buffer(p)))) {
		item.text = DT_CAPTURE_TEXT;
		item.only_text = true;
		if (is_stream(p) && !typed)
			set_stream(&item, p);
		else
			set_reads(&item, &p->reads, is_buffer(p) && !typed);
		return pass == TEXTS && !second ? dt_point_item(point, &item, name, type, NULL) : 0;
	}
	/* a parameter that is shown as it is declared may be in the entry's record already */
	if (pass == TEXTS || (pass == PAIRS) != second ||
	    (is_recorded(p) && (second || strncmp(type, p->typed, (size_t)p->typed_length) == 0)))
		return 0;
	if (second) {
		if (dt_point_item(point, &item, name, type, NULL) < 0)
			return -1;
		point->label[point->items - 1].pair = true;
		item = item_at(p->place[1], true);
		return dt_point_item(point, &item, "", "", NULL);
	}
	set_type(&item, type);
	return dt_point_item(point, &item, name, type, NULL);
}

/* ---- signatures ---- */

static unsigned split(const char *s, struct dt_signature_value *out)
{
	unsigned n = 0;

	while (n < PARAMETERS && dt_signature_next(&s, &out[n]))
		n++;
	return n;
}

/* Fills in the integer registers as parameters, for a function of which nothing is known. */
static unsigned unknown(struct dt_signature_value *out)
{
	return split("arg1:p@0,arg2:p@1,arg3:p@2,arg4:p@3,arg5:p@4,arg6:p@5;p@0", out);
}

int dt_arguments_point(struct dt_file *f, const struct dt_function *function, const char *which,
		       uint64_t *had, struct dt_point *point)
{
	struct dt_signature_value parameter[PARAMETERS];
	char signature[SIGNATURE];
	unsigned n;
	int rc = 0;

	*point = (struct dt_point){
		.site = {.address = function->address, .function = function->address},
		.headless = true};
	dt_described(f->symtab, f->path, function, true, signature, sizeof(signature));
	if (!signature[0] && !which)
		return 0;
	n = signature[0] ? split(signature, parameter) : unknown(parameter);
	for (enum pass pass = PAIRS; pass <= TEXTS && rc == 0; pass++)
		for (unsigned i = 0; i < n && rc == 0; i++) {
			const char *entry = which ? entry_of(which, &parameter[i], i) : NULL;

			if (entry && had && index_of(which, entry) < 64)
				*had |= 1ull << index_of(which, entry);
			if (!which || entry)
				rc = add_parameter(point, &parameter[i], entry, pass);
		}
	point->what = malloc(which ? strlen(which) + 8 : 8);
	if (rc == 0 && point->what && point->items) {
		dt_format(point->what, which ? strlen(which) + 8 : 8, "ARGS@%s",
			  which ? which : "");
		return 1;
	}
	rc = rc < 0 || !point->what ? -1 : 0;
	dt_point_release(point);
	return rc;
}

/* ---- what functions fill in ---- */

/* Tells the calls of a function, and what they keep, from all others that are open. Never 0. */
static uint16_t tag_of(const struct dt_function *function, const struct dt_filled *out)
{
	uint64_t hash = (function->address * 8 + out->parameter) * DT_SLOT_HASH;

	return (uint16_t)(hash >> 48 | 1);
}

static struct dt_item kept_item(int64_t offset, const char *type)
{
	struct dt_item item = {.from = {.kind = DT_OPERAND_KEPT,
					.size = 8,
					.base = DT_REGISTER_NONE,
					.index = DT_REGISTER_NONE},
			       .steps = 1};
	struct dt_signature_type t;

	item.step[0].add = offset;
	item.step[0].size = 8;
	if (type[0] != 'a' && dt_signature_type(type, strlen(type), &t) && t.size <= 8)
		item.step[0].size = t.size;
	item.step[0].is_signed = type[0] == 'i';
	return item;
}

/* Adds the second half of the 16 bytes of a structure, whose first half is the last item. */
static int add_second(struct dt_point *point, uint16_t offset, const char *type)
{
	struct dt_item item = kept_item(offset, type);

	point->label[point->items - 1].pair = true;
	return dt_point_item(point, &item, "", "", NULL);
}

/* Adds the items for what the kept pointer leads to. */
static int add_output(struct dt_point *point, const struct dt_filled *out)
{
	struct dt_item item = kept_item(out->pieces ? out->offset[0] : 0, out->type);

	if (out->type[0] == 's') {
		item.steps = 0;
		item.text = DT_CAPTURE_TEXT;
		item.only_text = true;
		item.buffer = out->buffer;
		item.bounds = out->buffer;
		item.bound[0].reg = DT_ABI_RESULT;
	}
	if (dt_point_item(point, &item, out->name, out->type, NULL) < 0)
		return -1;
	if (out->pieces < 2)
		return 0;
	if (add_second(point, out->offset[1], out->type) < 0)
		return -1;
	for (unsigned i = 0; i < out->mores; i++) {
		const struct dt_filled_more *more = &out->more[i];

		item = kept_item(more->offset[0], more->type);
		if (dt_point_item(point, &item, out->name, more->type, NULL) < 0 ||
		    add_second(point, more->offset[1], more->type) < 0)
			return -1;
	}
	return 0;
}

int dt_outputs_points(struct dt_file *f, const struct dt_function *function, uint64_t exit,
		      struct dt_point *point)
{
	static const uint8_t when[] = {DT_KEPT_POSITIVE, DT_KEPT_ZERO, DT_KEPT_SOUND};
	struct dt_filled out[DT_OUTPUTS];
	unsigned n = dt_described_outputs(f->symtab, f->path, function, out, DT_OUTPUTS);
	uint64_t address = exit ? exit : function->address;

	for (unsigned i = 0; i < n; i++) {
		struct dt_point *p = &point[i];

		*p = (struct dt_point){.site = {.address = address, .function = address},
				       .headless = true,
				       .leaves = exit ? function->address : 0,
				       .kept = {.tag = tag_of(function, &out[i]),
						.entry = !exit,
						.reg = dt_abi_register[out[i].parameter],
						.when = when[out[i].when]}};
		p->what = malloc(64);
		p->name = strdup(function->name);
		if (p->what)
			dt_format(p->what, 64, "%s@%s", exit ? "OUTPUT" : "KEEP", out[i].name);
		if (!p->what || !p->name || (exit && add_output(p, &out[i]) < 0)) {
			do
				dt_point_release(&point[i]);
			while (i--);
			return -1;
		}
	}
	return (int)n;
}

bool dt_outputs_has(struct dt_file *f, const struct dt_function *function)
{
	struct dt_filled out[DT_OUTPUTS];

	return dt_described_outputs(f->symtab, f->path, function, out, DT_OUTPUTS) > 0;
}
