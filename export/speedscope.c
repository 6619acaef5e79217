/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own format, with events: for each thread, frames that are opened and closed. The
 * events of each thread are collected in a temporary file, because a profile has to be in one
 * piece.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "export/export.h"

/* A thread's events, and the frames that are open in them. */
struct profile {
	uint32_t tid;
	FILE *f;
	bool any;
	double begin, last; /* ns */
	struct {
		uint64_t call;
		uint32_t frame;
	} * open;
	size_t n, room;
	size_t holds; /* holds that have been written, or left out */
};

struct writing {
	const struct dt_chosen_calls *chosen; /* NULL: all */
	struct dt_reader *r;
	uint64_t first;
	struct dt_export_names names;
	struct profile *profile;
	size_t n;
	bool failed;
};

/* Opens a file without a name, in TMPDIR or /tmp. tmpfile() does not look at TMPDIR. */
static FILE *unnamed(void)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	FILE *f;
	int fd;

	if (snprintf(path, sizeof(path), "%s/devtrace-XXXXXX",
		     folder && *folder ? folder : "/tmp") >= (int)sizeof(path))
		return NULL;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return NULL;
	unlink(path);
	f = fdopen(fd, "w+");
	if (!f)
		close(fd);
	return f;
}

static struct profile *profile_of(struct writing *w, uint32_t tid)
{
	struct profile *more;

