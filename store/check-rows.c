/* SPDX-License-Identifier: MIT */
/* Checking the rows of the tables that hold no records: waits, pauses, modules, processes, meta. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/check-work.h"
#include "store/reader-work.h"

#define NESTED 16u /* waits of a thread inside each other: handlers of signals wait, too */

struct checking {
	struct dt_reader *r;
	struct dt_faults *f;
	struct dt_check_chunks *c;
	uint64_t begin, end; /* ticks: begin and end of the session; end 0: not known */
	uint64_t slack;	     /* ticks by which the clocks of cores may differ */
	bool recorded;	     /* the trace is a session's: all times are of its own clocks */
	/* about the rows so far: */
	uint32_t tid;	       /* thread of the last wait; 0: none */
	uint64_t stopped;      /* end of the thread's last stop, ticks */
	uint64_t told[NESTED]; /* ends of the thread's other waits that the next one may be inside
				  of */
	unsigned nested;
	uint64_t together; /* ticks that the thread was in any of its waits... */
	uint64_t until;	   /* ...until this tick */
	uint64_t last;	   /* end of the previous pause */
};

static uint64_t u64(sqlite3_stmt *q, int column)
{
	return (uint64_t)sqlite3_column_int64(q, column);
}

static const char *word(sqlite3_stmt *q, int column)
{
	const char *text = (const char *)sqlite3_column_text(q, column);

	return text ? text : "";
}

static bool is_one_of(const char *what, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(what, words[i]))
			return true;
	return false;
}

/* Returns whether the session can have noted something at this time. */
static bool is_within(const struct checking *k, uint64_t ticks)
{
	return !k->recorded ||
	       (ticks + k->slack >= k->begin && (!k->end || ticks <= k->end + k->slack));
}

/* ---- waits ---- */

/* Checks, when all waits of a thread have been seen, that a reader leaves just their time out of
 * the times of its calls. */
static void end_of_thread(struct checking *k)
{
	const struct dt_times *h;
	uint64_t read = 0;
	size_t n;

	if (!k->tid)
		return;
	h = dt_reader_thread_holds(k->r, k->tid, &n);
	for (size_t i = 0; i < n; i++)
		read += h[i].end - h[i].begin;
	if (read != k->together)
		dt_faults_add(k->f, DT_FAULT_SUM,
			      "hold: thread %u waited for %lu ticks, %lu are left out of its times",
			      k->tid, (unsigned long)k->together, (unsigned long)read);
	k->tid = 0;
}

static void begin_thread(struct checking *k, uint32_t tid)
{
	if (k->tid == tid)
		return;
	end_of_thread(k);
	k->tid = tid;
	k->stopped = k->together = k->until = 0;
	k->nested = 0;
}

/* Returns whether a wait is possible after the thread's other ones. A thread is in one stop at a
 * time; waits that it notes itself do not overlap, but one may be inside another. */
static bool is_apart(struct checking *k, uint64_t begin, uint64_t end, bool stop)
{
	if (stop) {
		bool apart = begin + k->slack >= k->stopped;

		k->stopped = end > k->stopped ? end : k->stopped;
		return apart;
	}
	while (k->nested && k->told[k->nested - 1] <= begin + k->slack)
		k->nested--;
	if (k->nested && k->told[k->nested - 1] + k->slack < end)
		return false;
	if (k->nested < NESTED)
		k->told[k->nested++] = end;
	return true;
}

/* Checks a wait; they come by thread and time. */
static void on_hold(void *ctx, sqlite3_stmt *q)
{
	static const char *const whys[] = {"room", "modules", "exec", "fork", "stop"};
	struct checking *k = ctx;
	uint64_t tid = u64(q, 1), begin = u64(q, 2), end = u64(q, 3);
	const char *why = word(q, 4);
	long row = (long)sqlite3_column_int64(q, 0);

	k->c->holds++;
	k->c->held += end > begin ? end - begin : 0;
	if (!tid || tid > UINT32_MAX) {
		dt_faults_add(k->f, DT_FAULT_ROW, "hold, row %ld: there is no thread %ld", row,
			      (long)tid);
		return;
	}
	if (begin >= end) {
		dt_faults_add(k->f, DT_FAULT_TIMES,
			      "hold, row %ld: thread %lu waits for no time, or less", row,
			      (unsigned long)tid);
		return;
	}
	begin_thread(k, (uint32_t)tid);
	if (!is_one_of(why, whys, sizeof(whys) / sizeof(*whys)))
		dt_faults_add(k->f, DT_FAULT_ROW, "hold, row %ld: nobody waits for '%.40s'", row,
			      why);
	if (!is_within(k, begin) || !is_within(k, end))
		dt_faults_add(
			k->f, DT_FAULT_TIMES,
			"hold, row %ld: thread %lu waits at tick %lu, which is not in the session",
			row, (unsigned long)tid,
			(unsigned long)(is_within(k, begin) ? end : begin));
	else if (!is_apart(k, begin, end, !strcmp(why, "stop")))
		dt_faults_add(
			k->f, DT_FAULT_TIMES,
			"hold, row %ld: thread %lu waits already when it begins to, at tick %lu",
			row, (unsigned long)tid, (unsigned long)begin);
	begin = begin > k->until ? begin : k->until;
	k->together += end > begin ? end - begin : 0;
	k->until = end > k->until ? end : k->until;
}

