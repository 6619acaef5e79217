/* SPDX-License-Identifier: MIT */
/*
 * OpenTelemetry's spans, as JSON: each line is the data of some calls of one process, as
 * OpenTelemetry's file exporter writes it, and as POST /v1/traces takes it (OTLP 1.x,
 * opentelemetry/proto/trace/v1, in proto3's JSON; ids are hexadecimal, and numbers of 64 bits are
 * strings there). A call is a span. Its caller is its parent, or, of what is done for a span that
 * another program has handed on (export/contexts.h), that span. All of a file is one trace, in
 * which processes are spans, too, parents of their outermost calls and of their child processes.
 * Where calls are chosen, each outermost one has a trace of its own instead. A file's numbers are
 * the same each time that it is written.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/digits.h"
#include "core/version.h"
#include "export/contexts.h"
#include "filter/failures.h"
#include "analyse/meanings.h"
#include "show/failure.h"

#define SPANS 500	 /* of a line, at most */
#define BYTES (1u << 20) /* of a line, about */
#define LINES 16u	 /* of different processes that are put together at a time */

/* SPAN_KIND_*, STATUS_CODE_ERROR of trace.proto */
enum { KIND_INTERNAL = 1, KIND_SERVER = 2, CODE_ERROR = 2 };

/* A line that is being put together. */
struct line {
	struct dt_json spans;
	unsigned n;	  /* spans */
	uint32_t process; /* as the trace knows it; 0: not known */
	const char *host;
};

struct writing {
	struct dt_reader *r;
	FILE *f;
	struct dt_contexts contexts;
	struct dt_failures failures;
	struct line line[LINES];
	struct line *at; /* the one of the call that is being written */
	struct dt_json head;
	uint64_t seed, nameless; /* nameless: calls so far that have no number */
	struct dt_hosts hosts;
};

/* Adds text that is JSON as it stands; most of a span is, so it is not left to printf(). */
static inline void put(struct dt_json *t, const char *s)
{
	dt_json_bytes(t, s, strlen(s));
}

/* ---- numbers ---- */

/* Adds 16 hexadecimal digits. */
static void put_hex(struct dt_json *t, uint64_t x)
{
	char text[17];

	dt_field(text, x);
	dt_json_bytes(t, text + 1, 16);
}

/* Mixes a number so that different ones stay different (the last step of SplitMix64: Steele, Lea,
 * Flood, OOPSLA 2014). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t hash(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u; /* FNV-1a */
	return mix(h);
}

/* Numbers of a trace are its own: other machines, boots and times have others. */
static uint64_t seed_of(struct dt_reader *r)
{
	struct dt_summary s;
	uint64_t h = hash(0xcbf29ce484222325u, dt_reader_meta(r, "boot_id"));

	h = hash(h, dt_reader_meta(r, "host"));
	if (dt_reader_summary(r, &s, NULL) >= 0)
		h = mix(h ^ s.min_ticks);
	return h;
}

/* Writes the number of a call's span, or of another one: 16 digits, never all 0. */
static void put_span_id(struct dt_json *t, const struct writing *w, uint64_t call)
{
	uint64_t id = mix(w->seed ^ call);

	/* only one call can get 0 */
	put_hex(t, id ? id : mix(w->seed ^ UINT64_MAX));
}

/* What stands for a process where calls have numbers. */
static uint64_t process_number(uint32_t pid)
{
	return UINT64_C(1) << 63 | pid;
}

/* Writes a trace's number: that of the span; of a chosen call's own trace; root 0: of the file's.
 */
static void put_trace_id(struct dt_json *t, const struct writing *w,
			 const struct dt_span_context *span, uint64_t root)
{
	if (span) {
		put(t, span->trace);
		return;
	}
	put_hex(t, mix(mix(w->seed) ^ root) | 1);
	put_hex(t, mix(~w->seed ^ root));
}

/* ---- lines ---- */

static void put_text_attribute(struct dt_json *t, const char *key, const char *s, size_t n)
{
	put(t, "{\"key\":\"");
	put(t, key);
	put(t, "\",\"value\":{\"stringValue\":");
	dt_json_string_of(t, s, n);
	put(t, "}}");
}

static void put_number_attribute(struct dt_json *t, const char *key, uint64_t n)
{
	dt_json_print(t, "{\"key\":\"%s\",\"value\":{\"intValue\":\"%lu\"}}", key,
		      (unsigned long)n);
}

