/* SPDX-License-Identifier: MIT */
#include "import/chrome-event.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LATEST	   ((int64_t)1 << 61) /* ns: a time, and a length */
#define LARGEST	   INT64_MAX	      /* a value of a counter */
#define OWN_HELD   "waiting for devtrace"
#define OWN_LOST   " records lost"
#define OWN_POINTS "tracepoint"

static const char *text_of(const struct dt_chrome_text *t, const char *otherwise)
{
	return t->is ? t->p : otherwise;
}

/* Of a number with an exponent, which has no more digits than a double. */
static bool ns_of_double(const char *text, int64_t *ns, bool *rounded)
{
	char *end;
	double v = strtod(text, &end) * 1000;

	if (*end || end == text || !(fabs(v) < (double)LATEST))
		return false;
	*ns = llrint(v);
	*rounded |= (double)*ns != v;
	return true;
}

bool dt_chrome_ns(const char *text, int64_t *ns, bool *rounded)
{
	const char *s = text;
	bool negative = *s == '-';
	int64_t v = 0;
	int decimals = -1; /* -1: before the point */

	for (s += negative; *s; s++) {
		if (*s == '.' && decimals < 0) {
			decimals = 0;
			continue;
		}
		if (*s < '0' || *s > '9')
			return ns_of_double(text, ns, rounded);
		if (decimals >= 3) {
			/* the fourth decimal decides */
			v += decimals == 3 && *s >= '5';
			*rounded |= *s != '0';
			decimals++;
			continue;
		}
		decimals += decimals >= 0;
		if (v > LATEST / 10)
			return false;
		v = v * 10 + (*s - '0');
	}
	for (decimals = decimals < 0 ? 0 : decimals; decimals < 3; decimals++) {
		if (v > LATEST / 10)
			return false;
		v *= 10;
	}
	*ns = negative ? -v : v;
	return s > text + negative && v <= LATEST;
}

/* Begins an item with the event's thread and time. 1: it has no time, and is left out. */
static int begin(struct dt_chrome *k, struct dt_import_item *x, enum dt_import_kind kind)
{
	const struct dt_chrome_event *v = &k->event;
	int64_t thread;
	bool rounded = false;

	*x = (struct dt_import_item){.kind = (uint8_t)kind};
	if (!v->ts.is || !dt_chrome_ns(v->ts.p, &x->ns, &rounded)) {
		k->m->left[DT_LEFT_NO_TIME]++;
		return 1;
	}
	x->end = x->ns;
	k->m->left[DT_LEFT_ROUNDED] += rounded;
	thread = dt_imported_thread(k->m, text_of(&v->pid, "0"), text_of(&v->tid, "0"), k->e);
	x->thread = (uint32_t)thread;
	return thread < 0 ? -1 : 0;
}

/* Adds an item whose name is one of a list's. */
static int add(struct dt_chrome *k, struct dt_import_item *x, struct dt_name_list *l,
	       const char *group, const char *name)
{
	int64_t number = dt_name_pair(l, group, *name ? name : "(no name)", k->e);

	x->name = (uint32_t)number;
	return number < 0 ? -1 : dt_imported_add(k->m, x, k->e);
}

static int take_call(struct dt_chrome *k)
{
	struct dt_chrome_event *v = &k->event;
	const char *name = text_of(&v->name, ""), *category = text_of(&v->category, "");
	struct dt_import_item x;
	bool rounded = false;
	int64_t length;
	int rc;

	if (!v->length.is || !dt_chrome_ns(v->length.p, &length, &rounded) || length < 0) {
		k->m->left[DT_LEFT_NO_TIME]++;
		return 0;
	}
	rc = begin(k, &x, DT_IMPORT_CALL);
	if (rc)
		return rc < 0 ? -1 : 0;
	k->m->left[DT_LEFT_ROUNDED] += rounded;
	k->m->left[DT_LEFT_ARGUMENTS] += v->arguments;
	x.end = x.ns + length;
	if (k->own && !strcmp(name, OWN_HELD) && !strcmp(category, "devtrace"))
		x.kind = DT_IMPORT_HELD;
	return add(k, &x, &k->m->functions, category, name);
}

