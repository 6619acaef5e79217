/* SPDX-License-Identifier: MIT */
/* A line for each call, in the order in which they end (RFC 4180). */
#include <stdlib.h>
#include <string.h>

#include "analyse/csv.h"
#include "analyse/export.h"

void dt_csv_words(FILE *f, const char *s, size_t n, bool always)
{
	/* a tab or an end of a line is passed over in front of a formula */
	bool formula = n && memchr("=+-@\t\r\n", *s, 7);

	if (!always && !formula && !memchr(s, '"', n) && !memchr(s, ',', n) && !memchr(s, '\n', n) &&
	    !memchr(s, '\r', n)) {
		fwrite(s, 1, n, f);
		return;
	}
	putc('"', f);
	if (formula)
		putc('\'', f);
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			putc('"', f);
		putc(s[i], f);
	}
	putc('"', f);
}

static void quoted(FILE *f, const char *s)
{
	dt_csv_words(f, s, strlen(s), true);
}

struct writing {
	struct dt_reader *r;
	FILE *f;
	const struct dt_export_words *words;
	struct dt_json line;
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

static void on_end(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;
	const struct dt_thread_info *t = dt_reader_thread(w->r, c->tid);

	if (c->tid == DT_NO_TID)
		fputs(",,", w->f);
	else
		fprintf(w->f, "%u,%u,", t ? t->pid : 0, c->tid);
	fprintf(w->f, "%lu,%lu,%u,", (unsigned long)c->id, (unsigned long)c->parent, c->depth);
	quoted(w->f, dt_export_function(w->r, c->function));
	putc(',', w->f);
	quoted(w->f, dt_export_module(w->r, c->function));
	putc(',', w->f);
	write_times(w, c);
	fprintf(w->f, ",%s,", c->flags & DT_CALL_OPEN	  ? "open"
			     : c->flags & DT_CALL_LOSS	  ? "lost"
			     : c->flags & DT_CALL_PAUSED   ? "paused"
			     : c->flags & DT_CALL_BACKWARD ? "backward"
			     : c->flags & DT_CALL_NO_EXIT ? "unseen"
			     : c->flags & DT_CALL_UNWOUND ? "unwound"
			     : c->flags & DT_CALL_TAIL	  ? "tail"
							  : "returned");
	if (w->words) {
		w->line.bytes.n = 0;
		w->words->call(w->words->ctx, &w->line, c->function, c->argument);
		if (c->result)
			w->words->result(w->words->ctx, &w->line, c->function, c->result);
		dt_json_bytes(&w->line, "", 1);
		if (!w->line.failed)
			quoted(w->f, (const char *)w->line.bytes.p);
	}
	fputs("\r\n", w->f);
}

int dt_export_csv(struct dt_reader *r, FILE *f, const struct dt_export_words *words,
		  struct dt_error *e)
{
	struct writing w = {.r = r, .f = f, .words = words, .first = dt_export_first(r)};
	const struct dt_pair_events events = {.end = on_end, .ctx = &w};
	int rc;

	w.ns = dt_reader_ns_per_tick(r);
	fputs("process,thread,call,caller,depth,function,module,begin_ns,end_ns,duration_ns,self_ns,end,text\r\n",
	      f);
	rc = dt_pair_run(r, &(struct dt_range){.order = DT_BY_TIME, .values = words != NULL}, &events, e);
	free(w.line.bytes.p);
	return rc;
}
