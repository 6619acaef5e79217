/* SPDX-License-Identifier: MIT */
#include "cmd/check-json.h"

#include "cmd/object.h"

void dt_check_json_note(const char *path, const struct dt_check *c, enum dt_fault_kind kind,
			const char *note)
{
	const struct dt_fault *f = &c->faults.kind[kind];

	dt_object_begin(note ? "note" : "fault");
	dt_object_text("file", path);
	dt_object_text("what", dt_faults_words(kind, f->n));
	dt_object_number("times", f->n);
	dt_object_text("first", f->first);
	if (note)
		dt_object_text("because", note);
	dt_object_end();
}

void dt_check_json_told(const char *path, const char *what, const char *because)
{
	dt_object_begin("note");
	dt_object_text("file", path);
	dt_object_text("what", what);
	dt_object_text("because", because);
	dt_object_end();
}

void dt_check_json_faults(const char *path, const struct dt_check *c, const char *note)
{
	for (unsigned i = 0; i < DT_FAULTS; i++)
		if (c->faults.kind[i].n)
			dt_check_json_note(path, c, i, note);
}

static void calls(const struct dt_check_calls *n)
{
	dt_object_number("calls", n->calls);
	dt_object_number("returned", n->returned);
	dt_object_number("unwound", n->unwound);
	dt_object_number("tail", n->tail);
	dt_object_number("unfinished", n->open);
	dt_object_number("begun_before", n->before);
	dt_object_number("with_losses", n->lossy);
	dt_object_number("without_known_entry", n->early);
}

void dt_check_json_trace(const char *path, struct dt_reader *r, const struct dt_check *c,
			 bool asked_sql, const char *error)
{
	dt_object_begin("trace");
	dt_object_text("file", path);
	dt_object_text("error", error);
	if (!error) {
		dt_object_bool("sound", !dt_faults_sum(&c->faults));
		dt_object_number("records", c->chunks.records);
		dt_object_number("chunks", c->chunks.chunks);
		dt_object_number("lost", c->chunks.lost);
		dt_object_bool("all_written_known", c->chunks.written_known);
		dt_object_bool("calls_checked", c->paired);
		calls(&c->calls);
		dt_object_number("waits_for_devtrace", c->chunks.holds);
		dt_object_ns("waited_for_devtrace",
			     (double)c->chunks.held * dt_reader_ns_per_tick(r));
		dt_object_number("pauses", c->pauses);
		dt_object_bool("compared_with_sql", asked_sql);
	}
	dt_object_end();
}
