/* SPDX-License-Identifier: MIT */
/*
 * Barrelfish's dump. Export and import are streams; the export reads the trace once for each core.
 */
#include <stdlib.h>
#include <string.h>
#include "analyse/barrelfish.h"
#include "analyse/feed.h"
#include "core/text.h"

#define SENT	 0xeaull
#define RECEIVED 0xebull
/* subsystem and event of a context switch in the numbers of 2011 */
#define SWITCH2011  0xffffccccull
#define EQUAL_SIGNS "==================================================" /* 50 */
#define BATCH	    1024

/* ---- export ---- */

struct header {
	bool relative;
	uint64_t start, duration, stop, min_timestamp;
};

static uint64_t meta_number(const struct dt_reader *r, const char *key, uint64_t otherwise)
{
	const char *text = dt_reader_meta(r, key);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void put_decimal(FILE *f, uint64_t v, char after)
{
	char digits[DT_DIGITS + 1];
	size_t n = dt_text_decimal(digits, v);

	digits[n] = after;
	fwrite(digits, 1, n + 1, f);
}

static void put_hex(FILE *f, uint64_t v, char after)
{
	char digits[DT_DIGITS + 1];
	size_t n = dt_text_hex(digits, v);

	digits[n] = after;
	fwrite(digits, 1, n + 1, f);
}

static void put_core(const struct dt_reader *r, FILE *f, const struct header *h, unsigned core)
{
	fprintf(f, "# Core %u LOG DUMP " EQUAL_SIGNS "\n", core);
	if (!h->relative)
		fprintf(f, "# Offset %u %lld\n", core, (long long)dt_reader_clock_offset(r, core));
}

/* Returns a message's body; a value that is not a body is the id of the channel. */
static uint64_t message(uint64_t top, uint64_t v)
{
	return v >> 56 == top ? v : top << 56 | (v << 12 & ~(0xffull << 56));
}

static uint64_t body_of(const struct dt_record *x, bool relative)
{
	switch (x->kind) {
	case DT_SEND:
		return message(SENT, x->value[0]);
	case DT_RECEIVE:
		return message(RECEIVED, x->value[0]);
	case DT_SWITCH:
		if (x->value[1])
			return x->value[1];
		return (relative ? SWITCH2011 << 32 : 0) | (uint32_t)x->value[0];
	default:
		return x->value[0];
	}
}

static void put_application(const struct dt_reader *r, FILE *f, unsigned core,
			    const struct dt_record *x)
{
	const struct dt_thread_info *t = dt_reader_thread(r, x->tid);
	const char *name = (const char *)&x->value[1];

	/* in an imported dump, a missing name was missing */
	if (!x->value[1] && t && !dt_reader_meta(r, "barrelfish.form"))
		name = t->name;
	fprintf(f, "# DCB %u ", core);
	put_hex(f, x->value[0], ' ');
	for (int i = 0; i < 8 && name[i]; i++)
		fputc(name[i] == '\n' ? '?' : name[i], f);
	fputc('\n', f);
}

/* Writes one record; false: a dump has no such record. *begun: the core's head has been written. */
static bool put_record(const struct dt_reader *r, FILE *f, const struct header *h, unsigned core,
		       const struct dt_record *x, bool *begun)
{
	bool event = x->kind == DT_EVENT || x->kind == DT_SEND || x->kind == DT_RECEIVE ||
		     x->kind == DT_SWITCH;

	if ((!event && x->kind != DT_RUNDOWN) || (event && h->relative && x->ticks < h->start))
		return false;
	if (!*begun)
		put_core(r, f, h, core);
	*begun = true;
	if (!event) {
		put_application(r, f, core, x);
		return true;
	}
	put_decimal(f, core, ' ');
	put_decimal(f, h->relative ? x->ticks - h->start : x->ticks, ' ');
	put_hex(f, body_of(x, h->relative), '\n');
	return true;
}

static int export_core(struct dt_reader *r, FILE *f, const struct header *h, unsigned core,
		       uint64_t *left_out, struct dt_error *e)
{
	struct dt_reader_range range = {.values = true, .one_core = true, .core = (uint16_t)core};
	bool begun = false;
	struct dt_span s;
	int rc = dt_reader_start(r, &range, e);

	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		rc = 0;
		for (uint32_t i = 0; i < s.n; i++) {
			struct dt_record x;

			dt_span_record(r, &s, i, &x);
			if (dt_feed_is_unasked(r, x.kind))
				continue;
			*left_out += !put_record(r, f, h, core, &x, &begun);
		}
	}
	return rc;
}

