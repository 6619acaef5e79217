/* SPDX-License-Identifier: MIT */
#include "cmd/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "cmd/open.h"
#include "cmd/pager.h"
#include "core/plain.h"

#define USUAL  80    /* columns, where the terminal does not say */
#define WIDEST 10000 /* columns that COLUMNS can say */

bool dt_terminal_option(struct dt_terminal *t, int option, int *status)
{
	static const char *const when[] = {"auto", "always", "never"};

	switch (option) {
	case DT_TERMINAL_COLOUR:
		for (unsigned i = 0; i < sizeof(when) / sizeof(*when); i++)
			if (!strcmp(optarg, when[i])) {
				t->when = (enum dt_terminal_when)i;
				return true;
			}
		dt_cmd_fail("--color %s: say auto, always or never", optarg);
		*status = 2;
		return true;
	case DT_TERMINAL_WIDE:
		return t->wide = true;
	case DT_TERMINAL_NO_PAGER:
		return t->no_pager = true;
	default:
		return false;
	}
}

/* Says whether TERM names a terminal that understands escape sequences. */
static bool is_able(void)
{
	const char *name = getenv("TERM");

	return name && *name && strcmp(name, "dumb") && strcmp(name, "unknown");
}

/* Says whether the name of a locale has a part that says UTF-8. */
static bool names_utf8(const char *locale)
{
	const char *set = strchr(locale, '.');

	return set && (!strncasecmp(set, ".utf-8", 6) || !strncasecmp(set, ".utf8", 5));
}

/* Says whether UTF-8 may be drawn. A locale that this machine does not have (ssh passes on the
 * names of another's) still says what the terminal shows. */
static bool ask_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	if (setlocale(LC_CTYPE, ""))
		return !strcmp(nl_langinfo(CODESET), "UTF-8");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *locale = getenv(names[i]);

		if (locale && *locale)
			return names_utf8(locale);
	}
	return false;
}

unsigned dt_terminal_columns(void)
{
	const char *said = getenv("COLUMNS");
	unsigned long n = said && *said >= '0' && *said <= '9' ? strtoul(said, NULL, 10) : 0;
	struct winsize w;

	if (n && n <= WIDEST)
		return (unsigned)n;
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : USUAL;
}

void dt_terminal_begin(struct dt_terminal *t, bool pages)
{
	const char *none = getenv("NO_COLOR");

	t->is = isatty(STDOUT_FILENO);
	t->able = t->is && is_able();
	t->utf8 = ask_utf8();
	t->colour = t->when == DT_TERMINAL_ALWAYS ||
		    (t->when == DT_TERMINAL_AUTO && t->able && !(none && *none));
	t->columns = t->is && !t->wide ? dt_terminal_columns() : 0;
	if (t->able && pages && !t->no_pager)
		dt_pager_begin();
}

/* Returns how many bytes there are at s that take no place: a sequence that changes colours. */
static size_t sequence(const char *s, size_t n)
{
	size_t i = 2;

	if (n < 3 || s[0] != '\033' || s[1] != '[')
		return 0;
	while (i < n && ((s[i] >= '0' && s[i] <= '9') || s[i] == ';'))
		i++;
	return i < n && s[i] == 'm' ? i + 1 : 0;
}

/* Returns how many bytes the character at s has, and in *columns how many columns it takes. */
static size_t character(const struct dt_terminal *t, const char *s, size_t n, unsigned *columns)
{
	uint32_t c;
	bool unseen;
	unsigned length = t->utf8 ? dt_plain_character(s, n < 4 ? n : 4, &c, &unseen) : 0;
	int wide = length > 1 ? wcwidth((wchar_t)c) : 1;

	*columns = wide < 0 ? 1 : (unsigned)wide;
	return length ? length : 1;
}

unsigned dt_terminal_width(const struct dt_terminal *t, const char *text, size_t n)
{
	unsigned width = 0, columns;

	for (size_t i = 0, length; i < n; i += length) {
		length = sequence(text + i, n - i);
		columns = 0;
		if (!length)
			length = character(t, text + i, n - i, &columns);
		width += columns;
	}
	return width;
}

