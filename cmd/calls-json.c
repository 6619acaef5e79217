/* SPDX-License-Identifier: MIT */
/* Calls as JSON lines: doc/json.md. A line is written at once into the output's buffer, in pieces,
 * and what is the same in many lines is made once: there are as many lines as calls. */
#include "cmd/calls-work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/json-pieces.h"
#include "show/failure.h"
#include "show/json.h"
#include "store/hosts.h"
#include "show/place.h"

/* A text that is part of lines. */
struct piece {
	char *text;
	size_t n;
};

/* Bytes of what says which thread it is; of its machine's name that many are shown. */
#define WHO  640
#define NAME 80

struct dt_calls_json {
	double tenths;		/* of a nanosecond, that a tick has */
	uint64_t first;		/* ticks: the trace's first record */
	struct piece *function; /* by function row: its name and module; text NULL: not made yet */
	uint32_t functions;
	uint32_t tid;  /* the thread of: */
	char who[WHO]; /* its number and its process's, and its machine */
	struct dt_hosts hosts;
	unsigned items; /* values written in the list that is being made */
	const uint64_t *value;
	const struct dt_whole_hit
		*hit; /* whose values are written; NULL: no hit's of several records */
};

/* Writes a time in nanoseconds, with one decimal. */
static char *put_ns(const struct calls *k, char *p, const char *name, uint64_t ticks, bool known)
{
	return dt_json_ns(p, name, (double)ticks * k->json->tenths, known);
}

/* Writes a point in time. */
static char *put_at(const struct calls *k, char *p, const char *name, uint64_t ticks, bool known)
{
	return put_ns(k, p, name, ticks > k->json->first ? ticks - k->json->first : 0, known);
}

/* ---- what many lines have in common ---- */

/* Writes the machine of a thread, of a trace of several. */
static void put_host(const struct calls *k, char *p, uint32_t tid)
{
	const struct dt_host *h = dt_hosts_of(&k->json->hosts, tid);
	struct dt_json text = {0};
	char name[NAME + 1];

	if (!h)
		return;
	dt_format(name, sizeof(name), "%s", h->name);
	dt_json_string(&text, name);
	if (!text.failed && text.bytes.n < 6 * NAME + 3)
		sprintf(p, ", \"host\": %.*s", (int)text.bytes.n, (const char *)text.bytes.p);
	free(text.bytes.p);
}

/* Makes the text that says which thread it is. */
static void look_who(struct calls *k, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(k->reader, tid);
	char *p = k->json->who;

	p = dt_json_known(p, ", \"thread\": ", dt_reader_number(k->reader, tid), tid != DT_NO_TID);
	p = dt_json_known(p, ", \"process\": ", t ? dt_reader_number(k->reader, t->pid) : 0,
			  t && t->pid);
	*p = '\0';
	put_host(k, p, tid);
	k->json->tid = tid;
}

static char *put_who(struct calls *k, char *p, uint32_t tid)
{
	if (tid != k->json->tid || !*k->json->who)
		look_who(k, tid);
	return stpcpy(p, k->json->who);
}

/* Makes the text of a function's name and module. NULL: out of memory, which has been noted. */
static const struct piece *new_function(struct calls *k, uint32_t function)
{
	const struct dt_function_info *info = dt_reader_function(k->reader, function);
	const struct dt_module_info *m = info ? dt_reader_module(k->reader, info->module) : NULL;
	struct dt_calls_json *j = k->json;
	struct dt_json text = {0};

	if (function >= j->functions) {
		uint32_t n = function + 1024;
		struct piece *p = realloc(j->function, n * sizeof(*p));

		if (!p) {
			k->failed = true;
			return NULL;
		}
		memset(p + j->functions, 0, (n - j->functions) * sizeof(*p));
		j->function = p;
		j->functions = n;
	}
	dt_json_print(&text, ", \"function\": ");
	dt_json_string(&text, info && *info->name ? info->name : "?");
	dt_json_print(&text, ", \"module\": ");
	dt_json_string(&text, m ? m->path : "");
	if (text.failed) {
		free(text.bytes.p);
		k->failed = true;
		return NULL;
	}
	j->function[function] = (struct piece){(char *)text.bytes.p, text.bytes.n};
	return &j->function[function];
}

