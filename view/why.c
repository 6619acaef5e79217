/* SPDX-License-Identifier: MIT */
/* Why a call took long: the call among all calls of its function, and beside the median one. */
#include <stdlib.h>

#include "analyse/siblings.h"
#include "view/asked.h"

#define SECONDS 0.1	/* for the median call, and for the rank */
#define MOST	4000000 /* records: of a call in which there are more, the calls are not summed up */

/* Returns how many records the regions have that a call is in. */
static uint64_t records(const struct dt_pyramid *p, uint64_t begin, uint64_t end)
{
	uint64_t n = 0;

	for (size_t i = dt_pyramid_region(p, begin); i < p->regions && p->region[i].begin <= end;
	     i++)
		n += p->region[i].records;
	return n;
}

static void say_siblings(struct dt_asked *a, const struct dt_siblings *s, uint64_t took)
{
	struct dt_json *out = &a->answer->text;
	unsigned of = dt_stats_bucket(took);
	uint64_t faster = 0;
	bool any = false;

	for (unsigned b = 0; b < of; b++)
		faster += s->bucket[b];
	dt_json_print(out,
		      "\"function\":%u,\"calls\":%lu,\"timed\":%lu,\"mean\":%.6g,\"min\":%lu,"
		      "\"max\":%lu,\"partly\":%s,\"faster\":%lu,\"alike\":%lu,\"buckets\":[",
		      s->function, (unsigned long)s->calls, (unsigned long)s->timed,
		      s->timed ? (double)s->sum / (double)s->timed : 0, (unsigned long)s->min,
		      (unsigned long)s->max, s->partly ? "true" : "false", (unsigned long)faster,
		      (unsigned long)s->bucket[of]);
	for (unsigned b = 0; b < DT_BUCKETS; b++) {
		if (!s->bucket[b])
			continue;
		dt_json_print(out, "%s[%u,%lu,%lu]", any ? "," : "", b,
			      (unsigned long)dt_stats_lowest(b), (unsigned long)s->bucket[b]);
		any = true;
	}
	dt_json_print(out, "]");
}

/* Adds a call and what it did inside. x->found: all of it is known. */
static void say_inside(struct dt_asked *a, const char *key, const struct dt_inside *x)
{
	const struct dt_track *t = dt_pyramid_track(a->all->pyramid, DT_TRACK_THREAD, x->thread);
	const struct dt_call *c = &x->call;
	struct dt_json *out = &a->answer->text;
	uint64_t took = dt_call_ticks(c);

	dt_json_print(out,
		      ",\"%s\":{\"track\":%ld,\"begin\":%lu,\"end\":%lu,\"depth\":%u,\"what\":%u",
		      key, t ? (long)(t - a->all->pyramid->track) : -1L,
		      (unsigned long)(x->begin - a->origin), (unsigned long)(x->end - a->origin),
		      x->depth, c->function);
	if (!x->found) {
		dt_json_print(out, ",\"inside\":null}");
		return;
	}
	dt_json_print(out,
		      ",\"flags\":%u,\"took\":%lu,\"self\":%lu,\"waited\":%lu,\"self_waited\":%lu,"
		      "\"preempted\":%lu,\"unseen\":%lu,\"inside\":[",
		      c->flags, (unsigned long)took,
		      (unsigned long)(took > c->children ? took - c->children : 0),
		      (unsigned long)c->waited, (unsigned long)c->waited_self,
		      (unsigned long)c->preempted, (unsigned long)c->unseen);
	for (size_t i = 0; i < x->n; i++)
		dt_json_print(out, "%s[%u,%lu,%lu,%lu]", i ? "," : "", x->row[i].function,
			      (unsigned long)x->row[i].calls, (unsigned long)x->row[i].ticks,
			      (unsigned long)x->row[i].waited);
	dt_json_print(out, "]}");
}

/* Sums up a call's inside, if it has not too many records. */
static int look_inside(struct dt_asked *a, struct dt_inside *x, const struct dt_same *same,
		       struct dt_error *e)
{
	if (records(a->all->pyramid, x->begin, x->end) > MOST)
		return 0;
	return dt_inside_sum(x, a->all->windows, same, e);
}

static void say_waits(struct dt_asked *a, const struct dt_inside *x)
{
	struct dt_json *out = &a->answer->text;

	dt_json_print(out, ",\"waits\":[");
	for (size_t i = 0; i < x->waits; i++) {
		const struct dt_inside_wait *w = &x->wait[i];

		dt_json_print(out, "%s[%u,", i ? "," : "", w->function);
		dt_json_string(out, w->what);
		dt_json_print(out, ",%lu,%lu,%lu,%lu,", (unsigned long)w->times,
			      (unsigned long)w->ticks, (unsigned long)w->longest,
			      (unsigned long)(w->at - a->origin));
		dt_json_string(out, w->by);
		dt_json_print(out, ",%lu]", (unsigned long)w->queued);
	}
	dt_json_print(out, "],\"more_waits\":%lu", (unsigned long)x->more_waits);
}

/* Adds how many calls of the same bucket took less, and as long. */
static int say_rank(struct dt_asked *a, const struct dt_siblings *s, uint64_t took,
		    struct dt_error *e)
{
	uint64_t less, equal;
	bool exact;

