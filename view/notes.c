/* SPDX-License-Identifier: MIT */
/* Notes in the trace file: reading them, and what the page wants to be kept. */
#include "store/notes.h"

#include <string.h>

#include "view/asked.h"

struct saying {
	struct dt_asked *a;
	bool any;
};

static void say(void *ctx, const struct dt_note *n)
{
	struct saying *s = ctx;
	struct dt_json *out = &s->a->answer->text;
	uint64_t origin = s->a->origin;

	dt_json_print(out,
		      "%s{\"id\":\"%ld\",\"begin\":%lu,\"end\":%lu,\"text\":", s->any ? "," : "",
		      (long)n->id, (unsigned long)(n->begin > origin ? n->begin - origin : 0),
		      (unsigned long)(n->end > origin ? n->end - origin : 0));
	dt_json_string(out, n->text);
	dt_json_print(out, "}");
	s->any = true;
}

void dt_answer_notes(struct dt_asked *a)
{
	struct saying s = {a, false};
	struct dt_error e = {""};

	dt_json_print(&a->answer->text, "[");
	if (dt_notes_read(dt_windows_reader(a->all->windows), say, &s, &e) < 0)
		dt_refuse(a, 500, e.text);
	else
		dt_json_print(&a->answer->text, "]");
}

void dt_answer_note(struct dt_asked *a)
{
	const char *text = a->r->value(a->r->ctx, "text");
	uint64_t id = 0, begin, end;
	struct dt_error e = {""};
	int rc;

	if (a->all->live) {
		dt_refuse(a, 409, "a trace keeps notes when it is no longer recorded");
		return;
	}
	if (a->r->value(a->r->ctx, "id") && !dt_asked_number(a, "id", 1, INT64_MAX, &id))
		return;
	if (id && !text) {
		rc = dt_notes_remove(a->path, (int64_t)id, &e);
	} else {
		if (!dt_asked_range(a, &begin, &end))
			return;
		if (!text || strlen(text) > DT_NOTE_BYTES || strpbrk(text, "\r\n")) {
			dt_refuse(a, 400, "text: a line of at most 1000 bytes is wanted");
			return;
		}
		rc = dt_notes_put(a->path, &(struct dt_note){(int64_t)id, begin, end, text}, &e);
	}
	if (rc < 0)
		dt_refuse(a, 409, e.text);
	else
		dt_answer_notes(a);
}
