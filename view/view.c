/* SPDX-License-Identifier: MIT */
/* A trace that is shown: its pictures, and which function answers which request. */
#include "view/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/asked.h"

#define FILTERED 3 /* pictures with a filter that are kept: those used last */

struct dt_view {
	char *path;
	struct dt_formats *formats;
	bool anyway;
	int sources; /* -1: there are none */
	struct dt_view_sql sql;
	struct dt_view_live live;
	struct dt_picture_live follows; /* for the pictures, if the trace is being recorded */
	pthread_mutex_t news_lock;	/* guards `news'; held while it is called */
	struct dt_view_news news;
	pthread_mutex_t lock;	/* held during an answer; guards all below */
	struct dt_picture *all; /* without a filter; never changes */
	struct dt_picture *filtered[FILTERED];
	uint64_t used[FILTERED], clock;
};

static bool is_alive(void *ctx)
{
	const struct dt_view *v = ctx;

	return v->live.alive(v->live.ctx);
}

static void tell_news(void *ctx)
{
	struct dt_view *v = ctx;

	pthread_mutex_lock(&v->news_lock);
	if (v->news.fn)
		v->news.fn(v->news.ctx);
	pthread_mutex_unlock(&v->news_lock);
}

struct dt_view *dt_view_open(const char *path, struct dt_formats *formats, bool anyway,
			     const struct dt_view_live *live, struct dt_error *e)
{
	struct dt_view *v = calloc(1, sizeof(*v));

	if (!v || !(v->path = strdup(path))) {
		free(v);
		dt_fail(e, "out of memory");
		return NULL;
	}
	pthread_mutex_init(&v->lock, NULL);
	pthread_mutex_init(&v->news_lock, NULL);
	v->formats = formats;
	v->anyway = anyway;
	v->sources = -1;
	v->follows = (struct dt_picture_live){is_alive, tell_news, v};
	if (live)
		v->live = *live;
	v->all = dt_picture_new(path, NULL, v->live.name ? &v->follows : NULL, anyway, e);
	if (v->all)
		return v;
	dt_view_close(v);
	return NULL;
}

void dt_view_close(struct dt_view *v)
{
	if (!v)
		return;
	for (unsigned i = 0; i < FILTERED; i++)
		dt_picture_free(v->filtered[i]);
	dt_picture_free(v->all);
	free(v->path);
	free(v);
}

void dt_view_use_sources(struct dt_view *v, int folder)
{
	v->sources = folder;
}

void dt_view_use_sql(struct dt_view *v, const struct dt_view_sql *sql)
{
	v->sql = *sql;
}

bool dt_view_progress(struct dt_view *v, uint64_t *records, uint64_t *total, struct dt_error *e)
{
	bool complete;

	dt_picture_lock(v->all);
	*records = v->all->pyramid->records;
	*total = v->all->pyramid->total;
	complete = v->all->pyramid->complete;
	*e = v->all->error;
	dt_picture_unlock(v->all);
	return complete;
}

const char *dt_view_not_kept(struct dt_view *v)
{
	return v->all->not_kept;
}

/* ---- live ---- */

void dt_view_tell_news(struct dt_view *v, const struct dt_view_news *news)
{
	pthread_mutex_lock(&v->news_lock);
	v->news = *news;
	pthread_mutex_unlock(&v->news_lock);
}

bool dt_view_is_live(const struct dt_view *v)
{
	return v->live.name != NULL;
}

void dt_view_news_text(struct dt_view *v, char *text, size_t size)
{
	const struct dt_pyramid *p;

	dt_picture_lock(v->all);
	p = v->all->pyramid;
	snprintf(text, size, "{\"records\":%lu,\"length\":%lu,\"live\":%s}",
		 (unsigned long)p->total, (unsigned long)(p->end - p->begin),
		 v->all->live ? "true" : "false");
	dt_picture_unlock(v->all);
}

void dt_view_command(struct dt_view *v, const char *command, struct dt_view_answer *to)
{
	struct dt_error e = {""};
	int rc = -1;

	*to = (struct dt_view_answer){.status = 200, .type = "application/json"};
	if (!v->live.name)
		dt_fail(&e, "nobody records this trace");
	else
		rc = v->live.tell(v->live.ctx, command, &e);
	if (rc < 0)
		to->status = 400;
	dt_json_print(&to->text, "{\"error\":");
	dt_json_string(&to->text, rc < 0 ? e.text : "");
	dt_json_print(&to->text, ",\"note\":");
	dt_json_string(&to->text, rc < 0 ? "" : e.text);
	dt_json_print(&to->text, "}");
}

