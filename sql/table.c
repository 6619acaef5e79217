/* SPDX-License-Identifier: MIT */
/* Virtual tables: the part between SQLite and the files that make the rows. */
#include "sql/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql/sql.h"

struct dt_sql {
	sqlite3 *db;
	char *default_path; /* default trace; NULL: none */
	bool only_default;  /* no other one is read */
	struct dt_sql_sources sources;
	bool in_views, unindexed;
	unsigned users; /* modules that use it */
};

/* What the functions of a module get from SQLite. */
struct module {
	struct dt_sql *sql;
	const struct dt_sql_table *table;
};

struct table {
	sqlite3_vtab base;
	const struct module *module;
	char *path; /* path of its trace; NULL: the default */
	unsigned columns;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct dt_sql_scan scan;
	bool begun, row;
	sqlite3_int64 number;
};

static const struct dt_sql_table *const tables[] = {
	&dt_sql_records, &dt_sql_calls,	    &dt_sql_events,    &dt_sql_messages, &dt_sql_switches,
	&dt_sql_wakes,	 &dt_sql_lost,	    &dt_sql_pauses,    &dt_sql_changes,	 &dt_sql_held,
	&dt_sql_threads, &dt_sql_processes, &dt_sql_functions, &dt_sql_stacks,	 &dt_sql_activities,
	&dt_sql_missed,	 &dt_sql_usage,
};

/* A plan passes each condition to the run of the query as two letters: the column, from 'A' on, and
 * the operator. */
#define PLAN_COLUMN 'A'

/* ---- tables ---- */

static int vtab_error(sqlite3_vtab *v, const char *text)
{
	sqlite3_free(v->zErrMsg);
	v->zErrMsg = sqlite3_mprintf("%s", text);
	return SQLITE_ERROR;
}

/* Returns the text of 't.db', "t.db" or t.db, malloc'ed; NULL: out of memory. */
static char *unquoted(const char *s)
{
	size_t n = strlen(s);
	char *out = malloc(n + 1), *p = out;
	char quote = *s == '\'' || *s == '"' ? *s : '\0';

	if (!out)
		return NULL;
	if (!quote || n < 2 || s[n - 1] != quote)
		return strcpy(out, s);
	for (size_t i = 1; i + 1 < n; i++) {
		*p++ = s[i];
		i += s[i] == quote && s[i + 1] == quote && i + 2 < n;
	}
	*p = '\0';
	return out;
}

static char *declaration(const struct dt_sql_table *t)
{
	sqlite3_str *s = sqlite3_str_new(NULL);

	sqlite3_str_appendall(s, "CREATE TABLE x(");
	for (const struct dt_sql_column *c = t->column; c->name; c++)
		sqlite3_str_appendf(s, "%s\"%w\" %s", c == t->column ? "" : ",", c->name, c->type);
	sqlite3_str_appendall(s, ")");
	return sqlite3_str_finish(s);
}

static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **error)
{
	const struct module *m = aux;
	struct table *t;
	char *sql;
	int rc;

	if (argc > 4) {
		*error = sqlite3_mprintf("%s: one trace file, as %s('t.db')", argv[0], argv[0]);
		return SQLITE_ERROR;
	}
	sql = declaration(m->table);
	rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (rc)
		return rc;
	t = calloc(1, sizeof(*t));
	if (!t || (argc == 4 && !(t->path = unquoted(argv[3])))) {
		free(t);
		return SQLITE_NOMEM;
	}
	t->module = m;
	while (m->table->column[t->columns].name)
		t->columns++;
	if (m->sql->in_views)
		sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	*out = &t->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *v)
{
	struct table *t = (struct table *)v;

	free(t->path);
	free(t);
	return SQLITE_OK;
}

/* ---- plans ---- */

static bool is_binary(sqlite3_index_info *info, int i)
{
	const char *collation = sqlite3_vtab_collation(info, i);

	return !collation || !sqlite3_stricmp(collation, "BINARY");
}

/* Returns whether a condition with this operator on such a column is of use. */
static bool is_useful(sqlite3_index_info *info, int i, enum dt_sql_meaning meaning)
{
	unsigned char op = info->aConstraint[i].op;

	switch (meaning) {
	case DT_SQL_PLAIN:
		return false;
	case DT_SQL_BEGIN:
	case DT_SQL_BEGIN_TICKS:
	case DT_SQL_END:
	case DT_SQL_END_TICKS:
		return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
		       op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
		       op == SQLITE_INDEX_CONSTRAINT_LE;
	case DT_SQL_FUNCTION:
		return (op == SQLITE_INDEX_CONSTRAINT_EQ && is_binary(info, i)) ||
		       op == SQLITE_INDEX_CONSTRAINT_GLOB || op == SQLITE_INDEX_CONSTRAINT_LIKE;
	default:
		return op == SQLITE_INDEX_CONSTRAINT_EQ;
	}
}

