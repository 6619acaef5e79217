/* SPDX-License-Identifier: MIT */
/* The critical path of a call, or of a stretch of time, for the page. */
#include <stdlib.h>

#include "analyse/feed.h"
#include "fleet/path-streams.h"
#include "show/path.h"
#include "view/asked.h"

#define MOST   4000000 /* records: of a time in which there are more, nothing is answered */
#define PIECES 20000   /* in an answer, at most */

/* Returns how many records the regions have that a time lies in. */
static uint64_t records(const struct dt_pyramid *p, uint64_t begin, uint64_t end)
{
	uint64_t n = 0;

	for (size_t i = dt_pyramid_region(p, begin); i < p->regions && p->region[i].begin <= end;
	     i++)
		n += p->region[i].records;
	return n;
}

/* Puts one: [begin, end, thread, kind, level, what joins it to the next one, words, functions...].
 */
static void put_piece(struct dt_asked *a, const struct dt_path_said *s,
		      const struct dt_path_piece *p)
{
	const struct dt_path_part *part = s->paths->part + p->part;
	struct dt_json *out = &a->answer->text;
	char words[DT_PATH_WORDS];

	dt_json_print(out, "[%lu,%lu,%u,\"%s\",%u,\"%s\",", (unsigned long)(p->begin - a->origin),
		      (unsigned long)(p->end - a->origin), p->tid, dt_path_kind_word(p->kind),
		      p->level, dt_path_link_word(p->link));
	dt_json_string(out, dt_path_words(s, p, p->function, words));
	dt_json_print(out, ",[");
	for (size_t i = 0; i < p->parts; i++)
		dt_json_print(out, "%s[%u,%lu]", i ? "," : "", part[i].function,
			      (unsigned long)part[i].ticks);
	dt_json_print(out, "]]");
}

static int put_sums(struct dt_asked *a, const struct dt_path_said *s, struct dt_error *e)
{
	struct dt_json *out = &a->answer->text;
	size_t n;
	struct dt_path_sum *sum = dt_path_sums(s, true, &n);

	if (!sum)
		return dt_fail(e, "out of memory");
	dt_json_print(out, "],\"sums\":[");
	for (size_t i = 0; i < n; i++) {
		dt_json_print(out, "%s[", i ? "," : "");
		dt_json_string(out, sum[i].who);
		dt_json_print(out, ",");
		dt_json_string(out, sum[i].what);
		dt_json_print(out, ",%lu,%lu]", (unsigned long)sum[i].ticks,
			      (unsigned long)sum[i].pieces);
	}
	dt_json_print(out, "]");
	dt_path_sums_free(sum, n);
	return 0;
}

static int put_path(struct dt_asked *a, struct dt_paths *p, bool streams, struct dt_error *e)
{
	struct dt_path_said s = {.paths = p};
	struct dt_json *out = &a->answer->text;
	const struct dt_path *path = p->path;
	int rc;

	if (dt_hosts_load(&s.hosts, p->reader))
		return dt_fail(e, "out of memory");
	dt_json_print(
		out,
		"{\"thread\":%u,\"from\":%lu,\"to\":%lu,\"all\":%zu,\"streams\":%s,\"pieces\":[",
		path->tid, (unsigned long)(path->from - a->origin),
		(unsigned long)(path->to - a->origin), path->n, streams ? "true" : "false");
	for (size_t i = 0; i < path->n && i < PIECES; i++) {
		dt_json_print(out, "%s", i ? "," : "");
		put_piece(a, &s, &path->piece[i]);
	}
	rc = put_sums(a, &s, e);
	dt_json_print(out, "}");
	dt_hosts_free(&s.hosts);
	return rc;
}

/* Says which thread is asked about: the one that is named, or the last one that made a record. */
static int find_thread(struct dt_asked *a, struct dt_path *path, struct dt_error *e)
{
	const struct dt_pyramid *p = a->all->pyramid;
	const char *text = a->r->value(a->r->ctx, "thread");
	uint64_t tid = DT_NO_TID, at;

	if (text && !dt_asked_number(a, "thread", 1, UINT32_MAX - 1, &tid))
		return 1;
	if (text && !dt_pyramid_track(p, DT_TRACK_THREAD, (uint32_t)tid)) {
		dt_refuse(a, 404, "there is no such thread");
		return 1;
	}
	if (!text) {
		*e = (struct dt_error){""};
		tid = dt_path_last_thread(dt_windows_reader(a->all->windows), path->from, path->to,
					  &at, e);
		if (*e->text)
			return -1;
	}
	if (tid == DT_NO_TID)
		return dt_fail(
			e, "there is no record of a thread in this time: pick a call of the thread "
			   "that is meant, too");
	path->tid = (uint32_t)tid;
	return 0;
}

void dt_answer_path(struct dt_asked *a)
{
	struct dt_reader *r = dt_windows_reader(a->all->windows);
	const struct dt_pyramid *y = a->all->pyramid;
	struct dt_path path = {0};
	struct dt_paths p = {.reader = r, .path = &path, .n = 1};
	struct dt_path_edge *edge = NULL;
	struct dt_error e = {""};
	bool streams;
	int rc;

	if (!dt_asked_range(a, &path.from, &path.to))
		return;
	if (!dt_feed_has_switches(r)) {
		dt_refuse(a, 409, "no switches in this trace: record with -S");
		return;
	}
	if (records(y, path.from, path.to) > MOST) {
		dt_refuse(a, 409,
			  "more than 4 million records lie in this time: select less, or take "
			  "devtrace path");
		return;
	}
	/* connections are found from the trace's beginning on */
	streams = records(y, y->begin, y->end) <= MOST;
	rc = find_thread(a, &path, &e);
	if (rc > 0)
		return;
	if (!rc && streams)
		rc = dt_path_streams(r, &edge, &p.edges, &e);
	p.edge = edge;
	if (!rc)
		rc = dt_paths_find(&p, &e);
	if (!rc)
		rc = put_path(a, &p, streams, &e);
	if (rc)
		dt_refuse(a, 500, e.text);
	dt_paths_free(&p);
	free(edge);
}
