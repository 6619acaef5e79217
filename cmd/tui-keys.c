/* SPDX-License-Identifier: MIT */
/* devtrace tui: the screen as a whole, and what keys do. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/open.h"
#include "cmd/tui-work.h"
#include "filter/times.h"
#include "process/now.h"
#include "process/threads.h"

#define LEAST_ROWS    6
#define LEAST_COLUMNS 40
#define HEAD	      3		 /* lines above the rows */
#define REDRAW_NS     150000000u /* between two pictures while something is read */

static const struct dt_tui_kind *const views[DT_TUI_VIEWS] = {&dt_tui_calls, &dt_tui_graph,
							      &dt_tui_functions, &dt_tui_around};

/* ---- texts ---- */

static void put_message(struct tui *t, bool warns, const char *format, va_list ap)
{
	vsnprintf(t->message, sizeof(t->message), format, ap);
	t->warns = warns;
}

void dt_tui_say(struct tui *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_message(t, false, format, ap);
	va_end(ap);
}

void dt_tui_warn(struct tui *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	put_message(t, true, format, ap);
	va_end(ap);
}

void dt_tui_append(char *text, size_t size, const char *format, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, format);
	if (n < size)
		vsnprintf(text + n, size - n, format, ap);
	va_end(ap);
}

void dt_tui_ticks(const struct tui *t, char *text, size_t size, uint64_t ticks)
{
	char time[32];

	dt_tui_append(text, size, "%s",
		      dt_times_text(time, (double)ticks * dt_reader_ns_per_tick(t->reader)));
}

void dt_tui_indent(char *text, size_t size, unsigned level, char sign)
{
	if (level > DT_TUI_DEEPEST)
		dt_tui_append(text, size, "%*s[%u] ", 2 * DT_TUI_DEEPEST, "", level);
	else
		dt_tui_append(text, size, "%*s", 2 * (int)level, "");
	dt_tui_append(text, size, "%c ", sign);
}

bool dt_tui_matches(const struct tui *t, const char *name)
{
	return strcasestr(name, t->search) != NULL;
}

/* ---- the picture ---- */

static void put_tabs(struct tui *t, int columns)
{
	int at = 0;

	dt_screen_put(0, 0, columns, "", DT_STYLE_REVERSE);
	for (int i = 0; i < DT_TUI_VIEWS; i++) {
		char text[64];
		int n = snprintf(text, sizeof(text), " %d %s ", i + 1, views[i]->name);

		dt_screen_put(0, at, n, text, i == (int)t->view ? DT_STYLE_BOLD : DT_STYLE_REVERSE);
		at += n;
	}
	if (at + 10 < columns)
		dt_screen_put(0, at, columns - at, "  ? help  q quit", DT_STYLE_REVERSE);
}

/* Writes what is to be known of all of the trace: what it is, and what is missing in it. */
static void put_facts(struct tui *t, int columns)
{
	char text[2048] = "";
	bool warn = t->summary.lost || t->unsound[0];

	if (t->unsound[0])
		dt_tui_append(text, sizeof(text), "%s; ", t->unsound);
	if (t->summary.lost)
		dt_tui_append(text, sizeof(text), "%llu records were lost; ",
			      (unsigned long long)t->summary.lost);
	if (t->filter[0])
		dt_tui_append(text, sizeof(text), "only calls of -f %s; ", t->filter);
	if (t->view == DT_TUI_CALLS && dt_tui_built(t) < 100)
		dt_tui_append(text, sizeof(text), "%u %% read so far; ", dt_tui_built(t));
	dt_tui_append(text, sizeof(text), "%s: %llu records", t->path,
		      (unsigned long long)t->summary.records);
	if (t->helds) {
		dt_tui_append(text, sizeof(text), "; %llu waits for devtrace, in no time here:",
			      (unsigned long long)t->helds);
		dt_tui_ticks(t, text, sizeof(text), t->held);
	}
	dt_screen_put(1, 0, columns, text, warn ? DT_STYLE_WARN : DT_STYLE_PLAIN);
}

