/* SPDX-License-Identifier: MIT */
#include "cmd/cat-json.h"

#include "cmd/json-pieces.h"
#include "core/digits.h"
#include "show/event.h"

int dt_cat_json_begin(struct dt_cat_json *k, struct dt_reader *r, struct dt_out *out,
		      struct dt_error *e)
{
	struct dt_summary sum;

	if (dt_reader_summary(r, &sum, e))
		return -1;
	k->reader = r;
	k->out = out;
	k->first = sum.min_ticks;
	k->tenths = dt_reader_ns_per_tick(r) * 10;
	k->name.fd = -1;
	return 0;
}

static char *put_at(const struct dt_cat_json *k, char *p, const char *name, uint64_t ticks,
		    bool known)
{
	return dt_json_ns(p, name, ticks > k->first ? (double)(ticks - k->first) * k->tenths : 0,
			  known);
}

static void print_loss(struct dt_cat_json *k, const struct dt_span *s)
{
	char *begin = dt_out_room(k->out, DT_JSON_PIECE), *p;
	uint16_t core = dt_reader_ring_core(k->reader, s->core);

	p = dt_json_known(begin, "{\"type\": \"loss\", \"core\": ", core, core != DT_SHARED_CORE);
	p = dt_json_decimal(p, ", \"records\": ", s->lost);
	p = dt_json_decimal(p, ", \"begin_ticks\": ", s->lost_begin);
	p = put_at(k, p, ", \"begin_ns\": ", s->lost_begin, true);
	p = dt_json_known(p, ", \"end_ticks\": ", s->lost_end, s->lost_end);
	p = put_at(k, p, ", \"end_ns\": ", s->lost_end, s->lost_end);
	dt_out_used(k->out, (size_t)(stpcpy(p, "}\n") - begin));
}

/* Writes the record's flags as words. What a bit means depends on the kind. */
static char *put_flags(char *p, const struct dt_record *r)
{
	bool point = r->kind == DT_POINT || r->kind == DT_MORE;
	const struct {
		unsigned bit;
		const char *word;
	} all[] = {{DT_FREEZE, "freeze"},
		   {DT_LATEFREEZE, "late_freeze"},
		   {DT_UNFREEZE, "unfreeze"},
		   {DT_BASE, "base"},
		   {DT_INTERRUPT, point			 ? "fault"
				  : r->kind == DT_SWITCH ? "preempted"
							 : "interrupt"}};
	const char *separator = "\"";

	p = stpcpy(p, ", \"flags\": [");
	for (size_t i = 0; r->flags & ~DT_NARGS && i < sizeof(all) / sizeof(*all); i++)
		if (r->flags & all[i].bit) {
			p = stpcpy(stpcpy(stpcpy(p, separator), all[i].word), "\"");
			separator = ", \"";
		}
	*p++ = ']';
	return p;
}

static char *put_values(char *p, const struct dt_record *r, unsigned mask)
{
	p = stpcpy(p, ", \"values\": ");
	for (unsigned i = 0; i < 4; i++)
		p = dt_json_known(p, i ? ", " : "[", r->value[i], mask >> i & 1);
	*p++ = ']';
	return p;
}

/* Writes an event's name, or null. */
static void print_event(struct dt_cat_json *k, uint64_t body)
{
	const char *name = NULL;
	size_t n = 0;

	dt_out_forget(&k->name);
	if (dt_reader_event(k->reader, body)) {
		dt_event_name(&k->name, k->reader, body);
		name = dt_out_kept(&k->name, &n);
	}
	dt_out_text(k->out, ", \"event\": ");
	if (name)
		dt_json_quote(k->out, name, n);
	else
		dt_out_text(k->out, "null");
}

static void print_record(struct dt_cat_json *k, const struct dt_span *s, uint32_t i)
{
	const struct dt_site *site = dt_reader_site(k->reader, s->site[i]);
	const struct dt_function_info *f = dt_reader_function(k->reader, site->function);
	const struct dt_module_info *m = f ? dt_reader_module(k->reader, f->module) : NULL;
	const struct dt_thread_info *t;
	struct dt_record r;
	char letter, *begin, *p;

	dt_span_record(k->reader, s, i, &r);
	t = dt_reader_thread(k->reader, r.tid);
	letter = dt_letter(r.kind);
	dt_out_text(k->out, "{\"type\": \"record\", \"kind\": ");
	dt_json_quote(k->out, &letter, 1); /* a file may have any */
	begin = dt_out_room(k->out, DT_JSON_PIECE);
	p = dt_json_decimal(begin, ", \"ticks\": ", r.ticks);
	p = put_at(k, p, ", \"at_ns\": ", r.ticks, true);
	p = dt_json_known(p, ", \"core\": ", r.core, r.core != DT_SHARED_CORE);
	p = dt_json_known(p, ", \"thread\": ", dt_reader_number(k->reader, r.tid),
			  r.tid != DT_NO_TID);
	p = dt_json_known(p, ", \"process\": ", t ? dt_reader_number(k->reader, t->pid) : 0,
			  t && t->pid);
	p = dt_json_decimal(p, ", \"pc\": ", r.pc);
	p = dt_json_decimal(p, ", \"sp\": ", r.sp);
	p = put_flags(put_values(p, &r, site->mask), &r);
	dt_out_used(k->out, (size_t)(p - begin));
	if (f && *f->name)
		dt_json_member(k->out, ", \"function\": ", f->name);
	else
		dt_out_text(k->out, ", \"function\": null");
	dt_json_member(k->out, ", \"module\": ", m ? m->path : "");
	if (r.kind == DT_EVENT)
		print_event(k, r.value[0]);
	if (dt_kind_is_about(r.kind))
		dt_json_member(k->out, ", \"thread_name\": ", t ? t->name : "");
	dt_out_bytes(k->out, "}\n", 2);
}

void dt_cat_json_span(struct dt_cat_json *k, const struct dt_span *s)
{
	if (s->lost)
		print_loss(k, s);
	for (uint32_t i = 0; i < s->n; i++)
		print_record(k, s, i);
}
