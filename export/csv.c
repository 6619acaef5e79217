/* SPDX-License-Identifier: MIT */
/* CSV (RFC 4180): a line for each call, in the order in which they end. */
#include <stdlib.h>
#include <string.h>

#include "show/csv.h"
#include "export/calls.h"
#include "export/export.h"

static void quoted(FILE *f, const char *s)
{
	dt_csv_words(f, s, strlen(s), true);
}

struct writing {
	const struct dt_chosen_calls *chosen; /* NULL: all */
	struct dt_reader *r;
	FILE *f;
	struct dt_export_calls calls;
	struct dt_json line;
	struct dt_export_names names;
	uint64_t first;
	double ns;
};

static void write_times(struct writing *w, const struct dt_call *c)
{
	uint64_t took = dt_call_ticks(c);

	if (c->flags & DT_CALL_NO_ENTRY)
		fprintf(w->f, ",%.0f,,", dt_export_ns(w->r, w->first, c->end));
	else if (c->flags & DT_CALL_NO_EXIT)
		fprintf(w->f, "%.0f,,,", dt_export_ns(w->r, w->first, c->begin));
	else
		fprintf(w->f, "%.0f,%.0f,%.1f,%.1f", dt_export_ns(w->r, w->first, c->begin),
			dt_export_ns(w->r, w->first, c->end), (double)took * w->ns,
			(double)(took > c->children ? took - c->children : 0) * w->ns);
}

/* Returns the number of a thread or process; of a trace of several machines, on its machine. */
static uint32_t number_of(const struct writing *w, uint32_t id)
{
	return w->names.hosts.n ? dt_reader_number(w->r, id) : id;
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;
	const struct dt_thread_info *t = dt_reader_thread(w->r, c->tid);
	const struct dt_function_info *f = dt_reader_function(w->r, c->function);
	const struct dt_host *host = dt_hosts_of(&w->names.hosts, c->tid);

	if (!dt_export_wants(w->chosen, c))
		return;
	if (c->tid == DT_NO_TID)
		fputs(",,", w->f);
	else
		fprintf(w->f, "%u,%u,", number_of(w, t ? t->pid : 0), number_of(w, c->tid));
	fprintf(w->f, "%lu,%lu,%u,", (unsigned long)c->id, (unsigned long)c->parent, c->depth);
	quoted(w->f, f && *f->name ? f->name : "?"); /* the next column is its module */
	putc(',', w->f);
	quoted(w->f, dt_export_module(w->r, c->function));
	putc(',', w->f);
	write_times(w, c);
	fprintf(w->f, ",%s,", dt_call_ended(c));
	if (w->calls.formats) {
		w->line.bytes.n = 0;
		dt_export_calls_words(&w->calls, &w->line, c);
		dt_json_bytes(&w->line, "", 1);
		if (!w->line.failed)
			quoted(w->f, (const char *)w->line.bytes.p);
	}
	if (w->names.hosts.n) {
		putc(',', w->f);
		quoted(w->f, host ? host->name : "");
	}
	fputs("\r\n", w->f);
}

int dt_export_csv(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		  const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	struct writing w = {.r = r, .chosen = chosen, .f = f, .first = dt_export_first(r)};
	const struct dt_pair_events events = {.end = on_end, .ctx = &w};
	int rc;

	w.ns = dt_reader_ns_per_tick(r);
	if (dt_export_names(&w.names, r, e))
		return -1;
	fprintf(f,
		"process,thread,call,caller,depth,function,module,begin_ns,end_ns,duration_ns,"
		"self_ns,end,text%s\r\n",
		w.names.hosts.n ? ",host" : "");
	w.calls = (struct dt_export_calls){.reader = r, .formats = formats, .events = &events};
	rc = dt_export_calls_run(
		&w.calls, &(struct dt_reader_range){.order = DT_BY_TIME, .values = formats != NULL},
		e);
	free(w.line.bytes.p);
	dt_hosts_free(&w.names.hosts);
	return rc;
}
