/* SPDX-License-Identifier: MIT */
#include "process/symtab-apart.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/code-apart.h"
#include "process/dwarf.h"
#include "process/symtab-work.h"

enum question {
	ALL,   /* struct all, the functions and the aliases, their text */
	NAMES, /* where each one's name begins in the text behind, SAME: as it is in the table */
	NAME,  /* [0]: address of a function. result 1: its name; 0: the same */
	/* [0]: address. result: line, the file's name, and, of a function's address, its signature
	 * with keys behind a byte 0; -1: the line is not known, behind a byte 0 the same; BARE */
	LINE,
	ADDRESS,   /* [0]: line, of a file. result 1: the address; 0: not known */
	SIGNATURE, /* [0]: address of a function; [1]: how */
	TYPE,	   /* [0]: key; [1]: bytes. result 1: its text */
	OBJECT,	   /* [0]: address. result 1: struct object, its name */
	VARIABLE,  /* [0]: address, of an expression. result 0: struct dt_variable; -1: why not */
	CODE,	   /* code-apart.c's */
};

#define BARE (-2) /* there is no debug information: no lines, signatures, types */
#define SAME 0xffffffffu
#define MOST                                                                                       \
	(1u << 30)    /* bytes of an answer that grows with the file; of 500,000 functions 60 MB */
#define MOST_CODE 64u /* of a map of code, for each byte of the file; it has some 5 */
#define MOST_ONE  65536u /* of an answer that does not grow */

struct all {
	uint64_t functions, aliases, text;
	char build_id[72];
};

struct function {
	uint64_t address, size;
	uint32_t linkage, label;
};

struct alias {
	uint64_t address;
	uint32_t linkage, unused;
};

struct object {
	uint64_t address, size;
};

/* ---- the process's side ---- */

/* Texts one behind the other. */
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

	return add(o, text, strlen(text) + 1) && at < MOST ? (uint32_t)at : SAME;
}

/* Sends both, one behind the other, and frees them. */
static bool tell_pools(int channel, int64_t result, struct pool *first, struct pool *second)
{
	bool ok;

	if (second->n)
		add(first, second->p, second->n);
	ok = !first->failed && !second->failed &&
	     dt_apart_tell(channel, result, first->p ? first->p : "", first->n);
	free(first->p);
	free(second->p);
	return ok;
}

static bool tell_all(int channel, const struct dt_symtab *t)
{
	struct all head = {.functions = t->functions, .aliases = t->aliases};
	struct pool out = {0}, text = {0};

	dt_format(head.build_id, sizeof(head.build_id), "%s", t->main.build_id);
	add(&out, &head, sizeof(head));
	for (size_t i = 0; i < t->functions; i++) {
		const struct dt_function *f = &t->function[i];
		const struct function one = {f->address, f->size, add_text(&text, f->linkage),
					     f->label};

		add(&out, &one, sizeof(one));
	}
	for (size_t i = 0; i < t->aliases; i++) {
		const struct alias one = {t->alias[i].address, add_text(&text, t->alias[i].linkage),
					  0};

		add(&out, &one, sizeof(one));
	}
	if (!out.failed)
		((struct all *)(void *)out.p)->text = text.n;
	return tell_pools(channel, 0, &out, &text);
}

struct naming {
	struct pool at, text;
	const char *last; /* the linkage name that was told just now */
};

/* Each is told as it is in the table, and again if it is demangled. */
static void name_alias(void *ctx, uint64_t address, const char *name)
{
	struct naming *n = ctx;
	uint32_t at = SAME;

	if (n->last) { /* the same one's */
		at = add_text(&n->text, name);
		memcpy(n->at.p + n->at.n - sizeof(at), &at, sizeof(at));
		n->last = NULL;
		return;
	}
	add(&n->at, &at, sizeof(at));
	n->last = name;
}