/*
 * Returns whether a list, x IN (...), is taken: names of functions all at once, ids one by one. For
 * other columns it is better to read the trace once and to compare all rows.
 */
static bool takes_list(sqlite3_index_info *info, int i, enum dt_sql_meaning meaning)
{
	if (meaning == DT_SQL_FUNCTION)
		return sqlite3_vtab_in(info, i, 1);
	return meaning == DT_SQL_ID || meaning == DT_SQL_PARENT || meaning == DT_SQL_FILE;
}

/* Reduces the cost by the share that is left with such a condition. */
static void reduce(sqlite3_index_info *info, enum dt_sql_meaning meaning, unsigned char op)
{
	double cost = 1, rows = 1;

	switch (meaning) {
	case DT_SQL_ID:
		cost = 1e4;
		rows = 1e9;
		break;
	case DT_SQL_PARENT:
		cost = 1e3;
		rows = 1e6;
		break;
	case DT_SQL_FUNCTION:
		cost = 1.5;
		rows = 50;
		break;
	case DT_SQL_THREAD:
	case DT_SQL_PROCESS:
	case DT_SQL_CORE:
		cost = rows = 3;
		break;
	default:
		cost = rows = op == SQLITE_INDEX_CONSTRAINT_EQ ? 1e4 : 5;
	}
	info->estimatedCost /= cost;
	info->estimatedRows = (sqlite3_int64)((double)info->estimatedRows / rows);
}

/* Makes the plan: a letter for the column and one for the operator of each condition, in the order
 * of the values. */
static int plan(sqlite3_vtab *v, sqlite3_index_info *info)
{
	const struct table *t = (const struct table *)v;
	const struct dt_sql_column *column = t->module->table->column;
	char *text = sqlite3_malloc(2 * info->nConstraint + 1), *p = text;
	int n = 0;

	if (!text)
		return SQLITE_NOMEM;
	info->estimatedCost = t->module->table->small ? 100 : 1e8;
	info->estimatedRows = t->module->table->small ? 100 : 10000000;
	for (int i = 0; i < info->nConstraint; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		enum dt_sql_meaning meaning =
			c->iColumn < 0 ? DT_SQL_PLAIN : column[c->iColumn].meaning;

		if (!is_useful(info, i, meaning))
			continue;
		if (!c->usable) {
			if (meaning != DT_SQL_FILE)
				continue;
			/* it is not known which trace is meant: the join needs another order */
			sqlite3_free(text);
			return SQLITE_CONSTRAINT;
		}
		if (sqlite3_vtab_in(info, i, -1) && !takes_list(info, i, meaning))
			continue;
		info->aConstraintUsage[i].argvIndex = ++n;
		info->aConstraintUsage[i].omit = meaning == DT_SQL_FILE;
		*p++ = (char)(PLAN_COLUMN + c->iColumn);
		*p++ = (char)c->op;
		if (meaning != DT_SQL_FILE)
			reduce(info, meaning, c->op);
	}
	*p = '\0';
	if (info->estimatedRows < 1)
		info->estimatedRows = 1;
	info->idxStr = text;
	info->needToFreeIdxStr = 1;
	info->idxNum = (int)(info->colUsed & 0x7fffffff);
	return SQLITE_OK;
}

/* ---- what is asked for ---- */

static void not_before(struct dt_sql_times *t, uint64_t ticks)
{
	t->from = ticks > t->from ? ticks : t->from;
}

static void not_after(struct dt_sql_times *t, uint64_t ticks)
{
	t->to = ticks < t->to ? ticks : t->to;
}

static void want_time(struct dt_sql_scan *s, struct dt_sql_times *t, bool ticks, unsigned char op,
		      sqlite3_value *v)
{
	double ns = sqlite3_value_double(v);
	int64_t number = sqlite3_value_int64(v);
	bool low = op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE;
	bool high = op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE;

	if (!ticks) {
		if (low)
			not_before(t, dt_sql_ticks_before(s->pass, ns));
		if (high)
			not_after(t, dt_sql_ticks_after(s->pass, ns));
		return;
	}
	/* SQLite's integers are signed: greater ticks are negative there, so they are left to
	 * SQLite */
	if (s->pass->source->last > INT64_MAX || sqlite3_value_type(v) != SQLITE_INTEGER)
		return;
	if (low)
		not_before(t, number < 0 ? 0 : (uint64_t)number);
	if (high && number < 0)
		s->want.nothing = true;
	else if (high)
		not_after(t, (uint64_t)number);
}

