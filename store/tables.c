/* SPDX-License-Identifier: MIT */
/* Reading the descriptions of a trace file into arrays. */
#include <stdlib.h>
#include <string.h>
#include "core/plain.h"
#include "store/store.h"
#include "store/tables.h"
#include "symbols/pattern.h"

#define BLOCK 65536

struct dt_block {
	struct dt_block *next;
	size_t used, size;
	char text[];
};

/* Adds an element, zeroed, and returns it; NULL: out of memory. */
static void *add(struct dt_array *a, size_t element)
{
	void *p;

	if (a->n == a->size) {
		size_t size = a->size ? 2 * a->size : 64;

		p = realloc(a->p, size * element);
		if (!p)
			return NULL;
		a->p = p;
		a->size = size;
	}
	p = (char *)a->p + element * a->n++;
	return memset(p, 0, element);
}

/* Returns room for a text of n bytes; NULL: out of memory. */
static char *text_room(struct dt_tables *t, size_t n)
{
	struct dt_block *b = t->blocks;

	if (!b || b->size - b->used < n) {
		size_t size = n > BLOCK ? n : BLOCK;

		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		b->next = t->blocks;
		b->used = 0;
		b->size = size;
		t->blocks = b;
	}
	b->used += n;
	return b->text + b->used - n;
}

/* Returns a copy of a text column; "" if it is NULL or memory is out. */
static const char *text(struct dt_tables *t, sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);
	size_t n = s ? strlen(s) + 1 : 1;
	char *to = n > 1 ? text_room(t, n) : NULL;

	return to ? memcpy(to, s, n) : "";
}

/*
 * Returns a name, copied if need be, as plain text (core/plain.h): names are written by many
 * commands to terminals, pictures and files of other tools, and must not have any effect there.
 */
static const char *plain_text(struct dt_tables *t, const char *s)
{
	size_t n, plain;
	char *to;

	if (dt_plain_is(s))
		return s;
	n = strlen(s);
	plain = dt_plain(NULL, s, n);
	to = text_room(t, plain + 1);
	if (!to)
		return "";
	dt_plain(to, s, n);
	to[plain] = '\0';
	return to;
}

static const char *name(struct dt_tables *t, sqlite3_stmt *q, int column)
{
	return plain_text(t, text(t, q, column));
}

static uint64_t u64(sqlite3_stmt *q, int column)
{
	return (uint64_t)sqlite3_column_int64(q, column);
}

static uint8_t letter(sqlite3_stmt *q, int column)
{
	const unsigned char *s;

	if (sqlite3_column_type(q, column) == SQLITE_INTEGER)
		return (uint8_t)sqlite3_column_int(q, column);
	s = sqlite3_column_text(q, column);
	return s && s[0] ? s[0] : '?';
}

/* ---- one function for each table: it takes a row ---- */

typedef int take_fn(struct dt_tables *t, sqlite3_stmt *q);

/* Returns 0 if the row's id is the next one: ids are used as indices, so they must be dense. */
static int dense(const struct dt_array *a, sqlite3_stmt *q)
{
	return u64(q, 0) == a->n + 1 ? 0 : -1;
}

static int take_site(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_site *s;

	if (dense(&t->sites, q) || !(s = add(&t->sites, sizeof(*s))))
		return -1;
	s->pid = (uint32_t)u64(q, 1);
	s->pc = u64(q, 2);
	s->kind = letter(q, 3);
	if (u64(q, 4) <= t->functions.n)
		s->function = (uint32_t)u64(q, 4);
	s->place = letter(q, 5);
	s->entered = s->place == 'x' || s->place == 't';
	if (s->entered)
		s->place = s->place == 'x' ? DT_SITE_RETURN : DT_SITE_TAIL;
	s->crossing = s->place == 'i' || s->place == 'j';
	if (s->crossing)
		s->place = s->place == 'i' ? DT_SITE_ENTRY : DT_SITE_ENTRY_JUMPS;
	s->mask = u64(q, 6) & 0xf;
	s->target = u64(q, 7);
	return 0;
}