/* ---- answers ---- */

/* Returns the picture of a filter; a new one takes the place of the one that has not been used for
 * the longest time. NULL: an error. */
static struct dt_picture *picture_of(struct dt_view *v, const char *filter, struct dt_error *e)
{
	unsigned at = 0;

	while (*filter == ' ')
		filter++;
	if (!*filter)
		return v->all;
	for (unsigned i = 0; i < FILTERED; i++) {
		if (v->filtered[i] && !strcmp(v->filtered[i]->filter, filter)) {
			v->used[i] = ++v->clock;
			return v->filtered[i];
		}
		if (v->used[i] < v->used[at])
			at = i;
	}
	dt_picture_free(v->filtered[at]);
	v->filtered[at] = dt_picture_new(v->path, filter, v->all->follows, v->anyway, e);
	v->used[at] = ++v->clock;
	return v->filtered[at];
}

static const struct {
	const char *what;
	void (*answer)(struct dt_asked *a);
} requests[] = {
	{"trace", dt_answer_trace},	  {"window", dt_answer_window},
	{"names", dt_answer_names},	  {"search", dt_answer_search},
	{"stats", dt_answer_stats},	  {"call", dt_answer_call},
	{"list", dt_answer_list},	  {"activities", dt_answer_activities},
	{"unhooked", dt_answer_unhooked}, {"why", dt_answer_why},
	{"range", dt_answer_range},	  {"source", dt_answer_source},
	{"heat", dt_answer_heat},	  {"notes", dt_answer_notes},
	{"hits", dt_answer_hits},	  {"find", dt_answer_find},
	{"plot", dt_answer_plot},	  {"packed", dt_answer_packed},
	{"groups", dt_answer_groups},	  {"who", dt_answer_who},
	{"asked", dt_answer_asked},	  {"wakes", dt_answer_wakes},
	{"path", dt_answer_path},
};

static void answer(struct dt_view *v, struct dt_asked *a, void (*fn)(struct dt_asked *a))
{
	const char *filter = a->r->value(a->r->ctx, "filter");
	struct dt_error e = {""};

	a->all = v->all;
	a->p = filter ? picture_of(v, filter, &e) : v->all;
	if (!a->p) {
		dt_refuse(a, 400, e.text);
		return;
	}
	dt_picture_lock(a->p);
	if (a->p != a->all)
		dt_picture_lock(a->all);
	a->origin = v->all->pyramid->begin;
	/* if a trace can not be read to its end, or does not add up, only the reason is shown */
	if (a->p->error.text[0] && fn != dt_answer_trace)
		dt_refuse(a, 409, a->p->error.text);
	else
		fn(a);
	if (a->p != a->all)
		dt_picture_unlock(a->all);
	dt_picture_unlock(a->p);
}

static void answer_any(struct dt_view *v, const struct dt_view_request *r,
		       struct dt_view_answer *to, void (*fn)(struct dt_asked *a))
{
	struct dt_asked a = {.v = v,
			     .formats = v->formats,
			     .path = v->path,
			     .sources = v->sources,
			     .sql = &v->sql,
			     .r = r,
			     .answer = to};

	*to = (struct dt_view_answer){.status = 200, .type = "application/json"};
	pthread_mutex_lock(&v->lock);
	if (fn)
		answer(v, &a, fn);
	else
		dt_refuse(&a, 404, "there is no such request");
	pthread_mutex_unlock(&v->lock);
	if (to->text.failed)
		to->status = 500;
}

void dt_view_answer(struct dt_view *v, const struct dt_view_request *r, struct dt_view_answer *to)
{
	size_t i = 0, n = sizeof(requests) / sizeof(*requests);

	while (i < n && strcmp(r->what, requests[i].what) != 0)
		i++;
	answer_any(v, r, to, i < n ? requests[i].answer : NULL);
}

void dt_view_change(struct dt_view *v, const struct dt_view_request *r, struct dt_view_answer *to)
{
	answer_any(v, r, to,
		   !strcmp(r->what, "note")  ? dt_answer_note
		   : !strcmp(r->what, "ask") ? dt_answer_ask
					     : NULL);
}