/* A thread that has waited for room had a record to write, so it must be described. */
static void on_strange_hold(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;

	dt_faults_add(k->f, DT_FAULT_THREAD, "thread %lu, in table hold", (unsigned long)u64(q, 0));
}

static void check_holds(struct checking *k)
{
	dt_check_each(k->r->db, k->f, "hold",
		      "SELECT rowid, tid, begin_ticks, end_ticks, why FROM hold "
		      "ORDER BY tid, begin_ticks, end_ticks DESC",
		      on_hold, k);
	end_of_thread(k);
	/* from a session's log, the records of some threads may be missing */
	if (!k->recorded)
		return;
	dt_check_each(k->r->db, k->f, "hold",
		      "SELECT DISTINCT tid FROM hold WHERE why='room' AND tid NOT IN (SELECT tid "
		      "FROM thread) "
		      "AND EXISTS (SELECT 1 FROM thread) AND typeof(tid) = 'integer' AND tid > 0",
		      on_strange_hold, k);
}

/* ---- pauses ---- */

/* Checks a pause; they come by reason and time. */
static void on_pause(void *ctx, sqlite3_stmt *q)
{
	static const char *const whys[] = {"stopped", "frozen"};
	struct checking *k = ctx;
	long row = (long)sqlite3_column_int64(q, 0);
	uint64_t begin = u64(q, 1), end = u64(q, 2);
	const char *why = word(q, 3);
	int64_t times = sqlite3_column_int64(q, 4), missed = sqlite3_column_int64(q, 5);

	if (!is_one_of(why, whys, 2))
		dt_faults_add(k->f, DT_FAULT_ROW, "pause, row %ld: nothing is '%.40s'", row, why);
	if (times < 1 || missed < 0)
		dt_faults_add(k->f, DT_FAULT_ROW,
			      "pause, row %ld: %ld times, and %ld events missed", row, (long)times,
			      (long)missed);
	if (end && end < begin)
		dt_faults_add(k->f, DT_FAULT_TIMES, "pause, row %ld: ends before it begins", row);
	else if (end && (!is_within(k, end) || (begin && !is_within(k, begin))))
		dt_faults_add(k->f, DT_FAULT_TIMES, "pause, row %ld: it is not in the session",
			      row);
	/* the thread that ends a freeze reads the clock before its record has a place: another
	 * thread may freeze in between */
	else if (sqlite3_column_int(q, 6) && begin + k->slack < k->last)
		dt_faults_add(k->f, DT_FAULT_TIMES,
			      "pause, row %ld: begins before the one before it has ended", row);
	k->last = end ? end : UINT64_MAX;
}

static void check_pauses(struct checking *k)
{
	dt_check_each(k->r->db, k->f, "pause",
		      "SELECT rowid, begin_ticks, end_ticks, why, times, missed, "
		      "why = 'stopped' AND why = lag(why) OVER (ORDER BY why, begin_ticks, "
		      "end_ticks) FROM pause "
		      "ORDER BY why, begin_ticks, end_ticks",
		      on_pause, k);
}

/* ---- changes ---- */

static void on_change(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;
	long row = (long)sqlite3_column_int64(q, 0);
	uint64_t begin = u64(q, 1), end = u64(q, 2);

	if (end < begin)
		dt_faults_add(k->f, DT_FAULT_TIMES, "change, row %ld: ends before it begins", row);
	else if (!is_within(k, begin) || !is_within(k, end))
		dt_faults_add(k->f, DT_FAULT_TIMES, "change, row %ld: it is not in the session",
			      row);
}