int dt_barrelfish_export(struct dt_reader *r, FILE *f, enum dt_dump_form form, uint64_t *left_out,
			 struct dt_error *e)
{
	const char *imported = dt_reader_meta(r, "barrelfish.form");
	struct dt_summary sum;
	struct header h;
	unsigned *core;
	size_t n;
	int rc = 0;

	*left_out = 0;
	if (dt_reader_summary(r, &sum, e))
		return -1;
	h.relative = form == DT_DUMP_RELATIVE ||
		     (form == DT_DUMP_AS_IMPORTED && imported && !strcmp(imported, "relative"));
	h.start = meta_number(r, "barrelfish.start", sum.min_ticks);
	h.duration = meta_number(r, "barrelfish.duration", 0);
	h.stop = meta_number(r, "barrelfish.stop", UINT64_MAX);
	h.min_timestamp = meta_number(r, "barrelfish.min_timestamp", sum.min_ticks);
	fputs("# Start ", f);
	put_decimal(f, h.start, ' ');
	fputs("Duration ", f);
	put_decimal(f, h.duration, ' ');
	fputs("Stop ", f);
	put_decimal(f, h.stop, '\n');
	if (!h.relative) {
		fputs("# Min_timestamp ", f);
		put_decimal(f, h.min_timestamp, '\n');
	}
	if (dt_reader_cores(r, &core, &n, e))
		return -1;
	for (size_t i = 0; !rc && i < n; i++)
		rc = export_core(r, f, &h, core[i], left_out, e);
	free(core);
	return rc;
}

/* ---- import ---- */

struct import {
	struct dt_store *store;
	const struct dt_definition *events;
	const struct dt_applications *applications;
	const char *path, *p; /* p: position in the line */
	unsigned long line;
	bool relative, kernel_switch; /* the latter: event 0 of subsystem 0 is a context switch */
	uint64_t start, min_timestamp;
	bool in_core, offset_due, any; /* any: there was a line of this core */
	unsigned core;
	uint32_t tid; /* thread that is running on the core */
	uint64_t ticks;
	struct dt_record batch[BATCH];
	size_t n;
	struct dt_error *e;
};

static int wrong(const struct import *k, const char *what)
{
	return dt_fail(k->e, "%s:%lu: %s", k->path, k->line, what);
}

static bool literal(struct import *k, const char *s)
{
	size_t n = strlen(s);

	if (strncmp(k->p, s, n))
		return false;
	k->p += n;
	return true;
}

/* Reads a number as a dump has it: without a sign or leading zeros. */
static bool decimal(struct import *k, uint64_t *v)
{
	const char *from = k->p;

	for (*v = 0; *k->p >= '0' && *k->p <= '9'; k->p++) {
		uint64_t d = (uint64_t)(*k->p - '0');

		if (*v > (UINT64_MAX - d) / 10)
			return false;
		*v = *v * 10 + d;
	}
	return k->p > from && (*from != '0' || k->p == from + 1);
}

static bool hex(struct import *k, uint64_t *v)
{
	const char *from = k->p;

	k->p += dt_text_hex_parse(k->p, strlen(k->p), v);
	return k->p > from && (*from != '0' || k->p == from + 1);
}

static bool this_core(struct import *k)
{
	uint64_t v;

	return k->in_core && decimal(k, &v) && v == k->core;
}

static bool end(const struct import *k)
{
	return k->p[0] == '\n' && !k->p[1];
}

static int flush(struct import *k)
{
	int rc = k->n ? dt_store_put(k->store, k->core, k->batch, k->n, 0, k->e) : 0;

	k->n = 0;
	return rc;
}

static int put(struct import *k, const struct dt_record *r)
{
	if (k->n == BATCH && flush(k))
		return -1;
	k->batch[k->n] = *r;
	k->batch[k->n].core = (uint16_t)k->core;
	k->batch[k->n++].ticks = k->ticks;
	k->any = true;
	return 0;
}

static int meta(struct import *k, const char *key, uint64_t v)
{
	char text[DT_DIGITS + 1];

	text[dt_text_decimal(text, v)] = '\0';
	return dt_store_meta(k->store, key, text, k->e);
}

static int take_start(struct import *k)
{
	uint64_t duration, stop;

	if (!literal(k, "# Start ") || !decimal(k, &k->start) || !literal(k, " Duration ") ||
	    !decimal(k, &duration) || !literal(k, " Stop ") || !decimal(k, &stop) || !end(k))
		return wrong(k, "a dump begins with '# Start N Duration N Stop N'");
	return meta(k, "barrelfish.start", k->start) || meta(k, "barrelfish.duration", duration) ||
			       meta(k, "barrelfish.stop", stop)
		       ? -1
		       : 0;
}