static size_t height(void)
{
	int rows, columns;

	dt_screen_size(&rows, &columns);
	return rows > HEAD + 1 ? (size_t)(rows - HEAD - 1) : 1;
}

/* Keeps the cursor among the rows, and on the screen. */
static void settle(struct tui *t)
{
	struct dt_tui_place *p = &t->place[t->view];
	size_t n = views[t->view]->rows(t), high = height();

	if (p->at >= n)
		p->at = n ? n - 1 : 0;
	if (p->at < p->top)
		p->top = p->at;
	if (p->at >= p->top + high)
		p->top = p->at - high + 1;
	if (p->top + high > n)
		p->top = n > high ? n - high : 0;
}

static void put_rows(struct tui *t, int columns)
{
	const struct dt_tui_kind *v = views[t->view];
	const struct dt_tui_place *p = &t->place[t->view];
	size_t n = v->rows(t), end = p->top + height();
	static struct dt_tui_row row;

	end = end < n ? end : n;
	t->lacks = false;
	if (v->before)
		v->before(t, p->top, end);
	for (size_t i = p->top; i < end; i++) {
		unsigned style = i == p->at ? DT_STYLE_REVERSE : DT_STYLE_PLAIN;
		int y = HEAD + (int)(i - p->top), wide;

		row.columns[0] = row.text[0] = '\0';
		row.style = DT_STYLE_PLAIN;
		v->row(t, i, &row);
		wide = (int)strlen(row.columns);
		if (wide)
			dt_screen_put(y, 0, wide, row.columns, style | row.style);
		dt_screen_put(y, wide, columns - wide, row.text, style | row.style);
	}
}

static void put_last_line(struct tui *t, int rows, int columns)
{
	char place[64] = "";
	size_t n = views[t->view]->rows(t);
	int wide;

	if (n)
		snprintf(place, sizeof(place), " %zu/%zu", t->place[t->view].at + 1, n);
	wide = (int)strlen(place) < columns / 2 ? (int)strlen(place) : 0;
	dt_screen_put(rows - 1, 0, columns - wide, t->message,
		      t->warns ? DT_STYLE_WARN : DT_STYLE_BOLD);
	if (wide)
		dt_screen_put(rows - 1, columns - wide, wide, place, DT_STYLE_DIM);
}

static void draw(struct tui *t)
{
	char head[512] = "";
	int rows, columns;

	dt_screen_size(&rows, &columns);
	dt_screen_clear();
	if (rows < LEAST_ROWS || columns < LEAST_COLUMNS) {
		dt_screen_put(0, 0, columns, "too small", DT_STYLE_BOLD);
		snprintf(head, sizeof(head), "%dx%d needed", LEAST_COLUMNS, LEAST_ROWS);
		if (rows > 1)
			dt_screen_put(1, 0, columns, head, DT_STYLE_PLAIN);
	} else {
		settle(t);
		put_tabs(t, columns);
		put_facts(t, columns);
		views[t->view]->head(t, head, sizeof(head));
		dt_screen_put(2, 0, columns, head, DT_STYLE_BOLD);
		put_rows(t, columns);
		put_last_line(t, rows, columns);
	}
	dt_screen_show();
	t->drawn = dt_now_ns();
}

/* ---- long steps ---- */

void dt_tui_begin(struct tui *t, const char *what, uint64_t total)
{
	t->doing = what;
	t->done = 0;
	t->total = total;
	t->said = dt_now_ns();
	t->stopped = false;
}

static void say_progress(struct tui *t)
{
	char text[256];
	int rows, columns;

	dt_screen_size(&rows, &columns);
	if (t->total)
		snprintf(text, sizeof(text), "%s: %u %% (Esc stops)", t->doing,
			 t->done >= t->total
				 ? 100
				 : (unsigned)(100 * (double)t->done / (double)t->total));
	else
		snprintf(text, sizeof(text), "%s (Esc stops)", t->doing);
	dt_screen_put(rows - 1, 0, columns, text, DT_STYLE_BOLD);
	dt_screen_show();
}