	if (dt_siblings_rank(s, a->all->pyramid, a->all->windows, took, SECONDS, &less, &equal,
			     &exact, e) < 0)
		return -1;
	dt_json_print(&a->answer->text, ",\"rank\":[%lu,%lu,%s]", (unsigned long)less,
		      (unsigned long)equal, exact ? "true" : "false");
	return 0;
}

static int say_median(struct dt_asked *a, const struct dt_siblings *s, const struct dt_same *same,
		      struct dt_error *e)
{
	struct dt_inside x = {0};
	bool exact = false;
	int rc = dt_siblings_median(s, a->all->pyramid, a->all->windows, SECONDS, &x.call, &exact,
				    e);

	if (rc <= 0)
		return rc;
	x.thread = x.call.tid;
	x.depth = x.call.depth;
	x.begin = x.call.begin;
	x.end = x.call.end;
	rc = look_inside(a, &x, same, e);
	if (rc == 0) {
		say_inside(a, "median", &x);
		dt_json_print(&a->answer->text, ",\"exact\":%s", exact ? "true" : "false");
	}
	dt_inside_free(&x);
	return rc;
}

/* Adds the calls that a call is in, from the outermost on. */
static int say_callers(struct dt_asked *a, const struct dt_inside *x, struct dt_error *e)
{
	const struct dt_pyramid *p = a->all->pyramid;
	const struct dt_track *t = dt_pyramid_track(p, DT_TRACK_THREAD, x->thread);
	struct dt_window at = {.from = x->begin, .to = x->begin, .depths = x->depth};
	struct dt_bar_list list = {0};
	bool any = false;
	int rc = 0;

	/* with 0 depths, bars of all would come */
	if (x->depth)
		rc = dt_window_bars(a->all->windows, (uint32_t)(t - p->track), &at, &list, e);
	dt_json_print(&a->answer->text, ",\"callers\":[");
	for (size_t i = 0; i < list.n && rc == 0; i++) {
		const struct dt_bar *b = &list.bar[i];

		if (b->count != 1 || b->begin > x->begin || b->end < x->end)
			continue;
		dt_json_print(&a->answer->text,
			      "%s{\"track\":%ld,\"begin\":%lu,\"end\":%lu,\"depth\":%u,\"what\":%u,"
			      "\"flags\":%u}",
			      any ? "," : "", (long)(t - p->track),
			      (unsigned long)(b->begin - a->origin),
			      (unsigned long)(b->end - a->origin), b->depth, b->what, b->flags);
		any = true;
	}
	dt_json_print(&a->answer->text, "]");
	free(list.bar);
	return rc;
}

/* Reads which call is asked about. False: the request has been refused. */
static bool asked_call(struct dt_asked *a, struct dt_inside *x)
{
	const struct dt_pyramid *p = a->all->pyramid;
	uint64_t thread, begin, end, depth, function;

	if (!dt_asked_number(a, "thread", 0, UINT32_MAX, &thread) ||
	    !dt_asked_number(a, "begin", 0, 1ull << 60, &begin) ||
	    !dt_asked_number(a, "end", 0, 1ull << 60, &end) ||
	    !dt_asked_number(a, "depth", 0, UINT32_MAX - 1, &depth) ||
	    !dt_asked_number(a, "what", 0, UINT32_MAX, &function))
		return false;
	x->thread = (uint32_t)thread;
	x->depth = (uint32_t)depth;
	x->begin = begin + a->origin;
	x->end = end + a->origin;
	/* what is known of it if its inside is not summed up */
	x->call =
		(struct dt_call){.function = (uint32_t)function, .begin = x->begin, .end = x->end};
	if (!p->regions || end < begin || !dt_pyramid_track(p, DT_TRACK_THREAD, (uint32_t)thread)) {
		dt_refuse(a, 404, "there is no such call");
		return false;
	}
	return true;
}

void dt_answer_why(struct dt_asked *a)
{
	struct dt_siblings s = {0};
	struct dt_inside x = {0};
	struct dt_error e = {""};
	struct dt_same same = {0};

	if (!asked_call(a, &x))
		return;
	if (dt_same_update(&same, dt_windows_reader(a->all->windows)) < 0) {
		dt_fail(&e, "out of memory");
		goto fail;
	}
	if (look_inside(a, &x, &same, &e) < 0)
		goto fail;
	if (!x.found && x.slot) {
		dt_refuse(a, 404, "there is no such call");
		goto out;
	}
	s.first = same.first;
	s.rows = same.n;
	s.function = x.call.function;
	if (dt_siblings_count(&s, a->all->pyramid, &e) < 0)
		goto fail;
	dt_json_print(&a->answer->text, "{");
	say_siblings(a, &s, dt_call_ticks(&x.call));
	say_inside(a, "call", &x);
	say_waits(a, &x);
	if (say_rank(a, &s, dt_call_ticks(&x.call), &e) < 0 || say_callers(a, &x, &e) < 0 ||
	    say_median(a, &s, &same, &e) < 0)
		goto fail;
	dt_json_print(&a->answer->text, "}");
	goto out;
fail:
	dt_refuse(a, 500, e.text);
out:
	dt_inside_free(&x);
	dt_same_free(&same);
}
