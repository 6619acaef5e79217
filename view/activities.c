/* SPDX-License-Identifier: MIT */
/* Activities, which users define by events (doc/sql.md). */
#include <stdlib.h>

#include "core/whole.h"
#include "filter/filter.h"
#include "store/activities.h"
#include "view/asked.h"

struct rows {
	struct dt_json *out;
	bool any;
};

static void put_name(void *ctx, const char *name, uint64_t n)
{
	struct rows *l = ctx;

	dt_json_print(l->out, "%s[", l->any ? "," : "");
	dt_json_string(l->out, name);
	dt_json_print(l->out, ",%lu]", (unsigned long)n);
	l->any = true;
}

static void put(void *ctx, const struct dt_activity *x)
{
	struct rows *l = ctx;

	dt_json_print(l->out, "%s{\"name\":", l->any ? "," : "");
	dt_json_string(l->out, x->name);
	dt_json_print(
		l->out,
		",\"begin\":%ld,\"end\":%ld,\"thread\":%ld,\"count\":%lu,\"busy\":%lu,\"key\":",
		(long)x->begin, (long)x->end, (long)x->thread, (unsigned long)x->count,
		(unsigned long)x->busy);
	dt_json_string(l->out, x->key);
	dt_json_print(l->out, ",\"text\":");
	dt_json_string(l->out, x->text);
	dt_json_print(l->out, "}");
	l->any = true;
}

struct wanted {
	struct dt_filter *filter;
	double ns_per_tick;
};

static bool is_wanted(void *ctx, int64_t thread, int64_t core, int64_t length)
{
	const struct wanted *w = ctx;

	return dt_filter_place(w->filter, core < 0 ? DT_SHARED_CORE : (uint16_t)core,
			       thread < 0 ? DT_NO_TID : (uint32_t)thread) &&
	       dt_filter_time(w->filter, (uint64_t)dt_whole((double)length / w->ns_per_tick));
}

/* Times of activities are in ns, unlike all others. */
void dt_answer_activities(struct dt_asked *a)
{
	struct dt_reader *r = dt_windows_reader(a->all->windows);
	struct rows l = {.out = &a->answer->text};
	uint64_t from, to, cells;
	struct dt_error e;
	bool more = false;
	double ns = dt_reader_ns_per_tick(r);
	struct wanted w = {dt_windows_filter(a->p->windows), ns};
	const struct dt_activity_want want = {is_wanted, &w};
	int rc;

	if (!dt_asked_range(a, &from, &to) || !dt_asked_number(a, "cells", 1, 8192, &cells))
		return;
	dt_json_print(l.out, "{\"names\":[");
	rc = dt_reader_activity_names(r, put_name, &l, &e);
	dt_json_print(l.out, "],\"activities\":[");
	l.any = false;
	if (rc == 0)
		rc = dt_reader_activities(
			r, w.filter ? &want : NULL, dt_whole((double)(from - a->origin) * ns),
			dt_whole((double)(to - a->origin) * ns),
			dt_whole((double)(to - from) * ns / (double)cells), put, &l, &more, &e);
	dt_json_print(l.out, "],\"more\":%s}", more ? "true" : "false");
	if (rc < 0)
		dt_refuse(a, 500, e.text);
}