/* Writes the mark of a cut line at p; returns its end. */
static char *put_mark(const struct dt_terminal *t, char *p, bool coloured, bool newline)
{
	p = stpcpy(p, t->utf8 ? "\xe2\x80\xa6" : ">");
	if (coloured)
		p = stpcpy(p, "\033[0m");
	if (newline)
		*p++ = '\n';
	return p;
}

size_t dt_terminal_cut(const struct dt_terminal *t, char *line, size_t n)
{
	bool newline = n && line[n - 1] == '\n', coloured = false, coloured_there = false;
	size_t end = n - newline, at = 0, there = 0;
	unsigned width = 0, columns;

	/* a byte takes no more than a column, so most lines need no counting */
	if (!t->columns || end <= t->columns)
		return n;
	for (size_t length; at < end; at += length) {
		length = sequence(line + at, end - at);
		columns = 0;
		if (length)
			coloured = length != 4 || line[at + 2] != '0';
		else
			length = character(t, line + at, end - at, &columns);
		/* the last place where there is room for the mark */
		if (width <= t->columns - 1) {
			there = at;
			coloured_there = coloured;
		}
		width += columns;
		if (width > t->columns)
			break;
	}
	if (width <= t->columns)
		return n;
	return (size_t)(put_mark(t, line + there, coloured_there, newline) - line);
}

size_t dt_terminal_middle(const struct dt_terminal *t, char *to, const char *text, size_t n,
			  unsigned columns)
{
	unsigned width = dt_terminal_width(t, text, n), head = columns / 2, used = 0, one;
	size_t at = 0, length, begin;
	char *p;

	if (width <= columns || !columns) {
		memcpy(to, text, columns ? n : 0);
		return columns ? n : 0;
	}
	/* the beginning, the mark in one column, and what then fits of the end */
	for (; at < n; at += length, used += one) {
		length = character(t, text + at, n - at, &one);
		if (used + one > head)
			break;
	}
	memcpy(to, text, at);
	p = put_mark(t, to + at, false, false);
	begin = at;
	for (unsigned left = width - used; begin < n && left > columns - used - 1; left -= one)
		begin += character(t, text + begin, n - begin, &one);
	memcpy(p, text + begin, n - begin);
	return (size_t)(p - to) + n - begin;
}

/* ---- standard output ---- */

#define LINE_MOST                                                                                  \
	(1u << 17) /* bytes of a line that are kept: more than the widest terminal shows */

struct cutting {
	const struct dt_terminal *terminal;
	size_t n; /* bytes of a line that has not ended */
	char line[LINE_MOST + 8];
};

static bool write_all(const char *p, size_t n)
{
	while (n) {
		ssize_t done = write(STDOUT_FILENO, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

/* Takes what stdio writes, and passes on the lines that are complete. */
static ssize_t take(void *ctx, const char *p, size_t n)
{
	struct cutting *c = ctx;

	for (size_t i = 0; i < n; i++) {
		if (c->n < LINE_MOST || p[i] == '\n')
			c->line[c->n++] = p[i];
		if (p[i] != '\n')
			continue;
		if (!write_all(c->line, dt_terminal_cut(c->terminal, c->line, c->n)))
			return 0;
		c->n = 0;
	}
	return (ssize_t)n;
}

/* Writes a last line that does not end. */
static int end(void *ctx)
{
	struct cutting *c = ctx;

	return write_all(c->line, dt_terminal_cut(c->terminal, c->line, c->n)) ? 0 : -1;
}

void dt_terminal_cut_output(struct dt_terminal *t)
{
	static struct cutting c;
	FILE *f;

	if (!t->columns)
		return;
	fflush(stdout);
	c.terminal = t;
	f = fopencookie(&c, "w", (cookie_io_functions_t){.write = take, .close = end});
	if (f)
		stdout = f;
}

void dt_terminal_listing(struct dt_terminal *t, bool table)
{
	t->wide |= !table;
	dt_terminal_begin(t, table);
	dt_terminal_cut_output(t);
}