static bool tell_names(int channel, struct dt_symtab *t)
{
	struct naming n = {0};
	size_t functions;
	const struct dt_function *f = dt_symtab_functions(t, &functions);

	for (size_t i = 0; i < functions; i++) {
		uint32_t at = f[i].name == f[i].linkage ? SAME : add_text(&n.text, f[i].name);

		add(&n.at, &at, sizeof(at));
	}
	for (size_t i = 0; i < t->aliases && !n.at.failed; i++) {
		struct dt_symtab one = {
			.alias = &t->alias[i], .aliases = 1, .channel = -1, .kept = t->kept};

		n.last = NULL;
		dt_symtab_aliases(&one, name_alias, &n);
		t->kept = one.kept;
	}
	return tell_pools(channel, 0, &n.at, &n.text);
}

static const struct dt_function *function_at(struct dt_symtab *t, uint64_t address)
{
	const struct dt_function *f = dt_symtab_find(t, address);

	return f && f->address == address ? f : NULL;
}

static bool tell_name(int channel, struct dt_symtab *t, uint64_t address)
{
	const struct dt_function *f = function_at(t, address);
	bool other = f && f->name != f->linkage;

	return dt_apart_tell(channel, other, other ? f->name : "", other ? strlen(f->name) : 0);
}

/* Whoever describes a function asks for its signature next. */
static bool tell_line(int channel, struct dt_symtab *t, uint64_t address)
{
	const struct dt_function *f = function_at(t, address);
	char text[2 * MOST_ONE] = "";
	const char *file = "";
	unsigned line = 0;
	bool known;
	size_t n;

	if (!dt_symtab_has_debug(t))
		return dt_apart_tell(channel, BARE, "", 0);
	known = dt_symtab_line(t, address, &file, &line) && file;
	n = dt_format(text, MOST_ONE, "%s", known ? file : "");
	if (n >= MOST_ONE)
		n = MOST_ONE - 1;
	if (f)
		dt_symtab_described(t, f, text + n + 1, MOST_ONE);
	return dt_apart_tell(channel, known ? (int64_t)line : -1, text,
			     n + 1 + strlen(text + n + 1));
}

static bool tell_address(int channel, struct dt_symtab *t, unsigned line, const char *file,
			 size_t n)
{
	uint64_t address = 0;
	bool known = dt_symtab_address(t, file, n, line, &address);

	return dt_apart_tell(channel, known, &address, sizeof(address));
}

static bool tell_signature(int channel, struct dt_symtab *t, const struct dt_apart_ask *a)
{
	const struct dt_function *f = function_at(t, a->number[0]);
	char text[MOST_ONE] = "";

	if (f && a->number[1] == DT_SIGNATURE_PLAIN)
		dt_symtab_signature(t, f, text, sizeof(text));
	else if (f && a->number[1] == DT_SIGNATURE_KEYS)
		dt_symtab_described(t, f, text, sizeof(text));
	else if (f)
		dt_symtab_places(t, f, text, sizeof(text));
	return dt_apart_tell(channel, 0, text, strlen(text));
}

static bool tell_type(int channel, struct dt_symtab *t, uint64_t key, uint64_t bytes)
{
	size_t size = bytes < MOST_ONE ? (size_t)bytes : MOST_ONE;
	char text[MOST_ONE] = "";
	bool known = dt_symtab_type(t, key, text, size);

	return dt_apart_tell(channel, known, text, known ? strlen(text) : 0);
}

static bool tell_object(int channel, struct dt_symtab *t, uint64_t address)
{
	const struct dt_object *o = dt_symtab_object(t, address);
	struct object one = {0};
	struct pool out = {0}, text = {0};

	if (o) {
		one = (struct object){o->address, o->size};
		add_text(&text, o->name);
	}
	add(&out, &one, sizeof(one));
	return tell_pools(channel, o != NULL, &out, &text);
}