static int take_function(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_function_info *f;

	if (dense(&t->functions, q) || !(f = add(&t->functions, sizeof(*f))))
		return -1;
	if (u64(q, 1) <= t->modules.n)
		f->module = (uint32_t)u64(q, 1);
	f->address = u64(q, 2);
	f->size = u64(q, 3);
	f->name = f->shown = name(t, q, 4);
	f->file = name(t, q, 5);
	f->line = (uint32_t)u64(q, 6);
	f->signature = name(t, q, 7);
	return 0;
}

/* Adds another name to a function's; the rows of one function come one after the other. More names
 * than a pattern looks at are left out. */
static int take_function_name(struct dt_tables *t, sqlite3_stmt *q)
{
	uint64_t row = u64(q, 0);
	struct dt_function_info *f = (struct dt_function_info *)t->functions.p + row - 1;
	const char *more = name(t, q, 1);
	size_t n, m = strlen(more);
	char *to;

	if (!row || row > t->functions.n)
		return -1;
	n = f->others ? strlen(f->others) : 0;
	if (!m || n + m + 2 > DT_OTHER_NAMES)
		return 0;
	to = text_room(t, n + m + 2);
	if (!to)
		return -1;
	if (n) {
		memcpy(to, f->others, n);
		to[n++] = '\n';
	}
	memcpy(to + n, more, m + 1);
	f->others = to;
	return 0;
}

static int take_type(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_type_info *i;

	if (dense(&t->types, q) || !(i = add(&t->types, sizeof(*i))))
		return -1;
	i->text = name(t, q, 1);
	return 0;
}

static int take_jit(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_jit_info *i = add(&t->jit, sizeof(*i));

	if (!i)
		return -1;
	i->pid = (uint32_t)u64(q, 0);
	i->low = u64(q, 1);
	i->high = u64(q, 2);
	i->start = u64(q, 3);
	i->name = name(t, q, 4);
	return 0;
}

static int take_module(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_module_info *m;
	const char *slash;

	if (dense(&t->modules, q) || !(m = add(&t->modules, sizeof(*m))))
		return -1;
	m->pid = (uint32_t)u64(q, 1);
	m->base = u64(q, 2);
	m->low = u64(q, 3);
	m->high = u64(q, 4);
	m->path = m->called = text(t, q, 5);
	slash = strrchr(m->path, '/');
	m->file = plain_text(t, slash ? slash + 1 : m->path);
	m->build_id = text(t, q, 6);
	m->begin_ticks = u64(q, 7);
	m->end_ticks = u64(q, 8);
	return 0;
}

static int take_module_name(struct dt_tables *t, sqlite3_stmt *q)
{
	uint64_t row = u64(q, 0);
	struct dt_module_info *m = (struct dt_module_info *)t->modules.p + row - 1;

	if (!row || row > t->modules.n)
		return -1;
	m->called = text(t, q, 1);
	return 0;
}

static int take_thread(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_thread_info *last = t->threads.p, *i;
	uint32_t tid = (uint32_t)u64(q, 0);

	if (t->threads.n && last[t->threads.n - 1].tid == tid)
		i = &last[t->threads.n - 1];
	else if (!(i = add(&t->threads, sizeof(*i))))
		return -1;
	i->tid = tid;
	i->pid = (uint32_t)u64(q, 1);
	i->name = name(t, q, 2);
	return 0;
}

static int take_number(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_number_info *i = add(&t->numbers, sizeof(*i));

	if (!i)
		return -1;
	*i = (struct dt_number_info){(uint32_t)u64(q, 0), (uint32_t)u64(q, 1)};
	return 0;
}

