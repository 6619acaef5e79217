/* SPDX-License-Identifier: MIT */
/* Reading who woke threads. */
#include "store/wakers.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/wake.h"
#include "store/reader-work.h"

static bool add(struct dt_wakers *w, sqlite3_stmt *q)
{
	const char *name = (const char *)sqlite3_column_text(q, 3);
	uint32_t context = (uint32_t)sqlite3_column_int64(q, 4);
	struct dt_waker *row = w->row;

	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		row = realloc(w->row, w->room * sizeof(*row));
		if (!row)
			return false;
		w->row = row;
	}
	row[w->n] = (struct dt_waker){
		.tid = (uint32_t)sqlite3_column_int64(q, 1),
		.pid = (uint32_t)sqlite3_column_int64(q, 2),
		.name = strndup(name ? name : "", 64),
		.context = context < DT_WAKE_CONTEXTS ? context : DT_WAKE_THREAD,
		.made = sqlite3_column_int(q, 5) != 0,
		.function = (uint32_t)sqlite3_column_int64(q, 6),
		.stack = sqlite3_column_int64(q, 7),
	};
	return row[w->n].name && ++w->n;
}

/* Reads the rows from the first one on that is not there yet, as far as they are without a hole. */
static void read_more(struct dt_wakers *w, struct dt_reader *r)
{
	static const char sql[] = "SELECT id, tid, pid, name, context, made, function, stack FROM "
				  "waker WHERE id>? ORDER BY id LIMIT ?";
	sqlite3_stmt *q;

	/* older files lack the table */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return;
	sqlite3_bind_int64(q, 1, (sqlite3_int64)w->n);
	sqlite3_bind_int64(q, 2, (sqlite3_int64)(DT_WAKERS_MOST - w->n));
	while (sqlite3_step(q) == SQLITE_ROW &&
	       sqlite3_column_int64(q, 0) == (sqlite3_int64)w->n + 1 && add(w, q))
		;
	sqlite3_finalize(q);
}

const struct dt_waker *dt_wakers_row(struct dt_wakers *w, struct dt_reader *r, uint32_t number)
{
	if (!number || number > DT_WAKERS_MOST)
		return NULL;
	if (number > w->n)
		read_more(w, r);
	return number <= w->n ? &w->row[number - 1] : NULL;
}

void dt_wakers_free(struct dt_wakers *w)
{
	for (size_t i = 0; i < w->n; i++)
		free((char *)(uintptr_t)w->row[i].name);
	free(w->row);
	*w = (struct dt_wakers){0};
}

bool dt_wakers_any(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++)
		if (dt_reader_site(r, i)->kind == DT_WAKE)
			return true;
	return false;
}

/* ---- in words ---- */

const char *dt_waker_context(const struct dt_waker *w)
{
	static const char *const word[DT_WAKE_CONTEXTS] = {"thread", "softirq", "interrupt", "nmi"};

	return word[w->context];
}

static char *put_name(char *p, const struct dt_reader *r, const struct dt_waker *w, bool numbers)
{
	if (!w->tid && !*w->name)
		return stpcpy(p, "nobody known");
	p = stpcpy(p, *w->name ? w->name : "?");
	if (!numbers || !w->tid)
		return p;
	p = stpcpy(p, " (");
	p += dt_text_decimal(p, dt_reader_number(r, w->tid));
	return stpcpy(p, ")");
}

char *dt_waker_put(char *p, const struct dt_reader *r, const struct dt_waker *w, bool numbers)
{
	static const char *const who[DT_WAKE_CONTEXTS] = {NULL, "a softirq", "an interrupt",
							  "an NMI"};
	const struct dt_function_info *f = w->function ? dt_reader_function(r, w->function) : NULL;
	size_t n;

	p = w->context ? stpcpy(p, who[w->context]) : put_name(p, r, w, numbers);
	if (!f || !*f->name)
		return p;
	p = stpcpy(p, " in ");
	n = strnlen(f->name, 256);
	memcpy(p, f->name, n);
	return p + n;
}