bool dt_tui_step(void *tui, uint64_t records)
{
	struct tui *t = tui;
	uint64_t now = dt_now_ns();
	int key;

	t->done += records;
	if (t->stopped || now - t->said < REDRAW_NS)
		return !t->stopped;
	t->said = now;
	while ((key = dt_screen_key(0)) != DT_KEY_NONE && !t->stopped) {
		t->stopped = key == DT_KEY_ESCAPE || key == DT_KEY_INTERRUPT || key == DT_KEY_GONE;
		t->ending |= key == DT_KEY_GONE;
		if (!t->stopped && t->types < sizeof(t->typed) / sizeof(*t->typed))
			t->typed[t->types++] = key;
	}
	say_progress(t);
	return !t->stopped;
}

bool dt_tui_go_on(void *tui)
{
	return dt_tui_step(tui, 0);
}

void dt_tui_end(struct tui *t)
{
	t->doing = NULL;
	if (t->stopped)
		dt_tui_say(t, "stopped");
}

int dt_tui_key(struct tui *t, int milliseconds)
{
	int key;

	if (!t->types)
		return dt_screen_key(milliseconds);
	key = t->typed[0];
	memmove(t->typed, t->typed + 1, --t->types * sizeof(*t->typed));
	return key;
}

/* ---- asking for a line ---- */

/* Edits a text in the last line. draws: the rest of the screen is the view's. False: the user does
 * not want it any more. */