static int take_process(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_process_info *p = add(&t->processes, sizeof(*p));

	if (!p)
		return -1;
	p->pid = (uint32_t)u64(q, 0);
	p->ppid = (uint32_t)u64(q, 1);
	p->exe = text(t, q, 2);
	p->cmdline = text(t, q, 3);
	p->begin_ticks = u64(q, 4);
	p->end_ticks = u64(q, 5);
	p->status = sqlite3_column_type(q, 6) == SQLITE_NULL ? -1 : sqlite3_column_int(q, 6);
	return 0;
}

static int take_exec(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_exec_info *x = add(&t->execs, sizeof(*x));

	if (!x)
		return -1;
	*x = (struct dt_exec_info){(uint32_t)u64(q, 0), u64(q, 1)};
	return 0;
}

static int take_held(struct dt_tables *t, sqlite3_stmt *q)
{
	uint64_t begin = u64(q, 1), end = u64(q, 2);
	struct dt_hold_info *h = add(&t->helds, sizeof(*h));

	if (!h)
		return -1;
	*h = (struct dt_hold_info){(uint32_t)u64(q, 0),
				   {begin, end > begin ? end : begin, u64(q, 3) != 0}};
	return 0;
}

static int take_pause(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_times *x = add(&t->pauses, sizeof(*x));

	if (!x)
		return -1;
	*x = (struct dt_times){u64(q, 0), u64(q, 1), false};
	return 0;
}

static int take_off(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_off *x = add(&t->offs, sizeof(*x));
	uint64_t end = u64(q, 2);

	if (!x)
		return -1;
	*x = (struct dt_off){(uint32_t)u64(q, 0), u64(q, 1), end ? end : UINT64_MAX};
	t->offs_over += end != 0;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct dt_times *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_thread_and_begin(const void *a, const void *b)
{
	const struct dt_hold_info *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->times.begin < y->times.begin ? -1 : x->times.begin > y->times.begin;
}

/* Makes holds of helds, if there are more of them than before: sorts each thread's times and puts
 * those that overlap together. */
static int make_holds(struct dt_tables *t)
{
	struct dt_held_thread *of = NULL;
	struct dt_hold_info *all = t->helds.p;
	struct dt_times *last = NULL;

	if (t->holds_of == t->helds.n)
		return 0;
	t->holds_of = t->helds.n;
	t->holds.n = t->held_threads.n = 0;
	qsort(all, t->helds.n, sizeof(*all), by_thread_and_begin);
	for (size_t i = 0; i < t->helds.n; i++) {
		if (!of || of->tid != all[i].tid) {
			of = add(&t->held_threads, sizeof(*of));
			if (!of)
				return -1;
			*of = (struct dt_held_thread){all[i].tid, t->holds.n, 0};
		} else if (all[i].times.begin <= last->end) {
			if (all[i].times.end > last->end) {
				last->end = all[i].times.end;
				last->record = all[i].times.record;
			}
			continue;
		}
		last = add(&t->holds, sizeof(*last));
		if (!last)
			return -1;
		*last = all[i].times;
		of->n++;
	}
	return 0;
}

static int take_clock(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_clock *c = add(&t->clocks, sizeof(*c));

	if (!c)
		return -1;
	*c = (struct dt_clock){u64(q, 0), u64(q, 1), u64(q, 2)};
	return 0;
}

static int take_event(struct dt_tables *t, sqlite3_stmt *q)
{
	bool none = sqlite3_column_type(q, 1) == SQLITE_NULL;
	struct dt_event_row *last = t->events.p, *i;
	uint32_t subsystem = (uint32_t)u64(q, 0), event = none ? DT_NO_EVENT : (uint32_t)u64(q, 1);

	if (subsystem > 0xffff || (!none && event > 0xffff))
		return -1;
	last += t->events.n;
	/* rows of one event are adjacent, the last description comes last */
	if (t->events.n && last[-1].subsystem == subsystem && last[-1].event == event)
		i = last - 1;
	else if (!(i = add(&t->events, sizeof(*i))))
		return -1;
	*i = (struct dt_event_row){subsystem, event, name(t, q, 2), name(t, q, 3), name(t, q, 4)};
	return 0;
}

/* Returns whether a table is there; older files lack some. */
static bool has_table(sqlite3 *db, const char *name)
{
	sqlite3_stmt *q;
	bool has =
		sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?",
				   -1, &q, NULL) == SQLITE_OK &&
		sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
		sqlite3_step(q) == SQLITE_ROW;

	sqlite3_finalize(q);
	return has;
}

