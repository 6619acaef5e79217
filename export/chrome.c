/* SPDX-License-Identifier: MIT */
/*
 * The Trace Event Format: one JSON object for each call ("X", with its length), event and point
 * ("i"), loss ("i", for the whole trace) and name ("M"). Times are microseconds with three
 * decimals.
 */
#include <stdlib.h>

#include "export/calls.h"
#include "export/export.h"
#include "analyse/messages.h"

struct writing {
	const struct dt_chosen_calls *chosen; /* NULL: all */
	struct dt_reader *r;
	FILE *f;
	struct dt_export_calls calls;
	struct dt_json line, text;
	struct dt_export_names names;
	uint64_t first;
	bool any;
};

static void begin_line(struct writing *w)
{
	w->line.bytes.n = 0;
	dt_json_print(&w->line, "%s", w->any ? ",\n" : "\n");
	w->any = true;
}

static void end_line(struct writing *w)
{
	if (!w->line.failed)
		fwrite(w->line.bytes.p, 1, w->line.bytes.n, w->f);
}

static void write_thread(struct writing *w, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(w->r, tid);

	dt_json_print(&w->line, "\"pid\":%u,\"tid\":%u", t ? t->pid : 0,
		      tid == DT_NO_TID ? 0 : tid);
}

static double us(const struct writing *w, uint64_t ticks)
{
	return dt_export_ns(w->r, w->first, ticks) / 1000;
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;

	if (!dt_export_wants(w->chosen, c))
		return;
	if (c->flags & DT_CALL_NO_ENTRY)
		return;
	begin_line(w);
	dt_json_print(&w->line, "{\"ph\":\"X\",\"name\":");
	dt_json_string(&w->line, dt_reader_function_name(w->r, c->function));
	dt_json_print(&w->line, ",\"cat\":");
	dt_json_string(&w->line, dt_export_module(w->r, c->function));
	dt_json_print(&w->line, ",");
	write_thread(w, c->tid);
	dt_json_print(&w->line, ",\"ts\":%.3f,\"dur\":%.3f", us(w, c->begin),
		      dt_export_ns(w->r, c->begin, c->end) / 1000);
	if (w->calls.formats) {
		w->text.bytes.n = 0;
		dt_export_calls_words(&w->calls, &w->text, c);
		dt_json_bytes(&w->text, "", 1);
		dt_json_print(&w->line, ",\"args\":{\"call\":");
		dt_json_string(&w->line, w->text.failed ? "?" : (const char *)w->text.bytes.p);
		dt_json_print(&w->line, "}");
	}
	dt_json_print(&w->line, "}");
	end_line(w);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct writing *w = ctx;
	const struct dt_site *site = dt_reader_site(w->r, s->site[i]);
	uint64_t value = s->value ? s->value[i][0] : 0;
	const struct dt_event_row *row = dt_reader_event(w->r, value);

	if (site->kind != DT_EVENT && site->kind != DT_POINT && site->kind != DT_SEND &&
	    site->kind != DT_RECEIVE)
		return;
	if (site->kind == DT_SEND || site->kind == DT_RECEIVE)
		value = dt_message_channel(value);
	begin_line(w);
	dt_json_print(&w->line, "{\"ph\":\"i\",\"s\":\"t\",\"name\":");
	if (site->kind == DT_POINT)
		dt_json_string(&w->line, dt_reader_function_name(w->r, site->function));
	else if (site->kind != DT_EVENT)
		dt_json_string(&w->line,
			       site->kind == DT_SEND ? "message sent" : "message received");
	else
		dt_json_string(&w->line, row && *row->name ? row->name : "event");
	if (site->kind == DT_EVENT && row) {
		dt_json_print(&w->line, ",\"cat\":");
		dt_json_string(&w->line, row->subsystem_name);
	}
	dt_json_print(&w->line, ",");
	write_thread(w, s->tid);
	/* as text, since numbers of JSON have 53 bits */
	dt_json_print(&w->line, ",\"ts\":%.3f,\"args\":{\"value\":\"0x%lx\"}}", us(w, s->ticks[i]),
		      (unsigned long)value);
	end_line(w);
}

static void on_loss(void *ctx, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end)
{
	struct writing *w = ctx;

	begin_line(w);
	dt_json_print(
		&w->line,
		"{\"ph\":\"i\",\"s\":\"g\",\"name\":\"%lu records lost\",\"pid\":0,\"tid\":0,\"ts\":%.3f}",
		(unsigned long)lost, us(w, begin > w->first ? begin : w->first));
	end_line(w);
}

static void write_names(struct writing *w)
{
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(w->r, &n);
	const struct dt_thread_info *t;

	for (size_t i = 0; i < n; i++) {
		begin_line(w);
		dt_json_print(
			&w->line,
			"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":",
			p[i].pid);
		dt_json_string(&w->line, dt_export_named(&w->names, p[i].pid, p[i].cmdline));
		dt_json_print(&w->line, "}}");
		end_line(w);
	}
	t = dt_reader_threads(w->r, &n);
	for (size_t i = 0; i < n; i++) {
		begin_line(w);
		dt_json_print(
			&w->line,
			"{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
			t[i].pid, t[i].tid);
		dt_json_string(&w->line, dt_export_named(&w->names, t[i].tid, t[i].name));
		dt_json_print(&w->line, "}}");
		end_line(w);
	}
}

/* Writes the times in which threads could not go on because of the tracer: the lengths of calls
 * include them. */
static void write_holds(struct writing *w)
{
	size_t n, holds;
	const struct dt_thread_info *t = dt_reader_threads(w->r, &n);

	for (size_t i = 0; i < n; i++) {
		const struct dt_times *h = dt_reader_thread_holds(w->r, t[i].tid, &holds);

		for (size_t k = 0; k < holds; k++) {
			uint64_t begin = h[k].begin > w->first ? h[k].begin : w->first;

			if (h[k].end <= begin)
				continue;
			begin_line(w);
			dt_json_print(&w->line, "{\"ph\":\"X\",\"name\":\"" DT_EXPORT_HELD
						"\",\"cat\":\"devtrace\",");
			write_thread(w, t[i].tid);
			dt_json_print(&w->line, ",\"ts\":%.3f,\"dur\":%.3f}", us(w, begin),
				      dt_export_ns(w->r, begin, h[k].end) / 1000);
			end_line(w);
		}
	}
}

int dt_export_chrome(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		     const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	struct writing w = {.r = r, .chosen = chosen, .f = f, .first = dt_export_first(r)};
	const struct dt_pair_events events = {
		.end = on_end, .other = on_other, .loss = on_loss, .ctx = &w};
	int rc;

	if (dt_export_names(&w.names, r, e))
		return -1;
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"creator\":\"devtrace\"},\"traceEvents\":[",
	      f);
	write_names(&w);
	w.calls = (struct dt_export_calls){.reader = r, .formats = formats, .events = &events};
	rc = dt_export_calls_run(&w.calls,
				 &(struct dt_reader_range){.order = DT_BY_TIME, .values = true}, e);
	write_holds(&w);
	fputs("\n]}\n", f);
	if (rc == 0 && (w.line.failed || w.text.failed))
		rc = dt_fail(e, "out of memory");
	free(w.line.bytes.p);
	free(w.text.bytes.p);
	dt_hosts_free(&w.names.hosts);
	return rc;
}