static bool tell_variable(int channel, struct dt_symtab *t, uint64_t address,
			  const char *expression)
{
	struct dt_variable v = {.type = ""};
	struct dt_error e = {""};

	if (dt_variable_find(t, address, expression, &v, &e) < 0)
		return dt_apart_tell(channel, -1, e.text, strlen(e.text));
	v.item.from.symbol = NULL; /* of this process's memory */
	return dt_apart_tell(channel, 0, &v, sizeof(v));
}

static bool answer(int channel, struct dt_symtab *t, const struct dt_apart_ask *a, const char *more)
{
	switch (a->what) {
	case ALL:
		return tell_all(channel, t);
	case NAMES:
		return tell_names(channel, t);
	case NAME:
		return tell_name(channel, t, a->number[0]);
	case LINE:
		return tell_line(channel, t, a->number[0]);
	case ADDRESS:
		return tell_address(channel, t, (unsigned)a->number[0], more, a->bytes);
	case SIGNATURE:
		return tell_signature(channel, t, a);
	case TYPE:
		return tell_type(channel, t, a->number[0], a->number[1]);
	case OBJECT:
		return tell_object(channel, t, a->number[0]);
	case VARIABLE:
		return tell_variable(channel, t, a->number[0], more);
	case CODE:
		return dt_code_apart_tell(channel, t->main.fd, t->main.path, t);
	default:
		return false;
	}
}

void dt_symtab_apart_serve(int channel, int file, const char *path)
{
	struct dt_error e = {""};
	struct dt_apart_ask ask;
	struct dt_symtab *t;
	char *more;
	bool ok = true;

	for (unsigned i = 0; i < 2; i++)
		dt_symfile_beside[i] = dt_apart_beside(i);
	t = dt_symtab_open_file(file, path, NULL, &e);

	while (ok && (more = dt_apart_next(channel, &ask))) {
		ok = t ? answer(channel, t, &ask, more)
		       : dt_apart_tell(channel, -1, e.text, strlen(e.text));
		free(more);
	}
	dt_symtab_close(t);
}

/* ---- who asks ---- */

static char broken[256]; /* the first */

const char *dt_symtab_apart_broken(void)
{
	return broken[0] ? broken : NULL;
}

static void note_broken(const char *path)
{
	if (!broken[0])
		dt_format(broken, sizeof(broken), "%s", path);
}

/* As dt_apart_ask(). NULL: nothing more is known of the file from here on. */
static char *ask(struct dt_symtab *t, enum question what, uint64_t first, uint64_t second,
		 const char *more, size_t most, struct dt_apart_answer *a)
{
	size_t n = more ? strlen(more) : 0;
	const struct dt_apart_ask q = {what, (uint32_t)n, {first, second}};
	char *text;

	if (t->channel < 0 || n > DT_APART_ASK_MAX)
		return NULL;
	text = dt_apart_ask(t->channel, &q, more ? more : "", most, a);
	if (text)
		return text;
	close(t->channel);
	t->channel = -1;
	note_broken(t->main.path);
	return NULL;
}

char *dt_symtab_apart_code(const struct dt_symtab *t, uint64_t size, struct dt_apart_answer *a)
{
	return ask((struct dt_symtab *)(uintptr_t)t, CODE, 0, 0, NULL, MOST_CODE * (size + 65536),
		   a);
}

/* Copies what answers have: as much of the text as is one. */
static bool take_text(char *buf, size_t size, const char *text)
{
	return size && dt_format(buf, size, "%s", text) < size;
}

