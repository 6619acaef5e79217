/* SPDX-License-Identifier: MIT */
/* Parts of tables of functions. */
#include "cmd/table.h"

#include <stdio.h>
#include <stdlib.h>

#include "filter/times.h"
#include "show/json.h"
#include "cmd/open.h"

void dt_table_ns(double ns)
{
	char text[32];

	printf(" %s", dt_times_text(text, ns));
}

void dt_table_time(const struct dt_reader *r, uint64_t ticks)
{
	dt_table_ns((double)ticks * dt_reader_ns_per_tick(r));
}

void dt_table_json(const char *s)
{
	struct dt_json t = {0};

	dt_json_string(&t, s);
	if (t.failed)
		fputs("\"?\"", stdout);
	else
		fwrite(t.bytes.p, 1, t.bytes.n, stdout);
	free(t.bytes.p);
}

void dt_table_costs(const struct dt_reader *r)
{
	static const char *const kind[] = {"entry", "exit", "point"};
	double ns = dt_reader_ns_per_tick(r);

	for (size_t i = 0; i < sizeof(kind) / sizeof(*kind); i++) {
		struct dt_cmd_cost c;

		if (dt_cmd_cost(r, kind[i], &c))
			printf("%s of %s took %.1f ns: median of %u (mean %.2f, standard deviation "
			       "%.2f; "
			       "99 %% interval of the mean +- %.3f)\n",
			       i ? "    and" : "taken off: a record", kind[i], c.median * ns, c.n,
			       c.mean * ns, c.deviation * ns, c.interval * ns);
	}
}

bool dt_table_number(const char *text, const char *what, uint64_t *n)
{
	char *end;

	*n = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && !*end && *n)
		return true;
	dt_cmd_fail("'%s' is not a number of %s", text, what);
	return false;
}

static bool add_id(uint32_t **id, size_t *n, const char *text, const char *what)
{
	uint32_t *p = realloc(*id, (*n + 1) * sizeof(*p));
	unsigned long v;
	char *end;

	if (!p) {
		dt_cmd_fail("out of memory");
		return false;
	}
	*id = p;
	v = strtoul(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || v >= DT_NO_TID) {
		dt_cmd_fail("'%s' is not a %s id", text, what);
		return false;
	}
	p[(*n)++] = (uint32_t)v;
	return true;
}

bool dt_table_add_thread(struct dt_table_threads *t, const char *text)
{
	return add_id(&t->tid, &t->tids, text, "thread");
}

bool dt_table_add_process(struct dt_table_threads *t, const char *text)
{
	return add_id(&t->pid, &t->pids, text, "process");
}

bool dt_table_wanted(void *threads, uint32_t tid)
{
	const struct dt_table_threads *t = threads;
	const struct dt_thread_info *info;

	if (!t->tids && !t->pids)
		return true;
	for (size_t i = 0; i < t->tids; i++)
		if (t->tid[i] == dt_reader_number(t->reader, tid))
			return true;
	info = t->pids ? dt_reader_thread(t->reader, tid) : NULL;
	for (size_t i = 0; i < t->pids && info; i++)
		if (t->pid[i] == dt_reader_number(t->reader, info->pid))
			return true;
	return false;
}

void dt_table_threads_free(struct dt_table_threads *t)
{
	free(t->tid);
	free(t->pid);
}