/* Returns what a process executes, or n bytes of its command; of one that has only been forked,
 * what its parent executes. */
static const char *program_of(const struct writing *w, const struct dt_process_info *p, size_t *n)
{
	/* as many parents as a damaged file may have in a circle */
	for (int i = 0; i < 1000 && p; i++, p = dt_reader_process(w->r, p->ppid)) {
		*n = *p->exe ? strlen(p->exe) : strcspn(p->cmdline, " ");
		if (*n)
			return *p->exe ? p->exe : p->cmdline;
	}
	return NULL;
}

/* Adds what is known of the process. A service is named as its program. */
static void put_resource(struct writing *w, const struct line *l)
{
	const struct dt_process_info *p = dt_reader_process(w->r, l->process);
	size_t n = 0;
	const char *name = program_of(w, p, &n), *slash = name ? memrchr(name, '/', n) : NULL;
	struct dt_json *t = &w->head;

	if (slash && slash + 1 < name + n) {
		n -= (size_t)(slash + 1 - name);
		name = slash + 1;
	}
	if (!name) {
		name = "unknown_service"; /* OpenTelemetry's name for it */
		n = strlen(name);
	}
	put(t, "{\"attributes\":[");
	put_text_attribute(t, "service.name", name, n);
	if (l->host && *l->host) {
		put(t, ",");
		put_text_attribute(t, "host.name", l->host, strlen(l->host));
	}
	if (p) {
		put(t, ",");
		put_number_attribute(t, "process.pid", dt_reader_number(w->r, l->process));
	}
	if (p && *p->cmdline) {
		put(t, ",");
		put_text_attribute(t, "process.command_line", p->cmdline, strlen(p->cmdline));
	}
	put(t, "]}");
}

/* Writes a line; false: there is no memory for it, or it can not be written. */
static bool end_line(struct writing *w, struct line *l)
{
	bool ok;

	if (!l->n)
		return true;
	w->head.bytes.n = 0;
	put(&w->head, "{\"resourceSpans\":[{\"resource\":");
	put_resource(w, l);
	put(&w->head, ",\"scopeSpans\":[{\"scope\":{\"name\":\"devtrace\",\"version\":\"" DT_VERSION
		      "\"},\"spans\":[");
	ok = !w->head.failed && !l->spans.failed;
	if (ok) {
		fwrite(w->head.bytes.p, 1, w->head.bytes.n, w->f);
		fwrite(l->spans.bytes.p, 1, l->spans.bytes.n, w->f);
		fputs("]}]}]}\n", w->f);
	}
	l->spans.bytes.n = 0;
	l->n = 0;
	return ok && !ferror(w->f);
}

static bool end_lines(struct writing *w)
{
	for (unsigned i = 0; i < LINES; i++)
		if (!end_line(w, &w->line[i]))
			return false;
	return true;
}

/* Turns to the line of a process, with room for a span: one that has begun, an empty one, or the
 * longest one, which is written. false: as of end_line(). */
static bool turn_to(struct writing *w, uint32_t process, const char *host)
{
	struct line *l = &w->line[0];

	for (unsigned i = 0; i < LINES; i++) {
		struct line *x = &w->line[i];

		if (x->n && x->process == process && x->host == host) {
			l = x;
			break;
		}
		if (!x->n || (l->n && x->n > l->n))
			l = x;
	}
	if ((l->process != process || l->host != host || l->n == SPANS ||
	     l->spans.bytes.n >= BYTES) &&
	    !end_line(w, l))
		return false;
	l->process = process;
	l->host = host;
	w->at = l;
	return true;
}

/* ---- spans ---- */

static void put_ids(struct writing *w, const struct dt_row *row, const struct dt_call_context *k)
{
	struct dt_json *t = &w->at->spans;
	/* calls without a number count down from the greatest one */
	uint64_t call = row->call ? row->call : UINT64_MAX - ++w->nameless;

	put(t, "{\"traceId\":\"");
	put_trace_id(t, w, k->span, w->contexts.chosen && !k->root ? call : k->root);
	put(t, "\",\"spanId\":\"");
	put_span_id(t, w, call);
	put(t, "\"");
	if (k->inside) {
		put(t, ",\"parentSpanId\":\"");
		put_span_id(t, w, k->caller);
		put(t, "\"");
	} else if (k->span) {
		dt_json_print(t, ",\"parentSpanId\":\"%s\"", k->span->span);
	} else if (!k->caller && w->at->process && !w->contexts.chosen) {
		put(t, ",\"parentSpanId\":\"");
		put_span_id(t, w, process_number(w->at->process));
		put(t, "\"");
	}
}