/* Takes the line after Start, which tells the form. *taken: it was the line of the minimum. */
static int take_form(struct import *k, bool *taken)
{
	*taken = literal(k, "# Min_timestamp ");
	k->relative = !*taken;
	if (*taken && (!decimal(k, &k->min_timestamp) || !end(k)))
		return wrong(k, "here must be '# Min_timestamp N'");
	if (*taken && meta(k, "barrelfish.min_timestamp", k->min_timestamp))
		return -1;
	/*
	 * what event 0 of subsystem 0 is, is known from the names; without them, as in Barrelfish
	 */
	k->kernel_switch = *taken;
	for (size_t i = 0; i < k->events->rows; i++) {
		const struct dt_event_row *row = &k->events->row[i];

		if (row->subsystem == 0 && row->event == 0)
			k->kernel_switch = *taken && !strcmp(row->name, "CSWITCH");
	}
	return dt_store_meta(k->store, "barrelfish.form", *taken ? "absolute" : "relative", k->e);
}

static int end_core(struct import *k)
{
	if (k->in_core && !k->any)
		return wrong(k, "the core before this line has no events");
	return flush(k);
}

static int take_core(struct import *k)
{
	uint64_t core;

	if (!decimal(k, &core) || !literal(k, " LOG DUMP " EQUAL_SIGNS) || !end(k))
		return wrong(k, "here must be '# Core N LOG DUMP ' and 50 '='");
	if (core > DT_SHARED_CORE)
		return wrong(k, "a core's number is at most 65535");
	if (k->in_core && core <= k->core)
		return wrong(k, "cores must come in the order of their numbers, each once");
	if (end_core(k))
		return -1;
	k->core = (unsigned)core;
	k->in_core = true;
	k->any = false;
	k->offset_due = !k->relative;
	k->tid = DT_NO_TID;
	k->ticks = k->relative ? k->start : k->min_timestamp;
	return 0;
}

static int take_offset(struct import *k)
{
	bool negative;
	uint64_t v;
	char key[32], text[DT_DIGITS + 2] = "-";

	if (!this_core(k) || !literal(k, " "))
		goto bad;
	negative = literal(k, "-");
	if (!decimal(k, &v) || !end(k) || v > (uint64_t)INT64_MAX + negative || (negative && !v))
		goto bad;
	k->offset_due = false;
	dt_format(key, sizeof(key), "clock_offset.%u", k->core);
	text[negative + dt_text_decimal(text + negative, v)] = '\0';
	return dt_store_meta(k->store, key, text, k->e);
bad:
	return wrong(k, "here must be '# Offset CORE N' of the core above");
}

/* Names an application, which is taken for a process of one thread. */
static int name_application(struct import *k, uint32_t tid, const char *name)
{
	return tid == DT_NO_TID ? 0 : dt_store_thread(k->store, tid, tid, name, k->e);
}

static int take_application(struct import *k)
{
	struct dt_record r = {.kind = DT_RUNDOWN, .flags = 2};
	char name[9] = "";
	size_t n;

	if (!this_core(k) || !literal(k, " ") || !hex(k, &r.value[0]) || !literal(k, " "))
		return wrong(k, "here must be '# DCB CORE HEX NAME' of the core above");
	n = strcspn(k->p, "\n");
	if (n > 8 || k->p[n] != '\n')
		return wrong(k, "a name has at most 8 characters");
	memcpy(name, k->p, n);
	memcpy(&r.value[1], name, 8);
	r.tid = (uint32_t)r.value[0];
	if (!dt_applications_name(k->applications, r.tid) && name_application(k, r.tid, name))
		return -1;
	return put(k, &r);
}

static int take_event(struct import *k)
{
	struct dt_record r = {.kind = DT_EVENT, .flags = 1};
	uint64_t ticks, body;

	if (!this_core(k) || !literal(k, " ") || !decimal(k, &ticks) || !literal(k, " ") ||
	    !hex(k, &body) || !end(k))
		return wrong(k, "here must be an event of the core above, 'CORE TICKS HEX', or a "
				"line with # as a dump has it");
	if (k->relative && ticks > UINT64_MAX - k->start)
		return wrong(k, "the time is too large: it counts from Start");
	k->ticks = ticks + (k->relative ? k->start : 0);
	r.value[0] = body;
	if (body >> 56 == SENT) {
		r.kind = DT_SEND;
	} else if (body >> 56 == RECEIVED) {
		r.kind = DT_RECEIVE;
	} else if (body >> 32 == SWITCH2011 || (k->kernel_switch && body >> 32 == 0)) {
		r.kind = DT_SWITCH;
		r.flags = 2;
		r.value[0] = k->tid = (uint32_t)body;
		r.value[1] = body;
	}
	r.tid = k->tid;
	return put(k, &r);
}

