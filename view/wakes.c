/* SPDX-License-Identifier: MIT */
/* Who woke which thread, in a window: for arrows in the picture. */
#include "core/wake.h"
#include "process/now.h"
#include "store/wakers.h"
#include "view/asked.h"

#define ROWS   2000 /* in an answer, at most */
#define BUDGET 0.25 /* seconds: then the answer has what was found until then */

struct wakes {
	struct dt_asked *a;
	struct dt_reader *reader;
	struct dt_wakers wakers;
	size_t n;
};

/* Puts one: [time, the thread that was woken, the one that woke it or 0, in words who that was]. */
static void put(struct wakes *w, const struct dt_record *r)
{
	const struct dt_waker *x = dt_wakers_row(&w->wakers, w->reader, DT_WAKER_OF(r->sp));
	struct dt_json *out = &w->a->answer->text;
	char text[DT_WAKER_TEXT + 1] = "not known";
	uint32_t by = 0;

	if (x) {
		*dt_waker_put(text, w->reader, x, true) = '\0';
		by = x->context == DT_WAKE_THREAD ? x->tid : 0;
	}
	dt_json_print(out, "%s[%lu,%u,%u,", w->n++ ? "," : "",
		      (unsigned long)(r->ticks - w->a->origin), r->tid, by);
	dt_json_string(out, text);
	dt_json_print(out, "]");
}

/* Puts those of a span. False: no more are wanted. */
static bool put_span(struct wakes *w, const struct dt_span *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct dt_site *site = dt_reader_site(w->reader, s->site[i]);
		struct dt_record r;

		if (!site || site->kind != DT_WAKE || s->tid == DT_NO_TID)
			continue;
		dt_span_record(w->reader, s, i, &r);
		if (w->n == ROWS)
			return false;
		put(w, &r);
	}
	return true;
}

void dt_answer_wakes(struct dt_asked *a)
{
	struct wakes w = {.a = a, .reader = dt_windows_reader(a->all->windows)};
	struct dt_reader_range range = {.order = DT_BY_TIME};
	double begun = dt_now_s();
	struct dt_error e = {""};
	struct dt_span s;
	bool all = true, any = dt_wakers_any(w.reader);
	int rc = 0;

	if (!dt_asked_range(a, &range.from, &range.to))
		return;
	dt_json_print(&a->answer->text, "{\"wakes\":[");
	if (any)
		rc = dt_reader_start(w.reader, &range, &e);
	while (any && !rc && (rc = dt_reader_next(w.reader, &s, &e)) > 0) {
		rc = 0;
		if (!put_span(&w, &s) || dt_now_s() - begun > BUDGET) {
			all = false;
			break;
		}
	}
	dt_wakers_free(&w.wakers);
	if (rc < 0)
		dt_refuse(a, 500, e.text);
	else
		dt_json_print(&a->answer->text, "],\"all\":%s}", all ? "true" : "false");
}