static bool ask(struct tui *t, const char *what, char *text, size_t size, bool draws)
{
	char before[512], line[1024];
	int rows, columns, key;

	snprintf(before, sizeof(before), "%s", text);
	for (;;) {
		size_t n;

		if (draws)
			draw(t);
		dt_screen_size(&rows, &columns);
		snprintf(line, sizeof(line), "%s%s_", what, text);
		/* of a long line, the end is seen */
		n = strlen(line);
		dt_screen_put(rows - 1, 0, columns,
			      n > (size_t)columns ? line + n - (size_t)columns : line,
			      DT_STYLE_BOLD);
		dt_screen_show();
		key = dt_tui_key(t, -1);
		n = strlen(text);
		switch (key) {
		case DT_KEY_GONE:
			t->ending = true;
			return false;
		case DT_KEY_ENTER:
			return true;
		case DT_KEY_ESCAPE:
		case DT_KEY_INTERRUPT:
			snprintf(text, size, "%s", before);
			return false;
		case DT_KEY_BACKSPACE:
			while (n && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
				n--;
			text[n ? n - 1 : 0] = '\0';
			break;
		case 'U' - '@': /* Ctrl-U: all of the line */
			text[0] = '\0';
			break;
		case 'W' - '@': /* Ctrl-W: the last word */
			while (n && text[n - 1] == ' ')
				n--;
			while (n && text[n - 1] != ' ')
				n--;
			text[n] = '\0';
			break;
		default:
			if (key >= ' ' && key < 0x110000)
				dt_screen_append(text, size, key);
		}
	}
}

/* ---- what keys do ---- */

void dt_tui_show(struct tui *t, enum dt_tui_view view)
{
	enum dt_tui_view before = t->view;

	if (view == DT_TUI_AROUND && !t->focus) {
		dt_tui_say(t, "no function is chosen: go to one, then press g");
		return;
	}
	t->view = view;
	if (!views[view]->make(t)) {
		t->view = before;
		return;
	}
	if (view == DT_TUI_AROUND && before != DT_TUI_AROUND)
		t->before = before;
}

/* Goes to the callers and callees of a function. */
static void show_around(struct tui *t, uint32_t function)
{
	uint32_t before = t->focus;

	if (!function) {
		dt_tui_say(t, "there is no function in this line");
		return;
	}
	if (function != t->focus)
		dt_tui_around.drop(t);
	t->focus = function;
	t->place[DT_TUI_AROUND] = (struct dt_tui_place){.sort = t->place[DT_TUI_AROUND].sort};
	dt_tui_show(t, DT_TUI_AROUND);
	if (t->view != DT_TUI_AROUND)
		t->focus = before;
}

bool dt_tui_filter(struct tui *t, const char *words)
{
	struct dt_error e;
	struct dt_filter *f = *words ? dt_meanings_filter(words, t->reader, &e) : NULL;

	if (*words && !f) {
		dt_tui_warn(t, "-f: %s", e.text);
		return false;
	}
	dt_filter_free(f);
	snprintf(t->filter, sizeof(t->filter), "%s", words);
	dt_tui_drop(t);
	for (int i = 0; i < DT_TUI_VIEWS; i++)
		t->place[i].at = t->place[i].top = 0;
	return true;
}

static void ask_filter(struct tui *t)
{
	char words[512];

	snprintf(words, sizeof(words), "%s", t->filter);
	if (!ask(t, "only calls (as -f): ", words, sizeof(words), true))
		return;
	if (!dt_tui_filter(t, words + strspn(words, " ")))
		return;
	if (!views[t->view]->make(t))
		dt_tui_show(t, DT_TUI_CALLS);
}

static void find(struct tui *t, bool forward)
{
	if (!t->search[0])
		dt_tui_say(t, "nothing is searched for yet: / begins");
	else
		views[t->view]->find(t, forward);
}

bool dt_tui_ask_search(struct tui *t, bool draws)
{
	t->search[0] = '\0';
	return ask(t, "/", t->search, sizeof(t->search), draws) && t->search[0];
}

static void ask_sort(struct tui *t)
{
	const struct dt_tui_key *k = views[t->view]->keys;
	char text[512] = "sort by:";
	int key;

	for (int i = 0; k[i].name; i++)
		if (k[i].letter)
			dt_tui_append(text, sizeof(text), "  %c %s", k[i].letter, k[i].name);
	dt_tui_say(t, "%s", text);
	draw(t);
	key = dt_tui_key(t, -1);
	t->message[0] = '\0';
	for (int i = 0; k[i].name; i++)
		if (k[i].letter && k[i].letter == key) {
			t->place[t->view].sort = i;
			t->place[t->view].reversed = false;
			views[t->view]->sort(t);
			return;
		}
	dt_tui_say(t, "there is no such column");
}

static void move_to(struct tui *t, size_t at)
{
	t->place[t->view].at = at;
	settle(t);
}

/* Obeys a key that moves the cursor. False: it is none. */
static bool move(struct tui *t, int key)
{
	size_t at = t->place[t->view].at, n = views[t->view]->rows(t), page = height();

	switch (key) {
	case DT_KEY_UP:
	case 'k':
		move_to(t, at ? at - 1 : 0);
		return true;
	case DT_KEY_DOWN:
	case 'j':
		move_to(t, at + 1);
		return true;
	case DT_KEY_PAGE_UP:
		move_to(t, at > page ? at - page : 0);
		return true;
	case DT_KEY_PAGE_DOWN:
	case ' ':
		move_to(t, at + page);
		return true;
	case DT_KEY_HOME:
	case '<':
		move_to(t, 0);
		return true;
	case DT_KEY_END:
	case '>':
	case 'G':
		move_to(t, n ? n - 1 : 0);
		return true;
	default:
		return false;
	}
}

static void show_about(struct tui *t, size_t at)
{
	static struct dt_tui_row row;

	row.columns[0] = row.text[0] = '\0';
	views[t->view]->row(t, at, &row);
	dt_tui_about(t, &row, views[t->view]->function(t, at));
}

/* Moves the rows up if the cursor is so far below that what has been unfolded would not be seen. */
static void show_below(struct tui *t)
{
	struct dt_tui_place *p = &t->place[t->view];
	size_t high = height();

	if (p->at + 1 + high / 4 >= p->top + high)
		p->top = p->at > high / 2 ? p->at - high / 2 : 0;
}

/* Obeys a key that is about the row of the cursor. False: it is none. */
static bool about_row(struct tui *t, int key)
{
	const struct dt_tui_kind *v = views[t->view];
	static const struct {
		int key;
		enum dt_tui_fold how;
	} folds[] = {{DT_KEY_ENTER, DT_FOLD_TOGGLE},
		     {DT_KEY_RIGHT, DT_FOLD_OPEN},
		     {'l', DT_FOLD_OPEN},
		     {DT_KEY_LEFT, DT_FOLD_CLOSE},
		     {'h', DT_FOLD_CLOSE},
		     {'e', DT_FOLD_OPEN_ALL},
		     {'c', DT_FOLD_CLOSE_ALL}};
	size_t at = t->place[t->view].at;

	if (at >= v->rows(t))
		return false;
	if (key == DT_KEY_ENTER && !v->fold) {
		show_around(t, v->function(t, at));
		return true;
	}
	for (size_t i = 0; i < sizeof(folds) / sizeof(*folds) && v->fold; i++)
		if (key == folds[i].key) {
			size_t before = v->rows(t);

			v->fold(t, at, folds[i].how);
			if (v->rows(t) > before)
				show_below(t);
			return true;
		}
	switch (key) {
	case 'u':
	case DT_KEY_BACKSPACE:
		if (v->up)
			v->up(t, at);
		return true;
	case 'g':
		show_around(t, v->function(t, at));
		return true;
	case 'o':
		dt_tui_source(t, v->function(t, at));
		return true;
	case 'i':
		show_about(t, at);
		return true;
	default:
		return false;
	}
}

static void go_back(struct tui *t, bool quits)
{
	if (t->view == DT_TUI_AROUND)
		dt_tui_show(t, t->before);
	else
		t->ending |= quits;
}

/* Folds all of the tree of calls, which forgets what was unfolded. */
static void fold_everything(struct tui *t)
{
	if (t->view != DT_TUI_CALLS) {
		dt_tui_say(t, "C folds all of the tree of calls, which key 1 shows; c folds a row");
		return;
	}
	dt_tui_calls.drop(t);
	dt_tui_calls.make(t);
	t->place[DT_TUI_CALLS].at = 0;
}

static void obey(struct tui *t, int key)
{
	if (move(t, key) || about_row(t, key))
		return;
	switch (key) {
	case '1':
	case '2':
	case '3':
	case '4':
		dt_tui_show(t, (enum dt_tui_view)(key - '1'));
		break;
	case '\t':
		dt_tui_show(t, (t->view + 1) % (t->focus ? DT_TUI_VIEWS : DT_TUI_AROUND));
		break;
	case DT_KEY_BACK_TAB:
		dt_tui_show(t, t->view ? t->view - 1 : t->focus ? DT_TUI_AROUND : DT_TUI_FUNCTIONS);
		break;
	case '/':
		if (dt_tui_ask_search(t, true))
			find(t, true);
		break;
	case 'n':
	case 'N':
		find(t, key == 'n');
		break;
	case 's':
		ask_sort(t);
		break;
	case 'r':
		t->place[t->view].reversed ^= true;
		views[t->view]->sort(t);
		break;
	case 'f':
		ask_filter(t);
		break;
	case 'C':
		fold_everything(t);
		break;
	case '?':
		dt_tui_help(t);
		break;
	case 'q':
	case DT_KEY_ESCAPE:
		go_back(t, key == 'q');
		break;
	case DT_KEY_GONE:
	case DT_KEY_INTERRUPT:
		t->ending = true;
		break;
	case 'L' - '@':
	case DT_KEY_RESIZED:
		break;
	default:
		dt_tui_say(t, "? shows what keys do");
	}
}

void dt_tui_drop(struct tui *t)
{
	for (int i = 0; i < DT_TUI_VIEWS; i++)
		views[i]->drop(t);
}

int dt_tui_run(struct tui *t)
{
	bool more = true;

	draw(t);
	while (!t->ending) {
		int key = dt_tui_key(t, more ? 0 : -1);

		if (key != DT_KEY_NONE) {
			t->message[0] = '\0';
			t->warns = false;
			obey(t, key);
			more = true;
			if (!t->types)
				draw(t);
			continue;
		}
		more = dt_tui_build(t);
		if (!more || dt_now_ns() - t->drawn > REDRAW_NS)
			draw(t);
		more |= t->lacks;
	}
	return 0;
}