static void print_function(struct calls *k, uint32_t function)
{
	const struct dt_calls_json *j = k->json;
	const struct piece *f = function < j->functions && j->function[function].text
					? &j->function[function]
					: new_function(k, function);

	if (f)
		dt_out_bytes(k->out, f->text, f->n);
}

/* For dt_pair_callers(): finds the innermost call that is shown. */
static bool find_shown(void *ctx, const struct dt_call *c)
{
	if (!(*c->note & SHOWN))
		return true;
	*(uint64_t *)ctx = c->id;
	return false;
}

/* Returns the id of the innermost shown call around the current one; 0: there is none. */
static uint64_t around(struct calls *k)
{
	uint64_t id = 0;

	dt_pair_callers(k->pair, find_shown, &id);
	return id;
}

static char *put_core(const struct calls *k, char *p)
{
	const struct dt_span *s = k->choice.span;
	uint16_t core = s ? dt_reader_ring_core(k->reader, s->core) : DT_SHARED_CORE;
	const struct dt_host *h = dt_hosts_of_core(&k->json->hosts, core);

	if (h && core != DT_SHARED_CORE)
		core = (uint16_t)(core - h->core); /* as its machine numbers them */

	return dt_json_known(p, ", \"core\": ", core, core != DT_SHARED_CORE);
}

/* ---- values ---- */

static void print_number(struct dt_out *o, const struct dt_format_number *n)
{
	char *p = dt_out_room(o, 64), *begin = p;

	if (n->kind == DT_NUMBER_NONE || (n->kind == DT_NUMBER_REAL && !isfinite(n->real)))
		p = stpcpy(p, "null");
	else if (n->kind == DT_NUMBER_REAL)
		p += sprintf(p, "%.17g", n->real);
	else if (n->kind == DT_NUMBER_SIGNED && (int64_t)n->u < 0)
		p = dt_json_decimal(p, "-", -n->u);
	else
		p += dt_text_decimal(p, n->u);
	dt_out_used(o, (size_t)(p - begin));
}

static void on_value(void *ctx, const char *name, size_t n, const char *text, size_t length)
{
	struct calls *k = ctx;
	struct dt_format_number number = dt_format_number(&k->formats, k->json->value);

	if (k->json->hit && number.kind == DT_NUMBER_NONE)
		number = dt_whole_hit_number(k->json->hit, name, n);
	if (n == strlen(DT_FULL_RESULT) && !memcmp(name, DT_FULL_RESULT, n))
		return; /* print_result() has it */
	dt_out_text(k->out, k->json->items++ ? ", {\"name\": " : "{\"name\": ");
	if (n)
		dt_json_quote(k->out, name, n);
	else
		dt_out_text(k->out, "null");
	dt_out_text(k->out, ", \"text\": ");
	dt_json_quote(k->out, text, length);
	dt_out_text(k->out, ", \"value\": ");
	print_number(k->out, &number);
	dt_out_char(k->out, '}');
}

static void print_arguments(struct calls *k, uint32_t function, const uint64_t *argument,
			    const struct dt_full *full)
{
	dt_out_text(k->out, ", \"arguments\": ");
	if (!argument) {
		dt_out_text(k->out, "null");
		return;
	}
	dt_out_char(k->out, '[');
	k->json->items = 0;
	k->json->value = argument;
	dt_format_each_full(&k->formats, function, argument, full, on_value, k);
	dt_out_char(k->out, ']');
}

/* The same of a point's record. */
static void print_values(struct calls *k, uint32_t function, const struct dt_record *r)
{
	dt_out_text(k->out, ", \"values\": [");
	k->json->items = 0;
	k->json->value = r->value;
	dt_format_each(&k->formats, function, r->value, r->flags & DT_FAULT, on_value, k);
	dt_out_char(k->out, ']');
}

/* Writes the reason of a failure: a call's errno. */
static void print_reason(struct calls *k, uint32_t error)
{
	char text[DT_FAILURE_TEXT + 1], *end, *p = dt_out_room(k->out, DT_JSON_PIECE);

	dt_out_used(k->out, (size_t)(dt_json_known(p, ", \"errno\": ", error, error != 0) - p));
	if (!error)
		return;
	end = dt_failure_put(text, error);
	dt_out_text(k->out, ", \"reason\": ");
	dt_json_quote(k->out, text + 1, (size_t)(end - text) - 1);
}

