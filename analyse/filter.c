/* SPDX-License-Identifier: MIT */
/* Filters of a trace. */
#include "analyse/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/failures.h"
#include "core/signature.h"
#include "symbols/pattern.h"

#define TEXT_MAX  4096
#define TERMS	  16	   /* most conditions */
#define RANGES	  64	   /* most ranges of cores */
#define THREAD_OF 4194304u /* no thread has a higher number: PID_MAX_LIMIT */

enum what { ARGUMENT, NAMED, RESULT, VALUE, TIME, FAILED };

/* A condition: "len>9". */
struct term {
	enum what what;
	char op;	/* '=', '!', '<', '>'; FAILED: '!' wants calls that have not failed */
	unsigned index; /* ARGUMENT */
	char name[64];	/* NAMED */
	int64_t number; /* TIME: unused */
	uint64_t unsigned_number;
	bool above;  /* the number is greater than an int64_t can hold */
	double real; /* TIME: ticks */
};

/* Where the records of a function have the value of a condition. */
struct where {
	uint8_t known, place, size; /* known 1: it was looked up; place: index of the value, 0xff:
				       there is none; size in bytes */
	uint8_t second;		    /* index of its upper half; 0xff: it has 8 bytes at most */
	char letter;
};

/* What is known of a function; verdict 0: not judged yet, 1: wanted, 2: not wanted. */
struct function {
	uint8_t verdict, point;
	struct where where[TERMS];
};

/* Patterns of processes or threads: by number and by name. */
struct who {
	char *pattern[32];
	bool remove[32];
	unsigned n;
};

struct dt_filter {
	struct dt_reader *reader;
	char text[TEXT_MAX];
	double ticks_per_ns;
	struct term term[TERMS];
	unsigned terms;
	uint16_t core[RANGES][2];
	unsigned cores;
	struct who process, thread;
	struct dt_selection functions, events;
	struct function *function; /* by row */
	uint32_t known;		   /* elements of function */
	uint8_t *of_thread;	   /* by tid: verdict, as of a function */
	struct dt_failures failures;
	bool no_memory;
};

/* ---- words ---- */