static int take_line(struct import *k)
{
	if (literal(k, "# Core "))
		return k->offset_due ? wrong(k, "the core above has no '# Offset'") : take_core(k);
	if (k->offset_due)
		return literal(k, "# Offset ") ? take_offset(k)
					       : wrong(k, "here must be '# Offset CORE N'");
	if (literal(k, "# DCB "))
		return take_application(k);
	if (!strncmp(k->p, "# Start ", 8))
		return wrong(k, "another dump begins here; import one at a time");
	return take_event(k);
}

int dt_barrelfish_length(const char *p, size_t n, uint64_t *length, size_t *used)
{
	size_t skip = 0, spaces, digits, at;

	while (skip < n && skip < 8 && !p[skip])
		skip++;
	for (spaces = 0; skip + spaces < n && p[skip + spaces] == ' ' && spaces < 8;)
		spaces++;
	*length = 0;
	for (digits = 0; skip + spaces + digits < n && spaces + digits < 8; digits++) {
		unsigned d = (unsigned)(p[skip + spaces + digits] - '0');

		if (d > 9)
			break;
		*length = *length * 10 + d;
	}
	at = spaces + digits;
	if (at == 8 && digits) {
		*used = skip + 8;
		return 1;
	}
	if (skip + at == n)
		return skip < 8 && spaces < 8 ? 0 : -1;
	if (at == 6 && digits && p[skip + at] == '#') {
		*used = skip + 6;
		return 1;
	}
	if (!digits || spaces || p[skip + at])
		return -1;
	*used = skip + 8;
	return n < skip + 8 ? 0 : 1;
}

/* Skips what comes before a dump that was kept as a server sent it. n: how many bytes have been
 * read. */
static void skip_front(struct import *k, size_t n)
{
	uint64_t length;
	size_t used;

	if (dt_barrelfish_length(k->p, n, &length, &used) == 1 && k->p[used] == '#')
		k->p += used;
}

static int names(struct import *k)
{
	for (size_t i = 0; i < k->events->rows; i++)
		if (dt_store_event(k->store, &k->events->row[i], k->e))
			return -1;
	return 0;
}

int dt_barrelfish_import(struct dt_store *s, FILE *f, const char *path,
			 const struct dt_definition *events,
			 const struct dt_applications *applications, struct dt_error *e)
{
	static const char front[] = "# bfscope trace dump\n";
	enum { START, FORM, REST } state = START;
	struct import *k = calloc(1, sizeof(*k));
	char line[256] = "";
	int rc;

	if (!k)
		return dt_fail(e, "out of memory");
	*k = (struct import){
		.store = s, .events = events, .applications = applications, .path = path, .e = e};
	rc = names(k);
	/* before the dump's own: see take_application() */
	for (size_t i = 0; !rc && i < applications->rows; i++)
		rc = name_application(k, (uint32_t)applications->row[i].dcb,
				      applications->row[i].name);
	while (!rc && fgets(line, sizeof(line), f)) {
		bool taken = false;

		k->line++;
		k->p = line;
		if (k->line == 1)
			skip_front(k, DT_DUMP_LENGTH_MAX);
		if (!strchr(k->p, '\n')) {
			rc = wrong(k,
				   strlen(line) == sizeof(line) - 1
					   ? "the line is too long for one of a dump"
					   : "the line does not end: the dump is cut off, or has "
					     "a byte 0 in it");
		} else if (state == START) {
			if (k->line == 1 && !strcmp(k->p, front))
				continue;
			rc = take_start(k);
			state = FORM;
		} else {
			if (state == FORM)
				rc = take_form(k, &taken);
			state = REST;
			if (!rc && !taken)
				rc = take_line(k);
		}
	}
	if (!rc && ferror(f))
		rc = dt_fail(e, "%s: cannot read", path);
	k->line++;
	if (!rc && state == START)
		rc = wrong(k, "a dump begins with '# Start N Duration N Stop N'");
	if (!rc && state == FORM)
		rc = dt_store_meta(s, "barrelfish.form", "relative", e);
	if (!rc && k->offset_due)
		rc = wrong(k, "the core above has no '# Offset'");
	if (!rc)
		rc = end_core(k);
	free(k);
	return rc;
}

void dt_barrelfish_describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	(void)ctx;
	row->kind = DT_SITE_UNKNOWN;
	row->values = r->kind == DT_SWITCH || r->kind == DT_RUNDOWN ? 3 : 1;
}
