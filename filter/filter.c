/* SPDX-License-Identifier: MIT */
/* Filters: which calls, events and times are wanted. */
#include "filter/filter-work.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"

struct dt_filter *dt_filter_new(const char *text, const struct dt_meanings *meanings,
				struct dt_error *e)
{
	struct dt_filter *f = calloc(1, sizeof(*f));

	if (!f) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	f->meanings = f->failures.meanings = *meanings;
	f->ticks_per_ns = 1 / meanings->ns_per_tick;
	if (strlen(text) >= sizeof(f->text)) {
		dt_fail(e, "a filter has at most %d characters", TEXT_MAX - 1);
		goto fail;
	}
	strcpy(f->text, text);
	if (dt_filter_parse(f, e) < 0)
		goto fail;
	f->judges = f->functions.n || f->file.n;
	f->most = UINT64_MAX;
	for (unsigned i = 0; i < f->terms; i++)
		dt_filter_note(f, &f->term[i]);
	if (f->process.n || f->thread.n) {
		f->of_thread = calloc(THREAD_OF + 1, 1);
		if (!f->of_thread) {
			dt_fail(e, "out of memory");
			goto fail;
		}
	}
	return f;
fail:
	dt_filter_free(f);
	return NULL;
}

void dt_filter_free(struct dt_filter *f)
{
	if (!f)
		return;
	dt_selection_clear(&f->functions);
	dt_selection_clear(&f->events);
	dt_selection_clear(&f->inside);
	dt_selection_clear(&f->outside);
	dt_selection_clear(&f->caller);
	dt_selection_clear(&f->requests);
	free(f->function);
	free(f->of_thread);
	dt_failures_free(&f->failures);
	if (f->texts.free)
		f->texts.free(f->texts.ctx);
	free(f);
}

bool dt_filter_failed(const struct dt_filter *f)
{
	return f->no_memory || f->failures.no_memory;
}

/* ---- texts ---- */

void dt_filter_set_texts(struct dt_filter *f, const struct dt_filter_texts *texts)
{
	if (f->texts.free)
		f->texts.free(f->texts.ctx);
	f->texts = *texts;
}

const struct dt_filter_texts *dt_filter_texts_of(const struct dt_filter *f)
{
	return &f->texts;
}

/* ---- where and by whom ---- */

