/* SPDX-License-Identifier: MIT */
/* Writing a trace: the rows that describe. */
#include "store/store-work.h"

#include <stdlib.h>
#include <string.h>

#include "symbols/jit.h"

int dt_store_meta(struct dt_store *s, const char *key, const char *value, struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_text(s->statement[META], 1, key);
	dt_store_bind_text(s->statement[META], 2, value);
	return dt_store_run(s, META, e);
}

int64_t dt_store_module(struct dt_store *s, const struct dt_module_row *m, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[MODULE];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, m->pid);
	dt_store_bind_u64(t, 2, m->base);
	dt_store_bind_u64(t, 3, m->low);
	dt_store_bind_u64(t, 4, m->high);
	dt_store_bind_text(t, 5, m->path);
	dt_store_bind_text(t, 6, m->build_id);
	dt_store_bind_u64(t, 7, m->begin_ticks);
	dt_store_bind_u64(t, 8, m->end_ticks);
	return dt_store_run(s, MODULE, e) ? -1 : sqlite3_last_insert_rowid(s->db);
}

int dt_store_module_end(struct dt_store *s, int64_t module, uint64_t end_ticks, struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_u64(s->statement[MODULE_END], 1, end_ticks);
	sqlite3_bind_int64(s->statement[MODULE_END], 2, module);
	return dt_store_run(s, MODULE_END, e);
}

int dt_store_complete(struct dt_store *s, int64_t module, uint64_t ticks, struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(s->statement[COMPLETE], 1, module);
	dt_store_bind_u64(s->statement[COMPLETE], 2, ticks);
	return dt_store_run(s, COMPLETE, e);
}

int dt_store_module_name(struct dt_store *s, int64_t module, const char *name, struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(s->statement[MODULE_NAME], 1, module);
	dt_store_bind_text(s->statement[MODULE_NAME], 2, name);
	return dt_store_run(s, MODULE_NAME, e);
}

int dt_store_unhooked(struct dt_store *s, const char *path, uint64_t address, const char *name,
		      const char *reason, struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_text(s->statement[UNHOOKED], 1, path);
	dt_store_bind_u64(s->statement[UNHOOKED], 2, address);
	dt_store_bind_text(s->statement[UNHOOKED], 3, name);
	dt_store_bind_text(s->statement[UNHOOKED], 4, reason);
	return dt_store_run(s, UNHOOKED, e);
}

int dt_store_unhooked_caller(struct dt_store *s, const char *path, uint64_t caller, uint64_t callee,
			     struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_text(s->statement[UNHOOKED_CALLER], 1, path);
	dt_store_bind_u64(s->statement[UNHOOKED_CALLER], 2, caller);
	dt_store_bind_u64(s->statement[UNHOOKED_CALLER], 3, callee);
	return dt_store_run(s, UNHOOKED_CALLER, e);
}

int dt_store_jit(struct dt_store *s, uint32_t pid, const struct dt_jit_code *code,
		 struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(s->statement[JIT], 1, pid);
	dt_store_bind_u64(s->statement[JIT], 2, code->low);
	dt_store_bind_u64(s->statement[JIT], 3, code->high);
	dt_store_bind_u64(s->statement[JIT], 4, code->start);
	dt_store_bind_text(s->statement[JIT], 5, code->name);
	return dt_store_run(s, JIT, e);
}

static int put_other_names(struct dt_store *s, uint32_t row, const char *others, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[FUNCTION_NAME];

	for (const char *p = others; p && *p;) {
		size_t n = strcspn(p, "\n");

		sqlite3_bind_int64(t, 1, row);
		sqlite3_bind_text(t, 2, p, (int)n, SQLITE_TRANSIENT);
		if (dt_store_run(s, FUNCTION_NAME, e))
			return -1;
		p += n + (p[n] == '\n');
	}
	return 0;
}