/* Begins a further link, up to its trace. */
static void put_link(struct writing *w, bool *any)
{
	dt_json_print(&w->at->spans, "%s{\"traceId\":\"", *any ? "," : ",\"links\":[");
	*any = true;
}

/* Adds the caller, if that is of another trace or span, and a further span that the call carries.
 */
static void put_links(struct writing *w, const struct dt_call_context *k)
{
	struct dt_json *t = &w->at->spans;
	bool any = false;

	if (k->caller && !k->inside) {
		put_link(w, &any);
		put_trace_id(t, w, k->caller_span, k->caller_root);
		put(t, "\",\"spanId\":\"");
		put_span_id(t, w, k->caller);
		put(t, "\"}");
	}
	if (k->carried) {
		put_link(w, &any);
		dt_json_print(t, "%s\",\"spanId\":\"%s\"}", k->carried->trace, k->carried->span);
	}
	if (any)
		put(t, "]");
}

/* Adds the values, and what is known of the time. */
static void put_attributes(struct writing *w, const struct dt_row *row)
{
	struct dt_json *t = &w->at->spans;

	put(t, ",\"attributes\":[");
	put_text_attribute(t, "code.function.name", row->function->text, row->function->n);
	if (row->module->n) {
		put(t, ",");
		put_text_attribute(t, "devtrace.module", row->module->text, row->module->n);
	}
	if (row->thread) {
		put(t, ",");
		put_number_attribute(t, "thread.id", row->thread);
	}
	if (row->text_n) {
		put(t, ",");
		put_text_attribute(t, "devtrace.call", row->text, row->text_n);
	}
	if (row->timed)
		dt_json_print(t, ",{\"key\":\"devtrace.self_ns\",\"value\":{\"doubleValue\":%.1f}}",
			      row->self);
	put(t, ",");
	put_text_attribute(t, "devtrace.ended", row->ended->text, row->ended->n);
	if (row->bounded) {
		put(t, ",");
		put_number_attribute(t, "devtrace.early_ns", row->early);
		put(t, ",");
		put_number_attribute(t, "devtrace.late_ns", row->late);
	}
	put(t, "]");
}

/* Says whether the call failed, and why. */
static void put_status(struct writing *w, const struct dt_row *row)
{
	uint32_t error = 0;
	enum dt_outcome outcome =
		dt_failures_outcome(&w->failures, row->made->function, row->made->result, &error);
	const char *name = dt_failure_name(error);

	if (outcome != DT_OUTCOME_FAILED)
		return;
	dt_json_print(&w->at->spans, ",\"status\":{\"code\":%d", CODE_ERROR);
	if (name)
		dt_json_print(&w->at->spans, ",\"message\":\"%s\"", name);
	put(&w->at->spans, "}");
}

static void put_span(struct writing *w, const struct dt_row *row, const struct dt_call_context *k)
{
	struct dt_json *t = &w->at->spans;
	int64_t end = dt_rows_when(w->r, row->made->end);

	dt_json_bytes(t, ",", w->at->n != 0);
	put_ids(w, row, k);
	put(t, ",\"name\":");
	dt_json_string_of(t, row->function->text, row->function->n);
	dt_json_print(t, ",\"kind\":%d,\"startTimeUnixNano\":\"%ld\",\"endTimeUnixNano\":\"%ld\"",
		      k->span && !k->inside ? KIND_SERVER : KIND_INTERNAL, (long)row->begin,
		      (long)(end > row->begin ? end : row->begin));
	put_attributes(w, row);
	put_links(w, k);
	put_status(w, row);
	put(t, "}");
	w->at->n++;
}

static uint32_t process_of(const struct writing *w, const struct dt_call *c)
{
	const struct dt_thread_info *t = dt_reader_thread(w->r, c->tid);

	return t ? t->pid : 0;
}

