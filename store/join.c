/* SPDX-License-Identifier: MIT */
/* Adding a whole trace to another one: its rows, and its records. */
#include "store/join.h"

#include <stdlib.h>
#include <string.h>

#include "store/layout.h"
#include "store/reader-work.h"
#include "store/store-work.h"
#include "store/text-piece.h"
#include "store/wakers.h"

/*
 * Columns of a table, and for each how it gets to the new trace:
 *	i thread or process  o one that may not have been traced  t tick  c core
 *	f m s y k w: row of function, module, site, type, stack, waker
 *	g text with rows of types after '#'  - as it is
 * A column that an older file lacks makes the whole table missing there: those came together.
 */
static const struct table {
	const char *name, *columns, *how;
} table[] = {
	{"process", "pid,ppid,exe,cmdline,begin_ticks,end_ticks,status", "io--tt-"},
	{"exec", "pid,ticks", "it"},
	{"thread", "tid,pid,name", "ii-"},
	{"module", "id,pid,base,low,high,path,build_id,begin_ticks,end_ticks", "mi-----tt"},
	{"module_name", "module,name", "m-"},
	{"complete", "module,ticks", "mt"},
	{"function", "id,module,address,size,name,file,line,signature", "fm-----g"},
	{"function_name", "function,name", "f-"},
	{"type", "id,text", "yg"},
	{"site", "id,pid,pc,kind,function,place,mask,target", "si--f---"},
	{"loss", "core,after,lost,begin_ticks,end_ticks", "c--tt"},
	{"lost_switches", "core,after,lost", "c--"},
	{"pause", "begin_ticks,end_ticks,why,times,missed", "tt---"},
	{"change", "begin_ticks,end_ticks,command,off", "tt--"},
	{"written", "core,source,records,dropped", "c---"},
	{"left_out", "function,calls,untimed,total,self,min,max", "f------"},
	{"budget_off", "function,begin_ticks,end_ticks,rate,calls,rate_after,cpu_ns", "ftt----"},
	{"left_records", "core,records", "c-"},
	{"backtrace", "tid,ticks,function,stack", "itfk"},
	{"stack", "id,ended", "k-"},
	{"stack_frame", "stack,level,address,function,file,line", "k--f--"},
	{"waited", "tid,begin_ticks,end_ticks,what", "itt-"},
	{"used", "pid,ticks,memory,cpu_ns", "it--"},
	{"waker", "id,tid,pid,name,context,made,function,stack", "woo---fk"},
	{"hold", "tid,begin_ticks,end_ticks,why", "itt-"},
	{"event", "subsystem,event,subsystem_name,name,description", "-----"},
	{"unhooked", "path,address,name,reason", "----"},
	{"unhooked_caller", "path,caller,callee", "---"},
	{"clock", "ticks,monotonic_ns,realtime_ns", "t--"},
	{"jit", "pid,low,high,start,name", "i----"},
};

#define LOCALS (1u << 18) /* places of the look-up table: twice those that a chunk can fill */

struct join {
	struct dt_store *s;
	const struct dt_join_from *from;
	struct dt_joined *joined;
	struct dt_error *e;
	struct dt_pids id;    /* from numbers of its own to those of the new trace */
	uint32_t first[256];  /* by letter: what is added to numbers of rows */
	uint16_t shared[256]; /* rings of no core, from 0xff00 on, in the new trace; 0: none yet */
	struct local {	      /* the open chunk's dictionary */
		uint64_t key; /* site and flags */
		uint32_t chunk; /* of which chunk this is */
		uint32_t local;
	} * local;
	uint32_t chunks;
	struct dt_encoder *chunk;
	uint64_t written; /* records of this core in chunks that were written */
};

static uint32_t id_of(struct join *j, uint32_t id)
{
	uint32_t to;

	if (id == 0 || id == DT_NO_TID)
		return id;
	to = dt_pids_get(&j->id, id);
	if (to)
		return to;
	to = DT_JOIN_FIRST_ID + j->joined->ids++;
	if (dt_pids_set(&j->id, id, to))
		return 0; /* said where the numbers are written */
	return to;
}

/* Is it a thread or process of the trace? What is only a parent or a waker keeps its number, which
 * no thread of the new trace has: with an id it would be one more, without a name. */
static bool is_described(const struct join *j, uint32_t id)
{
	return dt_reader_thread(j->from->reader, id) || dt_reader_process(j->from->reader, id);
}