static bool is_who(const struct who *w, const char *const *name, unsigned names)
{
	bool wanted = w->n == 0 || w->remove[0];

	for (unsigned i = 0; i < w->n; i++) {
		bool hit = false;

		for (unsigned k = 0; k < names && !hit; k++)
			hit = fnmatch(w->pattern[i], name[k], 0) == 0;
		if (hit)
			wanted = !w->remove[i];
	}
	return wanted;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool judge_thread(const struct dt_filter *f, uint32_t tid)
{
	struct dt_meanings_thread t;
	char number[16], process[16];
	bool named;

	f->meanings.thread(f->meanings.ctx, tid, &t);
	named = t.exe && *t.exe;
	snprintf(number, sizeof(number), "%u", t.number);
	snprintf(process, sizeof(process), "%u", t.pid);
	if (!is_who(&f->thread, (const char *const[]){number, t.name}, 2))
		return false;
	/* in an imported trace applications are processes of one thread each */
	return is_who(&f->process,
		      (const char *const[]){process, named ? base_of(t.exe) : t.name, t.name},
		      named ? 2 : 3);
}

bool dt_filter_place(struct dt_filter *f, uint16_t core, uint32_t tid)
{
	if (f->cores) {
		bool in = false;

		for (unsigned i = 0; i < f->cores; i++)
			in |= core >= f->core[i][0] && core <= f->core[i][1];
		if (!in)
			return false;
	}
	return dt_filter_thread(f, tid);
}

bool dt_filter_anywhere(const struct dt_filter *f)
{
	return !f->cores && !f->of_thread;
}

bool dt_filter_thread(struct dt_filter *f, uint32_t tid)
{
	uint8_t *at;

	if (!f->of_thread)
		return true;
	if (tid >= THREAD_OF && tid != f->beyond) {
		f->of_thread[THREAD_OF] = 0;
		f->beyond = tid;
	}
	at = &f->of_thread[tid < THREAD_OF ? tid : THREAD_OF];
	if (!*at)
		*at = judge_thread(f, tid) ? 1 : 2;
	return *at == 1;
}

/* ---- functions and values ---- */

static void find_where(struct dt_call_operand_place *w, const char *signature, const struct term *t)
{
	struct dt_call_operand o = {.what = t->what == NAMED || t->what == TEXT ? DT_OPERAND_NAMED
					    : t->what == RESULT			? DT_OPERAND_RESULT
								: DT_OPERAND_ARGUMENT,
				    .index = t->what == ARGUMENT ? t->index : 0,
				    .name = t->name};

	dt_operand_find(w, signature, &o);
}

/* Makes room for a function. Returns it; NULL: out of memory. */
static __attribute__((noinline)) struct function *new_function(struct dt_filter *f, uint32_t row)
{
	uint32_t n = row + 1 + row / 2;
	struct function *more = realloc(f->function, n * sizeof(*more));

	if (!more) {
		f->no_memory = true;
		return NULL;
	}
	memset(more + f->known, 0, (n - f->known) * sizeof(*more));
	f->function = more;
	f->known = n;
	return &f->function[row];
}

static inline struct function *function_of(struct dt_filter *f, uint32_t row)
{
	return row < f->known ? &f->function[row] : new_function(f, row);
}

static bool compare(char op, int order)
{
	return op == '=' ? order == 0 : op == '!' ? order != 0 : op == '<' ? order < 0 : order > 0;
}

static int order_real(double v, double than)
{
	return v < than ? -1 : v > than;
}

#define TWO_127 170141183460469231731687303715884105728.0 /* exactly */

/* Returns whether a condition is true of a number of more than 8 bytes. Both are compared by their
 * signs, then as numbers of 128 bits without one. */
static bool is_wide_true(const struct term *t, const struct dt_call_operand_place *w, uint64_t low,
			 uint64_t high)
{
	unsigned __int128 v = (unsigned __int128)high << 64 | low, than;
	unsigned shift = 128 - 8u * w->size;
	bool negative, below;

	if (t->fraction && (t->op == '=' || t->op == '!'))
		return compare(t->op, 1);
	if (t->real >= TWO_127 * 2 || t->real < -TWO_127)
		return compare(t->op, t->real > 0 ? -1 : 1);
	v <<= shift;
	negative = w->letter != 'u' && (__int128)v < 0;
	v = negative ? (unsigned __int128)((__int128)v >> shift) : v >> shift;
	if (t->beyond) { /* a whole number: a double has no fraction of such a size */
		below = t->real < 0;
		than = below ? -(unsigned __int128)-t->real : (unsigned __int128)t->real;
	} else {
		below = !t->above && t->number < 0;
		than = t->above ? t->unsigned_number : (unsigned __int128)t->number;
	}
	return compare(t->op, negative != below ? (negative ? -1 : 1) : v < than ? -1 : v > than);
}

static bool is_true(const struct term *t, const struct dt_call_operand_place *w, uint64_t v)
{
	unsigned shift = 64 - 8u * w->size;
	int64_t s;

	if (w->letter == 'f') {
		double real;
		float single;
		uint32_t low = (uint32_t)v;

		if (w->size == 4) {
			memcpy(&single, &low, sizeof(single));
			real = (double)single;
		} else {
			memcpy(&real, &v, sizeof(real));
		}
		/* what is no number is not equal to one, and neither less nor greater */
		return real == real ? compare(t->op, order_real(real, t->real)) : t->op == '!';
	}
	if (t->beyond || (t->fraction && (t->op == '=' || t->op == '!')))
		return compare(t->op, t->beyond > 0 ? -1 : 1);
	v = v << shift >> shift;
	if (w->letter == 'i' || w->letter == 'c' || w->letter == 'e') {
		s = (int64_t)(v << shift) >> shift;
		/* for a value without a type, an address or all ones may be meant */
		if (w->size == 8 && (t->op == '=' || t->op == '!') && t->above)
			return compare(t->op, (uint64_t)s != t->unsigned_number);
		return compare(t->op, t->above ? -1 : s < t->number ? -1 : s > t->number);
	}
	if (!t->above && t->number < 0)
		return compare(t->op, 1);
	return compare(t->op, v < t->unsigned_number ? -1 : v > t->unsigned_number);
}

const struct dt_call_operand_place *dt_filter_where(struct dt_filter *f, uint32_t row,
						    const struct term *t)
{
	struct function *x = function_of(f, row);
	const struct dt_function_info *info;
	struct dt_call_operand_place *w;

	if (!x)
		return NULL;
	w = &x->where[t - f->term];
	if (!w->known) {
		info = f->meanings.function(f->meanings.ctx, row);
		find_where(w, info ? info->signature : "", t);
	}
	return w;
}

/* As dt_filter_where(), without a call where it is known. */
static inline const struct dt_call_operand_place *where(struct dt_filter *f, uint32_t row,
							const struct term *t)
{
	const struct dt_call_operand_place *w =
		row < f->known ? &f->function[row].where[t - f->term] : NULL;

	return w && w->known ? w : dt_filter_where(f, row, t);
}

/* Returns the description of the names that a condition's value has; NULL: it has none. */
static const char *names_of(const struct dt_filter *f, const struct dt_call_operand_place *w)
{
	const char *described = w && w->place != 0xff && w->second == 0xff && w->row
					? f->meanings.type(f->meanings.ctx, w->row)
					: NULL;

	return dt_names_has(described) ? described : NULL;
}

/* Is a condition with a text about a number that has names, in calls of this function? */
static bool is_named(struct dt_filter *f, uint32_t row, const struct term *t)
{
	return names_of(f, dt_filter_where(f, row, t)) != NULL;
}

/* Returns whether a condition with a text is true of a number that may have names. */
static __attribute__((noinline)) bool is_name(struct dt_filter *f, const struct term *t,
					      const struct dt_call_operand_place *w,
					      const uint64_t *value)
{
	const char *described = names_of(f, w);
	int are = described ? dt_names_are(described, t->pattern, value[w->place], w->size, value)
			    : -1;

	f->met_names |= (uint32_t)(described != NULL) << (t - f->term);
	f->met_named |= (uint32_t)(are >= 0) << (t - f->term);
	/* a name that the type does not have is no value's, nor its opposite */
	return are == (t->op == '=');
}

static inline bool holds(struct dt_filter *f, uint32_t row, const struct term *t,
			 const uint64_t *value)
{
	const struct dt_call_operand_place *w = where(f, row, t);

	if (!w || !value || w->place == 0xff)
		return false;
	if (t->pattern)
		return is_name(f, t, w, value);
	return w->second == 0xff ? is_true(t, w, value[w->place])
				 : is_wide_true(t, w, value[w->place], value[w->second]);
}

/* Returns whether all conditions on texts are true of a call. */
static bool are_texts(struct dt_filter *f, const struct dt_call *c)
{
	unsigned i = 0;

	for (unsigned k = 0; k < f->terms; k++) {
		int matches;

		if (f->term[k].what != TEXT)
			continue;
		matches = is_named(f, c->function, &f->term[k]) ? 2
			  : f->texts.matches ? f->texts.matches(f->texts.ctx, c, i)
					     : -1;
		i++;
		if (matches == 2) /* that has been looked at when the call began */
			continue;
		f->no_memory |= matches == -2;
		if (matches != (f->term[k].op == '='))
			return false;
	}
	return true;
}

/* Returns whether one of the patterns, of which there is at least one, matches the function. */
static bool matches(const struct dt_filter *f, struct dt_selection *patterns,
		    const struct dt_function_info *info)
{
	const char *module = info ? f->meanings.module(f->meanings.ctx, info->module) : "";

	return dt_selection_named(patterns, module, info ? info->name : "?",
				  info ? info->others : NULL);
}

/* Judges a function by all that the words say of functions. */
static bool judge_function(struct dt_filter *f, uint32_t row)
{
	const struct dt_function_info *info = f->meanings.function(f->meanings.ctx, row);
	const char *file = info ? info->file : "";

	if (f->functions.n && !matches(f, &f->functions, info))
		return false;
	if (!is_who(&f->file, (const char *const[]){file, base_of(file)}, 2))
		return false;
	for (unsigned i = 0; i < f->terms; i++)
		/* a size that is not known fits no condition about it */
		if (f->term[i].what == CODE &&
		    (!info || !info->size ||
		     !compare(f->term[i].op,
			      order_real((double)info->size, (double)f->term[i].real))))
			return false;
	return true;
}

/* Judges a function for the first time. */
static __attribute__((noinline)) bool judge_first(struct dt_filter *f, uint32_t row)
{
	struct function *x = function_of(f, row);

	if (!x)
		return false;
	x->verdict = judge_function(f, row) ? 1 : 2;
	return x->verdict == 1;
}

static inline bool is_wanted(struct dt_filter *f, uint32_t row)
{
	if (!f->judges)
		return true;
	return row < f->known && f->function[row].verdict ? f->function[row].verdict == 1
							  : judge_first(f, row);
}

bool dt_filter_function(struct dt_filter *f, uint32_t function)
{
	return is_wanted(f, function);
}

bool dt_filter_has_requests(const struct dt_filter *f)
{
	return f->requests.n;
}

bool dt_filter_is_request(struct dt_filter *f, uint32_t function)
{
	struct function *x = f->requests.n ? function_of(f, function) : NULL;

	if (!x)
		return false;
	if (!x->request)
		x->request =
			matches(f, &f->requests, f->meanings.function(f->meanings.ctx, function))
				? 1
				: 2;
	return x->request == 1;
}

uint32_t dt_filter_nobody(const struct dt_filter *f)
{
	return !f->caller.n || dt_selection_rest(&f->caller) ? DT_AROUND_CALLER : 0;
}

uint32_t dt_filter_around(struct dt_filter *f, uint32_t caller, uint32_t function)
{
	const struct dt_function_info *info;
	struct function *x;

	if (!f->looks_around)
		return DT_AROUND_CALLER;
	x = function_of(f, function);
	if (!x)
		return 0;
	if (!x->around_known) {
		info = f->meanings.function(f->meanings.ctx, function);
		x->around =
			(uint8_t)((f->inside.n && matches(f, &f->inside, info) ? DT_AROUND_IN : 0) |
				  (f->outside.n && matches(f, &f->outside, info) ? DT_AROUND_OUT
										 : 0) |
				  (!f->caller.n || matches(f, &f->caller, info) ? DT_AROUND_CALLER
										: 0));
		x->around_known = true;
	}
	return x->around | (caller & (DT_AROUND_IN | DT_AROUND_OUT));
}

/* Returns whether the calls around a call are as they are wanted. */
static bool is_around(struct dt_filter *f, uint32_t caller, uint32_t function)
{
	uint32_t own;

	if (!f->looks_around)
		return true;
	own = dt_filter_around(f, caller, function);
	return (!f->inside.n || own & DT_AROUND_IN) && !(own & DT_AROUND_OUT) &&
	       (!f->caller.n || caller & DT_AROUND_CALLER);
}

bool dt_filter_here(struct dt_filter *f, uint32_t function, uint32_t caller, uint32_t depth)
{
	if (!is_wanted(f, function) || !is_around(f, caller, function))
		return false;
	for (unsigned i = 0; f->asks_depth && i < f->terms; i++)
		if (f->term[i].what == DEPTH &&
		    !compare(f->term[i].op, order_real(depth + 1.0, f->term[i].real)))
			return false;
	return true;
}

bool dt_filter_arguments(struct dt_filter *f, uint32_t function, const uint64_t *argument)
{
	if (!f->asks_values)
		return true;
	for (unsigned i = 0; i < f->terms; i++) {
		const struct term *t = &f->term[i];

		if ((t->what == ARGUMENT || t->what == NAMED ||
		     (t->what == TEXT && is_named(f, function, t))) &&
		    !holds(f, function, t, argument))
			return false;
	}
	return true;
}

bool dt_filter_begin(struct dt_filter *f, const struct dt_call *c, uint32_t caller)
{
	return dt_filter_here(f, c->function, caller, c->depth) &&
	       dt_filter_arguments(f, c->function, c->argument);
}

bool dt_filter_names(const struct dt_filter *f)
{
	bool file = false;

	for (unsigned i = 0; i < f->file.n; i++)
		file |= !f->file.remove[i];
	return file || (f->functions.n && !dt_selection_rest(&f->functions));
}

bool dt_filter_is_named(struct dt_filter *f, uint32_t function)
{
	return is_wanted(f, function) ||
	       (f->looks_around &&
		dt_filter_around(f, 0, function) & (DT_AROUND_IN | DT_AROUND_OUT));
}

void dt_filter_forget(struct dt_filter *f, uint32_t tid)
{
	if (f->of_thread)
		f->of_thread[tid < THREAD_OF ? tid : THREAD_OF] = 0;
}

/* Returns whether a call failed for the reason of a condition, or for another one that is known. */
static bool is_error(struct dt_filter *f, const struct term *t, uint32_t function,
		     const uint64_t *result)
{
	uint32_t error;

	return dt_failures_outcome(&f->failures, function, result, &error) == DT_OUTCOME_FAILED &&
	       error && (error == t->number) == (t->op == '=');
}

/* Returns whether all conditions on results are true. */
static bool are_results(struct dt_filter *f, uint32_t function, const uint64_t *result)
{
	for (unsigned i = 0; i < f->terms; i++) {
		const struct term *t = &f->term[i];
		uint32_t error;

		if (t->what == RESULT && !holds(f, function, t, result))
			return false;
		if (t->what == FAILED &&
		    dt_failures_outcome(&f->failures, function, result, &error) !=
			    (t->op == '!' ? DT_OUTCOME_GOOD : DT_OUTCOME_FAILED))
			return false;
		if (t->what == ERROR && !is_error(f, t, function, result))
			return false;
	}
	return true;
}

/* As dt_filter_time(), where that can not be said by bounds. */
static __attribute__((noinline)) bool are_times(const struct dt_filter *f, uint64_t ticks)
{
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == TIME &&
		    !compare(f->term[i].op, order_real((double)ticks, f->term[i].real)))
			return false;
	return true;
}