static bool on_row(void *ctx, const struct dt_row *row)
{
	struct writing *w = ctx;
	struct dt_call_context k;

	if (!row)
		return end_lines(w);
	if (!turn_to(w, process_of(w, row->made), row->host->text))
		return false;
	dt_contexts_of(&w->contexts, row->pair, row->made, &k);
	put_span(w, row, &k);
	dt_contexts_end(&w->contexts, row->made);
	return !w->contexts.no_memory && !w->failures.no_memory;
}

static void on_begin(void *ctx, struct dt_pair *pair, const struct dt_call *c)
{
	struct writing *w = ctx;

	dt_contexts_begin(&w->contexts, pair, c);
}

/* ---- processes ---- */

/* Says how a process ended, if not well; status: as wait(2) gives it. */
static void put_exit(struct dt_json *t, int status)
{
	if (WIFSIGNALED(status))
		dt_json_print(t, ",\"status\":{\"code\":%d,\"message\":\"signal %d\"}", CODE_ERROR,
			      WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		dt_json_print(t, ",\"status\":{\"code\":%d,\"message\":\"exit status %d\"}",
			      CODE_ERROR, WEXITSTATUS(status));
}

/* Adds the span of a process. end: where the trace ends, ticks. */
static void put_process(struct writing *w, const struct dt_process_info *p, uint64_t end)
{
	struct dt_json *t = &w->at->spans;
	int64_t from = dt_rows_when(w->r, p->begin_ticks);
	int64_t to = dt_rows_when(w->r, p->end_ticks ? p->end_ticks : end);

	put(t, "{\"traceId\":\"");
	put_trace_id(t, w, NULL, 0);
	put(t, "\",\"spanId\":\"");
	put_span_id(t, w, process_number(p->pid));
	if (dt_reader_process(w->r, p->ppid)) {
		put(t, "\",\"parentSpanId\":\"");
		put_span_id(t, w, process_number(p->ppid));
	}
	dt_json_print(t, "\",\"name\":\"process\",\"kind\":%d,\"startTimeUnixNano\":\"%ld\"",
		      KIND_INTERNAL, (long)from);
	dt_json_print(t, ",\"endTimeUnixNano\":\"%ld\"", (long)(to > from ? to : from));
	if (p->status >= 0)
		put_exit(t, p->status);
	put(t, "}");
	w->at->n = 1;
}

/* Writes a line for each process, when all others have been written; false: there is no memory for
 * it, or it can not be written. */
static bool write_processes(struct writing *w)
{
	struct dt_summary s = {0};
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(w->r, &n);

	if (dt_reader_summary(w->r, &s, NULL) < 0)
		return true;
	for (size_t i = 0; i < n; i++) {
		const struct dt_host *h = dt_hosts_of(&w->hosts, p[i].pid);

		w->at = &w->line[0];
		w->at->process = p[i].pid;
		w->at->host = h ? h->name : dt_reader_meta(w->r, "host");
		put_process(w, &p[i], s.max_ticks);
		if (!end_line(w, w->at))
			return false;
	}
	return true;
}

int dt_export_otlp(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		   const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	struct writing w = {.r = r, .f = f, .contexts = {.chosen = chosen}, .seed = seed_of(r)};
	const struct dt_rows_events events = {.row = on_row, .begin = on_begin, .ctx = &w};
	int rc = 0;

	w.failures.meanings = dt_meanings_of(r);
	/* without values, nothing is known of spans that were handed on */
	if (formats)
		rc = dt_contexts_read(&w.contexts, r, formats, e);
	if (!rc && dt_hosts_load(&w.hosts, r))
		rc = dt_fail(e, "out of memory");
	if (!rc)
		rc = dt_rows_run(r, formats, chosen, &events, e);
	if (!rc && !chosen && !write_processes(&w) && !ferror(f))
		rc = dt_fail(e, "out of memory");
	if (!rc && (w.contexts.no_memory || w.failures.no_memory || w.head.failed))
		rc = dt_fail(e, "out of memory");
	dt_contexts_free(&w.contexts);
	dt_failures_free(&w.failures);
	dt_hosts_free(&w.hosts);
	for (unsigned i = 0; i < LINES; i++) {
		if (!rc && w.line[i].spans.failed)
			rc = dt_fail(e, "out of memory");
		free(w.line[i].spans.bytes.p);
	}
	free(w.head.bytes.p);
	return rc;
}