/* Returns the ring in the new trace; -1: there are too many. */
static int ring_of(struct join *j, unsigned ring)
{
	const struct dt_join_from *f = j->from;
	unsigned further, to;

	if (ring < f->cores)
		return (int)(f->core + ring);
	if (ring >= DT_SHARED_CORES && ring <= DT_SHARED_CORE) {
		uint16_t *known = &j->shared[ring - DT_SHARED_CORES];

		if (!*known && j->joined->shared <= DT_SHARED_CORE - DT_SHARED_CORES)
			*known = (uint16_t)(DT_SHARED_CORE - j->joined->shared++);
		return *known ? *known
			      : dt_fail(j->e, "the traces have more than 256 rings of no core");
	}
	if (ring < DT_FURTHER_CORES || ring > DT_SHARED_CORE)
		return dt_fail(j->e, "%s: there is no core %u", f->reader->path, ring);
	further = ring - DT_FURTHER_CORES;
	to = DT_FURTHER_CORES + further / f->cores * f->all + f->core + further % f->cores;
	return to < DT_SHARED_CORES ? (int)to
				    : dt_fail(j->e, "the traces have too many cores and users");
}

static uint64_t tick_of(const struct join *j, uint64_t ticks)
{
	return ticks ? j->from->place(j->from->ctx, ticks) : 0;
}

/* Binds a text in which rows of types get their new numbers. */
static int bind_types(struct join *j, sqlite3_stmt *to, int column, const char *p)
{
	size_t room = 2, n = 0;
	char *text;

	for (const char *c = p ? p : ""; *c; c++)
		room += *c == '#' ? 12 : 1;
	text = malloc(room);
	if (!text)
		return dt_fail(j->e, "out of memory");
	for (p = p ? p : ""; *p;) {
		char *end;
		unsigned long row;

		text[n++] = *p;
		if (*p++ != '#' || *p < '0' || *p > '9')
			continue;
		row = strtoul(p, &end, 10);
		n += dt_format(text + n, room - n, "%u", (uint32_t)row + j->first['y']);
		p = end;
	}
	return sqlite3_bind_text(to, column, text, (int)n, free) ? dt_store_fail(j->s, j->e) : 0;
}

/* Binds one column of a row. */
static int bind(struct join *j, char how, sqlite3_stmt *from, sqlite3_stmt *to, int i)
{
	sqlite3_int64 v;

	if (how == '-' || sqlite3_column_type(from, i) == SQLITE_NULL)
		return sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i))
			       ? dt_store_fail(j->s, j->e)
			       : 0;
	if (how == 'g')
		return bind_types(j, to, i + 1, (const char *)sqlite3_column_text(from, i));
	v = sqlite3_column_int64(from, i);
	if (how == 't') {
		v = (sqlite3_int64)tick_of(j, (uint64_t)v);
	} else if (how == 'i') {
		v = id_of(j, (uint32_t)v);
	} else if (how == 'o') {
		v = is_described(j, (uint32_t)v) ? id_of(j, (uint32_t)v) : (uint32_t)v;
	} else if (how == 'c') {
		v = ring_of(j, v < 0 || v > DT_SHARED_CORE ? DT_SHARED_CORE + 1 : (unsigned)v);
		if (v < 0)
			return -1;
	} else if (v) {
		v = (uint32_t)v + j->first[(uint8_t)how];
	}
	sqlite3_bind_int64(to, i + 1, v);
	return 0;
}

static bool is_there(struct join *j, const char *name)
{
	sqlite3_stmt *q = NULL;
	bool there;

	if (sqlite3_prepare_v2(j->from->reader->db,
			       "SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", -1, &q,
			       NULL))
		return true; /* the next statement says what is wrong */
	sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
	there = sqlite3_step(q) != SQLITE_DONE;
	sqlite3_finalize(q);
	return there;
}

static int copy_rows(struct join *j, const struct table *t, sqlite3_stmt *from, sqlite3_stmt *to)
{
	int rc, n = (int)strlen(t->how);

	while ((rc = sqlite3_step(from)) == SQLITE_ROW) {
		for (int i = 0; i < n; i++)
			if (bind(j, t->how[i], from, to, i))
				return -1;
		if (sqlite3_step(to) != SQLITE_DONE)
			return dt_store_fail(j->s, j->e);
		sqlite3_reset(to);
	}
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(j->from->reader, j->e);
}