static void print_result(struct calls *k, const struct dt_call *c, const struct dt_full *full)
{
	const char *meant =
		full ? dt_full_value(full, DT_FULL_RESULT, strlen(DT_FULL_RESULT)) : NULL;
	char *text = k->json_text, *end;
	struct dt_format_number number;
	uint32_t error;

	end = c->result ? dt_format_result(&k->formats, text, c->function, c->result) : text;
	dt_out_text(k->out, ", \"result\": ");
	if (end == text) {
		dt_out_text(k->out, "null");
	} else {
		number = dt_format_result_number(&k->formats, c->function, c->result);
		dt_out_text(k->out, "{\"text\": ");
		if (meant)
			dt_json_quote(k->out, meant, strlen(meant));
		else
			dt_json_quote(k->out, text + 3, (size_t)(end - text) - 3);
		dt_out_text(k->out, ", \"value\": ");
		print_number(k->out, &number);
		dt_out_char(k->out, '}');
	}
	if (c->result && dt_format_failed(&k->formats, c->function, c->result, &error)) {
		dt_out_text(k->out, ", \"failed\": true");
		print_reason(k, error);
	} else {
		dt_out_text(k->out, ", \"failed\": false");
	}
}

/* ---- calls ---- */

/* The words for flags, in the order of their bits in struct dt_call. */
static const struct {
	uint32_t flag;
	const char *word;
} words[] = {
	{DT_CALL_NO_ENTRY, "no_entry"}, {DT_CALL_OTHER_STACK, "other_stack"},
	{DT_CALL_TAILED, "tailed"},	{DT_CALL_DOUBTFUL, "doubtful"},
	{DT_CALL_UNWOUND, "unwound"},	{DT_CALL_TAIL, "tail"},
	{DT_CALL_INFERRED, "inferred"}, {DT_CALL_LEFT, "left"},
	{DT_CALL_OPEN, "unfinished"},	{DT_CALL_NO_EXIT, "no_exit"},
	{DT_CALL_LOSS, "loss"},		{DT_CALL_PAUSED, "paused"},
	{DT_CALL_BACKWARD, "backward"}, {DT_CALL_RECURSIVE, "recursive"},
	{DT_CALL_FOLDS, "folds"},
};

static void print_flags(struct calls *k, const struct dt_call *c)
{
	char *begin = dt_out_room(k->out, DT_JSON_PIECE), *p = stpcpy(begin, ", \"flags\": [");
	const char *separator = "\"";

	for (size_t i = 0; c->flags && i < sizeof(words) / sizeof(*words); i++)
		if (c->flags & words[i].flag) {
			p = stpcpy(stpcpy(stpcpy(p, separator), words[i].word), "\"");
			separator = ", \"";
		}
	*p++ = ']';
	dt_out_used(k->out, (size_t)(p - begin));
	if (c->flags & (DT_CALL_OPEN | DT_CALL_UNWOUND)) {
		p = dt_calls_fate(k, k->json_text, c);
		if (p > k->json_text + 2) { /* behind ": " */
			dt_out_text(k->out, ", \"fate\": ");
			dt_json_quote(k->out, k->json_text + 2, (size_t)(p - k->json_text) - 2);
		}
	}
}

static char *put_waits(const struct calls *k, char *p, const struct dt_call *c)
{
	p = put_ns(k, p, ", \"wait_ns\": ", c->waited, true);
	p = put_ns(k, p, ", \"self_wait_ns\": ", c->waited_self, true);
	return put_ns(k, p, ", \"preempted_ns\": ", c->preempted, true);
}

static char *put_times(const struct calls *k, char *p, const struct dt_call *c)
{
	uint64_t ticks = dt_call_ticks(c);
	bool timed = !(c->flags & DT_CALL_UNTIMED);

	p = put_at(k, p, ", \"begin_ns\": ", c->begin, !(c->flags & DT_CALL_NO_ENTRY));
	p = put_at(k, p, ", \"end_ns\": ", c->end, !(c->flags & (DT_CALL_OPEN | DT_CALL_NO_EXIT)));
	p = put_ns(k, p, ", \"duration_ns\": ", ticks, timed);
	return put_ns(k, p, ", \"self_ns\": ", ticks > c->children ? ticks - c->children : 0,
		      timed);
}

