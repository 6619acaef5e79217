/* SPDX-License-Identifier: MIT */
/* Functions by their names, and one call with its values. */
#include <stdlib.h>
#include <string.h>

#include "view/asked.h"

/* ---- names of functions ---- */

void dt_answer_names(struct dt_asked *a)
{
	struct dt_reader *r = dt_windows_reader(a->all->windows);
	const char *list = a->r->value(a->r->ctx, "ids");
	struct dt_json *out = &a->answer->text;
	bool any = false;

	dt_json_print(out, "{");
	while (list && *list) {
		char *end;
		unsigned long id = strtoul(list, &end, 10);
		const struct dt_function_info *f =
			id <= UINT32_MAX ? dt_reader_function(r, (uint32_t)id) : NULL;
		const struct dt_module_info *m = f ? dt_reader_module(r, f->module) : NULL;
		const char *slash = m ? strrchr(m->path, '/') : NULL;

		if (*list < '0' || *list > '9' || (*end && *end != ',')) {
			dt_refuse(a, 400, "ids: numbers with commas between");
			return;
		}
		dt_json_print(out, "%s\"%lu\":[", any ? "," : "", id);
		dt_json_string(out, f && *f->name ? f->name : "?");
		dt_json_print(out, ",");
		dt_json_string(out, slash ? slash + 1 : m ? m->path : "");
		dt_json_print(out, ",");
		dt_json_string(out, f ? f->file : "");
		dt_json_print(out, ",%u]", f ? f->line : 0);
		any = true;
		list = *end ? end + 1 : end;
	}
	dt_json_print(out, "}");
}

/* All functions whose name has this in it. */
void dt_answer_search(struct dt_asked *a)
{
	struct dt_reader *r = dt_windows_reader(a->all->windows);
	const char *text = a->r->value(a->r->ctx, "text");
	struct dt_json *out = &a->answer->text;
	unsigned n = 0;

	dt_json_print(out, "[");
	for (uint32_t i = 1; text && *text && i <= dt_reader_functions(r) && n < 1000; i++) {
		const struct dt_function_info *f = dt_reader_function(r, i);

		if (!strcasestr(f->name, text))
			continue;
		dt_json_print(out, "%s[%u,", n++ ? "," : "", i);
		dt_json_string(out, f->name);
		dt_json_print(out, "]");
	}
	dt_json_print(out, "]");
}

/* ---- one call, with its values ---- */

struct wanted {
	struct dt_asked *a;
	uint32_t thread, depth;
	uint64_t begin;
	bool found;
};

static void on_call(void *ctx, const struct dt_call *c)
{
	struct wanted *w = ctx;
	struct dt_json *out = &w->a->answer->text;
	const struct dt_view_words *words = w->a->words;
	struct dt_json line = {0};

	if (w->found || c->begin != w->begin || c->depth != w->depth ||
	    (c->tid != w->thread && !(c->tid == DT_NO_TID && w->thread >= DT_TRACK_NOBODY(0))))
		return;
	w->found = true;
	words->call(words->ctx, &line, c->function, c->argument);
	if (c->result)
		words->result(words->ctx, &line, c->function, c->result);
	dt_json_bytes(&line, "", 1);
	dt_json_print(out, "{\"text\":");
	dt_json_string(out, line.failed ? "?" : (const char *)line.bytes.p);
	dt_json_print(out, ",\"function\":%u,\"begin\":%lu,\"end\":%lu,\"self\":%lu,\"flags\":%u}",
		      c->function, (unsigned long)(c->begin - w->a->origin),
		      (unsigned long)(c->end - w->a->origin),
		      (unsigned long)(c->end - c->begin - c->children), c->flags);
	free(line.bytes.p);
}

/* Of a call that takes long, its beginning is read by itself, for what it was called with. 1: it is
 * there. */
