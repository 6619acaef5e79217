/* SPDX-License-Identifier: MIT */
/* Questions in SQL, for the time line's page. */
#include "cmd/asking.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/now.h"
#include "sql/writing.h"

#define SECONDS 20	     /* that an answer may take */
#define ROWS	10000	     /* in an answer, at most */
#define BYTES	(4u << 20)   /* likewise: of all values */
#define VALUE	100000	     /* bytes of a value while it is made */
#define COLUMNS 100	     /* likewise */
#define MEMORY	(512l << 20) /* of SQLite's, of the whole process */
#define STEPS	1000	     /* of SQLite's machine, between two looks at the clock */

struct dt_asking {
	const char *path;
	pthread_mutex_t lock; /* guards what follows, but for `stop' and what the thread owns */
	bool running, joinable;
	uint64_t number; /* of the last question */
	pthread_t thread;
	double begun;
	atomic_bool stop;
	/* the thread's own while it runs */
	char *text;
	struct dt_json answer; /* "columns":[...],"rows":[...],... */
	size_t rows;
};

/* ---- what is allowed ---- */

/* Reading tables and calling functions, and nothing else: nothing is made, attached, or set. */
static int may(void *ctx, int action, const char *a, const char *b, const char *database,
	       const char *trigger)
{
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
	case SQLITE_READ:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return b && (!sqlite3_stricmp(b, "load_extension") ||
			     !sqlite3_stricmp(b, "fts3_tokenizer") ||
			     !sqlite3_stricmp(b, "readfile") || !sqlite3_stricmp(b, "writefile"))
			       ? SQLITE_DENY
			       : SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

/* Ends what takes too long, or is not wanted any more. */
static int is_over(void *ctx)
{
	struct dt_asking *a = ctx;

	return atomic_load(&a->stop) || dt_now_s() - a->begun > SECONDS;
}

/* Has SQLite make the tables, for which it asks as for a statement that makes them. */
static void make_tables(sqlite3 *db)
{
	sqlite3_stmt *list = NULL, *s = NULL;

	sqlite3_set_authorizer(db, NULL, NULL);
	if (sqlite3_prepare_v2(db, "SELECT name FROM pragma_module_list", -1, &list, NULL))
		return;
	while (sqlite3_step(list) == SQLITE_ROW) {
		char *text = sqlite3_mprintf("SELECT 1 FROM \"%w\"", sqlite3_column_text(list, 0));

		if (text && sqlite3_prepare_v2(db, text, -1, &s, NULL) == SQLITE_OK)
			sqlite3_finalize(s);
		sqlite3_free(text);
	}
	sqlite3_finalize(list);
}

static void limit(sqlite3 *db, struct dt_asking *a)
{
	make_tables(db);
	sqlite3_hard_heap_limit64(MEMORY);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE);
	sqlite3_limit(db, SQLITE_LIMIT_COLUMN, COLUMNS);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
	sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 50);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
	sqlite3_set_authorizer(db, may, NULL);
	sqlite3_progress_handler(db, STEPS, is_over, a);
}

/* ---- an answer ---- */

static void say_value(struct dt_json *out, sqlite3_stmt *s, int i)
{
	switch (sqlite3_column_type(s, i)) {
	case SQLITE_INTEGER:
		/* what a double can not hold is text */
		if (llabs(sqlite3_column_int64(s, i)) >> 53)
			dt_json_print(out, "\"%lld\"", (long long)sqlite3_column_int64(s, i));
		else
			dt_json_print(out, "%lld", (long long)sqlite3_column_int64(s, i));
		break;
	case SQLITE_FLOAT:
		if (sqlite3_column_double(s, i) - sqlite3_column_double(s, i) == 0)
			dt_json_print(out, "%.17g", sqlite3_column_double(s, i));
		else
			dt_json_print(out, "\"infinite\"");
		break;
	case SQLITE_NULL:
		dt_json_print(out, "null");
		break;
	default: {
		const char *text = (const char *)sqlite3_column_text(s, i);

		dt_json_string(out, text ? text : "");
	}
	}
}

static void say_row(struct dt_asking *a, sqlite3_stmt *s)
{
	int n = sqlite3_column_count(s);

	dt_json_print(&a->answer, "%s[", a->rows++ ? "," : "");
	for (int i = 0; i < n; i++) {
		if (i)
			dt_json_print(&a->answer, ",");
		say_value(&a->answer, s, i);
	}
	dt_json_print(&a->answer, "]");
}

static void say_columns(struct dt_asking *a, sqlite3_stmt *s)
{
	int n = sqlite3_column_count(s);

	dt_json_print(&a->answer, "\"columns\":[");
	for (int i = 0; i < n; i++) {
		if (i)
			dt_json_print(&a->answer, ",");
		dt_json_string(&a->answer, sqlite3_column_name(s, i));
	}
	dt_json_print(&a->answer, "],\"rows\":[");
}

