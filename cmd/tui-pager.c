/* SPDX-License-Identifier: MIT */
/* devtrace tui: text that is shown in place of a view: what keys do, and source files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/tui-work.h"
#include "process/outside.h"

#define SOURCE_MOST (16u << 20) /* bytes of a source file that are read at most */
#define LINE	    4096	/* bytes of a line that are shown at most */

struct pager {
	const char *title;
	char *text; /* lines that end with a NUL; tabs stay */
	const char **line;
	size_t n, top;
	size_t marked; /* the line that is marked, from 1; 0: none */
	bool numbers;
};

static const char help[] =
	"Views\n"
	"  1 2 3 4, Tab     calls in the order of time; the graph: all calls summed up by the way to\n"
	"                   them; the table of functions; the callers and callees of one function\n"
	"  g                the callers and callees of the function in this line (in the table,\n"
	"                   also Enter)\n"
	"  o                the source of the function in this line\n"
	"  i                all of this line, however long, and where its function is\n"
	"  q                back; in the views 1 to 3 it quits. So does Ctrl-C\n"
	"Moving\n"
	"  arrows, j k, Page Up, Page Down or Space, Home or <, End or > or G\n"
	"  u, Backspace     to the caller\n"
	"  / n N            search for functions by a part of their names; next; the one before\n"
	"Folding\n"
	"  Enter            unfolds (+) and folds (-); right and left, l and h, do one of these\n"
	"  e c              unfold and fold all below; C folds all of the tree of calls\n"
	"What is shown\n"
	"  f                only calls that words mean, as -f of devtrace calls, report and graph:\n"
	"                   time>1ms thread:worker*, failed, function:read*. No words: all calls.\n"
	"                   In view 1 they are shown one by one; u or Enter shows where one was made\n"
	"  s r              sort by another column; the other way round\n"
	"\n"
	"Times of the graph and of the table are those of devtrace graph and devtrace report.\n"
	"In the tree of calls, begin is the time since the first record; a call whose time is not\n"
	"known has '-'. Where a call has made many, short ones that follow each other have one line\n"
	"together: \"950 calls, mostly leaf\" says which function most of their time was spent in,\n"
	"as well as that is known without reading them one by one. Events, points and messages are\n"
	"not in the tree: devtrace calls and devtrace view show them.\n";

/* ---- showing ---- */

static void draw(const struct tui *t, const struct pager *p)
{
	static char text[LINE + 32];
	int rows, columns;

	dt_screen_size(&rows, &columns);
	dt_screen_clear();
	dt_screen_put(0, 0, columns, p->title, DT_STYLE_REVERSE);
	for (int y = 1; y + 1 < rows && p->top + (size_t)y <= p->n; y++) {
		size_t i = p->top + (size_t)y, n = 0;

		text[0] = '\0';
		if (p->numbers)
			n = (size_t)snprintf(text, sizeof(text), "%6zu ", i);
		for (const char *s = p->line[i - 1]; *s && n + 9 < sizeof(text); s++)
			if (*s != '\t')
				text[n++] = *s;
			else
				do
					text[n++] = ' ';
				while ((n - (p->numbers ? 7 : 0)) % 8);
		text[n] = '\0';
		dt_screen_put(y, 0, columns, text,
			      i == p->marked ? DT_STYLE_REVERSE : DT_STYLE_PLAIN);
	}
	dt_screen_put(rows - 1, 0, columns, t->message[0] ? t->message : "q: back", DT_STYLE_BOLD);
	dt_screen_show();
}

static void find(struct tui *t, struct pager *p, bool forward)
{
	size_t from = p->marked ? p->marked - 1 : p->top;

	for (size_t k = 1; t->search[0] && k <= p->n; k++) {
		size_t i = (from + (forward ? k : p->n - k)) % p->n;

		if (!dt_tui_matches(t, p->line[i]))
			continue;
		p->marked = i + 1;
		p->top = i > 5 ? i - 5 : 0;
		return;
	}
	dt_tui_say(t, "'%s' is not in the text", t->search);
}

/* Shows it until a key ends that. */
static void show(struct tui *t, struct pager *p)
{
	for (;;) {
		int rows, columns, key;
		size_t page;

		dt_screen_size(&rows, &columns);
		page = rows > 3 ? (size_t)rows - 2 : 1;
		if (p->top + page > p->n)
			p->top = p->n > page ? p->n - page : 0;
		draw(t, p);
		key = dt_tui_key(t, -1);
		t->message[0] = '\0';
		switch (key) {
		case DT_KEY_GONE:
		case DT_KEY_INTERRUPT:
			t->ending = true;
			return;
		case 'q':
		case 'o':
		case '?':
		case 'i':
		case DT_KEY_ESCAPE:
			return;
		case DT_KEY_UP:
		case 'k':
			p->top -= p->top > 0;
			break;
		case DT_KEY_DOWN:
		case 'j':
			p->top++;
			break;
		case DT_KEY_PAGE_UP:
			p->top -= p->top > page ? page : p->top;
			break;
		case DT_KEY_PAGE_DOWN:
		case ' ':
			p->top += page;
			break;
		case DT_KEY_HOME:
		case '<':
			p->top = 0;
			break;
		case DT_KEY_END:
		case '>':
		case 'G':
			p->top = p->n;
			break;
		case '/':
			if (dt_tui_ask_search(t, false))
				find(t, p, true);
			break;
		case 'n':
		case 'N':
			find(t, p, key == 'n');
			break;
		}
	}
}

