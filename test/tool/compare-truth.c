/* SPDX-License-Identifier: MIT */
/*
 * Compares a trace with the truth that the traced program told of itself (test/programs/truth.h).
 * usage: compare-truth TRACE TRUTH
 *
 * First record by record: every entry and exit of every thread must be there, in order, with the
 * right values and stack pointers, and nothing else. Then call by call, as paired by analyse/: the
 * same tree with the same ends. Prints what differs; exits 1 when anything does.
 *
 * The truth is that of the source: what tail-calls is the caller of what it jumps to, and ends with
 * that. A trace of optimized code says so where the jump and what it leads to are recorded.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/pair.h"
#include "store/reader.h"
#include "test/programs/truth.h"

#define MAX_REPORTS 12

struct record {
	uint8_t kind, place, mask;
	bool async;
	char name[64];
	uint64_t sp;
	uint64_t value[4];
};

struct call {
	char name[64];
	int64_t parent; /* index in the thread's list; -1: none; -2: not compared */
	uint32_t flags;
	bool ended, async;
};

struct thread {
	uint32_t tid;
	const struct truth_event **truth;
	size_t truths, truth_room;
	struct record *record;
	size_t records, record_room;
	struct call *call; /* as paired */
	size_t calls, call_room;
	int64_t last_tail; /* the call before the next that ended with its tail jump; -1: none */
};

static struct thread *threads;
static size_t n_threads;
static unsigned reports;
static struct dt_reader *reader;