static void say_error(struct dt_asking *a, sqlite3 *db)
{
	char text[256];

	if (atomic_load(&a->stop))
		snprintf(text, sizeof(text), "ended");
	else if (sqlite3_errcode(db) == SQLITE_INTERRUPT)
		snprintf(text, sizeof(text),
			 "it took more than %d s: ask for less, or use devtrace sql", SECONDS);
	else if (sqlite3_errcode(db) == SQLITE_AUTH)
		snprintf(
			text, sizeof(text),
			"that is not allowed here: only this trace's tables are read; use devtrace sql");
	else
		snprintf(text, sizeof(text), "%s", sqlite3_errmsg(db));
	dt_json_print(&a->answer, "\"error\":");
	dt_json_string(&a->answer, text);
}

/* Says whether there is only one statement: what follows is blank, a remark, or nothing. */
static bool is_alone(sqlite3 *db, const char *rest)
{
	sqlite3_stmt *s = NULL;
	bool alone = true;

	while (*rest && alone) {
		const char *more = rest;

		alone = sqlite3_prepare_v2(db, rest, -1, &s, &more) == SQLITE_OK && !s;
		sqlite3_finalize(s);
		if (more == rest)
			break;
		rest = more;
	}
	return alone;
}

static void answer_statement(struct dt_asking *a, sqlite3 *db, sqlite3_stmt *s)
{
	bool full = false;
	int rc = SQLITE_ROW;

	say_columns(a, s);
	while (!full && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		full = a->rows == ROWS || a->answer.bytes.n > BYTES;
		if (!full)
			say_row(a, s);
	}
	dt_json_print(&a->answer, "],\"more\":%s,", full ? "true" : "false");
	if (full || rc == SQLITE_DONE)
		dt_json_print(&a->answer, "\"error\":\"\"");
	else
		say_error(a, db);
}

static void answer(struct dt_asking *a, struct dt_sql_session *q)
{
	sqlite3_stmt *s = NULL;
	const char *rest = "";

	if (sqlite3_prepare_v2(q->db, a->text, -1, &s, &rest)) {
		say_error(a, q->db);
	} else if (!s) {
		dt_json_print(&a->answer, "\"error\":\"a question is wanted: SELECT ...\"");
	} else if (!is_alone(q->db, rest)) {
		dt_json_print(&a->answer, "\"error\":\"one statement at a time\"");
	} else {
		answer_statement(a, q->db, s);
	}
	sqlite3_finalize(s);
}

static void *run(void *ctx)
{
	struct dt_asking *a = ctx;
	struct dt_sql_session q;
	struct dt_error e = {""};

	if (dt_sql_open(&q, a->path, false, &e) < 0) {
		dt_json_print(&a->answer, "\"error\":");
		dt_json_string(&a->answer, e.text);
	} else {
		dt_sql_only_default(q.sql);
		limit(q.db, a);
		answer(a, &q);
	}
	dt_sql_close(&q);
	pthread_mutex_lock(&a->lock);
	a->running = false;
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- for the view ---- */

static void end(struct dt_asking *a)
{
	atomic_store(&a->stop, true);
	if (a->joinable)
		pthread_join(a->thread, NULL);
	a->joinable = false;
	atomic_store(&a->stop, false);
	free(a->answer.bytes.p);
	free(a->text);
	a->answer = (struct dt_json){0};
	a->text = NULL;
	a->rows = 0;
}

static int ask(void *ctx, const char *text, uint64_t *number, struct dt_error *e)
{
	struct dt_asking *a = ctx;
	int rc;

	end(a);
	*number = ++a->number;
	if (!*text)
		return 0;
	a->text = strdup(text);
	if (!a->text)
		return dt_fail(e, "out of memory");
	a->begun = dt_now_s();
	a->running = true;
	rc = pthread_create(&a->thread, NULL, run, a);
	a->running = a->joinable = !rc;
	return rc ? dt_fail(e, "no thread can be made: %s", strerror(rc)) : 0;
}

static bool asked(void *ctx, uint64_t number, struct dt_json *out)
{
	struct dt_asking *a = ctx;
	bool running;

	if (number != a->number || !a->text)
		return false;
	pthread_mutex_lock(&a->lock);
	running = a->running;
	pthread_mutex_unlock(&a->lock);
	dt_json_print(out, "{\"done\":%s,\"seconds\":%.2f", running ? "false" : "true",
		      running ? dt_now_s() - a->begun : 0);
	if (!running) {
		dt_json_print(out, ",");
		if (a->answer.failed)
			dt_json_print(out, "\"error\":\"out of memory\"");
		else
			dt_json_bytes(out, a->answer.bytes.p, a->answer.bytes.n);
	}
	dt_json_print(out, "}");
	return true;
}

struct dt_asking *dt_asking_new(const char *path)
{
	struct dt_asking *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->path = path;
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

void dt_asking_free(struct dt_asking *a)
{
	if (!a)
		return;
	end(a);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

struct dt_view_sql dt_asking_view(struct dt_asking *a)
{
	return (struct dt_view_sql){ask, asked, a};
}
