/* SPDX-License-Identifier: MIT */
/* Functions by their names, and one call with its values. */
#include <stdlib.h>
#include <string.h>

#include "view/asked.h"
#include "view/entries.h"

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
		char left_out[160];

		if (*list < '0' || *list > '9' || (*end && *end != ',')) {
			dt_refuse(a, 400, "ids: numbers with commas between");
			return;
		}
		dt_json_print(out, "%s\"%lu\":[", any ? "," : "", id);
		dt_json_string(out, dt_reader_function_name(r, (uint32_t)id));
		dt_json_print(out, ",");
		dt_json_string(out, slash ? slash + 1 : m ? m->path : "");
		dt_json_print(out, ",");
		dt_json_string(out, f ? f->file : "");
		dt_json_print(out, ",%u,", f ? f->line : 0);
		dt_reader_unhooked(r, (uint32_t)id, left_out, sizeof(left_out));
		dt_json_string(out, left_out);
		dt_json_print(out, "]");
		any = true;
		list = *end ? end + 1 : end;
	}
	dt_json_print(out, "}");
}

/* ---- functions that were chosen and are not hooked ---- */

#define LEFT_OUT 2000 /* that are listed at most; the others are only counted */

static void on_left_out(void *ctx, const struct dt_left_out *l)
{
	const char *slash = strrchr(l->path, '/');
	struct dt_json *out = ctx;

	if (!out->failed && out->bytes.p[out->bytes.n - 1] != '[')
		dt_json_print(out, ",");
	dt_json_print(out, "[");
	dt_json_string(out, l->name);
	dt_json_print(out, ",");
	dt_json_string(out, slash ? slash + 1 : l->path);
	dt_json_print(out, ",");
	dt_json_string(out, l->reason);
	dt_json_print(out, ",");
	dt_json_string(out, l->callers);
	dt_json_print(out, "]");
}

/* Answers for each function with its name, file, reason, and callers. */
void dt_answer_unhooked(struct dt_asked *a)
{
	struct dt_json *out = &a->answer->text;
	size_t n;

	dt_json_print(out, "{\"rows\":[");
	n = dt_reader_left_out(dt_windows_reader(a->all->windows), LEFT_OUT, on_left_out, out);
	dt_json_print(out, "],\"all\":%zu}", n);
}

/* ---- one call, with its values ---- */

struct wanted {
	uint32_t thread, depth;
	uint64_t begin;
	bool found, has_result;
	struct dt_call call;
	uint64_t argument[4], result[4];
};

static void on_call(void *ctx, const struct dt_call *c)
{
	struct wanted *w = ctx;

	if (w->found || c->begin != w->begin || c->depth != w->depth ||
	    (c->tid != w->thread && !(c->tid == DT_NO_TID && w->thread >= DT_TRACK_NOBODY(0))))
		return;
	w->found = true;
	w->call = *c;
	w->has_result = c->result != NULL;
	if (c->argument)
		memcpy(w->argument, c->argument, sizeof(w->argument));
	if (c->result)
		memcpy(w->result, c->result, sizeof(w->result));
}

/* Reads the result of a long call from the record of its exit, without pairing. */
static int read_result(struct dt_reader *r, struct wanted *w, struct dt_error *e)
{
	struct dt_reader_range at = {
		.order = DT_BY_TIME, .values = true, .from = w->call.end, .to = w->call.end};
	struct dt_span s;
	int rc = dt_reader_start(r, &at, e);

	while (rc == 0 && (rc = dt_reader_next(r, &s, e)) > 0) {
		rc = 0;
		for (uint32_t i = 0; i < s.n; i++) {
			if (s.tid != w->thread || s.ticks[i] != w->call.end ||
			    dt_reader_site(r, s.site[i])->place != DT_SITE_RETURN)
				continue;
			memcpy(w->result, s.value[i], sizeof(w->result));
			w->has_result = true;
		}
	}
	return rc;
}

/* Answers with the call and what is known of it; paired: it was paired again, so that everything
 * is known. */
static int say_call(struct dt_asked *a, const struct wanted *w, bool paired, struct dt_error *e)
{
	const struct dt_call *c = &w->call;
	struct dt_entry entry = {.begin = c->begin,
				 .thread = w->thread,
				 .function = c->function,
				 .wanted = !(c->flags & DT_CALL_NO_ENTRY)};
	struct dt_json line = {0}, *out = &a->answer->text;
	const uint64_t *argument = NULL;

	if (dt_entries_read(dt_windows_reader(a->all->windows), &entry, 1, e) < 0) {
		dt_entries_free(&entry, 1);
		return -1;
	}
	if (entry.known)
		argument = entry.argument;
	if (paired && c->argument)
		argument = w->argument;
	dt_words_more(a->formats, &line, c->function, argument, entry.more, entry.n);
	dt_entries_free(&entry, 1);
	if (w->has_result)
		dt_words_result(a->formats, &line, c->function, w->result);
	dt_json_bytes(&line, "", 1);
	dt_json_print(out, "{\"text\":");
	dt_json_string(out, line.failed ? "?" : (const char *)line.bytes.p);
	dt_json_print(out, ",\"function\":%u,\"begin\":%lu,\"end\":%lu", c->function,
		      (unsigned long)(c->begin - a->origin), (unsigned long)(c->end - a->origin));
	if (paired)
		dt_json_print(out, ",\"self\":%lu,\"flags\":%u",
			      (unsigned long)(dt_call_ticks(c) - c->children), c->flags);
	dt_json_print(out, "}");
	free(line.bytes.p);
	return 0;
}

#define SHORT 2000000 /* ticks: calls up to this long are paired again, to know all of them */

void dt_answer_call(struct dt_asked *a)
{
	const struct dt_pyramid *p = a->p->pyramid;
	uint64_t track, begin, end, depth, function;
	struct wanted w = {0};
	struct dt_error e = {""};
	bool paired;
	int rc;

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
	paired = end - begin <= SHORT;
	if (paired) {
		rc = dt_window_calls(a->all->windows, w.begin, end + a->origin, on_call, &w, &e);
		if (rc >= 0 && !w.found) {
			dt_refuse(a, 404, "there is no such call");
			return;
		}
	} else {
		/* the request has what its bar has */
		w.call = (struct dt_call){
			.function = (uint32_t)function, .begin = w.begin, .end = end + a->origin};
		rc = read_result(dt_windows_reader(a->all->windows), &w, &e);
	}
	if (rc < 0 || say_call(a, &w, paired, &e) < 0)
		dt_refuse(a, 500, e.text);
}