/* Cuts p->text, n bytes and one more for a NUL, into lines. */
static bool cut(struct pager *p, size_t n)
{
	size_t lines = 1, at = 0;

	for (size_t i = 0; i < n; i++) {
		/* a NUL would hide what comes after it */
		if (!p->text[i])
			p->text[i] = '?';
		lines += p->text[i] == '\n';
	}
	p->text[n] = '\0';
	p->line = calloc(lines, sizeof(*p->line));
	if (!p->line)
		return false;
	while (at < n) {
		char *end = memchr(p->text + at, '\n', n - at);

		p->line[p->n++] = p->text + at;
		if (!end)
			break;
		*end = '\0';
		if (end > p->text + at && end[-1] == '\r')
			end[-1] = '\0';
		at = (size_t)(end - p->text) + 1;
	}
	return true;
}

static void free_pager(struct pager *p)
{
	free(p->line);
	free(p->text);
}

void dt_tui_help(struct tui *t)
{
	struct pager p = {.title = " devtrace tui: keys", .text = strdup(help)};

	if (p.text && cut(&p, strlen(p.text)))
		show(t, &p);
	else
		dt_tui_warn(t, "out of memory");
	free_pager(&p);
}

/* Adds text in lines of at most `wide' bytes, or a little more so as not to cut a character. */
static void add_wrapped(char *to, size_t size, const char *text, size_t wide)
{
	while (*text) {
		size_t n = strnlen(text, wide);

		while (((unsigned char)text[n] & 0xc0) == 0x80)
			n++;
		dt_tui_append(to, size, "%.*s\n", (int)n, text);
		text += n;
	}
}

void dt_tui_about(struct tui *t, const struct dt_tui_row *row, uint32_t function)
{
	const struct dt_function_info *f =
		function ? dt_reader_function(t->reader, function) : NULL;
	const struct dt_module_info *m = f ? dt_reader_module(t->reader, f->module) : NULL;
	size_t size = 4 * sizeof(row->text);
	char names[160];
	struct pager p = {.title = " this line", .text = calloc(size, 1)};
	int rows, columns;

	if (!p.text) {
		dt_tui_warn(t, "out of memory");
		return;
	}
	dt_screen_size(&rows, &columns);
	add_wrapped(p.text, size, row->columns, (size_t)columns - 1);
	add_wrapped(p.text, size, row->text + strspn(row->text, " +-"), (size_t)columns - 1);
	if (f)
		dt_tui_append(p.text, size, "\nfunction  %s\naddress   0x%llx, %llu bytes\n",
			      f->name, (unsigned long long)f->address, (unsigned long long)f->size);
	if (m)
		dt_tui_append(p.text, size, "file      %s\n", m->path);
	if (f && *f->file)
		dt_tui_append(p.text, size, "source    %s:%u\n", f->file, f->line);
	if (f && dt_reader_unhooked(t->reader, function, names, sizeof(names)))
		dt_tui_append(p.text, size,
			      "its self time includes functions that were not hooked: %s\n", names);
	if (cut(&p, strlen(p.text)))
		show(t, &p);
	free_pager(&p);
}

/* ---- source files ---- */

/* Opens a source file that the trace names. The name may be anything: what is no regular file is
 * not opened, or without an effect on it. -1: errno says why. */
static int open_source(const char *path)
{
	struct stat st;
	int fd;

	if (path[0] != '/' || !dt_outside_is_source(path)) {
		errno = path[0] != '/' ? ENOENT : EACCES;
		return -1;
	}
	fd = dt_outside_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EACCES;
		return -1;
	}
	return fd;
}

/* Reads all of a file. Returns its size, or -1. */
static ssize_t read_all(int fd, char **text)
{
	size_t n = 0, room = 0;

	for (;;) {
		ssize_t got;

		if (n + 1 >= room) {
			char *more = realloc(*text, room = room ? 2 * room : 65536);

			if (!more)
				return -1;
			*text = more;
		}
		got = n < SOURCE_MOST ? read(fd, *text + n, room - n - 1) : 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -1 : (ssize_t)n;
		n += (size_t)got;
	}
}

static void show_source(struct tui *t, const char *path, uint32_t line)
{
	char title[4096];
	struct pager p = {.title = title, .numbers = true};
	int fd = open_source(path);
	ssize_t n = fd < 0 ? -1 : read_all(fd, &p.text);

	if (n < 0) {
		dt_tui_warn(t, "%s:%u: the source can not be read: %s", path, line,
			    errno == EACCES ? "no source file, or no right to read it"
					    : strerror(errno));
	} else if (!cut(&p, (size_t)n)) {
		dt_tui_warn(t, "out of memory");
	} else {
		snprintf(title, sizeof(title), " %s:%u", path, line);
		p.marked = line <= p.n ? line : 0;
		p.top = line > 5 ? line - 5 : 0;
		if (line > p.n)
			dt_tui_warn(t, "the file has only %zu lines: it is not what was traced",
				    p.n);
		else if ((size_t)n >= SOURCE_MOST)
			dt_tui_warn(t, "only the first %u MB are shown", SOURCE_MOST >> 20);
		show(t, &p);
	}
	if (fd >= 0)
		close(fd);
	free_pager(&p);
}

void dt_tui_source(struct tui *t, uint32_t function)
{
	const struct dt_function_info *info =
		function ? dt_reader_function(t->reader, function) : NULL;

	if (!info)
		dt_tui_say(t, "there is no function in this line");
	else if (!*info->file)
		dt_tui_say(
			t,
			"the trace does not say in which source file %s is: it was built without -g",
			info->name);
	else
		show_source(t, info->file, info->line);
}