static bool ticks_of(const char *text, double ticks_per_ns, double *ticks)
{
	static const struct {
		const char *name;
		double ns;
	} unit[] = {{"ns", 1}, {"us", 1e3}, {"\u00b5s", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double v = strtod(text, &end);

	if (end == text || !(v >= 0))
		return false;
	for (size_t i = 0; i < sizeof(unit) / sizeof(*unit); i++)
		if (!strcmp(end, unit[i].name)) {
			*ticks = v * unit[i].ns * ticks_per_ns;
			return true;
		}
	return false;
}

static int add_cores(struct dt_filter *f, const char *text, struct dt_error *e)
{
	const char *p = text;

	do {
		char *end;
		unsigned long low = strtoul(p, &end, 10), high = low;

		if (*p < '0' || *p > '9')
			goto wrong;
		if (*end == '-') {
			p = end + 1;
			if (*p < '0' || *p > '9')
				goto wrong;
			high = strtoul(p, &end, 10);
		}
		if ((*end && *end != ',') || high < low || high > UINT16_MAX || f->cores == RANGES)
			goto wrong;
		f->core[f->cores][0] = (uint16_t)low;
		f->core[f->cores++][1] = (uint16_t)high;
		p = *end ? end + 1 : end;
	} while (*p);
	return 0;
wrong:
	return dt_fail(e, "core:%s: numbers are wanted, as in core:0,2-4", text);
}

static int add_who(struct who *w, char *pattern, bool remove, struct dt_error *e)
{
	if (w->n == sizeof(w->pattern) / sizeof(*w->pattern))
		return dt_fail(e, "too many patterns of threads or processes: 32 at most");
	w->remove[w->n] = remove;
	w->pattern[w->n++] = pattern;
	return 0;
}

/* Returns what comes after "KEY:" in a word; NULL: the word does not begin so. */
static char *behind(char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && word[n] == ':' ? word + n + 1 : NULL;
}

static int add_number(struct term *t, const char *word, const char *text, struct dt_error *e)
{
	char *end;

	errno = 0;
	t->number = strtoll(text, &end, 0);
	t->unsigned_number = (uint64_t)t->number;
	if (errno == ERANGE && *text != '-') {
		errno = 0;
		t->unsigned_number = strtoull(text, &end, 0);
		t->number = INT64_MAX;
		t->above = true;
	}
	t->real = (double)t->number;
	if (*end == '.' || *end == 'e')
		t->real = strtod(text, &end);
	else if (t->above)
		t->real = (double)t->unsigned_number;
	if (end == text || *end || errno)
		return dt_fail(e, "%s: a number is wanted behind the %c", word, t->op);
	return 0;
}

/* Adds a condition, NAME OP NUMBER; op: where the operator is in the word. */
static int add_term(struct dt_filter *f, char *word, char *op, struct dt_error *e)
{
	struct term *t = &f->term[f->terms];
	size_t n = (size_t)(op - word);
	const char *number = op + 1;
	bool time = n == 4 && !strncmp(word, "time", 4);

	if (f->terms == TERMS)
		return dt_fail(e, "too many conditions: %d at most", TERMS);
	t->op = *op;
	if (*op == '!' && *number++ != '=')
		return dt_fail(e, "%s: !=, =, < or > is wanted", word);
	if (n >= sizeof(t->name))
		return dt_fail(e, "%s: such a name is too long", word);
	memcpy(t->name, word, n);
	f->terms++;
	if (time) {
		t->what = TIME;
		if ((t->op == '<' || t->op == '>') && ticks_of(number, f->ticks_per_ns, &t->real))
			return 0;
		return dt_fail(e, "%s: a time is wanted, as in time>10us or time<2ms", word);
	}
	t->what = NAMED;
	if (n == 4 && !strncmp(word, "arg", 3) && word[3] >= '1' && word[3] <= '9') {
		t->what = ARGUMENT;
		t->index = (unsigned)(word[3] - '1');
	} else if (!strcmp(t->name, "result")) {
		t->what = RESULT;
	} else if (!strcmp(t->name, "value")) {
		t->what = VALUE;
	}
	return add_number(t, word, number, e);
}

/* Adds the condition that a call has failed, or that it has not. */
static int add_failed(struct dt_filter *f, bool remove, struct dt_error *e)
{
	if (f->terms == TERMS)
		return dt_fail(e, "too many conditions: %d at most", TERMS);
	f->term[f->terms++] = (struct term){.what = FAILED, .op = remove ? '!' : '='};
	return 0;
}

/* Returns the operator after a name; NULL: there is none, as in "operator<". */
static char *operator_in(char *word)
{
	char *p = word;

	while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
	       *p == '_')
		p++;
	return p > word && *p && strchr("=<>!", *p) && strncmp(word, "operator", 8) != 0 ? p : NULL;
}

static int add_word(struct dt_filter *f, char *word, struct dt_error *e)
{
	bool remove = *word == '-';
	char *rest, *op;

	word += remove;
	if (!*word)
		return dt_fail(e, "-: what is to be left out stands behind it, as in -malloc");
	if ((rest = behind(word, "core")))
		return remove ? dt_fail(e, "-core: the cores that are wanted are named, as in "
					   "core:0,2-4")
			      : add_cores(f, rest, e);
	if ((rest = behind(word, "process")))
		return *rest ? add_who(&f->process, rest, remove, e)
			     : dt_fail(e, "process: a number or name is wanted behind it");
	if ((rest = behind(word, "thread")))
		return *rest ? add_who(&f->thread, rest, remove, e)
			     : dt_fail(e, "thread: a number or name is wanted behind it");
	if ((rest = behind(word, "event")))
		return dt_selection_add(&f->events, rest, remove, e);
	if ((rest = behind(word, "function")))
		return dt_selection_add(&f->functions, rest, remove, e);
	if (!strcmp(word, "failed"))
		return add_failed(f, remove, e);
	op = operator_in(word);
	if (op)
		return remove ? dt_fail(e,
					"-%s: a condition can not be taken away; say it the other "
					"way",
					word)
			      : add_term(f, word, op, e);
	return dt_selection_add(&f->functions, word, remove, e);
}

/* Cuts the text into words. */
static int parse(struct dt_filter *f, struct dt_error *e)
{
	char *p = f->text;

	for (;;) {
		char *word, *to;
		bool quoted = false;

		while (*p == ' ' || *p == '\t')
			p++;
		if (!*p)
			return 0;
		word = to = p;
		for (; *p && (quoted || (*p != ' ' && *p != '\t')); p++) {
			if (*p == '"')
				quoted = !quoted;
			else
				*to++ = *p;
		}
		if (quoted)
			return dt_fail(e, "a \" has no other");
		if (*p)
			p++;
		*to = '\0';
		if (*word && add_word(f, word, e) < 0)
			return -1;
	}
}

struct dt_filter *dt_filter_new(const char *text, struct dt_reader *r, struct dt_error *e)
{
	struct dt_filter *f = calloc(1, sizeof(*f));

	if (!f) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	f->reader = r;
	f->failures.reader = r;
	f->ticks_per_ns = 1 / dt_reader_ns_per_tick(r);
	if (strlen(text) >= sizeof(f->text)) {
		dt_fail(e, "a filter has at most %d characters", TEXT_MAX - 1);
		goto fail;
	}
	strcpy(f->text, text);
	if (parse(f, e) < 0)
		goto fail;
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
	free(f->function);
	free(f->of_thread);
	dt_failures_free(&f->failures);
	free(f);
}

bool dt_filter_failed(const struct dt_filter *f)
{
	return f->no_memory || f->failures.no_memory;
}

bool dt_filter_needs_values(const struct dt_filter *f)
{
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what != TIME)
			return true;
	return f->events.n != 0;
}