static int copy_table(struct join *j, const struct table *t)
{
	sqlite3_stmt *from = NULL, *to = NULL;
	char sql[400], places[32] = "?";
	int rc;

	if (!is_there(j, t->name))
		return 0;
	for (size_t i = 1; t->how[i]; i++)
		memcpy(places + 2 * i - 1, ",?", 3);
	dt_format(sql, sizeof(sql), "INSERT OR IGNORE INTO %s(%s) VALUES(%s)", t->name, t->columns,
		  places);
	if (sqlite3_prepare_v2(j->s->db, sql, -1, &to, NULL))
		return dt_store_fail(j->s, j->e);
	dt_format(sql, sizeof(sql), "SELECT %s FROM %s", t->columns, t->name);
	/* an older file's budget_off lacks columns */
	if (!strcmp(t->name, "budget_off"))
		dt_format(sql, sizeof(sql), "%s", DT_STORE_BUDGET_SQL("budget_off"));
	if (sqlite3_prepare_v2(j->from->reader->db, sql, -1, &from, NULL))
		rc = dt_reader_sql_error(j->from->reader, j->e);
	else
		rc = copy_rows(j, t, from, to);
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return rc;
}

/* Of a trace that was made of a session's log it is not known how many records were written: then
 * it is not known of all. */
static int keep_written(struct join *j)
{
	sqlite3_stmt *q = NULL;
	int rc = 0;

	if (sqlite3_prepare_v2(j->from->reader->db, "SELECT 1 FROM written LIMIT 1", -1, &q,
			       NULL) ||
	    sqlite3_step(q) != SQLITE_ROW)
		j->joined->no_written = true;
	sqlite3_finalize(q);
	if (j->joined->no_written)
		rc = sqlite3_exec(j->s->db, "DELETE FROM written", NULL, NULL, NULL);
	return rc ? dt_store_fail(j->s, j->e) : 0;
}

/* Finds what is added to the numbers of rows: the highest that is there. */
static int find_first(struct join *j)
{
	static const struct {
		char letter;
		const char *sql;
	} of[] = {{'f', "SELECT ifnull(max(id), 0) FROM function"},
		  {'m', "SELECT ifnull(max(id), 0) FROM module"},
		  {'s', "SELECT ifnull(max(id), 0) FROM site"},
		  {'y', "SELECT ifnull(max(id), 0) FROM type"},
		  {'k', "SELECT ifnull(max(id), 0) FROM stack"},
		  {'w', "SELECT ifnull(max(id), 0) FROM waker"}};

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		sqlite3_stmt *q = NULL;
		bool ok = sqlite3_prepare_v2(j->s->db, of[i].sql, -1, &q, NULL) == SQLITE_OK &&
			  sqlite3_step(q) == SQLITE_ROW;

		if (ok)
			j->first[(uint8_t)of[i].letter] = (uint32_t)sqlite3_column_int64(q, 0);
		sqlite3_finalize(q);
		if (!ok)
			return dt_store_fail(j->s, j->e);
	}
	return 0;
}

/* ---- records ---- */

static int write_chunk(struct join *j, unsigned ring)
{
	sqlite3_stmt *t = j->s->statement[CHUNK];
	uint32_t n = j->chunk->n;

	if (!n)
		return 0;
	if (dt_encoder_finish(j->chunk, ring, j->s->cctx, &j->s->events, &j->s->vals, j->e))
		return -1;
	sqlite3_bind_int(t, 1, (int)ring);
	dt_store_bind_u64(t, 2, j->written);
	sqlite3_bind_int64(t, 3, n);
	dt_store_bind_u64(t, 4, j->chunk->min_ticks);
	dt_store_bind_u64(t, 5, j->chunk->max_ticks);
	sqlite3_bind_blob64(t, 6, j->s->events.p, j->s->events.n, SQLITE_STATIC);
	sqlite3_bind_blob64(t, 7, j->s->vals.p, j->s->vals.n, SQLITE_STATIC);
	if (dt_store_run(j->s, CHUNK, j->e))
		return -1;
	sqlite3_clear_bindings(t);
	j->written += n;
	dt_encoder_reset(j->chunk);
	j->chunks++;
	return 0;
}

