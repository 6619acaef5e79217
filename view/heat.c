/* SPDX-License-Identifier: MIT */
/* Durations of a function's calls over time. */
#include <stdlib.h>

#include "analyse/heat.h"
#include "view/asked.h"

/* Adds the columns as [begin, end, [bucket, calls]...], those without calls too, and the lowest
 * duration of each bucket that any has, and of the one after it. */
static void say(struct dt_asked *a, const struct dt_heat *h)
{
	struct dt_json *out = &a->answer->text;
	bool used[DT_BUCKETS] = {false}, any = false;

	dt_json_print(out, "{\"calls\":%lu,\"untimed\":%lu,\"even\":%s,\"columns\":[",
		      (unsigned long)h->calls, (unsigned long)h->untimed,
		      h->even ? "true" : "false");
	for (unsigned k = 0; k < h->columns && h->to >= h->from; k++) {
		const struct dt_heat_column *c = &h->column[k];

		dt_json_print(out, "%s[%lu,%lu", k ? "," : "",
			      (unsigned long)(c->begin - a->origin),
			      (unsigned long)(c->end - a->origin));
		for (unsigned b = 0; c->bucket && b < DT_BUCKETS; b++)
			if (c->bucket[b]) {
				dt_json_print(out, ",[%u,%lu]", b, (unsigned long)c->bucket[b]);
				used[b] = true;
			}
		dt_json_print(out, "]");
	}
	dt_json_print(out, "],\"lowest\":{");
	for (unsigned b = 0; b < DT_BUCKETS; b++)
		if (used[b] || (b && used[b - 1])) {
			dt_json_print(out, "%s\"%u\":%lu", any ? "," : "", b,
				      (unsigned long)dt_stats_lowest(b));
			any = true;
		}
	dt_json_print(out, "},\"partly\":%s}", a->p->pyramid->complete ? "false" : "true");
}

void dt_answer_heat(struct dt_asked *a)
{
	struct dt_heat *h = calloc(1, sizeof(*h));
	struct dt_same same = {0};
	struct dt_error e = {"out of memory"};
	uint64_t function, columns;

	if (!h) {
		dt_refuse(a, 500, e.text);
		return;
	}
	if (!dt_asked_number(a, "function", 1, UINT32_MAX, &function) ||
	    !dt_asked_number(a, "columns", 1, DT_HEAT_COLUMNS, &columns) ||
	    !dt_asked_range(a, &h->from, &h->to))
		goto out;
	if (!dt_reader_function(dt_windows_reader(a->p->windows), (uint32_t)function)) {
		dt_refuse(a, 404, "there is no such function");
		goto out;
	}
	h->same = &same;
	h->function = (uint32_t)function;
	h->columns = (unsigned)columns;
	if (dt_same_update(&same, dt_windows_reader(a->p->windows)) < 0 ||
	    dt_heat_count(h, a->p->windows, a->p->pyramid, &e) < 0)
		dt_refuse(a, 500, e.text);
	else
		say(a, h);
out:
	dt_heat_free(h);
	dt_same_free(&same);
	free(h);
}
