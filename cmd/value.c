/* SPDX-License-Identifier: MIT */
/* Finding the values to be counted. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyse/chosen.h"
#include "cmd/lines.h"
#include "cmd/one-trace.h"
#include "cmd/value.h"
#include "cmd/unmet.h"
#include "core/signature.h"
#include "core/text.h"

bool dt_value_parse(struct dt_value *v, const char *text, size_t n)
{
	*v = (struct dt_value){.name = text, .name_length = n};
	v->result = n == 6 && !memcmp(text, "result", n);
	if (n == 3 && !memcmp(text, "arg", n))
		v->argument = 1;
	if (n == 1 && text[0] >= '1' && text[0] <= '4')
		v->argument = (unsigned)(text[0] - '0');
	if (v->result || v->argument || (n && (text[0] < '0' || text[0] > '9') && text[0] != '-'))
		return true;
	dt_cmd_fail("'%.*s' is no value; say result, 1 to 4 for an argument, or a parameter's name",
		    (int)n, text);
	return false;
}

/* Finds the place of a parameter or result; false: it is not recorded, or not as one number. */
static bool place_of(const struct dt_signature_value *v, struct dt_value_place *place)
{
	if (!dt_signature_single(v, &place->index))
		return false;
	place->size = v->type.size;
	switch (v->type.letter) {
	case 'c':
	case 'i':
	case 'e':
		place->type = 'i';
		return true;
	case 'f':
		place->type = 'f';
		return place->size == 4 || place->size == 8;
	default:
		place->type = 'u';
		return true;
	}
}

bool dt_value_find(const struct dt_value *v, const char *signature, struct dt_value_place *place)
{
	struct dt_signature_value found;

	*place = (struct dt_value_place){.size = 8, .type = 'i'};
	if (!dt_signature_known(signature)) {
		place->index = v->argument ? (uint8_t)(v->argument - 1) : 0;
		return v->result || v->argument;
	}
	return (v->result     ? dt_signature_result(signature, &found)
		: v->argument ? dt_signature_parameter(signature, v->argument - 1, &found)
			      : dt_signature_named(signature, v->name, v->name_length, &found)) &&
	       found.type.letter != 'v' && place_of(&found, place);
}

struct dt_number dt_value_get(const struct dt_value_place *place, const uint64_t *value)
{
	uint64_t v = value[place->index];
	unsigned shift = 64 - 8 * (unsigned)place->size;
	double d = 0;
	float f;

	if (place->type == 'f') {
		if (place->size == 4) {
			memcpy(&f, &v, sizeof(f));
			d = (double)f;
		} else {
			memcpy(&d, &v, sizeof(d));
		}
		/* NaN counts as the lowest number: like negative ones, it is a bad value */
		if (isnan(d) || d < -0x1p63)
			return (struct dt_number){true, 1ull << 63};
		d = floor(d);
		if (d >= 0x1p64)
			return (struct dt_number){false, UINT64_MAX};
		return d < 0 ? (struct dt_number){true, (uint64_t)-d}
			     : (struct dt_number){false, (uint64_t)d};
	}
	if (place->type == 'u')
		return (struct dt_number){false, v << shift >> shift};
	v = (uint64_t)((int64_t)(v << shift) >> shift);
	return (int64_t)v < 0 ? (struct dt_number){true, -v} : (struct dt_number){false, v};
}

/* ---- trace files ---- */

/* What to do with records of a site. */
struct plan {
	bool looked, wanted; /* the plan has been made; the value is to be taken, at: */
	struct dt_value_place place;
};

struct file_pass {
	struct dt_values *v;
	struct dt_reader *reader;
	bool *shown;
	uint32_t functions; /* elements of shown[] */
	struct plan *plan;  /* by site */
	uint32_t plans;
};

static void make_plan(struct file_pass *k, const struct dt_site *site, struct plan *plan)
{
	const struct dt_function_info *f = dt_reader_function(k->reader, site->function);

	plan->looked = true;
	plan->wanted = site->kind == (k->v->value.result ? DT_EXIT : DT_ENTRY) &&
		       site->place != DT_SITE_TAIL && site->function < k->functions &&
		       k->shown[site->function] &&
		       dt_value_find(&k->v->value, f ? f->signature : "", &plan->place) &&
		       site->mask >> plan->place.index & 1;
}

/* Makes room for the plans of all sites, and shown[] anew, for all that the trace has by now. */
static int grow(struct file_pass *k)
{
	uint32_t n = dt_reader_sites(k->reader) + 1;
	struct plan *p = realloc(k->plan, n * sizeof(*p));

	if (!p)
		return -1;
	memset(p + k->plans, 0, (n - k->plans) * sizeof(*p));
	k->plan = p;
	k->plans = n;
	free(k->shown);
	k->shown = dt_cmd_shown(k->reader, &k->v->select);
	k->functions = k->shown ? dt_reader_functions(k->reader) + 1 : 0;
	return k->shown ? 0 : -1;
}