/* Returns the record's entry in the chunk's dictionary; -1: out of memory. */
static int local_of(struct join *j, uint32_t site, uint8_t mask, uint8_t flags)
{
	uint64_t key = (uint64_t)site << 8 | flags;
	int l;

	for (size_t i = dt_hash(key);; i++) {
		struct local *k = &j->local[i & (LOCALS - 1)];

		if (k->chunk == j->chunks && k->key == key)
			return (int)k->local;
		if (k->chunk == j->chunks)
			continue;
		l = dt_encoder_local(j->chunk, site, mask, flags);
		if (l >= 0)
			*k = (struct local){key, j->chunks, (uint32_t)l};
		return l < 0 ? dt_fail(j->e, "out of memory") : l;
	}
}

/* Gives a record its place in the new trace. */
static void change(struct join *j, struct dt_record *r)
{
	r->ticks = j->from->place(j->from->ctx, r->ticks);
	r->tid = id_of(j, r->tid);
	if (r->core < DT_FURTHER_CORES)
		r->core = (uint16_t)(r->core + j->from->core);
	if (dt_kind_is_about(r->kind) && DT_WAKER_OF(r->sp))
		r->sp = DT_WAKER_SP(DT_WAKER_OF(r->sp) +
				    (uint64_t)j->first[r->kind == DT_WAKE ? 'w' : 'k']);
	if (r->kind == DT_SWITCH) {
		r->value[0] = id_of(j, (uint32_t)r->value[0]);
		r->value[2] = id_of(j, (uint32_t)r->value[2]);
		r->value[3] = (r->value[3] & ~0xffffffffull) | id_of(j, (uint32_t)r->value[3]);
	}
}

static int put_span(struct join *j, unsigned ring, const struct dt_span *s)
{
	struct dt_reader *r = j->from->reader;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct dt_site *site = dt_reader_site(r, s->site[i]);
		struct dt_record x;
		int l;

		if (j->chunk->n == DT_CHUNK_MAX && write_chunk(j, ring))
			return -1;
		dt_span_record(r, s, i, &x);
		x.core = dt_span_core(s, i);
		change(j, &x);
		l = local_of(j, s->site[i] + j->first['s'],
			     site ? dt_text_mask(site->kind, site->mask) : 0xf, x.flags);
		if (l < 0)
			return -1;
		dt_encoder_put(j->chunk, &x, (unsigned)l, ring);
	}
	return 0;
}

static int copy_core(struct join *j, unsigned core)
{
	struct dt_reader_range range = {.values = true, .one_core = true, .core = (uint16_t)core};
	int rc, ring = ring_of(j, core);
	struct dt_span s;

	if (ring < 0 || dt_reader_start(j->from->reader, &range, j->e))
		return -1;
	j->written = 0;
	while ((rc = dt_reader_next(j->from->reader, &s, j->e)) > 0)
		if (put_span(j, (unsigned)ring, &s))
			return -1;
	return rc < 0 ? -1 : write_chunk(j, (unsigned)ring);
}

static int copy_records(struct join *j)
{
	unsigned *core = NULL;
	size_t n = 0;
	int rc;

	j->chunks = 1;
	j->local = calloc(LOCALS, sizeof(*j->local));
	j->chunk = dt_encoder_new();
	rc = j->local && j->chunk ? dt_reader_cores(j->from->reader, &core, &n, j->e)
				  : dt_fail(j->e, "out of memory");
	for (size_t i = 0; i < n && !rc; i++)
		rc = copy_core(j, core[i]);
	free(core);
	dt_encoder_free(j->chunk);
	free(j->local);
	return rc;
}

/* Writes which numbers the kernel had given to threads and processes. */
static int write_numbers(struct join *j, uint32_t ids)
{
	uint32_t n = 0;

	for (size_t i = 0; i < j->id.size; i++) {
		const struct dt_pid_entry *p = &j->id.entry[i];

		if (p->tid == DT_NO_TID)
			continue;
		n++;
		if (dt_store_again(j->s, p->pid, dt_reader_number(j->from->reader, p->tid), j->e))
			return -1;
	}
	/* a thread that is in no table is in one from now on: it has got a number */
	if (sqlite3_exec(j->s->db,
			 "INSERT INTO thread SELECT tid, 0, '' FROM again WHERE tid NOT IN "
			 "(SELECT tid FROM thread) AND tid NOT IN (SELECT pid FROM process)",
			 NULL, NULL, NULL))
		return dt_store_fail(j->s, j->e);
	return n == j->joined->ids - ids ? 0 : dt_fail(j->e, "out of memory");
}

