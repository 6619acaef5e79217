/* SPDX-License-Identifier: MIT */
/* Reading text traces. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "analyse/first.h"
#include "cmd/lines.h"
#include "cmd/open.h"
#include "core/compact.h"
#include "core/search.h"
#include "core/text.h"

/* A call that has not ended. Places below are indices into the calls of its thread. */
struct open_call {
	uint64_t begin, pc;
	size_t innermost; /* index into lines.innermost: its thread and function */
	size_t outer;	  /* the next outer call of the function in this thread: place plus one */
};

/* A function in a thread. call: the place of its innermost open call plus one; 0: none is open (an
 * exit may have no entry). */
struct innermost {
	uint32_t tid;
	uint64_t function;
	size_t call;
};

struct thread_calls {
	uint32_t tid;
	struct open_call *call;
	size_t n, size;
};

struct lines {
	struct dt_symbols symbols;
	struct thread_calls *thread;
	size_t threads, room;
	struct dt_first by_tid; /* finds a thread: its index plus one */
	struct innermost *innermost;
	size_t functions, function_room;
	struct dt_first by_function; /* finds an element of `innermost': its index plus one */
	dt_line_call_fn *fn;
	void *ctx;
	uint64_t first;
	bool begun;
};

static int by_address(const void *a, const void *b)
{
	const struct dt_symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Parses "ffffffff80119f61 T rtctime" or "ffffffff80119f61 rtctime"; false: it is neither. */
static bool parse_symbol(char *line, struct dt_symbol *s)
{
	char *p, *name;

	s->address = strtoull(line, &p, 16);
	if (p == line || !isspace((unsigned char)*p))
		return false;
	name = p + strspn(p, " \t");
	if (name[0] && isspace((unsigned char)name[1]))
		name += 1 + strspn(name + 1, " \t");
	name[strcspn(name, "\n")] = '\0';
	s->name = name[0] ? strdup(dt_cmd_plain(name)) : NULL;
	return s->name != NULL;
}

int dt_symbols_read(struct dt_symbols *s, const char *path, struct dt_error *e)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0, room = 0;

	if (!f)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	while (getline(&line, &size, f) > 0) {
		if (s->n == room) {
			struct dt_symbol *p;

			room = room ? 2 * room : 1024;
			p = realloc(s->p, room * sizeof(*p));
			if (!p)
				break;
			s->p = p;
		}
		if (parse_symbol(line, &s->p[s->n]))
			s->n++;
	}
	free(line);
	fclose(f);
	if (!s->n)
		return dt_fail(e, "%s: no symbols in it; lines are \"ADDRESS TYPE NAME\"", path);
	qsort(s->p, s->n, sizeof(*s->p), by_address);
	return 0;
}

size_t dt_symbols_find(const struct dt_symbols *s, uint64_t pc)
{
	return dt_count_before(s->n, i, s->p[i].address <= pc);
}

static bool is_tid(const void *lines, uint32_t id, const void *tid)
{
	return ((const struct lines *)lines)->thread[id - 1].tid == *(const uint32_t *)tid;
}

static struct thread_calls *thread_of(struct lines *l, uint32_t tid)
{
	uint32_t hash = dt_first_hash(tid, "", 0);
	struct dt_first_entry *x;

	if (dt_first_room(&l->by_tid))
		return NULL;
	x = dt_first_find(&l->by_tid, hash, is_tid, l, &tid);
	if (x->id)
		return &l->thread[x->id - 1];
	if (l->threads == l->room) {
		size_t room = l->room ? 2 * l->room : 64;
		struct thread_calls *t = realloc(l->thread, room * sizeof(*t));

		if (!t)
			return NULL;
		l->thread = t;
		l->room = room;
	}
	l->thread[l->threads++] = (struct thread_calls){.tid = tid};
	dt_first_put(&l->by_tid, x, (uint32_t)l->threads, hash);
	return &l->thread[l->threads - 1];
}

static bool is_function(const void *lines, uint32_t id, const void *key)
{
	const struct innermost *a = &((const struct lines *)lines)->innermost[id - 1], *b = key;

	return a->tid == b->tid && a->function == b->function;
}

static struct innermost *innermost_of(struct lines *l, uint32_t tid, uint64_t function)
{
	const struct innermost key = {.tid = tid, .function = function};
	uint32_t hash = dt_first_hash(function << 32 ^ tid, "", 0);
	struct dt_first_entry *x;

	if (dt_first_room(&l->by_function))
		return NULL;
	x = dt_first_find(&l->by_function, hash, is_function, l, &key);
	if (x->id)
		return &l->innermost[x->id - 1];
	if (l->functions == l->function_room) {
		size_t room = l->function_room ? 2 * l->function_room : 64;
		struct innermost *i = realloc(l->innermost, room * sizeof(*i));

		if (!i)
			return NULL;
		l->innermost = i;
		l->function_room = room;
	}
	l->innermost[l->functions++] = key;
	dt_first_put(&l->by_function, x, (uint32_t)l->functions, hash);
	return &l->innermost[l->functions - 1];
}

static int enter(struct lines *l, struct thread_calls *t, const struct dt_record *r,
		 uint64_t function)
{
	struct innermost *i = innermost_of(l, t->tid, function);

	if (!i)
		return -1;
	if (t->n == t->size) {
		size_t size = t->size ? 2 * t->size : 64;
		struct open_call *c = realloc(t->call, size * sizeof(*c));

		if (!c)
			return -1;
		t->call = c;
		t->size = size;
	}
	t->call[t->n++] = (struct open_call){r->ticks, r->pc, (size_t)(i - l->innermost), i->call};
	i->call = t->n;
	return 0;
}

