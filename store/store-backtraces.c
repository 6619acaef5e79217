/* SPDX-License-Identifier: MIT */
/* Writing the stacks of calls. */
#include "store/backtraces.h"
#include "store/store-work.h"

int64_t dt_store_stack(struct dt_store *s, const struct dt_backtrace_frame *frame, size_t n,
		       const char *ended, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[STACK_FRAME];
	int64_t stack;

	if (dt_store_begin(s, e))
		return -1;
	dt_store_bind_text(s->statement[STACK], 1, ended);
	if (dt_store_run(s, STACK, e))
		return -1;
	stack = sqlite3_last_insert_rowid(s->db);
	for (size_t i = 0; i < n && i < DT_STACK_FRAMES; i++) {
		sqlite3_bind_int64(t, 1, stack);
		sqlite3_bind_int64(t, 2, (sqlite3_int64)i);
		dt_store_bind_u64(t, 3, frame[i].address);
		sqlite3_bind_int64(t, 4, frame[i].function);
		dt_store_bind_text(t, 5, frame[i].file);
		sqlite3_bind_int64(t, 6, frame[i].line);
		if (dt_store_run(s, STACK_FRAME, e))
			return -1;
	}
	return stack;
}

int dt_store_backtrace(struct dt_store *s, const struct dt_backtrace_row *row, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[BACKTRACE];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, row->tid);
	dt_store_bind_u64(t, 2, row->ticks);
	sqlite3_bind_int64(t, 3, row->function);
	sqlite3_bind_int64(t, 4, row->stack);
	return dt_store_run(s, BACKTRACE, e);
}
