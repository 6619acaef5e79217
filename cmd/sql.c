/* SPDX-License-Identifier: MIT */
/* devtrace sql: queries over a trace. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/commands.h"
#include "cmd/fleet.h"
#include "cmd/open.h"
#include "cmd/rows.h"
#include "cmd/sql-fleet.h"
#include "cmd/terminal.h"
#include "sql/writing.h"

static const char help[] =
	"usage: devtrace sql [OPTION]... [FILE] QUERY\n"
	"Answers questions about a trace in SQL: QUERY is one statement or several, with ; "
	"between;\n"
	"- reads them from standard input. Tables: calls, records, events, messages, switches, wakes, "
	"lost,\n"
	"pauses, threads, processes, functions, activities; devtrace-sql(5) has their columns. Times are\n"
	"nanoseconds from the first record.\n"
	"\n"
	"  -c, --csv        as comma-separated values (RFC 4180)\n"
	"  -j, --json       as JSON, an object a line\n"
	"  -n, --no-header  without the names of the columns\n" DT_TERMINAL_HELP
	"  -h, --help       show this\n"
	"\n"
	"Of a fleet (devtrace merge), tables have the column host, and hosts, alignment and\n"
	"contradictions are further ones; at, early and late are times of the fleet.\n\n"
	"Of FILE only the table activities can be written. FILE is devtrace.db when not given.\n"
	"\n"
	"  devtrace sql 'SELECT function, count(*), sum(self) FROM calls GROUP BY 1 ORDER BY 3 "
	"DESC'\n"
	"  devtrace sql t.db \"SELECT text FROM calls WHERE begin BETWEEN 1000000 AND 2000000\"\n";

struct query {
	const char *path;
	char *text; /* all statements, as they were given */
	struct dt_rows *rows;
	struct dt_sql_session session;
};

/* Finds the line and column of an offset in the text, both from 1 on. */
static void place(const char *text, size_t offset, unsigned *line, unsigned *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < offset && text[i]; i++) {
		if (text[i] == '\n') {
			++*line;
			*column = 1;
		} else if ((text[i] & 0xc0) != 0x80) {
			++*column;
		}
	}
}

/* Reports an error with its place; statement: the one that has failed, in q->text. Returns the exit
 * status. */
static int failed(const struct query *q, const char *statement)
{
	sqlite3 *db = q->session.db;
	int offset = sqlite3_error_offset(db); /* from the beginning of the statement */
	unsigned line, column;

	/* answers to earlier statements come before the error */
	fflush(stdout);
	while (*statement == ' ' || *statement == '\n' || *statement == '\t')
		statement++;
	place(q->text, (size_t)(statement - q->text) + (offset > 0 ? (size_t)offset : 0), &line,
	      &column);
	if (q->session.refused)
		return dt_cmd_fail(
			"line %u, column %u: %s is being recorded; activities can be written "
			"when that has ended",
			line, column, q->path);
	if (sqlite3_errcode(db) == SQLITE_AUTH)
		return dt_cmd_fail(
			"line %u, column %u: that is not allowed: of a trace only the table "
			"activities can be written; a table of your own can be TEMP",
			line, column);
	return dt_cmd_fail("line %u, column %u: %s", line, column, sqlite3_errmsg(db));
}

static int run_statement(struct query *q, sqlite3_stmt *s, const char *text)
{
	int rc, n = sqlite3_column_count(s);

	dt_rows_begin(q->rows, n);
	for (int i = 0; i < n; i++)
		dt_rows_name(q->rows, i, sqlite3_column_name(s, i));
	while ((rc = sqlite3_step(s)) == SQLITE_ROW)
		if (dt_rows_row(q->rows, s) < 0)
			return dt_cmd_fail("out of memory");
	if (dt_rows_end(q->rows) < 0)
		return dt_cmd_fail("cannot write: %s", strerror(errno));
	return rc == SQLITE_DONE ? 0 : failed(q, text);
}

static int run(struct query *q)
{
	const char *p = q->text;
	int status = 0;

	while (!status && *p) {
		sqlite3_stmt *s = NULL;
		const char *rest;

		/* SQLite counts the place of an error from here */
		while (*p == ' ' || *p == '\n' || *p == '\t')
			p++;
		if (dt_sql_prepare(&q->session, p, &s, &rest))
			return failed(q, p);
		if (s)
			status = run_statement(q, s, p);
		sqlite3_finalize(s);
		p = rest;
	}
	if (!status && !sqlite3_get_autocommit(q->session.db))
		status = dt_cmd_fail("BEGIN without COMMIT: nothing was kept");
	return status;
}