static int leave(struct lines *l, struct thread_calls *t, const struct dt_record *r,
		 uint64_t function)
{
	const struct innermost *own = innermost_of(l, t->tid, function);
	const struct open_call *c;
	char name[24];
	size_t left;

	if (!own)
		return -1;
	if (!own->call)
		return 0; /* it was entered before the trace began */
	/* the calls inside it whose exits did not come have ended with it */
	left = own->call - 1;
	while (t->n > left) {
		c = &t->call[--t->n];
		l->innermost[c->innermost].call = c->outer;
	}
	c = &t->call[left];
	dt_format(name, sizeof(name), "%lx", (unsigned long)c->pc);
	l->fn(l->ctx, l->first, c->begin, r->ticks,
	      function ? l->symbols.p[function - 1].name : name);
	return 0;
}

static int take(void *ctx, const struct dt_line *line)
{
	struct lines *l = ctx;
	const struct dt_record *r = &line->record;
	struct thread_calls *t = thread_of(l, r->tid);
	size_t function = dt_symbols_find(&l->symbols, r->pc);

	if (!t)
		return -1;
	if (!l->begun)
		l->first = r->ticks;
	l->begun = true;
	if (r->kind == DT_ENTRY)
		return enter(l, t, r, function);
	return r->kind == DT_EXIT ? leave(l, t, r, function) : 0;
}

void dt_symbols_free(struct dt_symbols *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->p[i].name);
	free(s->p);
}

int dt_lines_calls(FILE *f, const char *path, const char *symbols, dt_line_call_fn *fn, void *ctx,
		   struct dt_error *e)
{
	struct lines l = {.fn = fn, .ctx = ctx};
	int rc = symbols ? dt_symbols_read(&l.symbols, symbols, e) : 0;

	if (!rc)
		rc = dt_lines_read(f, path, take, &l, e);
	dt_symbols_free(&l.symbols);
	for (size_t i = 0; i < l.threads; i++)
		free(l.thread[i].call);
	free(l.thread);
	free(l.by_tid.entry);
	free(l.innermost);
	free(l.by_function.entry);
	return rc;
}

/* ---- the lines ---- */

enum format { NONE, FIXED, LONG, COMPACT };

struct text_reader {
	enum format format;
	enum dt_layout layout;
	struct dt_compact compact;
};

/* Finds out the format from the first line. */
static void recognise(struct text_reader *t, const char *line, size_t n)
{
	struct dt_record r;
	struct dt_long l;
	unsigned mask;

	for (int i = DT_LAYOUT_64; i <= DT_LAYOUT_32_CPU; i++) {
		if (!dt_layout_parse(line, n, (enum dt_layout)i, &r))
			continue;
		t->format = FIXED;
		t->layout = (enum dt_layout)i;
		return;
	}
	if (dt_compact_get(&t->compact, line, n, &r, &mask) == 0)
		t->format = COMPACT;
	else if (line[0] != '#' && dt_text_parse_long(line, n, &l) >= 0)
		t->format = LONG;
	memset(&t->compact, 0, sizeof(t->compact));
}

/* Returns 1: the line has a record; 0: it has none; -1: it is not a line of this format. */
static int parse_line(struct text_reader *t, const char *line, size_t n, struct dt_line *out)
{
	struct dt_long l;
	int rc;

	*out = (struct dt_line){.mask = 0xf, .bits = 64};
	switch (t->format) {
	case FIXED:
		if (!dt_layout_parse(line, n, t->layout, &out->record))
			return -1;
		if (t->layout >= DT_LAYOUT_32) {
			out->mask = 7;
			out->bits = 32;
		}
		if (out->record.kind == DT_EXIT)
			out->mask = 1;
		return 1;
	case LONG:
		rc = dt_text_parse_long(line, n, &l);
		*out = (struct dt_line){l.record, l.mask, 64, l.function, l.function_length};
		return rc;
	case COMPACT:
		return dt_compact_get(&t->compact, line, n, &out->record, &out->mask);
	default:
		return -1;
	}
}

static int no_line(const struct text_reader *t, const char *path, size_t number, struct dt_error *e)
{
	if (t->format == FIXED)
		return dt_fail(e, "%s: line %zu is not a record of %zu bytes", path, number,
			       dt_layout_size(t->layout));
	return dt_fail(e, "%s: line %zu is not %s", path, number,
		       t->format == LONG      ? "a key=value line of a record"
		       : t->format == COMPACT ? "a compact record"
					      : "a record as `devtrace cat` prints it");
}

int dt_lines_read(FILE *f, const char *path, dt_line_fn *fn, void *ctx, struct dt_error *e)
{
	struct text_reader *t = calloc(1, sizeof(*t));
	char *line = NULL;
	size_t size = 0, number = 0;
	ssize_t n;
	int rc = 0;

	if (!t)
		return dt_fail(e, "out of memory");
	while (!rc && (n = getline(&line, &size, f)) > 0) {
		struct dt_line out;
		int is;

		if (!number++)
			recognise(t, line, (size_t)n);
		is = parse_line(t, line, (size_t)n, &out);
		if (is < 0)
			rc = no_line(t, path, number, e);
		else if (is && fn(ctx, &out))
			rc = dt_fail(e, "out of memory");
	}
	if (!rc && ferror(f))
		rc = dt_fail(e, "%s: cannot read", path);
	free(line);
	free(t);
	return rc;
}

bool dt_lines_is(const char *path)
{
	struct text_reader t = {0};
	char line[8192] = "";
	struct stat st;
	FILE *f;

	/* opening a pipe would wait for its writer */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(line, sizeof(line), f))
		recognise(&t, line, strlen(line));
	fclose(f);
	return t.format != NONE;
}
