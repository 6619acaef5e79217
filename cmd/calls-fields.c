/* SPDX-License-Identifier: MIT */
/* The columns before the calls' text. */
#include "cmd/calls-work.h"

#include <stdlib.h>
#include <time.h>

#include "core/text.h"

/* A column: its width without the two spaces behind it, and its name in the header. */
static const struct column {
	const char *name;
	uint8_t width;
	bool left; /* its text begins at its left edge */
} column[DT_FIELDS] = {
	[DT_FIELD_TIME] = {"time", 18, false},	     [DT_FIELD_SINCE] = {"since", 15, false},
	[DT_FIELD_ELAPSED] = {"elapsed", 14, false}, [DT_FIELD_DURATION] = {"duration", 14, false},
	[DT_FIELD_SELF] = {"self", 14, false},	     [DT_FIELD_CPU] = {"cpu", 14, false},
	[DT_FIELD_WAIT] = {"wait", 14, false},	     [DT_FIELD_CORE] = {"core", 5, false},
	[DT_FIELD_THREAD] = {"thread", 7, false},    [DT_FIELD_NAME] = {"name", 15, true},
	[DT_FIELD_PROCESS] = {"process", 8, false},  [DT_FIELD_PROGRAM] = {"program", 15, true},
	[DT_FIELD_MODULE] = {"module", 18, true},    [DT_FIELD_DEPTH] = {"depth", 6, false},
};

static const char *const unit[] = {"us", "auto", "ns", "ms", "s"};

bool dt_calls_fields_parse(struct dt_calls_fields *f, const char *text)
{
	const char *name[DT_FIELDS];

	for (unsigned i = 0; i < DT_FIELDS; i++)
		name[i] = column[i].name;
	if (!dt_fields_parse(&f->list, text, name, DT_FIELDS))
		return false;
	if (f->list.also)
		dt_fields_add(&f->list, DT_FIELD_DURATION);
	return true;
}

bool dt_calls_units_parse(enum dt_calls_units *u, const char *text)
{
	for (unsigned i = 0; i < sizeof(unit) / sizeof(*unit); i++)
		if (!strcmp(text, unit[i])) {
			*u = (enum dt_calls_units)i;
			return true;
		}
	dt_cmd_fail("--units %s: say auto, ns, us, ms or s", text);
	return false;
}

int dt_calls_fields_begin(struct dt_calls_fields *f, struct dt_reader *r, bool merge)
{
	struct dt_summary sum;
	struct dt_error e;
	uint64_t ns;

	if (merge && f->list.also)
		dt_fields_add(&f->list, DT_FIELD_THREAD);
	if (!f->list.n)
		return 0;
	if (dt_reader_summary(r, &sum, &e))
		return dt_cmd_fail("%s", e.text);
	f->first = sum.min_ticks;
	if ((dt_fields_has(&f->list, DT_FIELD_CPU) || dt_fields_has(&f->list, DT_FIELD_WAIT)) &&
	    !dt_cmd_switches(r))
		return 1;
	if (!dt_fields_has(&f->list, DT_FIELD_TIME) || dt_reader_realtime(r, f->first, &ns))
		return 0;
	return dt_cmd_fail("--fields time: the trace does not say at what time of day it was made; "
			   "'since' counts from its beginning");
}

/* Writes a number at the right edge of a column. */
static char *put_number(char *p, unsigned width, uint64_t v)
{
	char digits[DT_DIGITS];
	size_t n = dt_text_decimal(digits, v);

	memset(p, ' ', width + 2);
	p += n < width ? width - n : 0;
	memcpy(p, digits, n);
	memcpy(p + n, "  ", 2);
	return p + n + 2;
}

/* Writes a text at the left edge of a column, cut to its width. */
static char *put_name(char *p, unsigned width, const char *s)
{
	size_t n = strlen(s), at = 0;
	unsigned used = 0;

	for (; at < n && used < width; used++) {
		uint32_t c;
		bool unseen;
		unsigned length = dt_plain_character(s + at, n - at < 4 ? n - at : 4, &c, &unseen);

		if (length && !unseen)
			memcpy(p, s + at, length);
		else
			*p = '?';
		p += length && !unseen ? length : 1;
		at += length ? length : 1;
	}
	memset(p, ' ', width - used + 2);
	return p + width - used + 2;
}

/* Writes digits with zeros before them. */
static char *put_padded(char *p, unsigned digits, uint64_t v)
{
	for (unsigned i = digits; i--; v /= 10)
		p[i] = (char)('0' + v % 10);
	return p + digits;
}

static char *put_time(struct calls *k, char *p, uint64_t ticks)
{
	static struct tm tm;
	static time_t known = -1;
	uint64_t ns;
	time_t s;

	if (!dt_reader_realtime(k->reader, ticks, &ns))
		return dt_calls_spaces(p, column[DT_FIELD_TIME].width + 2);
	s = (time_t)(ns / 1000000000);
	if (s != known) {
		known = s;
		localtime_r(&s, &tm);
	}
	p = put_padded(p, 2, (uint64_t)tm.tm_hour);
	*p++ = ':';
	p = put_padded(p, 2, (uint64_t)tm.tm_min);
	*p++ = ':';
	p = put_padded(p, 2, (uint64_t)tm.tm_sec);
	*p++ = '.';
	p = put_padded(p, 9, ns % 1000000000);
	return stpcpy(p, "  ");
}