static uint32_t process_of(const struct file_pass *k, uint32_t tid, const struct dt_site *site)
{
	const struct dt_thread_info *t;

	if (site->pid)
		return site->pid;
	t = dt_reader_thread(k->reader, tid);
	return t && t->pid ? t->pid : tid;
}

static int take_span(struct file_pass *k, const struct dt_span *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct plan *plan;

		if (s->site[i] >= k->plans && grow(k))
			return -1;
		plan = &k->plan[s->site[i]];
		if (!plan->looked)
			make_plan(k, dt_reader_site(k->reader, s->site[i]), plan);
		if (plan->wanted &&
		    k->v->take(k->v->ctx,
			       process_of(k, s->tid, dt_reader_site(k->reader, s->site[i])),
			       dt_value_get(&plan->place, s->value[i])))
			return -1;
	}
	return 0;
}

/* Says so if the value is an argument that no function has; returns whether that is so. */
static bool is_unmet(struct dt_values *v, const struct dt_reader *r)
{
	return !v->durations && !v->value.result && !v->value.argument &&
	       dt_cmd_unmet_value(r, &v->select, v->value.name, v->value.name_length, v->option);
}

static int run_file(struct dt_values *v, struct dt_reader *r)
{
	struct file_pass k = {.v = v, .reader = r};
	struct dt_reader_range range = {.order = DT_BY_THREAD, .values = true};
	struct dt_error e;
	struct dt_span s;
	int rc;

	if (!dt_cmd_range(r, &v->when, &range))
		return 2;
	if (dt_cmd_unmet_patterns(r, &v->select) || is_unmet(v, r))
		return 1;
	rc = dt_reader_start(r, &range, &e);
	while (!rc && (rc = dt_reader_next(r, &s, &e)) > 0)
		rc = take_span(&k, &s) ? dt_fail(&e, "out of memory") : 0;
	free(k.plan);
	free(k.shown);
	return rc ? dt_cmd_fail("%s", e.text) : 0;
}

/* ---- calls ---- */

/* A pass over calls: for durations, and for values of those that a filter wants. */
struct call_pass {
	struct file_pass file;
	struct dt_choosing choice;
	double ns;
	uint64_t calls, taken;
	bool failed; /* out of memory */
};

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct call_pass *k = ctx;

	if (k->choice.filter)
		dt_chosen_begin(&k->choice, c);
}

/* Takes the value of a call as take_span() takes that of its record. */
static int take_value(struct call_pass *k, const struct dt_call *c)
{
	bool result = k->file.v->value.result;
	const uint64_t *value = result ? c->result : c->argument;
	uint32_t row = result ? c->exit : c->entry;
	const struct dt_site *site = row ? dt_reader_site(k->file.reader, row) : NULL;
	struct plan *plan;

	/* the result of a function that jumped to another one is that one's */
	if (!value || !site || (result && c->flags & DT_CALL_TAIL))
		return 0;
	if (row >= k->file.plans && grow(&k->file))
		return -1;
	plan = &k->file.plan[row];
	if (!plan->looked)
		make_plan(&k->file, site, plan);
	return plan->wanted ? k->file.v->take(k->file.v->ctx, process_of(&k->file, c->tid, site),
					      dt_value_get(&plan->place, value))
			    : 0;
}

static int take_duration(struct call_pass *k, const struct dt_call *c)
{
	const struct dt_site *site = dt_reader_site(k->file.reader, c->entry);
	double ns = (double)dt_call_ticks(c) * k->ns;

	if (c->flags & DT_CALL_UNTIMED)
		return 0;
	if (c->function >= k->file.functions && grow(&k->file))
		return -1;
	return k->file.shown[c->function]
		       ? k->file.v->take(k->file.v->ctx, process_of(&k->file, c->tid, site),
					 (struct dt_number){false, (uint64_t)(ns + 0.5)})
		       : 0;
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct call_pass *k = ctx;

	k->calls++;
	if (k->failed || (k->choice.filter && !dt_chosen_end(&k->choice, c)))
		return;
	k->taken++;
	k->failed = (k->file.v->durations ? take_duration(k, c) : take_value(k, c)) != 0;
}