/* ---- where and by whom ---- */

static bool is_who(const struct who *w, uint32_t number, const char *const *name, unsigned names)
{
	bool wanted = w->n == 0 || w->remove[0];
	char digits[16];

	snprintf(digits, sizeof(digits), "%u", number);
	for (unsigned i = 0; i < w->n; i++) {
		bool hit = fnmatch(w->pattern[i], digits, 0) == 0;

		for (unsigned k = 0; k < names && !hit; k++)
			hit = fnmatch(w->pattern[i], name[k], 0) == 0;
		if (hit)
			wanted = !w->remove[i];
	}
	return wanted;
}

static const struct dt_process_info *process_of(const struct dt_reader *r, uint32_t pid)
{
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(r, &n);

	for (size_t i = 0; i < n; i++)
		if (p[i].pid == pid)
			return &p[i];
	return NULL;
}

static bool judge_thread(const struct dt_filter *f, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(f->reader, tid);
	const struct dt_process_info *p = process_of(f->reader, t ? t->pid : tid);
	const char *slash = p ? strrchr(p->exe, '/') : NULL;
	const char *name = t ? t->name : "", *names[] = {slash ? slash + 1
							 : p   ? p->exe
							       : name,
							 name};

	if (!is_who(&f->thread, tid, &name, 1))
		return false;
	/* in an imported trace applications are processes of one thread each */
	return is_who(&f->process, t ? t->pid : tid, names, p && *p->exe ? 1 : 2);
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
	if (!f->of_thread)
		return true;
	if (tid >= THREAD_OF)
		tid = THREAD_OF;
	if (!f->of_thread[tid])
		f->of_thread[tid] = judge_thread(f, tid) ? 1 : 2;
	return f->of_thread[tid] == 1;
}

/* ---- functions and values ---- */

static bool find_value(const char *signature, const struct term *t, struct dt_signature_value *v)
{
	if (t->what == RESULT)
		return dt_signature_result(signature, v);
	if (t->what == NAMED)
		return dt_signature_named(signature, t->name, strlen(t->name), v);
	return dt_signature_parameter(signature, t->what == VALUE ? 0 : t->index, v);
}

static void find_where(struct where *w, const char *signature, const struct term *t)
{
	struct dt_signature_value v;

	w->known = 1;
	w->place = w->second = 0xff;
	if (!find_value(signature, t, &v)) {
		/* nothing is known of the function: take what is in the register */
		if (!dt_signature_known(signature) && t->what != NAMED) {
			w->place = t->what == ARGUMENT ? (uint8_t)t->index : 0;
			w->letter = 'i';
			w->size = 8;
			w->place = w->place < 4 ? w->place : 0xff;
		}
		return;
	}
	w->letter = v.type.letter;
	w->size = v.type.size;
	if (dt_signature_single(&v, &w->place))
		return;
	/* a number of up to 16 bytes */
	if ((w->letter == 'i' || w->letter == 'u') && v.places == 2 && dt_signature_whole(&v) &&
	    v.place[0].n < 4 && v.place[1].n < 4) {
		w->place = (uint8_t)v.place[0].n;
		w->second = (uint8_t)v.place[1].n;
	}
}