bool dt_filter_time(const struct dt_filter *f, uint64_t ticks)
{
	return ticks >= f->least && ticks <= f->most && (!f->other_times || are_times(f, ticks));
}

bool dt_filter_result(struct dt_filter *f, uint32_t function, const uint64_t *result,
		      uint64_t ticks)
{
	return (!f->asks_results || are_results(f, function, result)) && dt_filter_time(f, ticks);
}

bool dt_filter_end(struct dt_filter *f, const struct dt_call *c)
{
	/* a call whose length is not known fits no condition about it */
	return !(f->asks_times && c->flags & DT_CALL_UNKNOWN) &&
	       dt_filter_result(f, c->function, c->result, dt_call_ticks(c)) &&
	       (!f->asks_texts || are_texts(f, c));
}

/* ---- events ---- */

bool dt_filter_event(struct dt_filter *f, uint8_t kind, uint64_t body)
{
	const struct dt_call_operand_place all = {1, 0, 8, 0xff, 'u', 0},
					   argument = {1, 0, 4, 0xff, 'u', 0};
	const struct dt_event_row *row =
		kind == DT_EVENT ? f->meanings.event(f->meanings.ctx, body) : NULL;
	char subsystem[16], event[16];
	const char *s[2] = {"message", "message"}, *v[2] = {"received", "received"};

	if (kind == DT_EVENT) {
		snprintf(subsystem, sizeof(subsystem), "%u", (unsigned)(body >> 48));
		snprintf(event, sizeof(event), "%u", (unsigned)(body >> 32 & 0xffff));
		s[0] = row ? row->subsystem_name : subsystem;
		s[1] = subsystem;
		v[0] = row && *row->name ? row->name : event;
		v[1] = event;
	} else if (kind == DT_SEND) {
		v[0] = v[1] = "sent";
	}
	if (f->events.n && !dt_selection_event(&f->events, s, v))
		return false;
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == VALUE &&
		    !is_true(&f->term[i], kind == DT_EVENT ? &argument : &all,
			     body & 0xffffffffffffffull))
			return false;
	return true;
}

bool dt_filter_point(struct dt_filter *f, uint32_t function, uint64_t value)
{
	if (!is_wanted(f, function))
		return false;
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == VALUE &&
		    !holds(f, function, &f->term[i], (const uint64_t[4]){value}))
			return false;
	return true;
}