static int make_tables(struct dt_symtab *t, const struct all *head, const struct function *f,
		       const struct alias *a, const char *text)
{
	t->function = calloc(head->functions + 1, sizeof(*t->function));
	t->alias = calloc(head->aliases + 1, sizeof(*t->alias));
	t->reach = calloc(head->functions + 1, sizeof(*t->reach));
	text = dt_symtab_keep(t, text, head->text);
	if (!t->function || !t->alias || !t->reach || !text)
		return -1;
	for (size_t i = 0; i < head->functions; i++) {
		if (f[i].linkage >= head->text || (i && f[i].address <= f[i - 1].address))
			return -1;
		t->function[i] = (struct dt_function){.address = f[i].address,
						      .size = f[i].size,
						      .linkage = text + f[i].linkage,
						      .label = f[i].label != 0};
	}
	for (size_t i = 0; i < head->aliases; i++) {
		if (a[i].linkage >= head->text || (i && a[i].address < a[i - 1].address))
			return -1;
		t->alias[i] = (struct dt_symtab_alias){a[i].address, text + a[i].linkage, NULL};
	}
	t->functions = head->functions;
	t->aliases = head->aliases;
	dt_symtab_fill(t);
	return 0;
}

/* The tables, which are the file's, if they are such; dt_symtab_keep() puts a byte 0 behind the
 * text. */
static int take_all(struct dt_symtab *t, const char *answer, size_t bytes)
{
	struct all head;
	size_t at = sizeof(head), functions, aliases;

	if (bytes < at)
		return -1;
	memcpy(&head, answer, sizeof(head));
	functions = sizeof(struct function) * head.functions;
	aliases = sizeof(struct alias) * head.aliases;
	if (head.functions > MOST || head.aliases > MOST || head.text > MOST ||
	    bytes != at + functions + aliases + head.text)
		return -1;
	head.build_id[sizeof(t->main.build_id) - 1] = '\0';
	memcpy(t->main.build_id, head.build_id, sizeof(t->main.build_id));
	return make_tables(t, &head, (const struct function *)(const void *)(answer + at),
			   (const struct alias *)(const void *)(answer + at + functions),
			   answer + at + functions + aliases);
}

static bool is_mangled(const char *linkage)
{
	return linkage[0] == '_' && (linkage[1] == 'Z' || linkage[1] == 'R');
}

static void answer_name(struct dt_symtab *t, struct dt_function *f)
{
	struct dt_apart_answer a;
	char *text = is_mangled(f->linkage) ? ask(t, NAME, f->address, 0, NULL, MOST, &a) : NULL;

	f->name = text && a.result == 1 ? dt_symtab_keep(t, text, strlen(text)) : NULL;
	if (!f->name)
		f->name = f->linkage;
	free(text);
}

static void answer_names(struct dt_symtab *t)
{
	size_t n = t->functions + t->aliases, begin = 4 * n;
	struct dt_apart_answer a;
	const char *kept = NULL;
	char *text;

	if (t->named)
		return;
	t->named = true;
	text = ask(t, NAMES, 0, 0, NULL, MOST, &a);
	if (text && a.bytes >= begin)
		kept = dt_symtab_keep(t, text + begin, a.bytes - begin);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = SAME;

		if (kept)
			memcpy(&at, text + 4 * i, sizeof(at));
		if (i < t->functions)
			t->function[i].name =
				kept && at < a.bytes - begin ? kept + at : t->function[i].linkage;
		else
			t->alias[i - t->functions].name =
				kept && at < a.bytes - begin ? kept + at : NULL;
	}
	free(text);
}

/* Names of sources come again and again: those that have come are kept, and the last one is found
 * first. */
static const char *source(struct dt_symtab *t, const char *name)
{
	struct dt_symtab_kept **at = &t->file, *k;
	size_t n = strlen(name) + 1;

	while ((k = *at) && strcmp(k->text, name))
		at = &k->next;
	if (k)
		*at = k->next;
	else if (!(k = malloc(sizeof(*k) + n)))
		return NULL;
	memcpy(k->text, name, n);
	k->next = t->file;
	t->file = k;
	return k->text;
}

/* What there is of an address is asked for together: line and signature. False: nothing is known.
 */