static bool is_like(const char *name, unsigned char op, const char *text)
{
	return op == SQLITE_INDEX_CONSTRAINT_EQ	    ? !strcmp(name, text)
	       : op == SQLITE_INDEX_CONSTRAINT_GLOB ? !sqlite3_strglob(text, name)
						    : !sqlite3_strlike(text, name, 0);
}

/* Marks in `is' the functions that have this name, or fit this pattern. */
static void mark(const struct dt_sql_scan *s, uint8_t *is, unsigned char op, sqlite3_value *v)
{
	const char *text =
		sqlite3_value_type(v) == SQLITE_BLOB ? NULL : (const char *)sqlite3_value_text(v);

	for (uint32_t i = 0; text && i < s->want.functions; i++) {
		const struct dt_function_info *f = dt_reader_function(s->pass->reader, i);
		const char *name = f && *f->name ? f->name : "?";

		is[i] |= is_like(name, op, text);
	}
}

/* Uses a condition on the name of the function; v: a name, or a list. Returns -1 when out of
 * memory. */
static int want_function(struct dt_sql_scan *s, unsigned char op, sqlite3_value *v)
{
	sqlite3_value *one;
	uint8_t *is;

	if (!s->want.function)
		s->want.functions = dt_reader_functions(s->pass->reader) + 1;
	is = calloc(s->want.functions, 1);
	if (!is)
		return -1;
	if (sqlite3_vtab_in_first(v, &one) == SQLITE_OK)
		do
			mark(s, is, op, one);
		while (sqlite3_vtab_in_next(v, &one) == SQLITE_OK);
	else
		mark(s, is, op, v);
	for (uint32_t i = 0; s->want.function && i < s->want.functions; i++)
		is[i] &= s->want.function[i];
	free(s->want.function);
	s->want.function = is;
	return 0;
}

/* Takes a number that a column is to be equal to; false: it is not one in the range, or SQLite
 * alone compares. */
static bool integer(struct dt_sql_scan *s, sqlite3_value *v, int64_t low, int64_t high,
		    int64_t *out)
{
	if (sqlite3_value_type(v) != SQLITE_INTEGER)
		return false;
	*out = sqlite3_value_int64(v);
	if (*out < low || *out > high)
		s->want.nothing = true;
	return *out >= low && *out <= high;
}

static int want(struct dt_sql_scan *s, enum dt_sql_meaning meaning, unsigned char op,
		sqlite3_value *v)
{
	struct dt_sql_want *w = &s->want;
	int type = sqlite3_value_type(v);
	int64_t n;

	/* first, because a list looks like NULL */
	if (meaning == DT_SQL_FUNCTION)
		return want_function(s, op, v);
	/* a comparison with NULL is never true */
	if (type == SQLITE_NULL) {
		w->nothing = true;
		return 0;
	}
	switch (meaning) {
	case DT_SQL_BEGIN:
	case DT_SQL_END:
	case DT_SQL_BEGIN_TICKS:
	case DT_SQL_END_TICKS:
		if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
			want_time(s,
				  meaning == DT_SQL_BEGIN || meaning == DT_SQL_BEGIN_TICKS
					  ? &w->begin
					  : &w->end,
				  meaning == DT_SQL_BEGIN_TICKS || meaning == DT_SQL_END_TICKS, op,
				  v);
		break;
	case DT_SQL_THREAD:
		if (integer(s, v, 0, UINT32_MAX, &n)) {
			w->nothing |= w->one_thread && w->thread != n;
			w->one_thread = true;
			w->thread = (uint32_t)n;
		}
		break;
	case DT_SQL_PROCESS:
		if (integer(s, v, 0, UINT32_MAX, &n)) {
			w->nothing |= w->one_process && w->process != n;
			w->one_process = true;
			w->process = (uint32_t)n;
		}
		break;
	case DT_SQL_CORE:
		if (integer(s, v, 0, UINT16_MAX, &n)) {
			w->nothing |= w->one_core && w->core != n;
			w->one_core = true;
			w->core = (uint16_t)n;
		}
		break;
	case DT_SQL_ID:
		if (integer(s, v, INT64_MIN, INT64_MAX, &w->id))
			w->one_id = true;
		break;
	case DT_SQL_PARENT:
		if (integer(s, v, INT64_MIN, INT64_MAX, &w->parent))
			w->one_parent = true;
		break;
	default:
		break;
	}
	return 0;
}