static void check_changes(struct checking *k)
{
	dt_check_each(k->r->db, k->f, "change", "SELECT rowid, begin_ticks, end_ticks FROM change",
		      on_change, k);
}

/* ---- modules and processes ---- */

static void on_complete(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;
	unsigned long module = (unsigned long)u64(q, 0);
	uint64_t ticks = u64(q, 1);

	if (sqlite3_column_type(q, 2) == SQLITE_NULL)
		dt_faults_add(k->f, DT_FAULT_ROW, "complete: there is no module %lu", module);
	/* it need not be within the module's own times: the child of a fork has its parent's, and
	 * may end before that is noted */
	else if (!is_within(k, ticks))
		dt_faults_add(k->f, DT_FAULT_TIMES,
			      "complete: module %lu is so at tick %lu, which is not in the session",
			      module, (unsigned long)ticks);
}

static void on_row(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;

	dt_faults_add(k->f, DT_FAULT_ROW, "%s", word(q, 0));
}

/* Checks that rows about modules and functions refer to ones that are there. */
static void check_references(struct checking *k)
{
	static const struct {
		const char *table, *sql;
	} each[] = {
		{"module_name",
		 "SELECT 'module_name: there is no module ' || module FROM module_name "
		 "WHERE module NOT IN (SELECT id FROM module)"},
		{"function_name",
		 "SELECT 'function_name: there is no function ' || ifnull(function, 'NULL') "
		 "FROM function_name WHERE function IS NULL OR function NOT IN "
		 "(SELECT id FROM function)"},
		{"module",
		 "SELECT 'module ' || id || ' is of process ' || pid || ', which is not described' "
		 "FROM module WHERE pid <> 0 AND pid NOT IN (SELECT pid FROM process) AND "
		 "EXISTS (SELECT 1 FROM process)"},
		{"again", "SELECT 'again: there is no thread or process ' || tid FROM again "
			  "WHERE tid NOT IN (SELECT tid FROM thread) AND tid NOT IN "
			  "(SELECT pid FROM process)"},
		{"again", "SELECT 'again: ' || tid || ' has the number ' || ifnull(number, 'NULL') "
			  "|| ', which cannot be' FROM again WHERE typeof(number) <> 'integer' OR "
			  "number < 1 OR number >= 1073741824 OR tid < 1073741824"},
		{"unhooked_caller",
		 "SELECT 'unhooked_caller: ' || printf('%x', callee) || ' of ' || path || "
		 "' is not in unhooked' FROM unhooked_caller c WHERE NOT EXISTS (SELECT 1 "
		 "FROM unhooked u WHERE u.path = c.path AND u.address = c.callee)"},
	};

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
		dt_check_each(k->r->db, k->f, each[i].table, each[i].sql, on_row, k);
	dt_check_each(k->r->db, k->f, "complete",
		      "SELECT c.module, c.ticks, m.id FROM complete c LEFT JOIN module m ON m.id = "
		      "c.module",
		      on_complete, k);
}

static void on_exec(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;

	if (!is_within(k, u64(q, 1)))
		dt_faults_add(k->f, DT_FAULT_TIMES, "exec: process %lu is not there at tick %lu",
			      (unsigned long)u64(q, 0), (unsigned long)u64(q, 1));
}

static void on_process(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;

	if (!is_within(k, u64(q, 1)) || (u64(q, 2) && !is_within(k, u64(q, 2))))
		dt_faults_add(k->f, DT_FAULT_TIMES, "process %lu: its times are not in the session",
			      (unsigned long)u64(q, 0));
}

static void check_processes(struct checking *k)
{
	dt_check_each(k->r->db, k->f, "exec", "SELECT pid, ticks FROM exec", on_exec, k);
	if (k->recorded)
		dt_check_each(k->r->db, k->f, "process",
			      "SELECT pid, begin_ticks, ifnull(end_ticks, 0) FROM process WHERE "
			      "begin_ticks",
			      on_process, k);
}

/* ---- meta ---- */

/* Returns whether the text is n numbers, none negative: "12 0.5". */
static bool is_numbers(const char *text, int n)
{
	char *end;

	for (; n; n--, text = end) {
		double v = strtod(text, &end);

		if (end == text || !(v >= 0))
			return false;
	}
	return !*end;
}