/* Writes who ended the longest wait; nothing where that is not known. */
static void print_waker(struct calls *k, const struct dt_call *c)
{
	const struct dt_waker *by = dt_pair_waker(k->pair, c->woken[0]);
	const struct dt_function_info *f =
		by && by->function ? dt_reader_function(k->reader, by->function) : NULL;
	char *begin, *p;

	if (!by)
		return;
	begin = dt_out_room(k->out, DT_JSON_PIECE);
	p = stpcpy(begin, ", \"woken_by\": {\"context\": \"");
	p = stpcpy(stpcpy(p, dt_waker_context(by)), "\"");
	p = dt_json_known(p, ", \"thread\": ", dt_reader_number(k->reader, by->tid), by->tid != 0);
	p = dt_json_known(p, ", \"process\": ", dt_reader_number(k->reader, by->pid), by->pid != 0);
	dt_out_used(k->out, (size_t)(p - begin));
	dt_json_member(k->out, ", \"name\": ", by->name);
	if (f)
		dt_json_member(k->out, ", \"in\": ", f->name);
	else
		dt_out_text(k->out, ", \"in\": null");
	begin = dt_out_room(k->out, DT_JSON_PIECE);
	p = put_ns(k, begin, ", \"run_latency_ns\": ", c->queued[0], true);
	p = stpcpy(p, "}");
	dt_out_used(k->out, (size_t)(p - begin));
}

static void print_stack(struct calls *k, const struct dt_call *c)
{
	const struct dt_stack_read *s =
		dt_backtraces_of(&k->backtraces, c->tid, c->end, c->function);

	if (!s)
		return;
	dt_out_text(k->out, ", \"stack\": [");
	for (size_t i = 0; i < s->n; i++) {
		char text[DT_PLACE_TEXT];
		size_t n = (size_t)(dt_place_put(text, k->reader, &s->frame[i]) - text);

		dt_out_text(k->out, i ? ", " : "");
		dt_json_quote(k->out, text, n);
	}
	dt_json_member(k->out, "], \"stack_ended\": ", s->ended);
}

void dt_calls_json_call(struct calls *k, const struct dt_call *c, const struct dt_full *full)
{
	char *begin = dt_out_room(k->out, DT_JSON_PIECE), *p = begin;
	uint64_t parent = around(k);

	p = dt_json_known(stpcpy(p, "{\"type\": \"call\""), ", \"id\": ", c->id, c->id != 0);
	p = dt_json_known(p, ", \"parent\": ", parent, parent != 0);
	p = dt_json_decimal(p, ", \"depth\": ", dt_calls_next_level(dt_pair_caller_note(k->pair)));
	p = put_core(k, put_who(k, p, c->tid));
	dt_out_used(k->out, (size_t)(p - begin));
	print_function(k, c->function);
	begin = dt_out_room(k->out, DT_JSON_PIECE);
	p = put_times(k, begin, c);
	if (c->flags & DT_CALL_WAITED && !(c->flags & DT_CALL_UNKNOWN))
		p = put_waits(k, p, c);
	if (c->flags & DT_CALL_UNSEEN && !(c->flags & DT_CALL_UNKNOWN))
		p = put_ns(k, p, ", \"unseen_ns\": ", c->unseen, true);
	dt_out_used(k->out, (size_t)(p - begin));
	if (c->flags & DT_CALL_WAITED && !(c->flags & DT_CALL_UNKNOWN)) {
		dt_json_member(k->out,
			       ", \"waited_for\": ", dt_pair_waited_for(k->pair, c->waited_for[0]));
		print_waker(k, c);
	}
	print_arguments(k, c->function, c->argument, full);
	print_result(k, c, full);
	print_flags(k, c);
	if (k->backtraces.n)
		print_stack(k, c);
	dt_out_bytes(k->out, "}\n", 2);
}

/* ---- other lines ---- */

/* Begins the line of what is no call; ticks 0: when is not known. */
static void begin_line(struct calls *k, const char *type, uint32_t tid, uint64_t ticks)
{
	char *begin = dt_out_room(k->out, DT_JSON_PIECE), *p = begin;
	uint64_t in = around(k);

	p = stpcpy(stpcpy(stpcpy(p, "{\"type\": \""), type), "\"");
	p = dt_json_known(p, ", \"in\": ", in, in != 0);
	p = put_core(k, put_who(k, p, tid));
	p = put_at(k, p, ", \"at_ns\": ", ticks, ticks != 0);
	dt_out_used(k->out, (size_t)(p - begin));
}