static bool ask_last(struct dt_symtab *t, uint64_t address)
{
	struct dt_apart_answer a;
	char *text;
	size_t n;

	if (t->bare || (t->last.signature && t->last.at == address))
		return !t->bare;
	text = ask(t, LINE, address, 0, NULL, 2 * MOST_ONE, &a);
	if (!text)
		return false;
	n = strlen(text) + 1;
	t->bare = a.result == BARE;
	free(t->last.signature);
	t->last.signature = strdup(n <= a.bytes ? text + n : "");
	t->last.at = address;
	t->last.source = a.result >= 0 && a.result <= INT32_MAX ? source(t, text) : NULL;
	t->last.line = t->last.source ? (unsigned)a.result : 0;
	free(text);
	return !t->bare;
}

static bool answer_line(struct dt_symtab *t, uint64_t address, const char **file, unsigned *line)
{
	if (!ask_last(t, address) || !t->last.source)
		return false;
	*file = t->last.source;
	*line = t->last.line;
	return true;
}

static bool answer_address(struct dt_symtab *t, const char *file, size_t length, unsigned line,
			   uint64_t *address)
{
	char *name = strndup(file, length), *text;
	struct dt_apart_answer a;
	bool known;

	if (!name)
		return false;
	text = ask(t, ADDRESS, line, 0, name, MOST_ONE, &a);
	known = text && a.result == 1 && a.bytes == sizeof(*address);
	if (known)
		memcpy(address, text, sizeof(*address));
	free(text);
	free(name);
	return known;
}

static void answer_signature(struct dt_symtab *t, const struct dt_function *f, unsigned how,
			     char *buf, size_t size)
{
	struct dt_apart_answer a;
	char *text = NULL;

	buf[0] = '\0';
	if (how == DT_SIGNATURE_KEYS) {
		if (ask_last(t, f->address) && t->last.signature &&
		    !take_text(buf, size, t->last.signature))
			buf[0] = '\0';
		return;
	}
	text = t->bare ? NULL : ask(t, SIGNATURE, f->address, how, NULL, MOST_ONE, &a);
	if (!text || !take_text(buf, size, text))
		buf[0] = '\0';
	free(text);
}

static bool answer_type(struct dt_symtab *t, uint64_t key, char *buf, size_t size)
{
	struct dt_apart_answer a;
	char *text = t->bare ? NULL : ask(t, TYPE, key, size, NULL, MOST_ONE, &a);
	bool known = text && a.result == 1 && take_text(buf, size, text);

	free(text);
	return known;
}

static const struct dt_object *answer_object(struct dt_symtab *t, uint64_t address)
{
	struct dt_apart_answer a;
	struct object one;
	char *text = ask(t, OBJECT, address, 0, NULL, MOST, &a);
	const char *name = NULL;

	if (text && a.result == 1 && a.bytes > sizeof(one)) {
		memcpy(&one, text, sizeof(one));
		name = dt_symtab_keep(t, text + sizeof(one), strlen(text + sizeof(one)));
	}
	free(text);
	if (!name || address < one.address || address - one.address >= one.size)
		return NULL;
	/* the one that was asked for last */
	if (!t->object && !(t->object = calloc(1, sizeof(*t->object))))
		return NULL;
	*t->object = (struct dt_object){one.address, one.size, name};
	return t->object;
}