static void check_number(struct checking *k, const char *key, int n)
{
	const char *text = dt_reader_meta(k->r, key);

	if (text && !is_numbers(text, n))
		dt_faults_add(k->f, DT_FAULT_ROW, "meta: %s is '%.60s', which is not %d number%s",
			      key, text, n, n == 1 ? "" : "s");
}

static void on_unknown(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;
	const char *text = dt_reader_meta(k->r, "unknown_tids");
	uint64_t known = text ? strtoull(text, NULL, 10) : 0, n = u64(q, 0);

	if (k->end && n > known)
		dt_faults_add(
			k->f, DT_FAULT_ROW,
			"meta: unknown_tids is %lu; %lu threads have numbers of other namespaces",
			(unsigned long)known, (unsigned long)n);
}

static void on_core(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;
	const char *text = dt_reader_meta(k->r, "cores");

	if (u64(q, 0) >= strtoull(text, NULL, 10))
		dt_faults_add(k->f, DT_FAULT_ROW, "chunk: core %lu of %.20s",
			      (unsigned long)u64(q, 0), text);
}

static void check_meta(struct checking *k)
{
	static const struct {
		const char *key;
		int n;
	} numbers[] = {{"cores", 1},	    {"ring_size", 1},	    {"record_ticks", 1},
		       {"longest_stop", 1}, {"whole_until", 1},	    {"clockless", 2},
		       {"held_missed", 2},  {"unknown_tids", 1},    {"births_missed", 1},
		       {"revision", 1},	    {"cost.entry", 5},	    {"cost.exit", 5},
		       {"cost.point", 5},   {"ticks_per_second", 1}};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		check_number(k, numbers[i].key, numbers[i].n);
	if (!k->recorded)
		return;
	dt_check_each(k->r->db, k->f, "thread",
		      "SELECT count(DISTINCT t.tid) FROM thread t LEFT JOIN again a ON a.tid = "
		      "t.tid WHERE ifnull(a.number, t.tid) >= 4194304 AND t.tid < 4294967295",
		      on_unknown, k);
	dt_check_each(
		k->r->db, k->f, "thread",
		"SELECT count(DISTINCT tid) FROM thread WHERE tid >= 4194304 AND tid < "
		"4294967295 AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'again')",
		on_unknown, k);
	if (dt_reader_meta(k->r, "cores"))
		dt_check_each(k->r->db, k->f, "chunk",
			      "SELECT ifnull(max(core), 0) FROM chunk WHERE core < 32768", on_core,
			      k);
}

/* ---- all of them ---- */

static void on_clocks(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;

	k->begin = u64(q, 0);
	/*
	 * the last reading is made at the end of the session; before that, some are still to come
	 */
	k->end = dt_reader_meta(k->r, "longest_stop") ? u64(q, 1) : 0;
}

static void on_correction(void *ctx, sqlite3_stmt *q)
{
	struct checking *k = ctx;
	long by = 0, error = 0;

	if (sscanf(word(q, 0), "%ld %ld", &by, &error) == 2 &&
	    (uint64_t)labs(by) + (uint64_t)labs(error) > k->slack)
		k->slack = (uint64_t)labs(by) + (uint64_t)labs(error);
}

/* Readers take a rate that no clock has for 1 ns a tick. */
static void check_rate(struct checking *k)
{
	struct dt_clock a, b;
	double rate;

	if (!dt_reader_clock(k->r, &a, &b) || b.ticks <= a.ticks ||
	    b.monotonic_ns <= a.monotonic_ns)
		return;
	rate = (double)(b.monotonic_ns - a.monotonic_ns) / (double)(b.ticks - a.ticks);
	if (!dt_reader_is_rate(rate))
		dt_faults_add(k->f, DT_FAULT_TIMES, "clock: %g ns a tick: no clock is like this",
			      rate);
}

void dt_check_rows(struct dt_reader *r, struct dt_faults *f, struct dt_check_chunks *c)
{
	struct checking k = {
		.r = r, .f = f, .c = c, .recorded = dt_reader_meta(r, "policy") != NULL};

	dt_check_each(r->db, f, "clock",
		      "SELECT ifnull(min(ticks), 0), ifnull(max(ticks), 0) FROM clock", on_clocks,
		      &k);
	dt_check_each(r->db, f, "meta", "SELECT value FROM meta WHERE key GLOB 'clock_applied.*'",
		      on_correction, &k);
	check_holds(&k);
	check_pauses(&k);
	check_changes(&k);
	check_references(&k);
	check_processes(&k);
	check_meta(&k);
	check_rate(&k);
}