bool dt_sql_wants_thread(const struct dt_sql_scan *s, uint32_t tid)
{
	const struct dt_thread_info *t;

	if (s->want.one_thread && (tid != s->want.thread || tid == DT_NO_TID))
		return false;
	if (!s->want.one_process)
		return true;
	t = dt_reader_thread(s->pass->reader, tid);
	return t && tid != DT_NO_TID && t->pid == s->want.process;
}

/* ---- cursors ---- */

static int open_cursor(sqlite3_vtab *v, sqlite3_vtab_cursor **out)
{
	struct cursor *c = calloc(1, sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	*out = &c->base;
	return SQLITE_OK;
}

static struct dt_sql *sql_of(const struct cursor *c)
{
	return ((const struct table *)c->base.pVtab)->module->sql;
}

/* Ends the run of a cursor, if there is one. */
static void end_scan(struct cursor *c)
{
	const struct table *t = (const struct table *)c->base.pVtab;

	if (c->begun && c->scan.state)
		t->module->table->end(&c->scan);
	free(c->scan.want.function);
	if (c->scan.pass)
		dt_sql_pass_end(c->scan.sources, c->scan.pass);
	c->scan = (struct dt_sql_scan){0};
	c->begun = c->row = false;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	end_scan(c);
	free(c);
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;
	struct dt_error e = {""};
	int rc = t->module->table->next(&c->scan, &e);

	c->row = rc > 0;
	c->number++;
	return rc < 0 ? vtab_error(base->pVtab, e.text) : SQLITE_OK;
}

/* Returns the path of the trace that a run reads. */
static const char *path_of(const struct cursor *c, const char *plan_text, sqlite3_value **v)
{
	const struct table *t = (const struct table *)c->base.pVtab;

	for (int i = 0; plan_text[2 * i]; i++)
		if (t->module->table->column[plan_text[2 * i] - PLAN_COLUMN].meaning == DT_SQL_FILE)
			return (const char *)sqlite3_value_text(v[i]);
	return t->path ? t->path : t->module->sql->default_path;
}

static int filter(sqlite3_vtab_cursor *base, int used, const char *plan_text, int argc,
		  sqlite3_value **v)
{
	struct cursor *c = (struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;
	const char *path = path_of(c, plan_text, v), *name = t->module->table->name;
	struct dt_sql_scan *s = &c->scan;
	struct dt_error e = {""};

	end_scan(c);
	if (path && sql_of(c)->only_default && strcmp(path, sql_of(c)->default_path))
		return vtab_error(base->pVtab, "only the trace that is shown can be read here");
	if (!path) {
		dt_fail(&e, "%s of which trace? devtrace_%s('t.db')", name, name);
		return vtab_error(base->pVtab, e.text);
	}
	s->sources = &sql_of(c)->sources;
	s->pass = dt_sql_pass_begin(s->sources, path, &e);
	if (!s->pass)
		return vtab_error(base->pVtab, e.text);
	s->want = (struct dt_sql_want){.begin = {0, UINT64_MAX},
				       .end = {0, UINT64_MAX},
				       .columns = (uint32_t)used,
				       .unindexed = &sql_of(c)->unindexed};
	for (int i = 0; i < argc; i++)
		if (want(s, t->module->table->column[plan_text[2 * i] - PLAN_COLUMN].meaning,
			 (unsigned char)plan_text[2 * i + 1], v[i]) < 0)
			return SQLITE_NOMEM;
	c->number = 0;
	if (s->want.nothing)
		return SQLITE_OK;
	c->begun = true;
	if (t->module->table->begin(s, &e) < 0)
		return vtab_error(base->pVtab, e.text);
	return next_row(base);
}

static int is_end(sqlite3_vtab_cursor *base)
{
	return !((struct cursor *)base)->row;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *to, int i)
{
	struct cursor *c = (struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;

	if (t->module->table->column[i].meaning == DT_SQL_FILE)
		dt_sql_put_text(to, c->scan.pass->source->path);
	else
		t->module->table->value(&c->scan, to, i);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = ((struct cursor *)base)->number;
	return SQLITE_OK;
}

static const sqlite3_module functions = {
	.iVersion = 1,
	/* xCreate is xConnect: so a table can be used without being created */
	.xCreate = connect_table,
	.xConnect = connect_table,
	.xBestIndex = plan,
	.xDisconnect = disconnect_table,
	.xDestroy = disconnect_table,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = is_end,
	.xColumn = column,
	.xRowid = rowid,
};

/* ---- values ---- */

void dt_sql_put_text(sqlite3_context *to, const char *text)
{
	sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

void dt_sql_put_duration(sqlite3_context *to, double ns)
{
	sqlite3_result_double(to, nearbyint(ns * 10) / 10);
}

void dt_sql_put_thread(sqlite3_context *to, uint32_t tid)
{
	if (tid != DT_NO_TID)
		sqlite3_result_int64(to, tid);
}

void dt_sql_put_process(struct dt_sql_scan *s, sqlite3_context *to, uint32_t tid)
{
	const struct dt_thread_info *t =
		tid == DT_NO_TID ? NULL : dt_reader_thread(s->pass->reader, tid);

	if (t)
		sqlite3_result_int64(to, t->pid);
}

void dt_sql_put_function(struct dt_sql_scan *s, sqlite3_context *to, uint32_t function)
{
	const struct dt_function_info *f = dt_reader_function(s->pass->reader, function);

	dt_sql_put_text(to, f && *f->name ? f->name : "?");
}

void dt_sql_put_module(struct dt_sql_scan *s, sqlite3_context *to, uint32_t function)
{
	const struct dt_function_info *f = dt_reader_function(s->pass->reader, function);
	const struct dt_module_info *m = f ? dt_reader_module(s->pass->reader, f->module) : NULL;

	if (m)
		dt_sql_put_text(to, m->file);
}

void dt_sql_put_core(sqlite3_context *to, uint16_t core)
{
	if (core != DT_SHARED_CORE)
		sqlite3_result_int(to, core);
}

/* ---- the whole ---- */

static void release(struct dt_sql *s)
{
	if (--s->users)
		return;
	dt_sql_sources_free(&s->sources);
	free(s->default_path);
	free(s);
}

static void free_module(void *p)
{
	struct module *m = p;

	release(m->sql);
	free(m);
}

static int add(struct dt_sql *s, const char *prefix, const struct dt_sql_table *t)
{
	struct module *m = malloc(sizeof(*m));
	char name[64];

	if (!m)
		return SQLITE_NOMEM;
	*m = (struct module){s, t};
	s->users++;
	snprintf(name, sizeof(name), "%s%s", prefix, t->name);
	/* this calls free_module() even if it fails */
	return sqlite3_create_module_v2(s->db, name, &functions, m, free_module);
}

void dt_sql_close_files(struct dt_sql *s)
{
	dt_sql_sources_free(&s->sources);
}

/* To be called before a query needs the files: opening them then would drop the locks that db has
 * on them. */
int dt_sql_open_files(struct dt_sql *s, struct dt_error *e)
{
	struct dt_sql_pass *p = NULL;

	if (s->default_path && !(p = dt_sql_pass_begin(&s->sources, s->default_path, e)))
		return -1;
	dt_sql_pass_end(&s->sources, p);
	return 0;
}

struct dt_sql *dt_sql_add(sqlite3 *db, const char *default_path, bool in_views, struct dt_error *e)
{
	struct dt_sql *s = calloc(1, sizeof(*s));
	int rc = SQLITE_OK;

	if (!s || (default_path && !(s->default_path = strdup(default_path)))) {
		free(s);
		dt_fail(e, "out of memory");
		return NULL;
	}
	s->db = db;
	s->in_views = in_views;
	s->users = 1; /* this function, until it has added all tables */
	if (dt_sql_open_files(s, e) < 0) {
		release(s);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && rc == SQLITE_OK; i++) {
		if (tables[i] != &dt_sql_activities)
			rc = add(s, "devtrace_", tables[i]);
		if (rc == SQLITE_OK && default_path)
			rc = add(s, "", tables[i]);
	}
	/* what has been added ends with the connection */
	release(s);
	if (rc == SQLITE_OK)
		return s;
	dt_fail(e, "the tables: %s", sqlite3_errmsg(db));
	return NULL;
}

void dt_sql_only_default(struct dt_sql *s)
{
	s->only_default = true;
}

bool dt_sql_wants_index(const struct dt_sql *s)
{
	return s->unindexed;
}