static struct function *function_of(struct dt_filter *f, uint32_t row)
{
	if (row >= f->known) {
		uint32_t n = row + 1 + row / 2;
		struct function *more = realloc(f->function, n * sizeof(*more));

		if (!more) {
			f->no_memory = true;
			return NULL;
		}
		memset(more + f->known, 0, (n - f->known) * sizeof(*more));
		f->function = more;
		f->known = n;
	}
	return &f->function[row];
}

static bool compare(char op, int order)
{
	return op == '=' ? order == 0 : op == '!' ? order != 0 : op == '<' ? order < 0 : order > 0;
}

static int order_real(double v, double than)
{
	return v < than ? -1 : v > than;
}

/* Returns whether a condition is true of a number of more than 8 bytes. */
static bool is_wide_true(const struct term *t, const struct where *w, uint64_t low, uint64_t high)
{
	unsigned __int128 v = (unsigned __int128)high << 64 | low;
	__int128 than = t->above ? (__int128)t->unsigned_number : t->number;
	unsigned shift = 128 - 8u * w->size;

	if (w->letter == 'u')
		return compare(t->op, than < 0 ? 1
				      : v << shift >> shift < (unsigned __int128)than
					      ? -1
					      : v << shift >> shift > (unsigned __int128)than);
	return compare(t->op, (__int128)(v << shift) >> shift < than
				      ? -1
				      : (__int128)(v << shift) >> shift > than);
}

static bool is_true(const struct term *t, const struct where *w, uint64_t v)
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
		return compare(t->op, order_real(real, t->real));
	}
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

static bool holds(struct dt_filter *f, uint32_t row, const struct term *t, const uint64_t *value)
{
	struct function *x = function_of(f, row);
	const struct dt_function_info *info = dt_reader_function(f->reader, row);
	struct where *w;

	if (!x || !value)
		return false;
	w = &x->where[t - f->term];
	if (!w->known)
		find_where(w, info ? info->signature : "", t);
	if (w->place == 0xff)
		return false;
	return w->second == 0xff ? is_true(t, w, value[w->place])
				 : is_wide_true(t, w, value[w->place], value[w->second]);
}

static bool is_wanted(struct dt_filter *f, uint32_t row)
{
	const struct dt_function_info *info;
	const struct dt_module_info *m;
	struct function *x;

	if (!f->functions.n)
		return true;
	x = function_of(f, row);
	if (!x)
		return false;
	if (!x->verdict) {
		info = dt_reader_function(f->reader, row);
		m = info ? dt_reader_module(f->reader, info->module) : NULL;
		x->verdict = dt_selection_match(&f->functions, m ? m->called : "",
						(const char *const[]){info ? info->name : "?"}, 1)
				     ? 1
				     : 2;
	}
	return x->verdict == 1;
}

bool dt_filter_begin(struct dt_filter *f, const struct dt_call *c)
{
	if (!is_wanted(f, c->function))
		return false;
	for (unsigned i = 0; i < f->terms; i++)
		if ((f->term[i].what == ARGUMENT || f->term[i].what == NAMED) &&
		    !holds(f, c->function, &f->term[i], c->argument))
			return false;
	return true;
}

bool dt_filter_end(struct dt_filter *f, const struct dt_call *c)
{
	for (unsigned i = 0; i < f->terms; i++) {
		const struct term *t = &f->term[i];
		uint32_t error;

		if (t->what == RESULT && !holds(f, c->function, t, c->result))
			return false;
		if (t->what == FAILED &&
		    dt_failures_outcome(&f->failures, c->function, c->result, &error) !=
			    (t->op == '!' ? DT_OUTCOME_GOOD : DT_OUTCOME_FAILED))
			return false;
		/* a call whose length is not known fits no condition about it */
		if (t->what == TIME && c->flags & DT_CALL_UNKNOWN)
			return false;
	}
	return dt_filter_time(f, dt_call_ticks(c));
}

bool dt_filter_time(const struct dt_filter *f, uint64_t ticks)
{
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == TIME &&
		    !compare(f->term[i].op, order_real((double)ticks, f->term[i].real)))
			return false;
	return true;
}

/* ---- events ---- */

bool dt_filter_event(struct dt_filter *f, uint8_t kind, uint64_t body)
{
	const struct where all = {1, 0, 8, 0xff, 'u'}, argument = {1, 0, 4, 0xff, 'u'};
	const struct dt_event_row *row = kind == DT_EVENT ? dt_reader_event(f->reader, body) : NULL;
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
