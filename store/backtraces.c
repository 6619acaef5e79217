/* SPDX-License-Identifier: MIT */
/* Reading the stacks of calls. */
#include "store/backtraces.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "store/reader-work.h"

#define MOST	    4000000u /* rows, and frames, that are read */
#define MOST_STACKS 1000000u
#define TEXT	    512u /* bytes of a text that are read */

struct dt_backtrace_text {
	struct dt_backtrace_text *next;
	char text[];
};

/* Returns a copy that lives as long as b; NULL: out of memory. Neighbours often have the same. */
static const char *kept(struct dt_backtraces *b, const unsigned char *text)
{
	const char *from = text ? (const char *)text : "";
	size_t n = strnlen(from, TEXT);
	struct dt_backtrace_text *k;

	if (b->text && !strncmp(b->text->text, from, n) && !b->text->text[n])
		return b->text->text;
	k = malloc(sizeof(*k) + n + 1);
	if (!k)
		return NULL;
	memcpy(k->text, from, n);
	k->text[n] = '\0';
	k->next = b->text;
	b->text = k;
	return k->text;
}

/* Makes room for one more element. False: out of memory. */
static bool grow(void **list, size_t n, size_t size)
{
	void *more;

	if (n & (n - 1))
		return true;
	more = realloc(*list, (n ? 2 * n : 1) * size);
	if (more)
		*list = more;
	return more;
}

static bool add_row(struct dt_backtraces *b, sqlite3_stmt *q)
{
	if (!grow((void **)&b->row, b->n, sizeof(*b->row)))
		return false;
	b->row[b->n++] = (struct dt_backtrace_row){.tid = (uint32_t)sqlite3_column_int64(q, 0),
						   .ticks = (uint64_t)sqlite3_column_int64(q, 1),
						   .function = (uint32_t)sqlite3_column_int64(q, 2),
						   .stack = sqlite3_column_int64(q, 3)};
	return true;
}

static bool add_stack(struct dt_backtraces *b, sqlite3_stmt *q)
{
	if (!grow((void **)&b->stack, b->stacks, sizeof(*b->stack)))
		return false;
	b->stack[b->stacks] = (struct dt_stack_read){.id = sqlite3_column_int64(q, 0),
						     .ended = kept(b, sqlite3_column_text(q, 1))};
	return b->stack[b->stacks++].ended;
}

static struct dt_stack_read *stack_of(const struct dt_backtraces *b, int64_t id)
{
	size_t i = dt_count_before(b->stacks, k, b->stack[k].id < id);

	return i < b->stacks && b->stack[i].id == id ? &b->stack[i] : NULL;
}

/* Adds a frame to its stack, in the order of levels; one of a stack that is not there, or has too
 * many, is left out. */
static bool add_frame(struct dt_backtraces *b, sqlite3_stmt *q)
{
	struct dt_stack_read *s = stack_of(b, sqlite3_column_int64(q, 0));

	if (!s || s->n == DT_STACK_FRAMES)
		return true;
	if (!grow((void **)&s->frame, s->n, sizeof(*s->frame)))
		return false;
	s->frame[s->n] =
		(struct dt_backtrace_frame){.address = (uint64_t)sqlite3_column_int64(q, 1),
					    .function = (uint32_t)sqlite3_column_int64(q, 2),
					    .file = kept(b, sqlite3_column_text(q, 3)),
					    .line = (uint32_t)sqlite3_column_int64(q, 4)};
	return s->frame[s->n++].file;
}

static int load(struct dt_backtraces *b, struct dt_reader *r, const char *sql, unsigned most,
		bool (*add)(struct dt_backtraces *b, sqlite3_stmt *q), struct dt_error *e)
{
	sqlite3_stmt *q;
	int rc;

	/* older files lack the tables */
	if (sqlite3_prepare_v2(r->db, sql, -1, &q, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_int64(q, 1, most);
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		if (!add(b, q)) {
			sqlite3_finalize(q);
			return dt_fail(e, "out of memory");
		}
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : dt_reader_sql_error(r, e);
}

int dt_backtraces_load(struct dt_backtraces *b, struct dt_reader *r, struct dt_error *e)
{
	*b = (struct dt_backtraces){0};
	if (load(b, r,
		 "SELECT tid, ticks, function, stack FROM backtrace ORDER BY tid, ticks, function "
		 "LIMIT ?",
		 MOST, add_row, e) == 0 &&
	    load(b, r, "SELECT id, ended FROM stack ORDER BY id LIMIT ?", MOST_STACKS, add_stack,
		 e) == 0 &&
	    load(b, r,
		 "SELECT stack, address, function, file, line FROM stack_frame ORDER BY stack, "
		 "level LIMIT ?",
		 MOST, add_frame, e) == 0)
		return 0;
	dt_backtraces_free(b);
	return -1;
}

void dt_backtraces_free(struct dt_backtraces *b)
{
	struct dt_backtrace_text *next;

	for (size_t i = 0; i < b->stacks; i++)
		free(b->stack[i].frame);
	for (struct dt_backtrace_text *k = b->text; k; k = next) {
		next = k->next;
		free(k);
	}
	free(b->stack);
	free(b->row);
	*b = (struct dt_backtraces){0};
}

const struct dt_stack_read *dt_backtraces_stack(const struct dt_backtraces *b, int64_t id)
{
	return stack_of(b, id);
}

const struct dt_stack_read *dt_backtraces_of(const struct dt_backtraces *b, uint32_t tid,
					     uint64_t ticks, uint32_t function)
{
	size_t i = dt_count_before(
		b->n, k,
		b->row[k].tid < tid || (b->row[k].tid == tid && (b->row[k].ticks < ticks ||
								 (b->row[k].ticks == ticks &&
								  b->row[k].function < function))));

	if (i == b->n || b->row[i].tid != tid || b->row[i].ticks != ticks ||
	    b->row[i].function != function)
		return NULL;
	return stack_of(b, b->row[i].stack);
}