static int take_meta(struct dt_tables *t, sqlite3_stmt *q)
{
	struct dt_meta *m = add(&t->meta, sizeof(*m));

	if (!m)
		return -1;
	m->key = text(t, q, 0);
	m->value = text(t, q, 1);
	return 0;
}

static int take_all(struct dt_tables *t, sqlite3 *db, const char *sql, size_t have, take_fn *take,
		    struct dt_error *e)
{
	sqlite3_stmt *q;
	int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);

	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(q, 1, (sqlite3_int64)have);
		while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
			if (take(t, q)) {
				sqlite3_finalize(q);
				return dt_fail(e, "damaged: a table has an impossible row");
			}
		}
	}
	if (rc != SQLITE_DONE)
		dt_fail(e, "%s", sqlite3_errmsg(db));
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : -1;
}

/* Finds out how functions are called where people read it. */
static int name_functions(struct dt_tables *t)
{
	const struct dt_meta *m = t->meta.p;
	struct dt_shown_rows rows = {t->functions.p, t->modules.p, t->functions.n, t->modules.n, 0};

	for (size_t i = 0; i < t->meta.n; i++)
		if (!strcmp(m[i].key, "beside"))
			rows.second = (uint32_t)strtoul(m[i].value, NULL, 10);

	return dt_shown_update(&t->shown, &rows);
}

static int take_numbers(struct dt_tables *t, sqlite3 *db, struct dt_error *e)
{
	if (!has_table(db, "again"))
		return 0;
	return take_all(t, db, "SELECT tid, number FROM again WHERE ?1=0 ORDER BY tid", 0,
			take_number, e);
}

/* Functions, from where they ended: a session writes their names with them. */
static int take_functions(struct dt_tables *t, sqlite3 *db, struct dt_error *e)
{
	size_t have = t->functions.n;

	if (take_all(t, db,
		     "SELECT id, module, address, size, name, file, line, signature FROM function "
		     "WHERE id>?1 ORDER BY id",
		     have, take_function, e))
		return -1;
	return has_table(db, "function_name")
		       ? take_all(t, db,
				  "SELECT function, name FROM function_name "
				  "WHERE function>?1 ORDER BY function, rowid",
				  have, take_function_name, e)
		       : 0;
}

/* Reads when nothing was recorded, or something went off. */
static int take_pauses(struct dt_tables *t, sqlite3 *db, struct dt_error *e)
{
	if (has_table(db, "pause") &&
	    take_all(
		    t, db,
		    "SELECT begin_ticks, end_ticks FROM pause WHERE ?1=0 ORDER BY begin_ticks, end_ticks",
		    0, take_pause, e))
		return -1;
	if (has_table(db, "change") &&
	    take_all(t, db,
		     /*
		      * While the command is carried out, calls are recorded as before or not at
		      * all: what could be mistaken for something else ends when all of it is off.
		      */
		     "SELECT end_ticks, end_ticks FROM change WHERE ?1=0 AND off", 0, take_pause,
		     e))
		return -1;
	if (has_table(db, "budget_off") &&
	    take_all(t, db,
		     "SELECT function, begin_ticks, end_ticks FROM budget_off WHERE ?1=0 "
		     "ORDER BY function, begin_ticks",
		     0, take_off, e))
		return -1;
	if (t->pauses.n)
		qsort(t->pauses.p, t->pauses.n, sizeof(struct dt_times), by_begin);
	return 0;
}

