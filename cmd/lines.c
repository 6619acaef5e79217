/* SPDX-License-Identifier: MIT */
/* Text traces. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "cmd/lines.h"
#include "core/text.h"

struct symbol {
	uint64_t address;
	char *name;
};

struct symbols {
	struct symbol *p;
	size_t n;
};

struct open_call {
	uint64_t begin, function, pc;
};

struct thread_calls {
	uint32_t tid;
	struct open_call *call;
	size_t n, size;
};

struct lines {
	struct symbols symbols;
	struct thread_calls *thread;
	size_t threads;
	dt_line_call_fn *fn;
	void *ctx;
	uint64_t first;
	bool begun;
};

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* "ffffffff80119f61 T rtctime" or "ffffffff80119f61 rtctime"; others are skipped. */
static bool parse_symbol(char *line, struct symbol *s)
{
	char *p, *name;

	s->address = strtoull(line, &p, 16);
	if (p == line || !isspace((unsigned char)*p))
		return false;
	name = p + strspn(p, " \t");
	if (name[0] && isspace((unsigned char)name[1]))
		name += 1 + strspn(name + 1, " \t");
	name[strcspn(name, "\n")] = '\0';
	s->name = name[0] ? strdup(name) : NULL;
	return s->name != NULL;
}

static int read_symbols(struct symbols *s, const char *path, struct dt_error *e)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t size = 0, room = 0;

	if (!f)
		return dt_fail(e, "%s: %s", path, strerror(errno));
	while (getline(&line, &size, f) > 0) {
		if (s->n == room) {
			struct symbol *p;

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

/* The symbol that contains pc: one plus its index; 0: none. */
static size_t containing(const struct symbols *s, uint64_t pc)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->p[middle].address <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct thread_calls *thread_of(struct lines *l, uint32_t tid)
{
	struct thread_calls *t;

	for (size_t i = 0; i < l->threads; i++)
		if (l->thread[i].tid == tid)
			return &l->thread[i];
	t = realloc(l->thread, (l->threads + 1) * sizeof(*t));
	if (!t)
		return NULL;
	l->thread = t;
	t += l->threads++;
	*t = (struct thread_calls){.tid = tid};
	return t;
}

static int enter(struct thread_calls *t, const struct dt_record *r, uint64_t function)
{
	if (t->n == t->size) {
		size_t size = t->size ? 2 * t->size : 64;
		struct open_call *c = realloc(t->call, size * sizeof(*c));

		if (!c)
			return -1;
		t->call = c;
		t->size = size;
	}
	t->call[t->n++] = (struct open_call){r->ticks, function, r->pc};
	return 0;
}

static void leave(struct lines *l, struct thread_calls *t, const struct dt_record *r,
		  uint64_t function)
{
	size_t i = t->n;
	char name[24];

	while (i && t->call[i - 1].function != function)
		i--;
	if (!i)
		return; /* entered before the trace began */
	t->n = --i;
	dt_format(name, sizeof(name), "%lx", (unsigned long)t->call[i].pc);
	l->fn(l->ctx, l->first, t->call[i].begin, r->ticks,
	      function ? l->symbols.p[function - 1].name : name);
}

static int take(struct lines *l, const struct dt_record *r)
{
	struct thread_calls *t = thread_of(l, r->tid);
	size_t function = containing(&l->symbols, r->pc);

	if (!t)
		return -1;
	if (!l->begun)
		l->first = r->ticks;
	l->begun = true;
	if (r->kind == DT_ENTRY)
		return enter(t, r, function);
	if (r->kind == DT_EXIT)
		leave(l, t, r, function);
	return 0;
}

int dt_lines_calls(FILE *f, const char *path, const char *symbols, dt_line_call_fn *fn, void *ctx,
		   struct dt_error *e)
{
	struct lines l = {.fn = fn, .ctx = ctx};
	char line[DT_LINE + 2];
	struct dt_record r;
	size_t number = 0;
	int rc = symbols ? read_symbols(&l.symbols, symbols, e) : 0;

	while (!rc && fgets(line, sizeof(line), f)) {
		number++;
		if (!dt_text_parse(line, strlen(line), &r))
			rc = dt_fail(e, "%s: line %zu is not a record of 121 bytes", path, number);
		else if (take(&l, &r))
			rc = dt_fail(e, "out of memory");
	}
	for (size_t i = 0; i < l.symbols.n; i++)
		free(l.symbols.p[i].name);
	free(l.symbols.p);
	for (size_t i = 0; i < l.threads; i++)
		free(l.thread[i].call);
	free(l.thread);
	return rc;
}

bool dt_lines_is(const char *path)
{
	char line[DT_LINE + 2] = "";
	struct dt_record r;
	struct stat st;
	FILE *f;
	bool is;

	/* to open a pipe would wait for its writer */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	is = fgets(line, sizeof(line), f) && dt_text_parse(line, strlen(line), &r);
	fclose(f);
	return is;
}
