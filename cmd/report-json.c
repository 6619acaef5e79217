/* SPDX-License-Identifier: MIT */
/* A report as JSON lines: doc/json.md. */
#include "cmd/report-work.h"

#include <stdio.h>
#include <string.h>

#include "cmd/object.h"

static void print_function(const struct report *o, uint32_t function)
{
	const struct dt_function_info *info = dt_reader_function(o->reader, function);
	const struct dt_module_info *m = info ? dt_reader_module(o->reader, info->module) : NULL;

	dt_object_text("function", info ? info->name : "?");
	dt_object_text("module", m ? m->path : "");
	dt_object_text("file", info ? info->file : "");
	dt_object_number("line", info ? info->line : 0);
}

/* Prints what a group has at a key. */
static void print_part(const struct report *o, uint32_t part, enum dt_group_key key)
{
	const struct dt_function_info *f;
	const struct dt_thread_info *t;
	const struct dt_process_info *p;
	const struct dt_module_info *m;

	switch (key) {
	case DT_GROUP_FUNCTION:
		print_function(o, part);
		break;
	case DT_GROUP_CALLER:
		f = part ? dt_reader_function(o->reader, part) : NULL;
		dt_object_text("caller", f ? f->name : NULL);
		break;
	case DT_GROUP_THREAD:
		t = dt_reader_thread(o->reader, part);
		dt_object_number("thread", dt_reader_number(o->reader, part));
		dt_object_text("thread_name", t ? t->name : "");
		break;
	case DT_GROUP_PROCESS:
		p = dt_reader_process(o->reader, part);
		dt_object_number("process", dt_reader_number(o->reader, part));
		dt_object_text("program", p ? p->exe : "");
		break;
	case DT_GROUP_MODULE:
		m = dt_reader_module(o->reader, part);
		dt_object_text("module", m ? m->path : "");
		break;
	default:
		dt_object_text("host", !o->hosts.n ? dt_reader_meta(o->reader, "host")
				       : part && part <= o->hosts.n ? o->hosts.host[part - 1].name
								    : NULL);
	}
}

static void print_group(const struct report *o, uint32_t group)
{
	bool function = false;

	dt_object_bool("others", group >= DT_GROUPS_MOST);
	for (unsigned i = 0; i < o->groups.keys && group < DT_GROUPS_MOST; i++)
		function |= o->groups.key[i] == DT_GROUP_FUNCTION;
	for (unsigned i = 0; i < o->groups.keys && group < DT_GROUPS_MOST; i++) {
		enum dt_group_key key = (enum dt_group_key)o->groups.key[i];

		/* a function's module is said with it */
		if (key != DT_GROUP_MODULE || !function)
			print_part(o, o->groups.group[group].part[key], key);
	}
}

static void print_counts(const struct dt_function_stats *f)
{
	dt_object_number("calls", f->calls);
	dt_object_number("timed", f->timed);
	dt_object_number("unwound", f->unwound);
	dt_object_number("tail", f->tail);
	dt_object_number("unfinished", f->open);
	dt_object_number("entries_only", f->no_exit);
	dt_object_number("exits_without_entry", f->no_entry);
	dt_object_number("with_losses", f->loss);
	dt_object_number("over_a_pause", f->paused);
	dt_object_number("backward", f->backward);
}

static void print_times(const struct report *o, const struct dt_function_stats *f, uint64_t total,
			uint64_t self)
{
	static const struct {
		const char *name;
		double share;
	} quantile[] = {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}};
	double ns = dt_reader_ns_per_tick(o->reader);

	dt_object_ns("total", (double)total * ns);
	dt_object_ns("self", (double)self * ns);
	dt_object_ns("avg", (double)f->sum / (double)f->timed * ns);
	dt_object_ns("stddev", dt_stats_deviation(f) * ns);
	dt_object_ns("min", (double)f->min * ns);
	for (size_t i = 0; i < sizeof(quantile) / sizeof(*quantile); i++)
		dt_object_ns(quantile[i].name,
			     (double)dt_stats_quantile(f, quantile[i].share) * ns);
	dt_object_ns("max", (double)f->max * ns);
}

/* What is not in the other fields, because of a budget. */
static void print_missed(const struct report *o, uint32_t function)
{
	struct dt_missed_sum m = dt_report_missed(o, function);

	if (!m.times)
		return;
	dt_object_ns("off", (double)m.ticks * dt_reader_ns_per_tick(o->reader));
	dt_object_number("off_times", m.times);
	dt_object_number("off_calls_estimated", m.calls);
}

static void print_row(const struct report *o, const struct dt_function_stats *f)
{
	double ns = dt_reader_ns_per_tick(o->reader);

	dt_object_begin(o->groups.keys ? "group" : "function");
	if (o->groups.keys)
		print_group(o, f->function);
	else
		print_function(o, f->function);
	print_counts(f);
	print_missed(o, f->function);
	if (f->timed)
		print_times(o, f, f->total, f->self);
	if (o->failed)
		dt_reasons_json(&o->reasons, f->function);
	if (f->timed && o->waits) {
		dt_object_ns("cpu", (double)dt_stats_value(f, DT_STATS_CPU) * ns);
		dt_object_ns("wait", (double)f->waited * ns);
		dt_object_ns("self_wait", (double)f->waited_self * ns);
		dt_object_ns("preempted", (double)f->preempted * ns);
	}
	dt_object_end();
}

void dt_report_print_json(const struct report *o, const struct dt_stats_row *row, size_t n)
{
	const struct dt_function_stats *f = dt_report_held(o);

	for (size_t i = 0; i < n && (!o->rows || i < o->rows); i++)
		print_row(o, row[i].s);
	if (!f)
		return;
	dt_object_begin("held");
	dt_object_number("calls", f->calls);
	dt_object_number("timed", f->timed);
	print_times(o, f, f->sum, f->sum);
	dt_object_end();
}
