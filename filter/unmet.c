/* SPDX-License-Identifier: MIT */
#include "filter/unmet.h"

#include <string.h>

#include "core/plain.h"
#include "core/signature.h"
#include "filter/filter-work.h"

#define LINE (DT_NEAR_TEXT + 600)

static const struct dt_function_info *function_of(const struct dt_unmet *u, uint32_t row)
{
	const struct dt_function_info *info = u->meanings->function(u->meanings->ctx, row);

	return info && info->name && *info->name ? info : NULL;
}

/* Says that nothing is called so. */
static void say(const struct dt_unmet *u, const char *what, const char *name,
		const struct dt_near *near, const char *else_say)
{
	char text[LINE], names[DT_NEAR_TEXT];

	dt_near_text(near, names);
	dt_format(text, sizeof(text), "%s '%s'%s", what, name, *names ? names : else_say);
	u->say(u->ctx, text);
}

/* Looks for a function that a pattern means; says it if there is none. */
static void look_for_function(const struct dt_unmet *u, const char *pattern)
{
	struct dt_selection one = {0};
	struct dt_near near;
	bool met = false, any = false;

	if (dt_selection_add(&one, pattern, false, NULL))
		return;
	dt_near_start(&near, pattern);
	for (uint32_t i = 1; i < u->rows && !met; i++) {
		const struct dt_function_info *info = function_of(u, i);

		if (!info)
			continue;
		any = true;
		met = dt_selection_named(&one, u->meanings->module(u->meanings->ctx, info->module),
					 info->name, info->others);
		dt_near_offer(&near, info->name);
		dt_near_offer_others(&near, info->others);
	}
	dt_selection_clear(&one);
	if (any && !met)
		say(u, "no function that was recorded is", pattern, &near, "");
}

void dt_unmet_patterns(const struct dt_unmet *u, const struct dt_selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->pattern[i].remove)
			look_for_function(u, s->pattern[i].text);
}

/* Offers the names of a function's arguments; returns whether one is that name. */
static bool has_argument(const struct dt_function_info *info, const char *name,
			 struct dt_near *near)
{
	struct dt_signature_value v;
	const char *p = info->signature;
	bool has = false;

	while (!has && dt_signature_next(&p, &v)) {
		char own[256];

		dt_format(own, sizeof(own), "%.*s", (int)v.name_length, v.name);
		if (!*own)
			continue;
		has = !strcmp(own, name);
		dt_near_offer(near, own);
	}
	return has;
}

bool dt_unmet_value(const struct dt_unmet *u, struct dt_selection *s, const char *name)
{
	struct dt_near near;
	bool met = false, any = false;

	dt_near_start(&near, name);
	for (uint32_t i = 1; i < u->rows && !met; i++) {
		const struct dt_function_info *info = function_of(u, i);
		const char *module =
			info ? u->meanings->module(u->meanings->ctx, info->module) : NULL;

		if (!info || (s->n && !dt_selection_named(s, module, info->name, info->others)))
			continue;
		any = true;
		met = has_argument(info, name, &near);
	}
	if (any && !met)
		say(u, "no function that was recorded has an argument", name, &near, "");
	return met || !any;
}

/* Looks for an argument of that name among the functions that a filter wants; f NULL: all. */
static void look_for_argument(const struct dt_unmet *u, struct dt_filter *f, const char *name,
			      bool sum)
{
	static const char *const words[] = {"count",	"time",	  "self",    "result",
					    "function", "caller", "callers", "thread",
					    "process",	"core",	  "depth",   "error"};
	struct dt_near near;
	bool met = false, any = false;

	dt_near_start(&near, name);
	for (size_t i = 0; sum && i < sizeof(words) / sizeof(*words); i++)
		dt_near_offer(&near, words[i]);
	for (uint32_t i = 1; i < u->rows && !met; i++) {
		const struct dt_function_info *info = function_of(u, i);

		if (!info || (f && !dt_filter_function(f, i)))
			continue;
		any = true;
		met = has_argument(info, name, &near);
	}
	if (any && !met)
		say(u,
		    f ? "no function that was recorded and is meant has an argument"
		      : "no function that was recorded has an argument",
		    name, &near,
		    sum ? "; sums are also by function, caller, callers, thread, process, core, depth, "
			  "result, error"
			: "");
}

void dt_unmet_filter(const struct dt_unmet *u, struct dt_filter *f)
{
	dt_unmet_patterns(u, &f->functions);
	dt_unmet_patterns(u, &f->inside);
	dt_unmet_patterns(u, &f->caller);
	dt_unmet_patterns(u, &f->requests);
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == NAMED || f->term[i].what == TEXT)
			look_for_argument(u, f, f->term[i].name, false);
}

static void look_for_term(const struct dt_unmet *u, const struct dt_sums_term *t,
			  struct dt_filter *f)
{
	if (t->what == DT_SUMS_ARGUMENT && t->index == UINT32_MAX)
		look_for_argument(u, f, t->name, true);
}

void dt_unmet_sum(const struct dt_unmet *u, const struct dt_sums_words *w, struct dt_filter *filter)
{
	look_for_term(u, &w->value, filter);
	for (unsigned i = 0; i < w->keys; i++)
		look_for_term(u, &w->key[i], filter);
	if (filter)
		dt_unmet_filter(u, filter);
}