static int run_calls(struct dt_values *v, struct dt_reader *r)
{
	struct call_pass k = {.file = {.v = v, .reader = r}, .ns = dt_reader_ns_per_tick(r)};
	const struct dt_pair_events events = {.begin = on_begin, .end = on_end, .ctx = &k};
	struct dt_reader_range range = {.order = DT_BY_THREAD,
					.values = !v->durations || v->filter};
	struct dt_error e;
	int rc;

	if (!dt_cmd_range(r, &v->when, &range) ||
	    (v->filter && !(k.choice.filter = dt_cmd_filter(r, v->filter))))
		return 2;
	if (v->filter)
		dt_cmd_unmet_filter(r, k.choice.filter);
	if (dt_cmd_unmet_patterns(r, &v->select) || is_unmet(v, r)) {
		dt_cmd_filter_free(k.choice.filter);
		return 1;
	}
	rc = dt_chosen_run(&k.choice, r, &range, &events, &e);
	if (!rc && k.failed)
		rc = dt_fail(&e, "out of memory");
	dt_cmd_filter_free(k.choice.filter);
	free(k.file.plan);
	free(k.file.shown);
	if (rc)
		return dt_cmd_fail("%s", e.text);
	if (v->filter)
		dt_cmd_say_filtered(k.taken, k.calls);
	return 0;
}

/* ---- text traces ---- */

struct text_pass {
	struct dt_values *v;
	struct dt_symbols symbols;
};

static bool selected(struct text_pass *k, const struct dt_line *line)
{
	char text[4096];
	const char *name = text;
	size_t i = 0, n = 0;

	if (!k->v->select.n)
		return true;
	if (line->function) {
		for (; i < line->function_length && n < sizeof(text) - 1; i++) {
			i += line->function[i] == '\\' && i + 1 < line->function_length;
			text[n++] = line->function[i];
		}
		text[n] = '\0';
	} else {
		size_t symbol = dt_symbols_find(&k->symbols, line->record.pc);

		name = symbol ? k->symbols.p[symbol - 1].name : "";
	}
	return dt_selection_match(&k->v->select, "", &name, 1);
}

static int take_text(void *ctx, const struct dt_line *line)
{
	struct text_pass *k = ctx;
	struct dt_value_place place;

	if (line->record.kind != (k->v->value.result ? DT_EXIT : DT_ENTRY) ||
	    !dt_value_find(&k->v->value, "", &place) || !(line->mask >> place.index & 1) ||
	    !selected(k, line))
		return 0;
	place.size = (uint8_t)(line->bits / 8);
	return k->v->take(k->v->ctx, line->record.tid, dt_value_get(&place, line->record.value));
}

static int run_text(struct dt_values *v, const char *path)
{
	struct text_pass k = {.v = v};
	bool standard = !strcmp(path, "-");
	struct dt_error e;
	FILE *f;
	int rc;

	if (v->durations) {
		dt_cmd_fail("--durations are of calls: a text trace has only records");
		return 2;
	}
	if (v->filter) {
		dt_cmd_fail("-f is of calls: a text trace has only records");
		return 2;
	}
	if (!v->value.result && !v->value.argument) {
		dt_cmd_fail("'%.*s': a text trace has no names of parameters; say 1 to 4",
			    (int)v->value.name_length, v->value.name);
		return 2;
	}
	if (v->when.from || v->when.to) {
		dt_cmd_fail("--from and --to are for trace files, not for text");
		return 2;
	}
	f = standard ? stdin : fopen(path, "re");
	if (!f)
		return dt_cmd_fail("%s: %s", path, strerror(errno));
	rc = v->symbols ? dt_symbols_read(&k.symbols, v->symbols, &e) : 0;
	if (!rc)
		rc = dt_lines_read(f, path, take_text, &k, &e);
	dt_symbols_free(&k.symbols);
	if (!standard)
		fclose(f);
	return rc ? dt_cmd_fail("%s", e.text) : 0;
}

/* ---- the commands' common part ---- */

bool dt_values_option(struct dt_values *v, int o, int *status)
{
	struct dt_error e;

	switch (o) {
	case 'F':
	case 'N':
		if (dt_selection_add(&v->select, optarg, o == 'N', &e)) {
			dt_cmd_fail("%s", e.text);
			*status = 2;
		}
		return true;
	case 'f':
		v->filter = optarg;
		return true;
	case 301:
		v->when.from = optarg;
		return true;
	case 302:
		v->when.to = optarg;
		return true;
	case 303:
		v->symbols = optarg;
		return true;
	default:
		return false;
	}
}

int dt_values_run(struct dt_values *v, int argc, char **argv, const char *command)
{
	struct dt_reader *r;
	int status;

	if (v->symbols)
		dt_needs_add(&v->needs, DT_NEED_READ, v->symbols);
	if (argc - optind == 1) {
		status = dt_cmd_one_trace_word(&argv[optind]);
		if (status)
			return status;
		dt_needs_add(&v->needs, DT_NEED_TRACE, argv[optind]);
		status = dt_cmd_confine(&v->needs);
		if (status)
			return status;
	}
	if (argc - optind == 1 && (!strcmp(argv[optind], "-") || dt_lines_is(argv[optind])))
		return run_text(v, argv[optind]);
	r = dt_cmd_open(argc, argv, command, &v->needs, &status);
	if (!r)
		return status;
	status = v->durations || v->filter ? run_calls(v, r) : run_file(v, r);
	dt_cmd_say_lost(r, status);
	dt_reader_close(r);
	return status;
}