static int take_edge(struct dt_chrome *k, enum dt_import_kind kind)
{
	struct dt_chrome_event *v = &k->event;
	struct dt_import_item x;
	int64_t number;
	int rc = begin(k, &x, kind);

	if (rc)
		return rc < 0 ? -1 : 0;
	k->m->left[DT_LEFT_ARGUMENTS] += v->arguments;
	if (kind == DT_IMPORT_BEGIN)
		return add(k, &x, &k->m->functions, text_of(&v->category, ""),
			   text_of(&v->name, ""));
	/* the name of an end, which need not be there, is only compared */
	if (v->name.is) {
		number = dt_name_pair(&k->m->functions, text_of(&v->category, ""), v->name.p, k->e);
		if (number < 0)
			return -1;
		x.name = (uint32_t)number;
		x.value = true;
	}
	return dt_imported_add(k->m, &x, k->e);
}

/* Returns the value that devtrace's own events have as text, since it may have 64 bits. */
static bool own_value(const struct dt_chrome *k, uint64_t *value)
{
	const struct dt_chrome_event *v = &k->event;
	char *end;

	if (!k->own || v->values != 1 || v->more || strcmp(v->value[0].name.p, "value") != 0 ||
	    strncmp(v->value[0].text.p, "0x", 2) != 0)
		return false;
	*value = strtoull(v->value[0].text.p, &end, 16);
	return !*end;
}

/* Makes an event of devtrace's own what it was. */
static int take_own(struct dt_chrome *k, struct dt_import_item *x, uint64_t value)
{
	const char *name = text_of(&k->event.name, "");

	x->value = value;
	if (!strcmp(name, "message sent") || !strcmp(name, "message received")) {
		x->kind = name[8] == 's' ? DT_IMPORT_SEND : DT_IMPORT_RECEIVE;
		return dt_imported_add(k->m, x, k->e);
	}
	if (k->event.category.is)
		x->value = (uint32_t)value;
	else if (!strcmp(name, "event"))
		x->kind = DT_IMPORT_BODY;
	return add(k, x, &k->m->events, text_of(&k->event.category, OWN_POINTS), name);
}

static int take_instant(struct dt_chrome *k)
{
	const char *name = text_of(&k->event.name, "");
	struct dt_import_item x;
	uint64_t value;
	int rc;

	if (k->own && strstr(name, OWN_LOST)) {
		k->m->left[DT_LEFT_LOST]++;
		return 0;
	}
	rc = begin(k, &x, DT_IMPORT_EVENT);
	if (rc)
		return rc < 0 ? -1 : 0;
	if (own_value(k, &value))
		return take_own(k, &x, value);
	k->m->left[DT_LEFT_ARGUMENTS] += k->event.arguments;
	return add(k, &x, &k->m->events, text_of(&k->event.category, ""), name);
}

/* Makes a whole number of a counter's value. */
static bool counted(struct dt_chrome *k, const char *text, uint64_t *value)
{
	char *end;
	double v = strtod(text, &end), whole = nearbyint(v);

	if (*end || end == text || !(fabs(whole) < (double)LARGEST)) {
		k->m->left[DT_LEFT_WIDE]++;
		return false;
	}
	k->m->left[DT_LEFT_FRACTIONS] += whole != v;
	if (!text[strspn(text, "-0123456789")])
		*value = v < 0 ? (uint64_t)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
	else
		*value = whole < 0 ? (uint64_t)(int64_t)whole : (uint64_t)whole;
	return true;
}

