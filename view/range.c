/* SPDX-License-Identifier: MIT */
/* What ran in a range of time, clipped to it: by function, by track, and by the ways of calling. */
#include <stdlib.h>
#include <string.h>

#include "analyse/clip.h"
#include "view/asked.h"

#define WAYS 20000 /* in an answer, about: those with the most time */

static const char *module_of(const struct dt_reader *r, uint32_t function)
{
	const struct dt_function_info *f = dt_reader_function(r, function);
	const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;
	const char *slash = m ? strrchr(m->path, '/') : NULL;

	return slash ? slash + 1 : m ? m->path : "";
}

static unsigned long not_less_than_0(int64_t v)
{
	return v > 0 ? (unsigned long)v : 0;
}

static void functions(struct dt_asked *a, const struct dt_clip *c)
{
	static const struct dt_function_stats none;
	struct dt_reader *r = dt_windows_reader(a->p->windows);
	struct dt_json *out = &a->answer->text;
	bool any = false;

	dt_json_print(out, "\"functions\":[");
	for (uint32_t i = 0; i < c->functions; i++) {
		const struct dt_clip_function *x = &c->function[i];
		const struct dt_function_stats *f =
			i < c->stats.functions ? &c->stats.function[i] : &none;

		if (!x->calls && !f->no_entry)
			continue;
		dt_json_print(out, "%s{\"function\":%u,\"name\":", any ? "," : "", i);
		dt_json_string(out, dt_reader_function_name(r, i));
		dt_json_print(out, ",\"module\":");
		dt_json_string(out, module_of(r, i));
		dt_json_print(out,
			      ",\"calls\":%lu,\"cut\":%lu,\"total\":%lu,\"self\":%lu,\"timed\":%lu,"
			      "\"mean\":%.6g,\"min\":%lu,\"p50\":%lu,\"p99\":%lu,\"max\":%lu,"
			      "\"unwound\":%lu,\"no_entry\":%lu}",
			      (unsigned long)x->calls, (unsigned long)x->cut,
			      not_less_than_0(x->total), not_less_than_0(x->self),
			      (unsigned long)f->timed,
			      f->timed ? (double)f->sum / (double)f->timed : 0,
			      (unsigned long)(f->timed ? f->min : 0),
			      (unsigned long)dt_stats_quantile(f, 0.5),
			      (unsigned long)dt_stats_quantile(f, 0.99), (unsigned long)f->max,
			      (unsigned long)f->unwound, (unsigned long)f->no_entry);
		any = true;
	}
	dt_json_print(out, "]");
}

/* ---- ways ---- */

static int greatest_first(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Adds numbers that a damaged file may have made too great. */
static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Sums up what each node and all below it took; a node comes before those below it. */
static int64_t *totals(const struct dt_clip *c, const struct dt_ways *w)
{
	int64_t *total = calloc(w->n + 1ul, sizeof(*total));

	for (uint32_t i = w->n; total && i-- > 1;) {
		const struct dt_way_sum *x = i < c->ways.room ? &c->ways.sum[i] : NULL;

		total[i] = sum(total[i], x ? x->self : 0);
		if (w->node[i].parent != i)
			total[w->node[i].parent] = sum(total[w->node[i].parent], total[i]);
	}
	return total;
}

/* Returns the least total of a node that is told, so that there are about WAYS. */
static int64_t least(const int64_t *total, uint32_t n)
{
	int64_t *sorted = malloc((n + 1ul) * sizeof(*sorted)), v;

	if (!sorted)
		return -1;
	memcpy(sorted, total, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), greatest_first);
	v = n > WAYS ? sorted[WAYS] + 1 : 1;
	free(sorted);
	return v > 1 ? v : 1;
}

/*
 * Adds the ways as [node, the node above, function, calls, self]; a node comes after the one above.
 * Those that are left out have so little time that they would not be seen; it is said how many they
 * are, and how much time they have.
 */
static int ways(struct dt_asked *a, const struct dt_clip *c)
{
	const struct dt_ways *w = &a->p->pyramid->ways;
	struct dt_json *out = &a->answer->text;
	uint64_t left = 0;
	int64_t *total = totals(c, w), limit = total ? least(total, w->n) : -1, rest = 0;
	bool any = false;

	if (limit < 0) {
		free(total);
		return -1;
	}
	dt_json_print(out, ",\"ways\":[");
	for (uint32_t i = 1; i < w->n; i++) {
		const struct dt_way_sum *x = i < c->ways.room ? &c->ways.sum[i] : NULL;

		if (total[i] < limit) {
			left += x && (x->calls || x->self);
			rest = sum(rest, x ? x->self : 0);
			continue;
		}
		dt_json_print(out, "%s[%u,%u,%u,%lu,%lu]", any ? "," : "", i, w->node[i].parent,
			      w->node[i].function, (unsigned long)(x ? x->calls : 0),
			      not_less_than_0(x ? x->self : 0));
		any = true;
	}
	dt_json_print(out, "],\"ways_left\":%lu,\"ways_left_ticks\":%lu", (unsigned long)left,
		      not_less_than_0(rest));
	free(total);
	return 0;
}

/* Reads the range; without one it is the whole trace. */
static bool range(struct dt_asked *a, struct dt_clip *c)
{
	const char *all = a->r->value(a->r->ctx, "all");
	uint64_t want = 0;

	if (a->r->value(a->r->ctx, "ways") && !dt_asked_number(a, "ways", 0, 1, &want))
		return false;
	c->want_ways = want;
	if (!all)
		return dt_asked_range(a, &c->from, &c->to);
	c->from = a->origin;
	c->to = a->p->pyramid->end;
	return true;
}

void dt_answer_range(struct dt_asked *a)
{
	struct dt_clip c = {0};
	struct dt_error e = {""};

	if (!range(a, &c))
		return;
	if (dt_window_clip(a->p->windows, &c, &e) < 0) {
		dt_refuse(a, 500, e.text);
		goto out;
	}
	dt_json_print(&a->answer->text, "{");
	functions(a, &c);
	dt_json_print(&a->answer->text, ",\"tracks\":[");
	dt_track_sums(a, c.track, c.tracks);
	dt_json_print(&a->answer->text, "]");
	if (c.want_ways && ways(a, &c) < 0) {
		dt_refuse(a, 500, "out of memory");
		goto out;
	}
	dt_json_print(&a->answer->text, ",\"partly\":%s}",
		      a->p->pyramid->complete ? "false" : "true");
out:
	dt_clip_free(&c);
}