int64_t dt_store_function(struct dt_store *s, const struct dt_function_row *f, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[FUNCTION];
	struct dt_site_entry *known;

	if (dt_store_begin(s, e))
		return -1;
	known = dt_sites_find(&s->functions, (uint32_t)f->module,
			      f->address ^ f->variant * 0x9e3779b97f4a7c15u, 0, 0);
	if (!known)
		return dt_store_no_memory(s, e);
	if (known->row)
		return known->row;
	sqlite3_bind_int64(t, 1, f->module);
	dt_store_bind_u64(t, 2, f->address);
	dt_store_bind_u64(t, 3, f->size);
	dt_store_bind_text(t, 4, f->name);
	dt_store_bind_text(t, 5, f->file);
	sqlite3_bind_int64(t, 6, f->line);
	dt_store_bind_text(t, 7, f->signature);
	if (dt_store_run(s, FUNCTION, e))
		return -1;
	known->row = (uint32_t)sqlite3_last_insert_rowid(s->db);
	return put_other_names(s, known->row, f->others, e) ? -1 : (int64_t)known->row;
}

static const char *text_of(sqlite3_stmt *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q, column);

	return text ? text : "";
}

int dt_store_functions(struct dt_store *s,
		       void (*fn)(void *ctx, int64_t row, const struct dt_function_row *f),
		       void *ctx, struct dt_error *e)
{
	static const char sql[] =
		"SELECT id, module, address, size, name, file, line, signature, names "
		"FROM function LEFT JOIN (SELECT function AS of, group_concat(name, char(10)) "
		"AS names FROM function_name GROUP BY of) ON of=id";
	sqlite3_stmt *q;
	int rc;

	if (dt_store_begin(s, e) || sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK)
		return dt_store_fail(s, e);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
		const struct dt_function_row f = {.module = sqlite3_column_int64(q, 1),
						  .address = (uint64_t)sqlite3_column_int64(q, 2),
						  .size = (uint64_t)sqlite3_column_int64(q, 3),
						  .name = text_of(q, 4),
						  .file = text_of(q, 5),
						  .line = (uint32_t)sqlite3_column_int64(q, 6),
						  .signature = text_of(q, 7),
						  .others = text_of(q, 8)};

		fn(ctx, sqlite3_column_int64(q, 0), &f);
	}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : dt_store_fail(s, e);
}

#define NAMES_MOST (32 << 10) /* bytes of a description that is kept in memory */

int64_t dt_store_type(struct dt_store *s, const char *text, struct dt_error *e)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
	struct dt_type_entry *more;

	for (const char *p = text; *p; p++)
		hash = (hash ^ (uint8_t)*p) * 0x100000001b3u;
	for (size_t i = 0; i < s->types; i++)
		if (s->type[i].hash == hash)
			return s->type[i].row;
	if (dt_store_begin(s, e))
		return -1;
	more = realloc(s->type, (s->types + 1) * sizeof(*more));
	if (!more)
		return dt_store_no_memory(s, e);
	s->type = more;
	dt_store_bind_text(s->statement[TYPE], 1, text);
	if (dt_store_run(s, TYPE, e))
		return -1;
	s->type[s->types] = (struct dt_type_entry){
		.hash = hash,
		.row = sqlite3_last_insert_rowid(s->db),
		.names = strchr("efj", text[0]) && strlen(text) <= NAMES_MOST ? strdup(text) : NULL,
	};
	return s->type[s->types++].row;
}

const char *dt_store_type_names(const struct dt_store *s, int64_t row)
{
	for (size_t i = 0; i < s->types; i++)
		if (s->type[i].row == row)
			return s->type[i].names;
	return NULL;
}