	for (size_t i = w->n; i-- > 0;)
		if (w->profile[i].tid == tid)
			return &w->profile[i];
	more = realloc(w->profile, (w->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	w->profile = more;
	more = &w->profile[w->n];
	*more = (struct profile){.tid = tid, .f = unnamed()};
	if (!more->f)
		return NULL;
	w->n++;
	return more;
}

static void write_event(struct profile *p, char type, uint32_t frame, double at)
{
	/* a record may be a little earlier than the one before it; events may not */
	at = p->any && at < p->last ? p->last : at;
	if (!p->any)
		p->begin = at;
	fprintf(p->f, "%s{\"type\":\"%c\",\"frame\":%u,\"at\":%.0f}", p->any ? ",\n" : "\n", type,
		frame, at);
	p->any = true;
	p->last = at;
}

/* Returns the number of the frame for holds, which comes after the functions. */
static uint32_t held_frame(const struct writing *w)
{
	return (uint32_t)dt_reader_functions(w->r) + 1;
}

/* Writes the times up to `ticks' in which the thread could not go on because of the tracer, as
 * frames of their own. */
static void write_holds(struct writing *w, struct profile *p, uint64_t ticks)
{
	size_t n;
	const struct dt_times *h = dt_reader_thread_holds(w->r, p->tid, &n);

	for (; p->holds < n && h[p->holds].begin < ticks; p->holds++) {
		const struct dt_times *x = &h[p->holds];

		if (!p->n) /* no call was open */
			continue;
		write_event(p, 'O', held_frame(w), dt_export_ns(w->r, w->first, x->begin));
		write_event(p, 'C', held_frame(w),
			    dt_export_ns(w->r, w->first, x->end < ticks ? x->end : ticks));
	}
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;
	struct profile *p;

	if (!dt_export_wants(w->chosen, c))
		return;
	p = profile_of(w, c->tid);
	if (p && p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		void *more = realloc(p->open, room * sizeof(*p->open));

		if (!more)
			p = NULL;
		else {
			p->open = more;
			p->room = room;
		}
	}
	if (!p) {
		w->failed = true;
		return;
	}
	write_holds(w, p, c->begin);
	p->open[p->n].call = c->id;
	p->open[p->n++].frame = c->function;
	write_event(p, 'O', c->function, dt_export_ns(w->r, w->first, c->begin));
}

/*
 * Closes a call. Mostly it is the one that was opened last. If not, because it is on another stack
 * of the thread, the frames above it are closed and opened again at the same time.
 */
static void on_end(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;
	struct profile *p = c->id && dt_export_wants(w->chosen, c) ? profile_of(w, c->tid) : NULL;
	double at = dt_export_ns(w->r, w->first, c->end);
	size_t i = p ? p->n : 0;

	while (i && p->open[i - 1].call != c->id)
		i--;
	if (!i)
		return;
	write_holds(w, p, c->end);
	for (size_t k = p->n; k-- > i;)
		write_event(p, 'C', p->open[k].frame, at);
	write_event(p, 'C', p->open[i - 1].frame, at);
	for (size_t k = i; k < p->n; k++)
		write_event(p, 'O', p->open[k].frame, at);
	memmove(p->open + i - 1, p->open + i, (p->n - i) * sizeof(*p->open));
	p->n--;
}

static void write_frames(struct dt_reader *r, FILE *f)
{
	struct dt_json line = {0};

	for (uint32_t i = 0; i <= dt_reader_functions(r); i++) {
		const struct dt_function_info *info = dt_reader_function(r, i);

		line.bytes.n = 0;
		dt_json_print(&line, "%s{\"name\":", i ? ",\n" : "\n");
		dt_json_string(&line, dt_reader_function_name(r, i));
		if (info && *info->file) {
			dt_json_print(&line, ",\"file\":");
			dt_json_string(&line, info->file);
			dt_json_print(&line, ",\"line\":%u", info->line);
		}
		dt_json_print(&line, "}");
		if (!line.failed)
			fwrite(line.bytes.p, 1, line.bytes.n, f);
	}
	fputs(",\n{\"name\":\"" DT_EXPORT_HELD "\"}", f);
	free(line.bytes.p);
}

static int write_profile(struct writing *w, struct profile *p, FILE *f, bool first)
{
	const struct dt_thread_info *t = dt_reader_thread(w->r, p->tid);
	struct dt_json name = {0};
	char buffer[65536], text[300];
	size_t n;

	snprintf(text, sizeof(text), "%s %u",
		 dt_export_named(&w->names, p->tid, t && *t->name ? t->name : "thread"),
		 dt_reader_number(w->r, p->tid));
	dt_json_string(&name, p->tid == DT_NO_TID ? "interrupts" : text);
	fprintf(f,
		"%s{\"type\":\"evented\",\"unit\":\"nanoseconds\",\"name\":", first ? "\n" : ",\n");
	fwrite(name.bytes.p, 1, name.bytes.n, f);
	fprintf(f, ",\"startValue\":%.0f,\"endValue\":%.0f,\"events\":[", p->begin, p->last);
	free(name.bytes.p);
	rewind(p->f);
	while ((n = fread(buffer, 1, sizeof(buffer), p->f)) > 0)
		fwrite(buffer, 1, n, f);
	fputs("]}", f);
	return ferror(p->f) ? -1 : 0;
}

int dt_export_speedscope(struct dt_reader *r, FILE *f, struct dt_formats *formats,
			 const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	struct writing w = {.r = r, .chosen = chosen, .first = dt_export_first(r)};
	const struct dt_pair_events events = {.begin = on_begin, .end = on_end, .ctx = &w};
	int rc = dt_export_names(&w.names, r, e);

	if (rc == 0)
		rc = dt_pair_run(r, &(struct dt_reader_range){.order = DT_BY_TIME}, &events, e);
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"devtrace\",\n"
	      "\"shared\":{\"frames\":[",
	      f);
	write_frames(r, f);
	fputs("]},\n\"profiles\":[", f);
	for (size_t i = 0; i < w.n && rc == 0; i++)
		if (ferror(w.profile[i].f) || fflush(w.profile[i].f) ||
		    write_profile(&w, &w.profile[i], f, !i))
			w.failed = true;
	fputs("]}\n", f);
	if (rc == 0 && w.failed)
		rc = dt_fail(e,
			     "a thread's calls could not be kept: no memory, or no room in /tmp");
	for (size_t i = 0; i < w.n; i++) {
		fclose(w.profile[i].f);
		free(w.profile[i].open);
	}
	free(w.profile);
	dt_hosts_free(&w.names.hosts);
	return rc;
}