void dt_calls_json_thread(struct calls *k, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(k->reader, tid);
	const struct dt_process_info *of = t ? dt_reader_process(k->reader, t->pid) : NULL;
	char *begin = dt_out_room(k->out, DT_JSON_PIECE);
	char *p = put_who(k, stpcpy(begin, "{\"type\": \"thread\""), tid);

	dt_out_used(k->out, (size_t)(p - begin));
	dt_json_member(k->out, ", \"name\": ", t ? t->name : "");
	dt_json_member(k->out, ", \"program\": ", of ? of->exe : "");
	dt_out_bytes(k->out, "}\n", 2);
}

void dt_calls_json_loss(struct calls *k, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end)
{
	char *p, *from;

	begin_line(k, "loss", tid, begin);
	from = dt_out_room(k->out, DT_JSON_PIECE);
	p = dt_json_decimal(from, ", \"records\": ", lost);
	p = put_ns(k, p, ", \"within_ns\": ", end - begin, begin && end > begin);
	dt_out_used(k->out, (size_t)(stpcpy(p, "}\n") - from));
}

void dt_calls_json_off(struct calls *k, uint32_t tid, const struct dt_budget_row *x)
{
	char *p, *from;

	begin_line(k, "off", tid, x->begin);
	dt_json_member(k->out, ", \"function\": ", dt_reader_function_name(k->reader, x->function));
	from = dt_out_room(k->out, DT_JSON_PIECE);
	p = put_ns(k, from, ", \"off_ns\": ", x->end - x->begin, true);
	p = dt_json_decimal(p, ", \"calls_estimated\": ", x->calls);
	dt_out_used(k->out, (size_t)(stpcpy(p, "}\n") - from));
}

void dt_calls_json_text(struct calls *k, const char *type, uint32_t tid, uint64_t ticks,
			const char *text, size_t n)
{
	begin_line(k, type, tid, ticks);
	dt_out_text(k->out, ", \"text\": ");
	dt_json_quote(k->out, text, n);
	dt_out_bytes(k->out, "}\n", 2);
}

void dt_calls_json_point(struct calls *k, const struct dt_site *site, const struct dt_record *r)
{
	begin_line(k, site->place == DT_SITE_POINT ? "point" : "more", r->tid, r->ticks);
	print_function(k, site->function);
	print_values(k, site->function, r);
	dt_out_bytes(k->out, "}\n", 2);
}

void dt_calls_json_hit(struct calls *k, const struct dt_whole_hit *h)
{
	begin_line(k, "point", h->head.tid, h->head.ticks);
	print_function(k, h->site.function);
	dt_out_text(k->out, ", \"values\": [");
	k->json->items = 0;
	k->json->value = h->head.value;
	k->json->hit = h;
	dt_format_each_full(&k->formats, h->site.function, h->head.value, &h->full, on_value, k);
	k->json->hit = NULL;
	dt_out_bytes(k->out, "]}\n", 3);
}

/* ---- the command ---- */

int dt_calls_json_begin(struct calls *k)
{
	struct dt_summary sum;
	struct dt_error e;

	if (!k->as_json)
		return 0;
	if (dt_reader_summary(k->reader, &sum, &e))
		return dt_cmd_fail("%s", e.text);
	k->json = calloc(1, sizeof(*k->json));
	k->json_text = malloc(LINE);
	if (!k->json || !k->json_text)
		return dt_cmd_fail("out of memory");
	if (dt_hosts_load(&k->json->hosts, k->reader))
		return dt_cmd_fail("out of memory");
	k->json->first = sum.min_ticks;
	k->json->tenths = dt_reader_ns_per_tick(k->reader) * 10;
	return 0;
}

void dt_calls_json_free(struct calls *k)
{
	for (uint32_t i = 0; k->json && i < k->json->functions; i++)
		free(k->json->function[i].text);
	if (k->json) {
		dt_hosts_free(&k->json->hosts);
		free(k->json->function);
	}
	free(k->json);
	free(k->json_text);
}