static int read_beginning(struct dt_picture *p, uint32_t thread, uint64_t begin, uint32_t function,
			  uint64_t argument[4], struct dt_error *e)
{
	struct dt_reader *r = dt_windows_reader(p->windows);
	struct dt_range at = {.order = DT_BY_TIME, .values = true, .from = begin, .to = begin};
	struct dt_span s;
	int rc = dt_reader_start(r, &at, e), found = 0;

	while (rc == 0 && (rc = dt_reader_next(r, &s, e)) > 0) {
		rc = 0;
		for (uint32_t i = 0; i < s.n; i++) {
			const struct dt_site *site = dt_reader_site(r, s.site[i]);

			if (s.tid != thread || site->kind != DT_ENTRY || s.ticks[i] != begin)
				continue;
			/* several rows may stand for one function */
			if (!found || site->function == function)
				memcpy(argument, s.value[i], 4 * sizeof(*argument));
			found = 1;
		}
	}
	return rc < 0 ? -1 : found;
}

/* A long call's: its bar is known, its end is read by itself as well. */
static void answer_long(struct dt_asked *a, uint32_t thread, uint64_t begin, uint64_t end,
			uint32_t function)
{
	struct dt_reader *r = dt_windows_reader(a->all->windows);
	const struct dt_view_words *words = a->words;
	struct dt_range at = {.order = DT_BY_TIME, .values = true, .from = end, .to = end};
	struct dt_json line = {0}, *out = &a->answer->text;
	uint64_t argument[4], result[4];
	bool has_result = false;
	struct dt_error e = {""};
	struct dt_span s;
	int rc = read_beginning(a->all, thread, begin, function, argument, &e), more;

	if (rc < 0) {
		dt_refuse(a, 500, e.text);
		return;
	}
	words->call(words->ctx, &line, function, rc ? argument : NULL);
	more = dt_reader_start(r, &at, &e);
	while (more == 0 && (more = dt_reader_next(r, &s, &e)) > 0) {
		more = 0;
		for (uint32_t i = 0; i < s.n; i++) {
			const struct dt_site *site = dt_reader_site(r, s.site[i]);

			if (s.tid != thread || site->kind != DT_EXIT || s.ticks[i] != end)
				continue;
			memcpy(result, s.value[i], sizeof(result));
			has_result = true;
		}
	}
	if (has_result)
		words->result(words->ctx, &line, function, result);
	dt_json_bytes(&line, "", 1);
	dt_json_print(out, "{\"text\":");
	dt_json_string(out, line.failed ? "?" : (const char *)line.bytes.p);
	dt_json_print(out, ",\"function\":%u,\"begin\":%lu,\"end\":%lu}", function,
		      (unsigned long)(begin - a->origin), (unsigned long)(end - a->origin));
	free(line.bytes.p);
}

#define SHORT 2000000 /* ticks: such a call is paired again, for all there is to be known */

void dt_answer_call(struct dt_asked *a)
{
	const struct dt_pyramid *p = a->p->pyramid;
	uint64_t track, begin, end, depth, function;
	struct wanted w = {.a = a};
	struct dt_error e = {""};

	if (!dt_asked_number(a, "track", 0, UINT32_MAX, &track) ||
	    !dt_asked_number(a, "begin", 0, 1ull << 60, &begin) ||
	    !dt_asked_number(a, "end", 0, 1ull << 60, &end) ||
	    !dt_asked_number(a, "depth", 0, UINT32_MAX, &depth) ||
	    !dt_asked_number(a, "what", 0, UINT32_MAX, &function))
		return;
	if (track >= p->tracks || p->track[track].kind != DT_TRACK_THREAD || end < begin) {
		dt_refuse(a, 404, "there is no such call");
		return;
	}
	w.thread = p->track[track].id;
	w.depth = (uint32_t)depth;
	w.begin = begin + a->origin;
	if (end - begin > SHORT) {
		answer_long(a, w.thread, w.begin, end + a->origin, (uint32_t)function);
		return;
	}
	if (dt_window_calls(a->all->windows, w.begin, end + a->origin, on_call, &w, &e) < 0)
		dt_refuse(a, 500, e.text);
	else if (!w.found)
		dt_refuse(a, 404, "there is no such call");
}