int dt_store_process(struct dt_store *s, uint32_t pid, uint32_t ppid, const char *exe,
		     const char *cmdline, uint64_t begin_ticks, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[PROCESS];

	if (dt_store_begin(s, e))
		return -1;
	dt_sites_stay(&s->sites, pid);
	sqlite3_bind_int64(t, 1, pid);
	sqlite3_bind_int64(t, 2, ppid);
	dt_store_bind_text(t, 3, exe);
	dt_store_bind_text(t, 4, cmdline);
	dt_store_bind_u64(t, 5, begin_ticks);
	return dt_store_run(s, PROCESS, e);
}

int dt_store_process_like(struct dt_store *s, uint32_t pid, uint32_t ppid, uint32_t like,
			  const char *cmdline, uint64_t begin_ticks, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[PROCESS_LIKE];

	if (dt_store_begin(s, e))
		return -1;
	dt_sites_stay(&s->sites, pid);
	sqlite3_bind_int64(t, 1, pid);
	sqlite3_bind_int64(t, 2, ppid);
	if (cmdline)
		dt_store_bind_text(t, 3, cmdline);
	else
		sqlite3_bind_null(t, 3);
	dt_store_bind_u64(t, 4, begin_ticks);
	sqlite3_bind_int64(t, 5, like);
	return dt_store_run(s, PROCESS_LIKE, e);
}

int dt_store_process_end(struct dt_store *s, uint32_t pid, int status, uint64_t end_ticks,
			 struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[PROCESS_END];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int(t, 1, status);
	dt_store_bind_u64(t, 2, end_ticks);
	sqlite3_bind_int64(t, 3, pid);
	return dt_store_run(s, PROCESS_END, e);
}

int dt_store_exec(struct dt_store *s, uint32_t pid, uint64_t ticks, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[EXEC];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, pid);
	dt_store_bind_u64(t, 2, ticks);
	return dt_store_run(s, EXEC, e);
}

int dt_store_thread(struct dt_store *s, uint32_t tid, uint32_t pid, const char *name,
		    struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[THREAD];

	if (dt_store_begin(s, e))
		return -1;
	if (dt_pids_set(&s->pids, tid, pid))
		return dt_store_no_memory(s, e);
	s->pids_version++;
	sqlite3_bind_int64(t, 1, tid);
	sqlite3_bind_int64(t, 2, pid);
	dt_store_bind_text(t, 3, name);
	return dt_store_run(s, THREAD, e);
}

int dt_store_again(struct dt_store *s, uint32_t tid, uint32_t number, struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(s->statement[NUMBER], 1, tid);
	sqlite3_bind_int64(s->statement[NUMBER], 2, number);
	return dt_store_run(s, NUMBER, e);
}

uint32_t dt_store_pid(const struct dt_store *s, uint32_t tid)
{
	return dt_pids_get(&s->pids, tid);
}

int dt_store_clock(struct dt_store *s, uint64_t ticks, uint64_t monotonic_ns, uint64_t realtime_ns,
		   struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[CLOCK];

	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_u64(t, 1, ticks);
	dt_store_bind_u64(t, 2, monotonic_ns);
	dt_store_bind_u64(t, 3, realtime_ns);
	return dt_store_run(s, CLOCK, e);
}

int dt_store_pause(struct dt_store *s, const struct dt_pause *p, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[PAUSE];

	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_u64(t, 1, p->begin);
	dt_store_bind_u64(t, 2, p->end);
	dt_store_bind_text(t, 3, p->stopped ? "stopped" : "frozen");
	dt_store_bind_u64(t, 4, p->times);
	if (p->missed == DT_NOT_KNOWN)
		sqlite3_bind_null(t, 5);
	else
		dt_store_bind_u64(t, 5, p->missed);
	return dt_store_run(s, PAUSE, e);
}

int dt_store_change(struct dt_store *s, const struct dt_change *c, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[CHANGE];

	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_u64(t, 1, c->begin);
	dt_store_bind_u64(t, 2, c->end);
	dt_store_bind_text(t, 3, c->command);
	sqlite3_bind_int(t, 4, c->off);
	return dt_store_run(s, CHANGE, e);
}

