/* SPDX-License-Identifier: MIT */
#include "import/chrome.h"

#include <stdlib.h>
#include <string.h>

#include "import/chrome-event.h"

/* Keeps the text of the token that was just taken. */
static int keep(struct dt_chrome *k, struct dt_chrome_text *to, const char *text)
{
	size_t n = strlen(text) + 1;

	if (n > to->size) {
		char *p = realloc(to->p, n + 32);

		if (!p)
			return dt_fail(k->e, "out of memory");
		to->p = p;
		to->size = n + 32;
	}
	memcpy(to->p, text, n);
	to->is = true;
	return 0;
}

static bool has_text(int token)
{
	return token == DT_TOKEN_STRING || token == DT_TOKEN_NUMBER;
}

static int read_arguments(struct dt_chrome *k, int token)
{
	struct dt_chrome_event *x = &k->event;
	bool first = true;

	if (token != '{') {
		x->arguments |= token != DT_TOKEN_WORD;
		return dt_json_skip(&k->json, token);
	}
	while ((token = dt_json_read_member(&k->json, &first)) > 0) {
		struct dt_chrome_value *v = &x->value[x->values];

		x->arguments = true;
		if (!has_text(token) || x->values == DT_CHROME_VALUES) {
			x->more++;
			if (dt_json_skip(&k->json, token))
				return -1;
			continue;
		}
		if (keep(k, &v->name, k->json.name) || keep(k, &v->text, k->json.text))
			return -1;
		v->number = token == DT_TOKEN_NUMBER;
		x->values++;
	}
	return token;
}

static int read_event(struct dt_chrome *k)
{
	struct dt_chrome_event *x = &k->event;
	const struct {
		const char *name;
		struct dt_chrome_text *to;
	} member[] = {{"ph", &x->ph},	{"name", &x->name}, {"cat", &x->category}, {"pid", &x->pid},
		      {"tid", &x->tid}, {"ts", &x->ts},	    {"dur", &x->length},   {"id", &x->id}};
	enum { MEMBERS = sizeof(member) / sizeof(*member) };
	bool first = true;
	int token;

	for (size_t i = 0; i < MEMBERS; i++)
		member[i].to->is = false;
	x->values = 0;
	x->more = 0;
	x->arguments = x->any = false;
	while ((token = dt_json_read_member(&k->json, &first)) > 0) {
		size_t i = 0;

		x->any = true;
		while (i < MEMBERS && strcmp(k->json.name, member[i].name) != 0)
			i++;
		if (!strcmp(k->json.name, "args")    ? read_arguments(k, token)
		    : i < MEMBERS && has_text(token) ? keep(k, member[i].to, k->json.text)
						     : dt_json_skip(&k->json, token))
			return -1;
	}
	return token < 0 ? -1 : dt_chrome_take(k);
}

/*
 * Reads events up to ']'. What many tools write is taken, as Chrome's page does: a comma before ']'
 * and, where the file is an array, no ']' at all.
 */
static int read_events(struct dt_chrome *k, bool may_end)
{
	bool comma = true;

	for (;;) {
		int token = dt_json_token(&k->json);

		if (token == ']' || (token == DT_TOKEN_END && may_end)) {
			k->m->left[DT_LEFT_OPEN_END] += token == DT_TOKEN_END;
			return 0;
		}
		if (token < 0)
			return -1;
		if (token == DT_TOKEN_END)
			return dt_json_wrong(&k->json,
					     "the file ends within traceEvents: it is cut off");
		if (token == ',' && !comma) {
			comma = true;
			continue;
		}
		if (!comma)
			return dt_json_wrong(&k->json, "this is not JSON: here must be ',' or ']'");
		comma = false;
		if (token == DT_TOKEN_WORD && !strcmp(k->json.text, "null"))
			continue;
		if (token != '{')
			return dt_json_wrong(&k->json, "here must be an event, an object");
		if (read_event(k))
			return -1;
	}
}

/* Reads what is known of the file as a whole: who wrote it. */
static int read_other(struct dt_chrome *k, int token)
{
	bool first = true;

	if (token != '{')
		return dt_json_skip(&k->json, token);
	while ((token = dt_json_read_member(&k->json, &first)) > 0) {
		if (token == DT_TOKEN_STRING && !strcmp(k->json.name, "creator"))
			k->own = !strcmp(k->json.text, "devtrace");
		if (dt_json_skip(&k->json, token))
			return -1;
	}
	return token;
}

/* Says whether a part of the file describes it, rather than to hold data. */
static bool is_description(const char *name, int token)
{
	return has_text(token) || token == DT_TOKEN_WORD || !strcmp(name, "metadata");
}

static int read_file(struct dt_chrome *k)
{
	bool first = true, found = false;
	int token;

	while ((token = dt_json_read_member(&k->json, &first)) > 0) {
		if (!strcmp(k->json.name, "traceEvents")) {
			if (token != '[')
				return dt_json_wrong(&k->json, "traceEvents must be an array");
			if (found)
				return dt_json_wrong(&k->json, "traceEvents is there twice");
			found = true;
			if (read_events(k, false))
				return -1;
			continue;
		}
		if (!strcmp(k->json.name, "otherData")) {
			if (read_other(k, token))
				return -1;
			continue;
		}
		k->m->left[DT_LEFT_SECTIONS] += !is_description(k->json.name, token);
		if (dt_json_skip(&k->json, token))
			return -1;
	}
	if (token < 0)
		return -1;
	return found ? 0
		     : dt_fail(k->e,
			       "%s: this JSON has no traceEvents: it is not of Chrome's trace format",
			       k->json.path);
}

static void free_event(struct dt_chrome_event *x)
{
	free(x->ph.p);
	free(x->name.p);
	free(x->category.p);
	free(x->pid.p);
	free(x->tid.p);
	free(x->ts.p);
	free(x->length.p);
	free(x->id.p);
	for (unsigned i = 0; i < DT_CHROME_VALUES; i++) {
		free(x->value[i].name.p);
		free(x->value[i].text.p);
	}
}

int dt_chrome_read(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e)
{
	struct dt_chrome *k = calloc(1, sizeof(*k));
	int rc = -1, token;

	if (!k)
		return dt_fail(e, "out of memory");
	k->m = m;
	k->e = e;
	dt_json_reader_init(&k->json, f, path, e);
	token = dt_json_token(&k->json);
	if (token == '[')
		rc = read_events(k, true);
	else if (token == '{')
		rc = read_file(k);
	else if (token >= 0)
		dt_json_wrong(&k->json, "a trace is an array or an object");
	if (!rc && (token = dt_json_token(&k->json)) != DT_TOKEN_END)
		rc = token < 0 ? -1 : dt_json_wrong(&k->json, "something follows the trace's end");
	dt_name_list_free(&k->flows);
	free_event(&k->event);
	dt_json_reader_free(&k->json);
	free(k);
	return rc;
}