/* Makes an event of each of a counter's values: its name is that of the counter and the value. */
static int take_counter(struct dt_chrome *k)
{
	const struct dt_chrome_event *v = &k->event;
	const char *name = text_of(&v->name, "");
	struct dt_import_item x;
	int rc = begin(k, &x, DT_IMPORT_EVENT);

	if (rc)
		return rc < 0 ? -1 : 0;
	k->m->left[DT_LEFT_WIDE] += v->more;
	for (unsigned i = 0; !rc && i < v->values; i++) {
		const char *series = v->value[i].name.p;
		size_t size = strlen(name) + strlen(series) + 2;
		char *both;

		if (!counted(k, v->value[i].text.p, &x.value))
			continue;
		both = malloc(size);
		if (!both)
			return dt_fail(k->e, "out of memory");
		dt_format(both, size, *name && strcmp(name, series) != 0 ? "%s.%s" : "%.0s%s", name,
			  series);
		rc = add(k, &x, &k->m->events, text_of(&v->category, "counter"), both);
		free(both);
	}
	return rc;
}

/* A flow leads from one call to another one, as a message does. */
static int take_flow(struct dt_chrome *k, char ph)
{
	const struct dt_chrome_event *v = &k->event;
	struct dt_import_item x;
	int rc = begin(k, &x, DT_IMPORT_RECEIVE);
	int64_t group, channel;
	char number[16];

	if (rc)
		return rc < 0 ? -1 : 0;
	group = dt_name_pair(&k->flows, text_of(&v->category, ""), text_of(&v->name, ""), k->e);
	if (group < 0)
		return -1;
	dt_format(number, sizeof(number), "%u", (unsigned)group);
	channel = dt_name_pair(&k->flows, number, text_of(&v->id, ""), k->e);
	if (channel < 0)
		return -1;
	x.value = (uint64_t)channel;
	if (ph != 's' && dt_imported_add(k->m, &x, k->e))
		return -1;
	x.kind = DT_IMPORT_SEND;
	return ph != 'f' ? dt_imported_add(k->m, &x, k->e) : 0;
}

static int take_fact(struct dt_chrome *k)
{
	const struct dt_chrome_event *v = &k->event;
	const char *what = text_of(&v->name, ""), *pid = text_of(&v->pid, "0");
	int64_t thread;

	if (v->values == 1 && !strcmp(v->value[0].name.p, "name")) {
		if (!strcmp(what, "process_name"))
			return dt_imported_name_process(k->m, pid, v->value[0].text.p, k->e);
		if (!strcmp(what, "thread_name")) {
			thread = dt_imported_thread(k->m, pid, text_of(&v->tid, "0"), k->e);
			return thread < 0 ? -1
					  : dt_imported_name_thread(k->m, (uint32_t)thread,
								    v->value[0].text.p, k->e);
		}
	}
	k->m->left[DT_LEFT_METADATA]++;
	return 0;
}

int dt_chrome_take(struct dt_chrome *k)
{
	static const struct {
		char ph[9];
		enum dt_import_left left;
	} others[] = {{"bneSTpF", DT_LEFT_ASYNC},
		      {"NOD", DT_LEFT_OBJECTS},
		      {"P", DT_LEFT_SAMPLES},
		      {"vV", DT_LEFT_MEMORY},
		      {"c", DT_LEFT_CLOCKS}};
	const char *ph = text_of(&k->event.ph, "");

	if (!k->event.any)
		return 0; /* some tools end their arrays so */
	switch (strlen(ph) == 1 ? *ph : 0) {
	case 'X':
		return take_call(k);
	case 'B':
		return take_edge(k, DT_IMPORT_BEGIN);
	case 'E':
		return take_edge(k, DT_IMPORT_END);
	case 'i':
	case 'I':
	case 'R':
		return take_instant(k);
	case 'C':
		return take_counter(k);
	case 's':
	case 't':
	case 'f':
		return take_flow(k, *ph);
	case 'M':
		return take_fact(k);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strlen(ph) == 1 && strchr(others[i].ph, *ph)) {
			k->m->left[others[i].left]++;
			return 0;
		}
	k->m->left[DT_LEFT_UNKNOWN]++;
	return 0;
}