static char *put_since(const struct calls *k, char *p, uint64_t ticks)
{
	uint64_t since = ticks > k->fields.first ? ticks - k->fields.first : 0,
		 ns = (uint64_t)((double)since * dt_reader_ns_per_tick(k->reader) + 0.5);

	p = put_number(p, 5, ns / 1000000000) - 2;
	*p++ = '.';
	p = put_padded(p, 9, ns % 1000000000);
	return stpcpy(p, "  ");
}

/* Writes the time since the line before; one that is earlier (lines of several threads together)
 * has a minus sign. */
static char *put_elapsed(struct calls *k, char *p, uint64_t ticks)
{
	uint64_t before = *k->before ? *k->before : ticks;
	char *end, *at;

	*k->before = ticks;
	if (ticks >= before)
		return dt_calls_any_duration(k, p, ticks - before);
	end = dt_calls_any_duration(k, p, before - ticks);
	for (at = p; at[0] == ' ' && at[1] == ' ';)
		at++;
	*at = '-';
	return end;
}

/* Writes a time that is known when a call has ended. */
static char *put_ticks(const struct calls *k, char *p, unsigned field,
		       const struct dt_calls_line *l)
{
	const struct dt_call *c = l->call;
	uint64_t ticks, less = 0;
	char *end;

	if (!c || !l->ends || c->flags & DT_CALL_UNTIMED)
		return dt_calls_blank(p);
	ticks = dt_call_ticks(c);
	if (field == DT_FIELD_SELF)
		less = c->children;
	else if (field == DT_FIELD_CPU)
		less = c->waited;
	else if (field == DT_FIELD_WAIT)
		ticks = c->waited;
	end = dt_calls_any_duration(k, p, ticks > less ? ticks - less : 0);
	if ((field == DT_FIELD_CPU || field == DT_FIELD_WAIT) && c->flags & DT_CALL_UNSEEN &&
	    *p == ' ')
		p[strspn(p, " ") - 1] = '~';
	return end;
}

static const char *module_of(const struct calls *k, const struct dt_call *c)
{
	const struct dt_function_info *f = dt_reader_function(k->reader, c->function);
	const struct dt_module_info *m = f ? dt_reader_module(k->reader, f->module) : NULL;

	return m ? m->file : "";
}

const char *dt_calls_program(const struct calls *k, const struct dt_thread_info *t)
{
	const struct dt_process_info *p = t ? dt_reader_process(k->reader, t->pid) : NULL;
	const char *slash = p ? strrchr(p->exe, '/') : NULL;

	return slash ? slash + 1 : p ? p->exe : "";
}

static char *put_field(struct calls *k, char *p, unsigned field, const struct dt_calls_line *l)
{
	const struct dt_thread_info *t = dt_reader_thread(k->reader, l->tid);
	unsigned width = column[field].width;
	bool timed = l->ticks != UINT64_MAX;

	switch (field) {
	case DT_FIELD_TIME:
		return timed ? put_time(k, p, l->ticks) : dt_calls_spaces(p, width + 2);
	case DT_FIELD_SINCE:
		return timed ? put_since(k, p, l->ticks) : dt_calls_spaces(p, width + 2);
	case DT_FIELD_ELAPSED:
		return timed ? put_elapsed(k, p, l->ticks) : dt_calls_spaces(p, width + 2);
	case DT_FIELD_CORE:
		if (k->choice.span && (l->ends || !l->call))
			return put_number(p, width,
					  dt_reader_ring_core(k->reader, k->choice.span->core));
		break;
	case DT_FIELD_THREAD:
		if (l->tid != DT_NO_TID)
			return put_number(p, width, dt_reader_number(k->reader, l->tid));
		break;
	case DT_FIELD_NAME:
		return put_name(p, width, t ? t->name : "");
	case DT_FIELD_PROCESS:
		if (t)
			return put_number(p, width, dt_reader_number(k->reader, t->pid));
		break;
	case DT_FIELD_PROGRAM:
		return put_name(p, width, dt_calls_program(k, t));
	case DT_FIELD_MODULE:
		return put_name(p, width, l->call ? module_of(k, l->call) : "");
	case DT_FIELD_DEPTH:
		if (l->call)
			return put_number(p, width, l->call->depth);
		break;
	default:
		return put_ticks(k, p, field, l);
	}
	return dt_calls_spaces(p, width + 2);
}

char *dt_calls_columns(struct calls *k, char *p, const struct dt_calls_line *l)
{
	for (unsigned i = 0; i < k->fields.list.n; i++)
		p = l ? put_field(k, p, k->fields.list.field[i], l)
		      : dt_calls_spaces(p, column[k->fields.list.field[i]].width + 2u);
	return p;
}

void dt_calls_print_header(struct calls *k)
{
	struct dt_fields f = k->fields.list;
	char *line = dt_out_room(k->out, LINE), *p = line;

	if (!f.chosen) {
		f.n = 0;
		dt_fields_add(&f, DT_FIELD_DURATION);
		if (k->merge)
			dt_fields_add(&f, DT_FIELD_THREAD);
	}
	for (unsigned i = 0; i < f.n; i++) {
		const struct column *c = &column[f.field[i]];
		size_t n = strlen(c->name), before = c->left ? !i : c->width - n;

		p = dt_calls_spaces(p, c->width + 2u);
		memcpy(p - c->width - 2 + before, c->name, n);
	}
	if (p == line)
		p = dt_calls_spaces(p, 2);
	p = stpcpy(p, "call\n");
	line[0] = '#';
	dt_out_used(k->out, dt_terminal_cut(&k->terminal, line, (size_t)(p - line)));
}
