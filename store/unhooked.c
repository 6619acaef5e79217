/* SPDX-License-Identifier: MIT */
/* Reading which functions were chosen but could not be hooked, and which functions call them. */
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "core/whole.h"
#include "store/reader-work.h"

#define CALLS_MAX 1000000 /* calls that are known: a file that has more was made to take long */

/* A function of the file at path, at an offset in it, calls one that is not hooked. */
struct dt_unhooked_call {
	char *path, *name;
	int64_t caller;
};

static const char *text_of(sqlite3_stmt *q, int column)
{
	const unsigned char *text = sqlite3_column_text(q, column);

	return text ? (const char *)text : "";
}

void dt_unhooked_calls_free(struct dt_unhooked_calls *u)
{
	for (size_t i = 0; i < u->n; i++) {
		free(u->call[i].path);
		free(u->call[i].name);
	}
	free(u->call);
	*u = (struct dt_unhooked_calls){0};
}

/* Appends a row. Returns -1 when out of memory. */
static int add(struct dt_unhooked_calls *u, size_t *room, sqlite3_stmt *q)
{
	struct dt_unhooked_call x = {.caller = sqlite3_column_int64(q, 1)};

	if (u->n == *room) {
		size_t more = *room ? 2 * *room : 64;
		struct dt_unhooked_call *p = realloc(u->call, more * sizeof(*p));

		if (!p)
			return -1;
		u->call = p;
		*room = more;
	}
	x.path = strdup(text_of(q, 0));
	x.name = strdup(text_of(q, 2));
	if (!x.path || !x.name) {
		free(x.path);
		free(x.name);
		return -1;
	}
	u->call[u->n++] = x;
	return 0;
}

/* Reads all calls, by file, caller and address. What cannot be read is not known. */
static void read_calls(struct dt_reader *r)
{
	static const char sql[] =
		"SELECT path, caller, name FROM (SELECT c.path, c.caller, u.name, u.address FROM "
		"unhooked_caller c JOIN unhooked u ON u.path=c.path AND u.address=c.callee LIMIT ?) "
		"ORDER BY path, caller, address";
	sqlite3_stmt *q = NULL;
	size_t room = 0;

	if (r->unhooked.read)
		return;
	dt_unhooked_calls_free(&r->unhooked);
	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(q, 1, CALLS_MAX);
		while (sqlite3_step(q) == SQLITE_ROW && add(&r->unhooked, &room, q) == 0)
			;
	}
	sqlite3_finalize(q);
	r->unhooked.read = true;
}

static int compare(const struct dt_unhooked_call *x, const char *path, int64_t caller)
{
	int order = strcmp(x->path, path);

	return order ? order : (x->caller > caller) - (x->caller < caller);
}

size_t dt_reader_unhooked(struct dt_reader *r, uint32_t function, char *names, size_t size)
{
	const struct dt_function_info *f = dt_reader_function(r, function);
	const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;
	const struct dt_unhooked_calls *u = &r->unhooked;
	size_t n = 0, used = 0, i;
	int64_t caller;

	names[0] = '\0';
	if (!m)
		return 0;
	read_calls(r);
	caller = (int64_t)(f->address - m->base);
	i = dt_count_before(u->n, k, compare(&u->call[k], m->path, caller) < 0);
	for (; i < u->n && compare(&u->call[i], m->path, caller) == 0; i++, n++) {
		const char *name = u->call[i].name;

		if (used + strlen(name) + 8 < size)
			used += dt_format(names + used, size - used, "%s%s", n ? ", " : "", name);
		else if (used + 6 < size && strcmp(names + (used > 3 ? used - 3 : 0), "..."))
			used += dt_format(names + used, size - used, ", ...");
	}
	return n;
}

size_t dt_reader_left_out(struct dt_reader *r, size_t most,
			  void (*fn)(void *ctx, const struct dt_left_out *l), void *ctx)
{
	static const char count[] = "SELECT count(*) FROM unhooked";
	static const char rows[] =
		"SELECT u.path, u.name, u.reason, group_concat(DISTINCT f.name) FROM unhooked u "
		"LEFT JOIN unhooked_caller c ON c.path=u.path AND c.callee=u.address "
		"LEFT JOIN module m ON m.path=c.path "
		"LEFT JOIN function f ON f.module=m.id AND f.address=m.base+c.caller "
		"GROUP BY u.path, u.address ORDER BY u.path, u.address LIMIT ?";
	sqlite3_stmt *q = NULL;
	size_t n = 0;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, count, -1, &q, NULL) == SQLITE_OK &&
	    sqlite3_step(q) == SQLITE_ROW)
		n = (size_t)sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	if (!n || !fn || sqlite3_prepare_v2(r->db, rows, -1, &q, NULL) != SQLITE_OK)
		return n;
	sqlite3_bind_int64(q, 1, (sqlite3_int64)most);
	while (sqlite3_step(q) == SQLITE_ROW)
		fn(ctx, &(struct dt_left_out){text_of(q, 0), text_of(q, 1), text_of(q, 2),
					      text_of(q, 3)});
	sqlite3_finalize(q);
	return n;
}