/* ---- table meta ---- */

/* What of the reference's is true of all, or says how to read the file. */
static const char *const kept[] = {"processor",	   "kernel",	      "policy",	   "ring_size",
				   "record_ticks", "cost.entry",      "cost.exit", "cost.point",
				   "revision",	   "ticks_per_second"};

static int put_number(struct dt_store *s, const char *key, uint64_t n, struct dt_error *e)
{
	char text[24];

	dt_format(text, sizeof(text), "%lu", (unsigned long)n);
	return dt_store_meta(s, key, text, e);
}

/* Counts of what is not known, which are added up. */
static int put_sums(struct dt_store *s, struct dt_reader *const *reader, uint32_t hosts,
		    struct dt_error *e)
{
	static const char *const sum[] = {"clockless", "unknown_tids", "births_missed",
					  "stolen_ns"};

	for (size_t i = 0; i < sizeof(sum) / sizeof(*sum); i++) {
		const char *text;
		uint64_t n = 0;
		bool any = false;

		for (uint32_t h = 0; h < hosts; h++)
			if ((text = dt_reader_meta(reader[h], sum[i]))) {
				n += strtoull(text, NULL, 10);
				any = true;
			}
		if (any && put_number(s, sum[i], n, e))
			return -1;
	}
	return 0;
}

int dt_join_meta(struct dt_store *s, struct dt_reader *const *reader, uint32_t n,
		 uint32_t reference, unsigned cores, struct dt_error *e)
{
	struct dt_reader *r = reader[reference];
	const char *mine = dt_reader_meta(r, "processor"), *other;

	for (uint32_t i = 0; i < n; i++) {
		other = dt_reader_meta(reader[i], "processor");
		if (strcmp(mine ? mine : "x86-64", other ? other : "x86-64"))
			return dt_fail(e,
				       "%s and %s are of different processors: they can not be "
				       "one trace",
				       r->path, reader[i]->path);
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		const char *value = dt_reader_meta(r, kept[i]);

		if (value && dt_store_meta(s, kept[i], value, e))
			return -1;
	}
	if (put_sums(s, reader, n, e))
		return -1;
	return put_number(s, "cores", cores, e);
}

int dt_join_offsets(struct dt_store *s, const struct dt_reader *r, unsigned core, unsigned cores,
		    struct dt_error *e)
{
	char key[40], text[24];

	for (uint32_t i = 0; i < cores; i++) {
		int64_t offset = dt_reader_clock_offset(r, i);

		if (!offset)
			continue;
		dt_format(key, sizeof(key), "clock_offset.%u", core + i);
		dt_format(text, sizeof(text), "%ld", (long)offset);
		if (dt_store_meta(s, key, text, e))
			return -1;
	}
	return 0;
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	/* records are joined, not put */
	(void)ctx, (void)r, (void)row;
}

struct dt_store *dt_join_create(const char *path, struct dt_error *e)
{
	return dt_store_create(path, describe, NULL, e);
}

unsigned dt_join_cores(struct dt_reader *r, struct dt_error *e)
{
	const char *text = dt_reader_meta(r, "cores");
	unsigned long said = text ? strtoul(text, NULL, 10) : 0;
	unsigned *core, cores = said && said < DT_FURTHER_CORES ? (unsigned)said : 1;
	size_t n;

	if (dt_reader_cores(r, &core, &n, e))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (core[i] < DT_FURTHER_CORES && core[i] >= cores)
			cores = core[i] + 1;
	free(core);
	return cores;
}

int dt_store_join(struct dt_store *s, struct dt_joined *joined, const struct dt_join_from *from,
		  struct dt_error *e)
{
	struct join j = {.s = s, .from = from, .joined = joined, .e = e};
	uint32_t ids = joined->ids;
	int rc = dt_store_begin(s, e) ? -1 : find_first(&j);

	joined->functions = j.first['f'];
	for (size_t i = 0; i < sizeof(table) / sizeof(*table) && !rc; i++)
		if (from->clocks || strcmp(table[i].name, "clock") != 0)
			rc = copy_table(&j, &table[i]);
	if (!rc)
		rc = keep_written(&j);
	if (!rc)
		rc = copy_records(&j);
	if (!rc)
		rc = write_numbers(&j, ids);
	dt_pids_free(&j.id);
	return rc;
}