static char *read_all(FILE *f)
{
	size_t n = 0, room = 4096;
	char *text = malloc(room);

	while (text && (n += fread(text + n, 1, room - n - 1, f), !feof(f) && !ferror(f))) {
		char *more = n + 1 < room ? text : realloc(text, room *= 2);

		if (!more)
			free(text);
		text = more;
	}
	if (text)
		text[n] = '\0';
	return text;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Takes FILE and QUERY from the words. False: an error has been reported. */
static bool arguments(struct query *q, int argc, char **argv)
{
	const char *text = argc > optind ? argv[argc - 1] : NULL;
	int n = argc - optind;

	q->path = n > 1 ? argv[optind] : DT_DEFAULT_FILE;
	if (n > 2) {
		dt_cmd_fail("one file and one query, in quotes; not also '%s'", argv[optind + 2]);
		return false;
	}
	if (!text || (n == 1 && is_file(text))) {
		dt_cmd_fail("a query is missing; say for example: devtrace sql %s "
			    "'SELECT function, count(*) FROM calls GROUP BY 1'",
			    text ? text : q->path);
		return false;
	}
	q->text = strcmp(text, "-") ? strdup(text) : read_all(stdin);
	if (!q->text)
		dt_cmd_fail("out of memory");
	return q->text;
}

/* Says whether the text has this word, in upper or lower case. It may be in a string or a comment:
 * then more rights are kept than needed. */
static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strcasestr(p, word)); p++)
		if ((p == text || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')) &&
		    !isalnum((unsigned char)p[n]) && p[n] != '_')
			return true;
	return false;
}

static bool has_any(const char *text, const char *const *word)
{
	while (*word && !has_word(text, *word))
		word++;
	return *word;
}

/* Confines the process to what the text needs. *write: it may write to the trace or to another
 * file. Returns 0, or the exit status. */
static int confine(const struct query *q, bool *write)
{
	static const char *const changes[] = {"insert",	 "update", "delete",
					      "replace", "drop",   NULL},
				 *const files[] = {"attach", "vacuum", NULL};
	bool trace = has_word(q->text, "activities") && has_any(q->text, changes),
	     others = has_any(q->text, files);
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS | (others ? DT_NEED_ALL_FILES : 0)};

	*write = trace || others;
	dt_needs_add(&needs, trace ? DT_NEED_CHANGED : DT_NEED_TRACE, q->path);
	return dt_cmd_confine(&needs);
}

/* Answers from a connection that is open, or says why it is not. */
static int answer(struct query *q, bool opened, const struct dt_terminal *t, enum dt_rows_form form,
		  bool header, const struct dt_error *why)
{
	struct dt_error e = *why;
	int status;

	q->rows = opened ? dt_rows_new(t, form, header) : NULL;
	if (!opened)
		status = dt_cmd_fail("%s", e.text);
	else if (!q->rows)
		status = dt_cmd_fail("out of memory");
	else
		status = run(q);
	if (!status && (fflush(stdout) || ferror(stdout)))
		status = dt_cmd_fail("standard output: cannot write: %s", strerror(errno));
	if (opened && dt_sql_wants_index(q->session.sql))
		fprintf(stderr,
			"devtrace: note: all of the trace was read; after `devtrace view --index "
			"%s` a part "
			"of it is enough\n",
			q->path);
	dt_rows_free(q->rows);
	dt_sql_close(&q->session);
	return status;
}

static int query(struct query *q, const struct dt_terminal *t, enum dt_rows_form form, bool header)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct dt_reader **reader;
	struct dt_error e = {""};
	struct dt_fleet *f;
	bool write;
	int status;

	if (!dt_fleet_is(q->path)) {
		status = confine(q, &write);
		if (status)
			return status;
		return answer(q, dt_sql_open(&q->session, q->path, write, &e) == 0, t, form, header,
			      &e);
	}
	f = dt_fleet_open_all(q->path, &needs, &reader, &status);
	if (!f)
		return status;
	status = answer(q, dt_sql_fleet(&q->session, f, &e) == 0, t, form, header, &e);
	dt_fleet_close_all(f, reader);
	return status;
}

int dt_cmd_sql(int argc, char **argv)
{
	static const struct option options[] = {
		{"csv", no_argument, NULL, 'c'},       {"json", no_argument, NULL, 'j'},
		{"no-header", no_argument, NULL, 'n'}, DT_TERMINAL_LONG,
		{"help", no_argument, NULL, 'h'},      {0}};
	enum dt_rows_form form = DT_ROWS_TABLE;
	struct dt_terminal terminal = {0};
	struct query q = {0};
	bool header = true;
	int o, status = -1;

	while ((o = getopt_long(argc, argv, "cjnh", options, NULL)) != -1) {
		switch (o) {
		case 'c':
		case 'j':
			if (form != DT_ROWS_TABLE) {
				dt_cmd_fail("one of --csv and --json");
				return dt_cmd_usage("sql");
			}
			form = o == 'c' ? DT_ROWS_CSV : DT_ROWS_JSON;
			break;
		case 'n':
			header = false;
			break;
		case 'h':
			return fputs(help, stdout) == EOF;
		default:
			if (!dt_terminal_option(&terminal, o, &status))
				return dt_cmd_usage("sql");
			if (status >= 0)
				return status;
		}
	}
	if (!arguments(&q, argc, argv))
		return dt_cmd_usage("sql");
	dt_terminal_listing(&terminal, form == DT_ROWS_TABLE);
	status = query(&q, &terminal, form, header);
	free(q.text);
	return status;
}
