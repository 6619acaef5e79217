/* SPDX-License-Identifier: MIT */
/* Removing the oldest records of a trace that is being written. */
#include "store/store-work.h"

int64_t dt_store_last_chunk(const struct dt_store *s)
{
	sqlite3_stmt *q;
	int64_t last = 0;

	if (!s->db || sqlite3_prepare_v2(s->db, "SELECT coalesce(max(id), 0) FROM chunk", -1, &q,
					 NULL) != SQLITE_OK)
		return 0;
	if (sqlite3_step(q) == SQLITE_ROW)
		last = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return last;
}

/* Of a loss: it is among the records that go. */
#define GONE_OF(table)                                                                             \
	"after < (SELECT max(first + records) FROM chunk c WHERE c.core = " table                  \
	".core AND c.id <= ?1)"
#define GONE GONE_OF("loss")

/* What is done, in this order; ?1 is the last chunk that goes. */
static const char *const prune[] = {
	"INSERT INTO left_records SELECT core, sum(records) FROM chunk WHERE id <= ?1 GROUP BY core"
	" ON CONFLICT(core) DO UPDATE SET records = records + excluded.records",
	"INSERT INTO left_records SELECT core, sum(lost) FROM loss WHERE " GONE " GROUP BY core"
	" ON CONFLICT(core) DO UPDATE SET records = records + excluded.records",
	"DELETE FROM loss WHERE " GONE,
	"DELETE FROM lost_switches WHERE " GONE_OF("lost_switches"),
	"INSERT INTO meta SELECT 'pruned', ?2 || ' ' || sum(records) FROM chunk WHERE id <= ?1"
	" ON CONFLICT(key) DO UPDATE SET value = ?2 || ' ' ||"
	" (substr(value, instr(value, ' ') + 1)"
	" + substr(excluded.value, instr(excluded.value, ' ') + 1))",
	"DELETE FROM chunk WHERE id <= ?1",
	"DELETE FROM used WHERE ?1 AND ticks < ?2",
	"DELETE FROM backtrace WHERE ?1 AND ticks < ?2",
};

static int run(struct dt_store *s, const char *sql, int64_t chunk, uint64_t ticks)
{
	sqlite3_stmt *q;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);

	if (rc != SQLITE_OK)
		return -1;
	sqlite3_bind_int64(q, 1, chunk);
	if (sqlite3_bind_parameter_count(q) > 1)
		sqlite3_bind_int64(q, 2, (int64_t)ticks);
	rc = sqlite3_step(q);
	sqlite3_finalize(q);
	return rc == SQLITE_DONE ? 0 : -1;
}

int dt_store_prune(struct dt_store *s, int64_t chunk, uint64_t ticks, struct dt_error *e)
{
	if (!chunk)
		return 0;
	if (dt_store_begin(s, e))
		return -1;
	for (size_t i = 0; i < sizeof(prune) / sizeof(*prune); i++)
		if (run(s, prune[i], chunk, ticks))
			return dt_store_fail(s, e);
	return 0;
}
