/* SPDX-License-Identifier: MIT */
/*
 * A line of the table is "64 257 openat openat(i4#at dfd<f,s filename<t,i4#open flags,u4#mode
 * mode)i8=f": kind, number, name, the kernel's function ('+': that for 32-bit callers), for each
 * parameter its type and name and what it leads to, and the result. symbols/prototypes/calls.txt
 * says what stands for what.
 */
#include "symbols/call.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "symbols/prototype.h"

static const char calls[] =
#include "symbols/prototypes/calls.def"
	;

static const char *const kind_name[DT_BPF_KINDS] = {"64", "32", "x32"};

/* Copies the word at p up to the character `end' to out; returns what is behind that. */
static const char *word(const char *p, char end, char *out, size_t size)
{
	const char *stop = strchr(p, end);

	dt_format(out, size, "%.*s", (int)(stop - p), p);
	return stop + 1;
}

bool dt_call_next(const char **at, struct dt_call_info *c)
{
	const char *p = *at ? *at : calls;
	char kind[8], number[8];

	if (!*p)
		return false;
	*c = (struct dt_call_info){0};
	p = word(p, ' ', kind, sizeof(kind));
	while (c->kind + 1 < DT_BPF_KINDS && strcmp(kind, kind_name[c->kind]) != 0)
		c->kind++;
	p = word(p, ' ', number, sizeof(number));
	c->number = (unsigned)strtoul(number, NULL, 10);
	p = word(p, ' ', c->name, sizeof(c->name));
	c->compat = *p == '+';
	c->parameters = word(p + c->compat, '(', c->function, sizeof(c->function));
	*at = strchr(c->parameters, '\n') + 1;
	return true;
}

bool dt_call_find(unsigned kind, unsigned number, struct dt_call_info *c)
{
	for (const char *at = NULL; dt_call_next(&at, c);)
		if (c->kind == kind && c->number == number)
			return true;
	return false;
}

/* ---- signatures ---- */

/* A parameter of a line. */
struct parameter {
	char type[32], name[32]; /* type: without its set */
	uint64_t set;		 /* the key of its set; 0: none */
	const char *leads;	 /* what it leads to, lead_n bytes */
	const char *when; /* "|2&4194368": it is passed only if parameter 2 has one of these bits */
	size_t lead_n, when_n;
};

static uint64_t split_type(char *type)
{
	char *set = strchr(type, '#');

	if (!set)
		return 0;
	*set = '\0';
	return dt_prototype_set(set + 1, strlen(set + 1));
}

/* Reads the parameter at *p and moves *p behind it. */
static bool next(const char **p, struct parameter *out)
{
	size_t n = strcspn(*p, ",)"), type = strcspn(*p, " "), name;

	if (**p == ')' || type >= n)
		return false;
	dt_format(out->type, sizeof(out->type), "%.*s", (int)type, *p);
	out->set = split_type(out->type);
	name = strcspn(*p + type + 1, "<>|,)");
	dt_format(out->name, sizeof(out->name), "%.*s", (int)name, *p + type + 1);
	out->leads = *p + type + 1 + name;
	out->lead_n = strcspn(out->leads, "|,)");
	out->when = out->leads + out->lead_n;
	out->when_n = (size_t)(*p + n - out->when);
	*p += n + ((*p)[n] == ',');
	return true;
}

static size_t put_type(char *buf, size_t size, size_t at, const char *type, uint64_t set)
{
	if (at < size)
		at += dt_format(buf + at, size - at, set ? "%s#%lx" : "%s", type,
				(unsigned long)set);
	return at;
}

/* Writes the parameters from `first' on, the first four of them with a place. */
static size_t put_parameters(const struct dt_call_info *c, unsigned first, char *buf, size_t size)
{
	const char *p = c->parameters;
	struct parameter a;
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned i = 0; next(&p, &a); i++) {
		if (i < first || at >= size)
			continue;
		at += dt_format(buf + at, size - at, "%s%s:", at ? "," : "", a.name);
		at = put_type(buf, size, at, a.type, a.set);
		if (at < size)
			at += i - first < 4 ? dt_format(buf + at, size - at, "@%u", i - first)
					    : dt_format(buf + at, size - at, "@-");
		if (a.when_n && at < size && !first)
			at += dt_format(buf + at, size - at, "?%.*s", (int)a.when_n - 1,
					a.when + 1);
	}
	return at;
}

void dt_call_signature(const struct dt_call_info *c, char *buf, size_t size)
{
	const char *result = strchr(c->parameters, ')') + 1;
	size_t at = put_parameters(c, 0, buf, size);
	char type[32];
	uint64_t set;

	dt_format(type, sizeof(type), "%.*s", (int)strcspn(result, "=\n"), result);
	set = split_type(type);
	if (at < size)
		at += dt_format(buf + at, size - at, ";");
	at = put_type(buf, size, at, type, set);
	if (at < size)
		at += dt_format(buf + at, size - at, "%s", type[0] == 'v' ? "" : "@0!k");
	if (at >= size)
		buf[0] = '\0';
}

void dt_call_further(const struct dt_call_info *c, char *buf, size_t size)
{
	size_t at = put_parameters(c, 4, buf, size);

	if (at + 3 < size)
		memcpy(buf + at, ";v", 3);
	else
		buf[0] = '\0';
}

