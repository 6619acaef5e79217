/* SPDX-License-Identifier: MIT */
/*
 * Fits a line about a call into the terminal's columns so that its result stays: the texts among
 * the arguments lose their middle, then the arguments their end, then what explains the reason and
 * the marks; the indentation and the function's name only where nothing else is left.
 */
#include "cmd/calls-work.h"

#include <stdlib.h>

#define ARGUMENTS                                                                                  \
	40	     /* columns of the arguments that are worth more than what explains a reason   \
		      */
#define TEXT_MIN  12 /* columns that a text keeps between its quotes */
#define NAME_MIN  5  /* with the parenthesis behind it */
#define NAME_MOST 16384 /* bytes; as show/format.c has it */

/* Returns the end of what is between two quotes from s, up to `end': the second quote. */
static const char *quoted_end(const char *s, const char *end)
{
	while (s < end && *s != '"')
		s += *s == '\\' && s + 1 < end ? 2 : 1;
	return s;
}

/* Returns the first quote of a text from s on, up to `end'; a character's '"' is none. */
static const char *next_quote(const char *s, const char *end)
{
	while (s < end && *s != '"')
		s += *s == '\'' && end - s > 2 && s[2] == '\'' ? 3 : 1;
	return s;
}

/* Copies arguments with their texts cut in the middle to so many columns; returns the end. */
static char *copy(const struct dt_terminal *t, char *to, const char *s, const char *end,
		  unsigned most)
{
	while (s < end) {
		const char *quote = next_quote(s, end), *close;

		quote += quote < end;
		memcpy(to, s, (size_t)(quote - s));
		to += quote - s;
		close = quoted_end(quote, end);
		to += dt_terminal_middle(t, to, quote, (size_t)(close - quote), most);
		s = close;
		if (s < end)
			*to++ = *s++;
	}
	return to;
}

/* Writes arguments in so many columns at most, at least their mark; returns the end. `to' has room
 * for all of them and 16 bytes for each quote. */
static char *fit_arguments(struct dt_terminal t, char *to, const char *s, size_t n,
			   unsigned columns)
{
	unsigned low = TEXT_MIN, high = columns > TEXT_MIN ? columns : TEXT_MIN;
	char *end;

	/* the most columns for each text with which all of it fits */
	while (low < high) {
		unsigned middle = (low + high + 1) / 2;

		end = copy(&t, to, s, s + n, middle);
		if (dt_terminal_width(&t, to, (size_t)(end - to)) <= columns)
			low = middle;
		else
			high = middle - 1;
	}
	end = copy(&t, to, s, s + n, low);
	t.columns = columns ? columns : 1;
	return to + dt_terminal_cut(&t, to, (size_t)(end - to));
}

/* What a line consists of, in columns. */
struct widths {
	unsigned before; /* up to the arguments */
	unsigned indent, name;
	unsigned arguments, result, rest;
};

static struct widths measure(const struct dt_terminal *t, const char *line, const char *end,
			     const struct dt_calls_parts *at, const char *arguments)
{
	return (struct widths){
		.before = dt_terminal_width(t, line, (size_t)(arguments - line)),
		.indent = dt_terminal_width(t, at->start, (size_t)(at->name - at->start)),
		.name = dt_terminal_width(t, at->name, (size_t)(arguments - at->name)),
		.arguments = dt_terminal_width(t, arguments, (size_t)(at->close - arguments)),
		.result = dt_terminal_width(t, at->close, (size_t)(at->must - at->close)),
		.rest = dt_terminal_width(t, at->must, (size_t)(end - at->must)),
	};
}

/* Writes what is before the arguments, without so many columns of it; returns the end. */
static char *fit_before(const struct dt_terminal *t, char *to, const char *line,
			const struct dt_calls_parts *at, const char *arguments,
			const struct widths *w, unsigned less)
{
	unsigned indent = less < w->indent ? less : w->indent, name = w->name, lead = 0;
	size_t n = (size_t)(at->name - line) - indent;

	less -= indent;
	while (lead < less && lead < n && line[lead] == ' ')
		lead++;
	less -= lead;
	n -= lead;
	memcpy(to, line + lead, n);
	if (less && name > NAME_MIN)
		name = name > NAME_MIN + less ? name - less : NAME_MIN;
	return to + n +
	       dt_terminal_middle(t, to + n, at->name, (size_t)(arguments - at->name), name);
}

size_t dt_calls_fit_long(const struct calls *k, char *line, size_t n)
{
	const struct dt_calls_parts *at = &k->at;
	const struct dt_terminal *t = &k->terminal;
	const char *end = line + n - 1; /* the newline */
	const char *name = at->call ? dt_reader_function_name(k->reader, at->function) : NULL;
	const char *arguments = at->call ? at->name + strnlen(name, NAME_MOST) + 1 : at->close;
	size_t all = n;
	char *to, *p;
	unsigned room, must;
	struct widths w;

	if (arguments > at->close || dt_terminal_width(t, line, n - 1) <= t->columns)
		return n;
	/* a text between quotes of no bytes may get a mark of 3 bytes; a name of 1 byte, too */
	to = malloc(4 * n + 64);
	if (!to)
		return dt_terminal_cut(t, line, n);
	w = measure(t, line, end, at, arguments);
	/* what is cut off behind the result has a mark */
	must = w.before + w.result + (w.rest != 0);
	room = t->columns > must ? t->columns - must : 0;
	if (room > ARGUMENTS)
		room = must + w.rest - 1 + ARGUMENTS < t->columns ? t->columns - must - w.rest + 1
								  : ARGUMENTS;
	must += w.arguments != 0;
	p = fit_before(t, to, line, at, arguments, &w, must > t->columns ? must - t->columns : 0);
	if (w.arguments)
		p = fit_arguments(*t, p, arguments, (size_t)(at->close - arguments), room);
	n = (size_t)(end + 1 - at->close);
	memcpy(p, at->close, n);
	n += (size_t)(p - to);
	n = dt_terminal_cut(t, to, n);
	/* many texts that lose 2 bytes each for a mark of 3: the line has room for 8 more */
	if (n <= all + 8)
		memcpy(line, to, n);
	else
		n = dt_terminal_cut(t, line, all);
	free(to);
	return n;
}
