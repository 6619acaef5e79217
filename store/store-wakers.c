/* SPDX-License-Identifier: MIT */
/* Writing who woke threads. */
#include "store/store-work.h"
#include "store/wakers.h"

int64_t dt_store_waker(struct dt_store *s, const struct dt_waker *w, struct dt_error *e)
{
	sqlite3_stmt *t = s->statement[WAKER];

	if (dt_store_begin(s, e))
		return -1;
	sqlite3_bind_int64(t, 1, w->tid);
	sqlite3_bind_int64(t, 2, w->pid);
	dt_store_bind_text(t, 3, w->name);
	sqlite3_bind_int64(t, 4, w->context);
	sqlite3_bind_int64(t, 5, w->made);
	sqlite3_bind_int64(t, 6, w->function);
	sqlite3_bind_int64(t, 7, w->stack);
	return dt_store_run(s, WAKER, e) ? -1 : sqlite3_last_insert_rowid(s->db);
}