void dt_call_signals(char *buf, size_t size)
{
	dt_format(buf, size, "sig:i4#%lx@0,si_code:i4@1,si_pid:i4@2,si_status:i4@3;v",
		  (unsigned long)dt_prototype_set("signo", 5));
}

/* ---- items ---- */

/* What is read for an item, besides what struct dt_bpf_item has. */
struct reading {
	char type[48]; /* of a structure: its name */
};

static unsigned number_at(const char **p)
{
	char *end;
	unsigned n = (unsigned)strtoul(*p, &end, 10);

	*p = end;
	return n;
}

/* Reads "[2]", "[r]" or "[*2]" at *p, if one is there. */
static void read_count(const char **p, struct dt_bpf_item *it)
{
	it->count = DT_BPF_NONE;
	if (**p != '[')
		return;
	++*p;
	if (**p == 'r') {
		it->count = DT_BPF_RESULT;
		++*p;
	} else {
		bool leads = **p == '*';

		*p += leads;
		it->count = (uint8_t)(number_at(p) | (leads ? DT_BPF_LEADS : 0));
	}
	*p += **p == ']';
}

/* Reads the item at *p: "<t", ">0S:stat", "<S:flock?1=6". */
static void read_item(const char **p, struct dt_bpf_item *it, struct reading *r)
{
	static const struct {
		char letter;
		enum dt_bpf_what what;
		const char *set;
	} all[] = {{'t', DT_BPF_TEXT, "s"},	    {'b', DT_BPF_BYTES, "s"},
		   {'v', DT_BPF_TEXTS, "texts"},    {'f', DT_BPF_FILE, "file"},
		   {'n', DT_BPF_BYTES, "sockaddr"}, {'o', DT_BPF_BYTES, "option"},
		   {'I', DT_BPF_PIECES, "pieces"},  {'M', DT_BPF_MESSAGE, "message"}};
	bool leaving = *(*p)++ == '>';

	it->when = leaving ? DT_BPF_SOUND : DT_BPF_ENTRY;
	if (leaving && (**p == '+' || **p == '0'))
		it->when = *(*p)++ == '+' ? DT_BPF_POSITIVE : DT_BPF_ZERO;
	it->size = 1;
	if (strncmp(*p, "S:", 2) == 0) {
		size_t n = strcspn(*p + 2, "[?<>,)");

		it->what = DT_BPF_BYTES;
		dt_format(r->type, sizeof(r->type), "%.*s", (int)n, *p + 2);
		it->size = (uint16_t)dt_prototype_size(r->type);
		*p += 2 + n;
	} else {
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if (all[i].letter == **p) {
				it->what = (uint8_t)all[i].what;
				strcpy(r->type, all[i].set);
			}
		++*p;
	}
	read_count(p, it);
	it->test = DT_BPF_NONE;
	if (**p == '?') {
		++*p;
		it->test = (uint8_t)number_at(p);
		++*p;
		it->value = number_at(p);
	}
}

typedef void item_fn(void *ctx, unsigned i, const struct dt_bpf_item *it, const char *name,
		     const struct reading *r);

/* Calls fn for each item of a call; returns how many parameters it has. */
static unsigned each_item(const struct dt_call_info *c, item_fn *fn, void *ctx)
{
	const char *p = c->parameters, *result;
	unsigned n = 0, parameters = 0;
	struct parameter a;

	for (; next(&p, &a); parameters++)
		for (const char *l = a.leads, *end = l + a.lead_n; l < end; n++) {
			struct dt_bpf_item it = {.argument = (uint8_t)parameters};
			struct reading r = {""};

			read_item(&l, &it, &r);
			fn(ctx, n, &it, a.name, &r);
		}
	result = strchr(c->parameters, ')') + 1;
	if (result[strcspn(result, "=\n")] == '=') {
		struct dt_bpf_item it = {.what = DT_BPF_FILE,
					 .argument = DT_BPF_RESULT,
					 .when = DT_BPF_SOUND,
					 .count = DT_BPF_NONE,
					 .test = DT_BPF_NONE,
					 .size = 1};

		fn(ctx, n, &it, DT_CALL_RESULT, &(struct reading){"file"});
	}
	return parameters;
}

static void take_item(void *ctx, unsigned i, const struct dt_bpf_item *it, const char *name,
		      const struct reading *r)
{
	struct dt_bpf_call *out = ctx;

	if (i >= DT_BPF_ITEMS)
		return;
	out->item[i] = *it;
	out->items = i + 1;
	out->at_exit |= it->when != DT_BPF_ENTRY;
}

void dt_call_items(const struct dt_call_info *c, struct dt_bpf_call *out)
{
	*out = (struct dt_bpf_call){0};
	out->arguments = each_item(c, take_item, out);
}

/* The signature of an item that is being written. */
struct writing {
	unsigned item;
	char *buf;
	size_t size;
};

static void write_item(void *ctx, unsigned i, const struct dt_bpf_item *it, const char *name,
		       const struct reading *r)
{
	struct writing *w = ctx;
	uint64_t set = strcmp(r->type, "s") == 0 ? 0 : dt_prototype_set(r->type, strlen(r->type));

	if (i == w->item)
		dt_format(w->buf, w->size, set ? "%s:a#%lx@0;v" : "%s:s@0;v", name,
			  (unsigned long)set);
}

void dt_call_item(const struct dt_call_info *c, unsigned item, char *buf, size_t size)
{
	struct writing w = {item, buf, size};

	buf[0] = '\0';
	each_item(c, write_item, &w);
}
