/* SPDX-License-Identifier: MIT */
/* Which functions of two traces in one file are the same. */
#include "store/twins.h"

#include <sqlite3.h>
#include <stdio.h>

#include "store/reader-work.h"
#include "store/store-work.h"

int dt_twins_begin(struct dt_store *s, uint32_t second, const char *words, struct dt_error *e)
{
	char text[1000];

	dt_format(text, sizeof(text), "%u %s", second, words);
	if (dt_store_meta(s, "beside", text, e) || dt_store_begin(s, e))
		return -1;
	return sqlite3_exec(s->db,
			    "CREATE TABLE twin(function INTEGER PRIMARY KEY, number INTEGER)", NULL,
			    NULL, NULL)
		       ? dt_store_fail(s, e)
		       : 0;
}

int dt_twins_put(struct dt_store *s, uint32_t function, uint32_t number, struct dt_error *e)
{
	sqlite3_stmt *q = NULL;
	bool bad = sqlite3_prepare_v2(s->db, "INSERT INTO twin VALUES(?1, ?2)", -1, &q, NULL) ||
		   sqlite3_bind_int64(q, 1, function) || sqlite3_bind_int64(q, 2, number) ||
		   sqlite3_step(q) != SQLITE_DONE;

	sqlite3_finalize(q);
	return bad ? dt_store_fail(s, e) : 0;
}

uint32_t dt_twins_second(const struct dt_reader *r, const char **words)
{
	const char *text = dt_reader_meta(r, "beside");
	uint32_t second = 0;
	int n = 0;

	if (!text || sscanf(text, "%9u %n", &second, &n) != 1)
		return 0;
	if (words)
		*words = text + n;
	return second;
}

int dt_twins_read(struct dt_reader *r, void (*fn)(void *ctx, uint32_t function, uint32_t number),
		  void *ctx, struct dt_error *e)
{
	sqlite3_stmt *q = NULL;
	int rc;

	if (sqlite3_prepare_v2(r->db, "SELECT function, number FROM twin ORDER BY function", -1, &q,
			       NULL))
		return 0;
	while ((rc = sqlite3_step(q)) == SQLITE_ROW)
		fn(ctx, (uint32_t)sqlite3_column_int64(q, 0), (uint32_t)sqlite3_column_int64(q, 1));
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : dt_fail(e, "twins: %s", sqlite3_errmsg(r->db));
}