int dt_tables_refresh(struct dt_tables *t, sqlite3 *db, struct dt_error *e)
{
	/* small tables that may change are read again, the others from where they ended */
	t->threads.n = t->processes.n = t->meta.n = t->clocks.n = t->modules.n = t->events.n =
		t->execs.n = t->pauses.n = t->numbers.n = t->offs.n = t->offs_over = 0;
	if (has_table(db, "event") &&
	    take_all(t, db,
		     "SELECT subsystem, event, subsystem_name, name, description FROM event "
		     "WHERE ?1=0 ORDER BY subsystem, ifnull(event, 65536), rowid",
		     0, take_event, e))
		return -1;
	if (has_table(db, "exec") &&
	    take_all(t, db, "SELECT pid, ticks FROM exec WHERE ?1=0 ORDER BY pid, ticks", 0,
		     take_exec, e))
		return -1;
	if (take_numbers(t, db, e))
		return -1;
	if (take_pauses(t, db, e))
		return -1;
	if (has_table(db, "hold") &&
	    take_all(t, db,
		     "SELECT tid, begin_ticks, end_ticks, why='room' FROM hold "
		     "WHERE rowid>?1 ORDER BY rowid",
		     t->helds.n, take_held, e))
		return -1;
	if (take_all(t, db, "SELECT key, value FROM meta WHERE ?1=0", 0, take_meta, e) ||
	    take_all(t, db,
		     "SELECT pid, ppid, exe, cmdline, begin_ticks, end_ticks, status FROM process "
		     "WHERE ?1=0 ORDER BY rowid",
		     0, take_process, e) ||
	    take_all(t, db, "SELECT tid, pid, name FROM thread WHERE ?1=0 ORDER BY tid, rowid", 0,
		     take_thread, e) ||
	    take_all(t, db,
		     "SELECT ticks, monotonic_ns, realtime_ns FROM clock WHERE ?1=0 ORDER BY ticks",
		     0, take_clock, e) ||
	    take_all(t, db,
		     "SELECT id, pid, base, low, high, path, build_id, begin_ticks, end_ticks "
		     "FROM module WHERE ?1=0 ORDER BY id",
		     0, take_module, e) ||
	    (has_table(db, "module_name") &&
	     take_all(t, db,
		      "SELECT m.id, m.path || char(10) || group_concat(n.name, char(10)) "
		      "FROM module_name n JOIN module m ON m.id=n.module WHERE ?1=0 GROUP BY m.id",
		      0, take_module_name, e)) ||
	    take_functions(t, db, e) ||
	    take_all(t, db,
		     "SELECT id, pid, pc, kind, function, place, mask, target FROM site "
		     "WHERE id>?1 ORDER BY id",
		     t->sites.n, take_site, e))
		return -1;
	if (make_holds(t) || name_functions(t))
		return dt_fail(e, "out of memory");
	/* after the functions, whose signatures name them */
	if (has_table(db, "type") &&
	    take_all(t, db, "SELECT id, text FROM type WHERE id>?1 ORDER BY id", t->types.n,
		     take_type, e))
		return -1;
	if (has_table(db, "jit") &&
	    take_all(t, db,
		     "SELECT pid, low, high, start, name FROM jit WHERE rowid>?1 ORDER BY rowid",
		     t->jit.n, take_jit, e))
		return -1;
	return 0;
}

void dt_tables_free(struct dt_tables *t)
{
	struct dt_array *all[] = {&t->sites,	    &t->functions, &t->modules, &t->threads,
				  &t->processes,    &t->clocks,	   &t->meta,	&t->events,
				  &t->types,	    &t->execs,	   &t->helds,	&t->holds,
				  &t->held_threads, &t->pauses,	   &t->offs,	&t->jit,
				  &t->numbers};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->p);
	dt_shown_free(&t->shown);
	while (t->blocks) {
		struct dt_block *next = t->blocks->next;

		free(t->blocks);
		t->blocks = next;
	}
}