int dt_store_held(struct dt_store *s, const struct dt_held_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[HELD];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->tid);
	dt_store_bind_u64(t, 2, row->begin);
	dt_store_bind_u64(t, 3, row->end);
	dt_store_bind_text(t, 4, row->why);
	return dt_store_run(s, HELD, e);
}

int dt_store_written(struct dt_store *s, const struct dt_written_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[WRITTEN];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->core);
	dt_store_bind_text(t, 2, row->source);
	dt_store_bind_u64(t, 3, row->records);
	dt_store_bind_u64(t, 4, row->dropped);
	return dt_store_run(s, WRITTEN, e);
}

int dt_store_event(struct dt_store *s, const struct dt_event_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[EVENT];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->subsystem);
	if (row->event == DT_NO_EVENT)
		sqlite3_bind_null(t, 2);
	else
		sqlite3_bind_int64(t, 2, row->event);
	dt_store_bind_text(t, 3, row->subsystem_name);
	dt_store_bind_text(t, 4, row->name);
	dt_store_bind_text(t, 5, row->description);
	return dt_store_run(s, EVENT, e);
}

int dt_store_waited(struct dt_store *s, const struct dt_waited_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[WAITED];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->tid);
	dt_store_bind_u64(t, 2, row->begin);
	dt_store_bind_u64(t, 3, row->end);
	dt_store_bind_text(t, 4, row->text);
	return dt_store_run(s, WAITED, e);
}

int dt_store_usage(struct dt_store *s, const struct dt_usage_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[USAGE];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->pid);
	dt_store_bind_u64(t, 2, row->ticks);
	dt_store_bind_u64(t, 3, row->memory);
	dt_store_bind_u64(t, 4, row->cpu_ns);
	return dt_store_run(s, USAGE, e);
}

int dt_store_sync(struct dt_store *s, const struct dt_sync_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[SYNC];

	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_text(t, 1, row->kind);
	dt_store_bind_text(t, 2, row->id);
	dt_store_bind_u64(t, 3, row->begin);
	dt_store_bind_u64(t, 4, row->end);
	sqlite3_bind_int64(t, 5, row->ns);
	sqlite3_bind_int64(t, 6, row->bound);
	return dt_store_run(s, SYNC, e);
}

int dt_store_left_out(struct dt_store *s, const struct dt_left_out_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[LEFT_OUT];

	if (dt_store_begin(s, e))
		return -1;
	s->has_records = true; /* there were some: the trace takes the place of an older one */
	sqlite3_bind_int64(t, 1, row->function);
	dt_store_bind_u64(t, 2, row->calls);
	dt_store_bind_u64(t, 3, row->untimed);
	dt_store_bind_u64(t, 4, row->total);
	dt_store_bind_u64(t, 5, row->self);
	dt_store_bind_u64(t, 6, row->min);
	dt_store_bind_u64(t, 7, row->max);
	return dt_store_run(s, LEFT_OUT, e);
}

int dt_store_budget(struct dt_store *s, const struct dt_budget_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[BUDGET_OFF];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->function);
	dt_store_bind_u64(t, 2, row->begin);
	dt_store_bind_u64(t, 3, row->end);
	sqlite3_bind_double(t, 4, row->rate);
	dt_store_bind_u64(t, 5, row->calls);
	if (row->rate_after < 0)
		sqlite3_bind_null(t, 6);
	else
		sqlite3_bind_double(t, 6, row->rate_after);
	dt_store_bind_u64(t, 7, row->cpu_ns);
	return dt_store_run(s, BUDGET_OFF, e);
}

int dt_store_left_records(struct dt_store *s, unsigned core, uint64_t records, struct dt_error *e)
{
	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(s->statement[LEFT_RECORDS], 1, core);
	dt_store_bind_u64(s->statement[LEFT_RECORDS], 2, records);
	return dt_store_run(s, LEFT_RECORDS, e);
}
