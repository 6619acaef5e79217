/* SPDX-License-Identifier: MIT */
/* Filters: what their conditions ask about. */
#include "filter/filter-work.h"

#define EXACT 9007199254740992.0 /* 2^53: up to here a double has all whole numbers */

/* Notes what a condition on times wants, as bounds if it can be said by these. */
static void note_time(struct dt_filter *f, const struct term *t)
{
	const bool less = t->op == '<';
	uint64_t whole;

	f->asks_times = true;
	if ((!less && t->op != '>') || !(t->real >= 1 && t->real < EXACT)) {
		f->other_times = true;
		return;
	}
	whole = (uint64_t)t->real;
	if (!less && whole + 1 > f->least)
		f->least = whole + 1;
	if (less && (double)whole == t->real)
		whole--;
	if (less && whole < f->most)
		f->most = whole;
}

void dt_filter_note(struct dt_filter *f, const struct term *t)
{
	f->judges |= t->what == CODE;
	f->asks_texts |= t->what == TEXT;
	f->asks_depth |= t->what == DEPTH;
	f->asks_values |= t->what == ARGUMENT || t->what == NAMED || t->what == TEXT;
	f->asks_results |= t->what == RESULT || t->what == FAILED || t->what == ERROR;
	if (t->what == TIME)
		note_time(f, t);
}

bool dt_filter_needs_values(const struct dt_filter *f)
{
	for (unsigned i = 0; i < f->terms; i++)
		if ((f->term[i].what <= ERROR && f->term[i].what != TIME) ||
		    f->term[i].what == TEXT)
			return true;
	return f->events.n != 0;
}

bool dt_filter_wants_failures(const struct dt_filter *f)
{
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == ERROR || (f->term[i].what == FAILED && f->term[i].op != '!'))
			return true;
	return false;
}

bool dt_filter_text(const struct dt_filter *f, unsigned i, const char **name, const char **pattern)
{
	for (unsigned k = 0; k < f->terms; k++)
		if (f->term[k].what == TEXT && i-- == 0) {
			*name = f->term[k].name;
			*pattern = f->term[k].pattern;
			return true;
		}
	return false;
}

bool dt_filter_text_named(const struct dt_filter *f, unsigned i)
{
	for (unsigned k = 0; k < f->terms; k++)
		if (f->term[k].what == TEXT && i-- == 0)
			return f->met_names >> k & 1;
	return false;
}

bool dt_filter_no_name(const struct dt_filter *f, const char **name, const char **pattern)
{
	for (unsigned k = 0; k < f->terms; k++)
		if ((f->met_names & ~f->met_named) >> k & 1) {
			*name = f->term[k].name;
			*pattern = f->term[k].pattern;
			return true;
		}
	return false;
}

const char *dt_filter_beyond_calls(const struct dt_filter *f)
{
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == VALUE)
			return "value";
	return f->cores	      ? "core:"
	       : f->process.n ? "process:"
	       : f->thread.n  ? "thread:"
	       : f->events.n  ? "event:"
			      : NULL;
}

const char *dt_filter_beyond_missing(const struct dt_filter *f)
{
	return f->asks_depth ? "depth" : f->caller.n ? "caller:" : NULL;
}

const char *dt_filter_beyond_recording(const struct dt_filter *f)
{
	for (unsigned i = 0; i < f->terms; i++)
		if (f->term[i].what == VALUE)
			return "value";
	return f->events.n ? "event:" : NULL;
}

bool dt_filter_looks_at_depth(const struct dt_filter *f)
{
	return f->asks_depth;
}

bool dt_filter_looks_at_end(const struct dt_filter *f)
{
	return f->asks_times || f->asks_results || f->asks_texts;
}

double dt_filter_least(const struct dt_filter *f)
{
	double least = 0;

	for (unsigned i = 0; i < f->terms; i++) {
		const struct term *t = &f->term[i];

		if ((t->what == TIME && t->op != '>') || t->what == RESULT || t->what == FAILED ||
		    t->what == ERROR || t->what == TEXT)
			return 0;
		if (t->what == TIME && t->real > least)
			least = t->real;
	}
	return least;
}