__attribute__((format(printf, 2, 3))) static void differ(const struct thread *t, const char *format,
							 ...)
{
	va_list ap;

	if (reports++ >= MAX_REPORTS)
		return;
	printf("# thread %u: ", t->tid);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

static void *more(void *array, size_t n, size_t *room, size_t each)
{
	if (n < *room)
		return array;
	*room = *room ? *room * 2 : 256;
	array = realloc(array, *room * each);
	if (!array)
		abort();
	return array;
}

static struct thread *thread_of(uint32_t tid)
{
	static size_t room, last;

	if (last < n_threads && threads[last].tid == tid)
		return &threads[last];
	for (last = 0; last < n_threads; last++)
		if (threads[last].tid == tid)
			return &threads[last];
	threads = more(threads, n_threads, &room, sizeof(*threads));
	threads[n_threads] = (struct thread){.tid = tid, .last_tail = -1};
	return &threads[n_threads++];
}

/* "ns::c<int>::f(int) [clone]" -> "f": what __func__ says; without a compiler's suffix. */
static void plain_name(char out[64], const char *name)
{
	const char *last = name;
	size_t n = 0;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		if (!strncmp(p, "operator", 8))
			p += 8;
		if (!*p)
			break;
		depth += !!strchr("<({", *p) - !!strchr(">)}", *p);
		if (!depth && p[0] == ':' && p[1] == ':')
			last = p + 2;
	}
	for (; last[n] && n < 63 && (!n || (last[n] != '.' && last[n] != '<')); n++)
		out[n] = last[n];
	out[n] = '\0';
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* What compilers add, and what programs do not tell of. */
static bool untold(const char *name)
{
	return starts(name, "quiet_") || starts(name, "optional_") || starts(name, "_GLOBAL_") ||
	       starts(name, "_sub_") || starts(name, "__cxx_global") ||
	       starts(name, "__clang_call") || starts(name, "__tls_") ||
	       !strcmp(name, "swapcontext") || !strcmp(name, "setcontext"); /* libc's */
}

/* -p: functions that are in one of the two only are left out. */
struct names {
	char (*name)[64];
	size_t n, room;
};

static bool probes;
static struct names told, recorded;

static bool has(const struct names *n, const char *name)
{
	for (size_t i = 0; i < n->n; i++)
		if (!strcmp(n->name[i], name))
			return true;
	return false;
}

static void add_name(struct names *n, const char *name)
{
	if (!probes || has(n, name))
		return;
	n->name = more(n->name, n->n, &n->room, sizeof(*n->name));
	snprintf(n->name[n->n++], sizeof(*n->name), "%s", name);
}

static bool load_truth(const char *path)
{
	int fd = open(path, O_RDONLY);
	const struct truth_log *log;

	if (fd < 0)
		return false;
	log = mmap(NULL, sizeof(*log), PROT_READ, MAP_SHARED, fd, 0);
	if (log == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	for (uint64_t i = 0; i < log->count; i++) {
		const struct truth_event *e = &log->event[i];
		struct thread *t;

		if (!e->kind)
			continue;
		add_name(&told, e->name);
		t = thread_of(e->tid);
		t->truth = more(t->truth, t->truths, &t->truth_room, sizeof(*t->truth));
		t->truth[t->truths++] = e;
	}
	return true;
}

static void add_record(const struct dt_span *s, uint32_t i)
{
	const struct dt_site *site = dt_reader_site(reader, s->site[i]);
	const struct dt_function_info *f = dt_reader_function(reader, site->function);
	struct thread *t = thread_of(s->tid);
	struct record r = {.kind = site->kind, .place = site->place, .sp = s->sp[i]};

	if (site->kind != DT_ENTRY && site->kind != DT_EXIT)
		return;
	plain_name(r.name, f ? f->name : "?");
	if (untold(r.name) || (probes && !has(&told, r.name)))
		return;
	add_name(&recorded, r.name);
	r.mask = site->mask;
	memcpy(r.value, s->value[i], sizeof(r.value));
	t->record = more(t->record, t->records, &t->record_room, sizeof(*t->record));
	t->record[t->records++] = r;
}

/* Functions that could not be hooked have no record at all: they are as if they were not there. */
static void leave_out(void)
{
	for (size_t i = 0; i < told.n; i++)
		if (!has(&recorded, told.name[i]))
			printf("# not hooked: %s\n", told.name[i]);
	for (size_t i = 0; i < n_threads; i++) {
		size_t n = 0;

		for (size_t k = 0; k < threads[i].truths; k++)
			if (has(&recorded, threads[i].truth[k]->name))
				threads[i].truth[n++] = threads[i].truth[k];
		threads[i].truths = n;
	}
}

static void load_records(void)
{
	struct dt_reader_range all = {.order = DT_BY_TIME, .values = true};
	struct dt_error e;
	struct dt_span s;
	int ret;

	if (dt_reader_start(reader, &all, &e)) {
		printf("# %s\n", e.text);
		exit(2);
	}
	while ((ret = dt_reader_next(reader, &s, &e)) == 1) {
		if (s.lost) {
			printf("# %lu records lost\n", (unsigned long)s.lost);
			reports++;
		}
		for (uint32_t i = 0; i < s.n; i++)
			add_record(&s, i);
	}
	if (ret < 0) {
		printf("# %s\n", e.text);
		exit(2);
	}
}

/*
 * A handler of a signal that comes at any time may begin between a function's entry and its
 * telling of it: its calls are compared apart from the others.
 */
static void mark_async(struct thread *t)
{
	for (size_t i = 0; i < t->records; i++) {
		const struct record *first = &t->record[i];

		if (first->kind != DT_ENTRY || !starts(first->name, "async_"))
			continue;
		for (uint64_t sp = first->sp; i < t->records; i++) {
			t->record[i].async = true;
			if (t->record[i].kind == DT_EXIT && t->record[i].sp == sp)
				break;
		}
	}
}

/* The frames of one stack of a thread, by the truth. */
struct frame {
	const struct truth_event *e;
	uint64_t sp;
	bool jumped; /* its last act is a call that may be a jump; no record of its leaving yet */
};

struct stack {
	struct frame *frame;
	size_t n, room;
};

struct match {
	struct thread *t;
	bool async;
	size_t at; /* next record */
	struct stack stack[256];
	uint64_t calls;
};

static struct record *peek(struct match *m)
{
	while (m->at < m->t->records && m->t->record[m->at].async != m->async)
		m->at++;
	return m->at < m->t->records ? &m->t->record[m->at] : NULL;
}

static struct frame *top(struct stack *s)
{
	return s->n ? &s->frame[s->n - 1] : NULL;
}

static bool equal(uint64_t a, uint64_t b, unsigned size)
{
	uint64_t mask = size >= 8 ? ~0ull : (1ull << size * 8) - 1;

	return !((a ^ b) & mask);
}

static void compare_value(struct match *m, const char *what, const struct record *r, unsigned i,
			  uint64_t want, unsigned size)
{
	if (!size)
		return;
	if (!(r->mask & 1 << i))
		differ(m->t, "%s: %s is not recorded (value %u)", r->name, what, i);
	else if (!equal(r->value[i], want, size))
		differ(m->t, "%s: %s is %lx, recorded as %lx", r->name, what, (unsigned long)want,
		       (unsigned long)r->value[i]);
}

static void compare_result(struct match *m, const struct truth_event *e, const struct record *r)
{
	unsigned size = e->size[0], high = size > 8 ? size - 8 : 0, low = size - high;

	switch (e->result) {
	case RESULT_INTEGER:
	case RESULT_WIDE:
		compare_value(m, "result", r, 0, e->value[0], low);
		compare_value(m, "result", r, 1, e->value[1], high);
		break;
	case RESULT_VECTOR:
		compare_value(m, "result", r, 2, e->value[0], low);
		compare_value(m, "result", r, 3, e->value[1], high);
		break;
	case RESULT_INTEGER_VECTOR:
		compare_value(m, "result", r, 0, e->value[0], low);
		compare_value(m, "result", r, 2, e->value[1], high);
		break;
	case RESULT_VECTOR_INTEGER:
		compare_value(m, "result", r, 2, e->value[0], low);
		compare_value(m, "result", r, 0, e->value[1], high);
		break;
	}
}

static bool is_exit(const struct record *r, const char *name)
{
	return r && r->kind == DT_EXIT && !strcmp(r->name, name);
}

/* Takes the exit records of callers whose last act turned out to be a call, and not a jump. */
static void leave_jumped(struct match *m, struct stack *s, uint64_t sp, int depth)
{
	struct frame *f;

	while ((f = top(s)) && f->jumped && f->e->depth >= depth) {
		struct record *r = peek(m);

		if (is_exit(r, f->e->name) && r->sp == f->sp && r->place == DT_SITE_RETURN) {
			m->at++;
			sp = f->sp;
		} else if (f->sp != sp)
			differ(m->t, "%s: no record of its exit", f->e->name);
		s->n--;
	}
}

static void match_enter(struct match *m, struct stack *s, const struct truth_event *e, bool jumped)
{
	struct record *r = peek(m);
	struct frame *f;

	/* deeper frames, and those beside it, were left without a word */
	while ((f = top(s)) && f->e->depth >= e->depth &&
	       !(jumped && f->jumped && f->e->depth == e->depth))
		s->n--;
	if (!r || r->kind != DT_ENTRY || strcmp(r->name, e->name)) {
		differ(m->t, "it entered %s, the record is %s %s", e->name,
		       !r		     ? "missing"
		       : r->kind == DT_ENTRY ? "an entry of"
					     : "an exit of",
		       r ? r->name : "");
		return;
	}
	m->at++;
	m->calls++;
	if (f && (r->sp > f->sp || (r->sp == f->sp && !f->jumped)))
		differ(m->t, "%s: its stack pointer is not below that of %s", r->name, f->e->name);
	for (unsigned i = 0; i < 4; i++)
		compare_value(m, "argument", r, i, e->value[i], e->size[i]);
	s->frame = more(s->frame, s->n, &s->room, sizeof(*s->frame));
	s->frame[s->n++] = (struct frame){e, r->sp, false};
}

static void match_leave(struct match *m, struct stack *s, const struct truth_event *e)
{
	struct record *r = peek(m);
	struct frame *f;
	uint64_t sp = 0;

	while ((f = top(s)) && f->e->depth > e->depth)
		s->n--;
	if (!is_exit(r, e->name) || (e->kind == TRUTH_LEAVE && r->place != DT_SITE_RETURN)) {
		differ(m->t, "it left %s, the record is %s %s", e->name,
		       !r		     ? "missing"
		       : r->kind == DT_ENTRY ? "an entry of"
					     : "an exit of",
		       r ? r->name : "");
		return;
	}
	m->at++;
	/* without a frame: entered by the process this one was forked from */
	if (f && f->e->depth == e->depth && !f->jumped) {
		sp = f->sp;
		if (r->sp != sp)
			differ(m->t, "%s: its stack pointer differs at the exit", r->name);
		s->n--;
	}
	if (e->kind == TRUTH_LEAVE)
		compare_result(m, e, r);
	leave_jumped(m, s, sp, e->depth);
}

static void match_tail(struct match *m, struct stack *s, const struct truth_event *e)
{
	struct record *r = peek(m);
	struct frame *f;

	while ((f = top(s)) && f->e->depth > e->depth)
		s->n--;
	if (!f || f->e->depth != e->depth)
		return;
	if (is_exit(r, e->name) && r->place == DT_SITE_TAIL) {
		if (r->sp != f->sp)
			differ(m->t, "%s: its stack pointer differs at the jump", r->name);
		m->at++;
	}
	f->jumped = true;
}

/* Walks the truth and the records side by side: both are in the order of the thread. */
static uint64_t match_records(struct thread *t, bool async)
{
	struct match *m = calloc(1, sizeof(*m));
	bool jumped = false;
	unsigned before = reports;
	uint64_t calls;

	if (!m)
		abort();
	m->t = t;
	m->async = async;
	for (size_t i = 0; i < t->truths && reports < before + 4; i++) {
		const struct truth_event *e = t->truth[i];
		struct stack *s = &m->stack[e->stack];

		if (!!e->async != async)
			continue;
		if (e->kind == TRUTH_ENTER)
			match_enter(m, s, e, jumped);
		else if (e->kind == TRUTH_TAIL)
			match_tail(m, s, e);
		else
			match_leave(m, s, e);
		jumped = e->kind == TRUTH_TAIL;
	}
	if (reports == before && peek(m))
		differ(t, "a record too many: %s of %s",
		       peek(m)->kind == DT_ENTRY ? "an entry" : "an exit", peek(m)->name);
	calls = m->calls;
	for (int i = 0; i < 256; i++)
		free(m->stack[i].frame);
	free(m);
	return calls;
}

/* Where each call is in the list of its thread, by its id; -1: not in it. */
static int64_t *index_of;
static uint64_t indexed;
static size_t index_room;

static int64_t call_index(uint64_t id)
{
	return id && id <= indexed ? index_of[id - 1] : -1;
}

static void set_index(uint64_t id, int64_t index)
{
	while (indexed < id) {
		index_of = more(index_of, indexed, &index_room, sizeof(*index_of));
		index_of[indexed++] = -1;
	}
	index_of[id - 1] = index;
}

static void call_begins(void *ctx, const struct dt_call *c)
{
	const struct dt_function_info *f = dt_reader_function(reader, c->function);
	struct thread *t = thread_of(c->tid);
	struct call new = {.parent = -1};

	(void)ctx;
	if (!c->id)
		return;
	plain_name(new.name, f ? f->name : "?");
	if (untold(new.name) || (probes && !has(&told, new.name))) {
		set_index(c->id, call_index(c->parent)); /* what it calls, its caller has called */
		return;
	}
	new.parent = call_index(c->parent);
	/* in a long chain the one that jumped has ended by then */
	if (c->flags & DT_CALL_TAILED && t->last_tail >= 0)
		new.parent = t->last_tail;
	t->last_tail = -1;
	new.async = starts(new.name, "async_") || (new.parent >= 0 && t->call[new.parent].async);
	if (starts(new.name, "async_") || starts(new.name, "anywhere_"))
		new.parent = -2;
	t->call = more(t->call, t->calls, &t->call_room, sizeof(*t->call));
	set_index(c->id, (int64_t)t->calls);
	t->call[t->calls++] = new;
}

static void call_ends(void *ctx, const struct dt_call *c)
{
	const struct dt_function_info *f = dt_reader_function(reader, c->function);
	struct thread *t = thread_of(c->tid);
	int64_t i = call_index(c->id);
	char name[64];

	(void)ctx;
	plain_name(name, f ? f->name : "?");
	if (i < 0 || untold(name) || (probes && !has(&told, name)))
		return;
	t->call[i].flags = c->flags;
	t->call[i].ended = true;
	if (c->flags & DT_CALL_LEFT)
		t->last_tail = i;
}

static void load_calls(void)
{
	struct dt_reader_range all = {.order = DT_BY_THREAD, .values = true};
	struct dt_pair_events events = {.begin = call_begins, .end = call_ends};
	struct dt_error e;

	if (dt_pair_run(reader, &all, &events, &e)) {
		printf("# pairing: %s\n", e.text);
		exit(2);
	}
}

/* A call by the truth: which entry it was made from, and how it ended. */
struct expected {
	const struct truth_event *e;
	int64_t parent;
	uint8_t end; /* enum truth_kind; NONE: it never returned; or EITHER */
};

/* It made a tail call that never returned: it ended with that, or never, as it was compiled. */
#define EITHER 255

struct open_call {
	size_t call;
	int depth;
	bool jumped;
};

static void never_returned(struct expected *x, const struct open_call *o)
{
	if (o->jumped)
		x[o->call].end = EITHER;
}

static size_t expect_calls(const struct thread *t, bool async, struct expected *x)
{
	static struct open_call *open[256];
	static size_t room[256];
	size_t n[256] = {0}, calls = 0;
	bool jumped = false;

	for (size_t i = 0; i < t->truths; i++) {
		const struct truth_event *e = t->truth[i];
		struct open_call *o;
		size_t *k = &n[e->stack];

		if (!!e->async != async)
			continue;
		open[e->stack] = o = more(open[e->stack], *k, &room[e->stack], sizeof(*o));
		while (*k && (o[*k - 1].depth > e->depth ||
			      (e->kind == TRUTH_ENTER && o[*k - 1].depth == e->depth &&
			       !(jumped && o[*k - 1].jumped))))
			never_returned(x, &o[--*k]);
		jumped = e->kind == TRUTH_TAIL;
		if (e->kind == TRUTH_ENTER) {
			x[calls] = (struct expected){e, *k ? (int64_t)o[*k - 1].call : -1, 0};
			if (starts(e->name, "async_") || starts(e->name, "anywhere_"))
				x[calls].parent = -2;
			o[(*k)++] = (struct open_call){calls++, e->depth, false};
			continue;
		}
		if (!*k || o[*k - 1].depth != e->depth)
			continue;
		x[o[*k - 1].call].end = e->kind;
		if (jumped) {
			o[*k - 1].jumped = true;
			continue;
		}
		for (--*k; *k && o[*k - 1].jumped && o[*k - 1].depth >= e->depth;)
			--*k;
	}
	for (int i = 0; i < 256; i++)
		while (n[i])
			never_returned(x, &open[i][--n[i]]);
	return calls;
}

static const char *how_ended(const struct call *c)
{
	if (!c->ended)
		return "never ended";
	if (c->flags & DT_CALL_OPEN)
		return "was open at the end";
	if (c->flags & DT_CALL_UNWOUND)
		return "was unwound";
	if (c->flags & DT_CALL_TAIL)
		return c->flags & DT_CALL_INFERRED ? "ended by an inferred tail call"
						   : "ended by a tail call";
	return "returned";
}

static bool end_fits(const struct expected *x, const struct call *c)
{
	bool left = !(c->flags & (DT_CALL_UNWOUND | DT_CALL_OPEN)) && c->ended;

	switch (x->end) {
	case EITHER:
		return true;
	case TRUTH_LEAVE:
		return left && !(c->flags & DT_CALL_TAIL);
	case TRUTH_TAIL:
	case TRUTH_OUTSIDE:
		return left;
	default: /* by a jump over it, an exception, or the end of the process; where the function
		  * has indirect jumps it cannot be told from a tail call, and is marked so */
		return c->flags & (DT_CALL_UNWOUND | DT_CALL_OPEN | DT_CALL_INFERRED);
	}
}

/* Was the call left by a jump that only the next entry tells of, or of which it is not known where
 * it led? Then that is marked as such, and the next not said to be made from it. */
static bool jumped_unseen(const struct thread *t, const int64_t *of, size_t upto, int64_t call)
{
	for (size_t i = 0; i < upto; i++)
		if (of[i] == call)
			return t->call[i].flags & (DT_CALL_INFERRED | DT_CALL_LEFT);
	return false;
}

/* The tree: entries of the truth and calls as paired are in the same order. */
static void match_calls(struct thread *t, bool async, bool stacks)
{
	struct expected *x = calloc(t->truths + 1, sizeof(*x));
	int64_t *of = calloc(t->calls + 1, sizeof(*of));
	size_t n, at = 0;
	unsigned before = reports;

	if (!x || !of)
		abort();
	memset(of, 0xff, (t->calls + 1) * sizeof(*of));
	n = expect_calls(t, async, x);
	for (size_t i = 0; i < t->calls && reports < before + 4; i++) {
		struct call *c = &t->call[i];
		int64_t parent = c->parent >= 0 ? of[c->parent] : c->parent;

		if (c->async != async)
			continue;
		of[i] = (int64_t)at;
		if (at >= n || strcmp(x[at].e->name, c->name)) {
			differ(t, "call %zu is of %s, paired as %s", at,
			       at < n ? x[at].e->name : "nothing", c->name);
			break;
		}
		if (parent != x[at].parent && !stacks && !jumped_unseen(t, of, i, x[at].parent))
			differ(t, "call %zu of %s was made from %s, paired as from %s", at, c->name,
			       x[at].parent < 0 ? "outside" : x[x[at].parent].e->name,
			       parent < 0 ? "outside" : x[parent].e->name);
		if (!end_fits(&x[at], c))
			differ(t, "call %zu of %s %s, paired as if it %s", at, c->name,
			       x[at].end ? "returned" : "never returned", how_ended(c));
		at++;
	}
	if (reports == before && at != n)
		differ(t, "%zu calls were made, %zu paired", n, at);
	free(x);
	free(of);
}

static bool has_stacks(const struct thread *t)
{
	for (size_t i = 0; i < t->truths; i++)
		if (t->truth[i]->stack)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct dt_error e;
	uint64_t calls = 0;

	probes = argc == 4 && !strcmp(argv[1], "-p");
	if (probes)
		argv++, argc--;
	if (argc != 3) {
		fprintf(stderr, "usage: compare-truth [-p] TRACE TRUTH\n");
		return 2;
	}
	reader = dt_reader_open(argv[1], &e);
	if (!reader) {
		printf("# %s\n", e.text);
		return 2;
	}
	if (!load_truth(argv[2])) {
		printf("the program told nothing\n");
		return 0;
	}
	load_records();
	if (probes)
		leave_out();
	load_calls();
	for (size_t i = 0; i < n_threads; i++) {
		struct thread *t = &threads[i];
		unsigned before = reports;

		mark_async(t);
		calls += match_records(t, false) + match_records(t, true);
		if (reports > before)
			continue; /* then the calls differ too */
		match_calls(t, false, has_stacks(t));
		match_calls(t, true, false);
	}
	if (reports > MAX_REPORTS)
		printf("# and %u more differences\n", reports - MAX_REPORTS);
	printf("%lu calls of %zu threads %s\n", (unsigned long)calls, n_threads,
	       reports ? "differ" : "are the same");
	dt_reader_close(reader);
	return reports != 0;
}
