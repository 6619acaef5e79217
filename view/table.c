/* SPDX-License-Identifier: MIT */
/* Sums over a range of time: by function, and by track (thread, core, event). */
#include <stdlib.h>

#include "view/asked.h"

static void functions(struct dt_asked *a, const struct dt_stats *s)
{
	struct dt_reader *r = dt_windows_reader(a->p->windows);
	struct dt_json *out = &a->answer->text;
	bool any = false;

	for (uint32_t i = 0; i < s->functions; i++) {
		const struct dt_function_stats *f = &s->function[i];

		if (!f->calls && !f->no_entry)
			continue;
		dt_json_print(out, "%s{\"function\":%u,\"name\":", any ? "," : "", i);
		dt_json_string(out, dt_reader_function_name(r, i));
		dt_json_print(
			out,
			",\"calls\":%lu,\"timed\":%lu,\"total\":%lu,\"self\":%lu,\"mean\":%.6g,"
			"\"min\":%lu,\"p50\":%lu,\"p99\":%lu,\"max\":%lu,\"unwound\":%lu}",
			(unsigned long)f->calls, (unsigned long)f->timed, (unsigned long)f->total,
			(unsigned long)f->self, f->timed ? (double)f->sum / (double)f->timed : 0,
			(unsigned long)(f->timed ? f->min : 0),
			(unsigned long)dt_stats_quantile(f, 0.5),
			(unsigned long)dt_stats_quantile(f, 0.99), (unsigned long)f->max,
			(unsigned long)f->unwound);
		any = true;
	}
}

void dt_track_sums(struct dt_asked *a, const struct dt_track_sum *sum, uint32_t n)
{
	struct dt_json *out = &a->answer->text;
	bool any = false;

	for (uint32_t t = 0; t < n; t++) {
		const struct dt_track_sum *x = &sum[t];

		if (!x->count)
			continue;
		dt_json_print(out,
			      "%s{\"track\":%u,\"count\":%lu,\"busy\":%lu,\"low\":\"%lu\",\"high\":"
			      "\"%lu\"}",
			      any ? "," : "", t, (unsigned long)x->count, (unsigned long)x->busy,
			      (unsigned long)x->low, (unsigned long)x->high);
		any = true;
	}
}

void dt_answer_stats(struct dt_asked *a)
{
	struct dt_track_sum *sum = calloc(a->p->pyramid->tracks + 1, sizeof(*sum));
	struct dt_stats s = {0};
	struct dt_error e = {""};
	uint64_t from, to;

	if (!dt_asked_range(a, &from, &to))
		goto out;
	if (!sum || dt_window_stats(a->p->windows, from, to, &s, &e) < 0 ||
	    dt_window_sums(a->p->windows, from, to, sum, &e) < 0) {
		dt_refuse(a, 500, sum ? e.text : "out of memory");
		goto out;
	}
	dt_json_print(&a->answer->text, "{\"functions\":[");
	functions(a, &s);
	dt_json_print(&a->answer->text, "],\"tracks\":[");
	dt_track_sums(a, sum, a->p->pyramid->tracks);
	dt_json_print(&a->answer->text, "]}");
out:
	dt_stats_free(&s);
	free(sum);
}