static bool is_size(uint8_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static bool is_register(uint8_t r)
{
	return r < DT_REGISTER_XMM0 || r == DT_REGISTER_RIP || r == DT_REGISTER_NONE;
}

/* Can what DWARF says of a variable be made into code? The numbers in it can be any. */
static bool is_item(const struct dt_item *i)
{
	const struct dt_operand *o = &i->from;

	if (o->kind != DT_OPERAND_REGISTER && o->kind != DT_OPERAND_MEMORY &&
	    o->kind != DT_OPERAND_CONSTANT)
		return false;
	if (!is_size(o->size) && o->size != 16 && o->size != 32 && o->size != 64)
		return false;
	if (o->reg > DT_REGISTER_NONE || o->byte >= 64 || !is_register(o->base) ||
	    !is_register(o->index) || (o->scale && !is_size(o->scale)) ||
	    (o->segment && o->segment != 'f' && o->segment != 'g'))
		return false;
	if (o->symbol || i->steps > DT_ITEM_STEPS || i->text > DT_CAPTURE_TEXT)
		return false;
	for (unsigned k = 0; k < i->steps; k++)
		if (!is_size(i->step[k].size))
			return false;
	return true;
}

/* A bool of others' has to be read as the byte that it is. */
static void make_bool(bool *b)
{
	uint8_t byte;

	memcpy(&byte, b, 1);
	*b = byte != 0;
}

static void make_bools(struct dt_item *i)
{
	make_bool(&i->from.is_signed);
	make_bool(&i->from.is_float);
	make_bool(&i->place);
	make_bool(&i->relative);
	make_bool(&i->only_text);
	for (unsigned k = 0; k < DT_ITEM_STEPS; k++) {
		make_bool(&i->step[k].is_signed);
		make_bool(&i->step[k].place);
	}
}

static int answer_variable(struct dt_symtab *t, uint64_t address, const char *expression,
			   struct dt_variable *v, struct dt_error *e)
{
	struct dt_apart_answer a;
	char *text = ask(t, VARIABLE, address, 0, expression, MOST_ONE, &a);
	int rc = 0;

	if (text && a.result < 0) {
		rc = dt_fail(e, "%s", text);
	} else if (text && a.bytes == sizeof(*v)) {
		memcpy(v, text, sizeof(*v));
		v->type[sizeof(v->type) - 1] = '\0';
		make_bools(&v->item);
		if (!is_item(&v->item))
			rc = dt_fail(e, "%s: what the debug information says of it can not be",
				     expression);
	} else {
		rc = dt_fail(e, "%s: what reads the debug information has ended, or did not answer",
			     expression);
	}
	free(text);
	return rc;
}

static const struct dt_symtab_answers answers = {
	.name = answer_name,
	.names = answer_names,
	.line = answer_line,
	.address = answer_address,
	.signature = answer_signature,
	.type = answer_type,
	.object = answer_object,
	.variable = answer_variable,
};

struct dt_symtab *dt_symtab_apart_begin(int channel, const char *path, struct dt_error *e)
{
	struct dt_symtab *t = calloc(1, sizeof(*t));
	struct dt_apart_answer a;
	char *text = NULL;

	if (!t || !(t->main.path = strdup(path))) {
		close(channel);
		free(t);
		dt_fail(e, "out of memory reading the symbols of %s", path);
		return NULL;
	}
	t->main.fd = t->debug.fd = -1;
	t->apart = &answers;
	t->channel = channel;
	text = ask(t, ALL, 0, 0, NULL, MOST, &a);
	if (!text)
		dt_fail(e, "%s: the process that was to read it has ended, or did not answer",
			path);
	else if (a.result < 0)
		dt_fail(e, "%s", text);
	else if (take_all(t, text, a.bytes) < 0)
		dt_fail(e,
			"%s: what was read of its symbols can not be, or there is no memory for it",
			path);
	else
		goto done;
	dt_symtab_close(t);
	t = NULL;
done:
	free(text);
	return t;
}

struct dt_symtab *dt_symtab_apart_open(const char *path, struct dt_error *e)
{
	int channel = dt_apart_connect(path, e);

	if (channel >= 0)
		return dt_symtab_apart_begin(channel, path, e);
	if (dt_apart_gone())
		note_broken(path);
	return NULL;
}

int dt_symtab_apart_start(struct dt_error *e)
{
	if (dt_apart_begin(dt_symtab_apart_serve, e) < 0)
		return -1;
	dt_symtab_opens = dt_symtab_apart_open;
	return 0;
}

void dt_symtab_apart_stop(void)
{
	dt_apart_leave();
	dt_symtab_opens = NULL;
}
