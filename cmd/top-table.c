/* SPDX-License-Identifier: MIT */
/* The table of devtrace top: reads what has been recorded once a second, and draws it. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "analyse/feed.h"
#include "analyse/stats.h"
#include "cmd/fit.h"
#include "cmd/object.h"
#include "cmd/open.h"
#include "cmd/recording.h"
#include "cmd/table.h"
#include "cmd/top.h"
#include "core/plain.h"
#include "process/now.h"
#include "store/left-out.h"
#include "process/threads.h"

#define TURN_NS 1000000000ull
#define READ_NS 700000000ull   /* the most of a turn that is spent on reading */
#define OPEN_NS 20000000000ull /* how long a trace may take to appear */
#define HISTORY 16	       /* turns that a function's bar shows */

enum column { TOTAL, SELF, CPU, WAIT, CALLS, AVG, MAX, NAME, COLUMNS };

static const struct {
	const char *name;
	char key;
	int need; /* columns are left out, the greatest first, when the window is narrow */
	enum dt_stats_key value;
} column[COLUMNS] = {
	[TOTAL] = {"total", 't', 3, DT_STATS_TOTAL}, [SELF] = {"self", 's', 1, DT_STATS_SELF},
	[CPU] = {"cpu", 'p', 5, DT_STATS_CPU},	     [WAIT] = {"wait", 'w', 4, DT_STATS_WAIT},
	[CALLS] = {"calls", 'c', 2, DT_STATS_CALLS}, [AVG] = {"avg", 'a', 6, DT_STATS_AVG},
	[MAX] = {"max", 'm', 7, DT_STATS_MAX},	     [NAME] = {"function", 'n', 0, DT_STATS_NAME}};

#define WIDTH 12 /* of a column, with the blank before it, as dt_table_time() prints it */
#define LEAST 14 /* room for a name: columns and bars leave so much */

/* What is known of a function besides its sums. */
struct past {
	uint64_t self;		/* ticks, at the turn before */
	uint64_t turn[HISTORY]; /* self time in each of the latest turns, as a ring */
};

struct table {
	struct dt_top *top;
	struct dt_reader *r;
	struct dt_pair *pair;
	struct dt_stats stats;
	struct past *past;
	uint32_t pasts;
	uint64_t turns; /* those that are noted in `past' */
	uint64_t lost;	/* records that are not in the trace */
	enum column sort;
	bool says_left_out; /* the head has a line more */
	bool waits, paused, typing, ended, behind;
	char filter[64];
};

/* Takes a signal from a signalfd. Returns whether it asks to end; otherwise the window has another
 * size. */
static bool is_asked_to_end(int signals)
{
	struct signalfd_siginfo s;

	return read(signals, &s, sizeof(s)) == sizeof(s) && s.ssi_signo != SIGWINCH;
}

/* ---- reading ---- */

/* Opens the trace if it can be read and, where a recorder makes it, has a process: an attach that
 * is refused leaves an empty trace for a moment. */
static bool is_open(struct table *k, struct dt_error *e)
{
	size_t processes;

	k->r = dt_reader_open(k->top->path, e);
	if (!k->r || k->top->recorder < 0)
		return k->r;
	dt_reader_processes(k->r, &processes);
	if (processes)
		return true;
	dt_reader_close(k->r);
	k->r = NULL;
	return false;
}

/* Opens the trace, which is still being made. Returns 1; 0: a signal has come; -1: error, which has
 * been reported if the text is empty. */
static int open_trace(struct table *k, int signals, struct dt_error *e)
{
	struct dt_pair_events events = {.end = dt_stats_call, .ctx = &k->stats};
	struct dt_reader_range range = {.order = DT_BY_TIME};
	uint64_t begin = dt_now_ns();

	while (!is_open(k, e)) {
		struct pollfd p[] = {{signals, POLLIN, 0}, {k->top->recorder, POLLIN, 0}};

		if (k->top->recorder < 0 || (*e->text && dt_now_ns() - begin > OPEN_NS))
			return -1;
		e->text[0] = '\0';
		poll(p, 2, 100);
		if (p[0].revents && is_asked_to_end(signals))
			return 0;
		/* attach could not do it, and has said why */
		if (p[1].revents)
			return -1;
	}
	k->pair = dt_pair_new(k->r, &events, false);
	if (!k->pair)
		return dt_fail(e, "out of memory");
	return dt_reader_start(k->r, &range, e) < 0 ? -1 : 1;
}

/* Reads what there is, but not for longer than a part of a turn. */
static int read_more(struct table *k, struct dt_error *e)
{
	uint64_t begin = dt_now_ns();
	struct dt_span s;
	int rc = 1;

	k->behind = false;
	for (unsigned i = 1; (rc = dt_reader_next(k->r, &s, e)) > 0; i++) {
		if (dt_pair_span(k->pair, &s) || k->stats.no_memory)
			return dt_fail(e, "out of memory");
		k->lost += s.lost;
		k->behind = i % 64 == 0 && dt_now_ns() - begin > READ_NS;
		if (k->behind)
			break;
	}
	k->waits = dt_feed_has_switches(k->r);
	return rc < 0 ? -1 : 0;
}

/* Notes what each function has done in this turn. */
static int note_turn(struct table *k, struct dt_error *e)
{
	if (k->stats.functions > k->pasts) {
		struct past *more = realloc(k->past, k->stats.functions * sizeof(*more));

		if (!more)
			return dt_fail(e, "out of memory");
		memset(more + k->pasts, 0, (k->stats.functions - k->pasts) * sizeof(*more));
		k->past = more;
		k->pasts = k->stats.functions;
	}
	for (uint32_t i = 0; i < k->pasts; i++) {
		struct past *p = &k->past[i];

		p->turn[k->turns % HISTORY] = k->stats.function[i].self - p->self;
		p->self = k->stats.function[i].self;
	}
	k->turns++;
	return 0;
}

/* ---- rows ---- */

static struct dt_stats_row *make_rows(struct table *k, size_t *n)
{
	struct dt_stats_row *row = calloc(k->stats.functions + 1, sizeof(*row));
	bool *shown = dt_cmd_shown(k->r, &k->top->show);

	if (!row || !shown) {
		free(row);
		free(shown);
		return NULL;
	}
	*n = 0;
	for (uint32_t i = 0; i < k->stats.functions; i++) {
		const struct dt_function_stats *f = &k->stats.function[i];
		const char *name = dt_reader_function_name(k->r, i);

		if (!f->calls || i > dt_reader_functions(k->r) || !shown[i] ||
		    !strstr(name, k->filter))
			continue;
		row[(*n)++] =
			(struct dt_stats_row){f, name, dt_stats_value(f, column[k->sort].value)};
	}
	free(shown);
	qsort(row, *n, sizeof(*row), dt_stats_row_compare);
	return row;
}

/* ---- drawing ---- */

static bool is_used(const struct table *k, enum column c)
{
	return c == NAME || k->waits || (c != CPU && c != WAIT);
}

/* Chooses the columns that a line has room for; the one that is sorted by is always among them.
 * bar: room for a bar, too. Returns the columns' width. */
static unsigned choose(const struct table *k, unsigned width, bool *chosen, bool *bar)
{
	unsigned used = 1; /* a blank after the last column */

	for (enum column c = 0; c < NAME; c++) {
		chosen[c] = is_used(k, c) && c == k->sort;
		used += chosen[c] ? WIDTH : 0;
	}
	for (int need = 1; need < COLUMNS; need++)
		for (enum column c = 0; c < NAME; c++)
			if (column[c].need == need && is_used(k, c) && !chosen[c] &&
			    used + WIDTH + LEAST <= width) {
				chosen[c] = true;
				used += WIDTH;
			}
	*bar = used + HISTORY + 1 + LEAST <= width;
	return used + (*bar ? HISTORY + 1 : 0);
}

static void print_bar(const struct table *k, const struct dt_function_stats *f, uint64_t most)
{
	static const char *const high[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	const struct past *p = f->function < k->pasts ? &k->past[f->function] : NULL;

	for (uint64_t i = 0; i < HISTORY; i++) {
		uint64_t v = p ? p->turn[(k->turns + i) % HISTORY] : 0;
		unsigned step = v && most ? 1 + (unsigned)((double)v * 7 / (double)most) : 0;

		if (k->top->terminal.utf8)
			fputs(high[step], stdout);
		else
			putchar(" .:-=+*#@"[step]);
	}
	putchar(' ');
}

/* Returns the greatest self time of any function in any turn that is shown. */
static uint64_t most_of(const struct table *k)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < k->pasts; i++)
		for (unsigned j = 0; j < HISTORY; j++)
			most = k->past[i].turn[j] > most ? k->past[i].turn[j] : most;
	return most;
}

/* Prints as much of untrusted text as has room, and blanks after it. */
static void print_text(const char *text, unsigned room, bool fill)
{
	const char *s = dt_cmd_plain(text);
	size_t n = strlen(s);
	unsigned used = 0;

	while (n && used < room) {
		uint32_t c;
		bool unseen;
		unsigned length = dt_plain_character(s, n, &c, &unseen);

		length = length ? length : 1;
		fwrite(s, 1, length, stdout);
		s += length;
		n -= length;
		used++;
	}
	for (; fill && used < room; used++)
		putchar(' ');
}

static void end_line(const struct table *k)
{
	fputs(k->top->screen ? "\033[K\n" : "\n", stdout);
}

/* Says in a line of its own what a filter leaves out while this is recorded. */
static void print_left_out(struct table *k, unsigned width)
{
	char line[256], words[160];
	uint64_t functions, calls;

	dt_left_out_words(k->r, words, sizeof(words));
	calls = *words ? dt_left_out_calls(k->r, &functions) : 0;
	k->says_left_out = *words;
	if (!*words)
		return;
	dt_plain_cut(words, false);
	dt_format(line, sizeof(line), "%llu calls of %llu functions left out: --filter '%s'",
		  (unsigned long long)calls, (unsigned long long)(calls ? functions : 0), words);
	print_text(line, width, false);
	end_line(k);
}

static void print_head(struct table *k, unsigned width, unsigned used, const bool *chosen, bool bar)
{
	char line[256], lost[48] = "";

	if (k->lost)
		dt_format(lost, sizeof(lost), "  [%llu record%s lost]", (unsigned long long)k->lost,
			  k->lost == 1 ? "" : "s");
	dt_format(line, sizeof(line), "%s%s%s%s%s", k->top->title, k->paused ? "  [paused]" : "",
		  lost, k->behind ? "  [behind: more is recorded than can be read]" : "",
		  k->ended ? "  [recording has ended]" : "");
	print_text(line, width, false);
	end_line(k);
	print_left_out(k, width);
	if (k->top->screen) {
		dt_format(line, sizeof(line), "%s%s%s",
			  k->typing || *k->filter ? "filter: "
						  : "q quit  / filter  space pause  "
						    "t s c a m n w p sort by",
			  k->filter, k->typing ? "_" : "");
		print_text(line, width, false);
		end_line(k);
	}
	if (k->top->terminal.colour)
		fputs("\033[7m", stdout);
	for (enum column c = 0; c < NAME; c++)
		if (chosen[c])
			printf("%c%*s", c == k->sort ? '>' : ' ', WIDTH - 1, column[c].name);
	putchar(' ');
	if (bar)
		printf("%-*s ", HISTORY, "self, by turn");
	print_text("function", width > used ? width - used : 1, false);
	if (k->top->terminal.colour)
		fputs(k->top->screen ? "\033[K\033[0m" : "\033[0m", stdout);
	end_line(k);
}

/* ---- JSON lines: doc/json.md ---- */

static void print_turn(struct table *k, size_t functions)
{
	char words[160];
	uint64_t of = 0;

	dt_left_out_words(k->r, words, sizeof(words));
	dt_object_begin("turn");
	dt_object_number("turn", k->turns);
	dt_object_number("functions", functions);
	dt_object_number("lost", k->lost);
	dt_object_bool("behind", k->behind);
	dt_object_bool("ended", k->ended);
	if (*words) {
		dt_object_text("filter", words);
		dt_object_number("left_out", dt_left_out_calls(k->r, &of));
	}
	dt_object_end();
}

static void print_function(struct table *k, const struct dt_function_stats *f)
{
	const struct dt_function_info *info = dt_reader_function(k->r, f->function);
	const struct dt_module_info *m = info ? dt_reader_module(k->r, info->module) : NULL;
	uint64_t now = k->turns ? (k->turns - 1) % HISTORY : 0;
	double ns = dt_reader_ns_per_tick(k->r);

	dt_object_begin("function");
	dt_object_number("turn", k->turns);
	dt_object_text("function", info && *info->name ? info->name : "?");
	dt_object_text("module", m ? m->path : "");
	dt_object_number("calls", f->calls);
	dt_object_number("timed", f->timed);
	if (f->timed) {
		dt_object_ns("total", (double)f->total * ns);
		dt_object_ns("self", (double)f->self * ns);
		dt_object_ns("turn_self", f->function < k->pasts
						  ? (double)k->past[f->function].turn[now] * ns
						  : 0);
		dt_object_ns("avg", (double)f->sum / (double)f->timed * ns);
		dt_object_ns("max", (double)f->max * ns);
	}
	if (f->timed && k->waits) {
		dt_object_ns("cpu", (double)dt_stats_value(f, DT_STATS_CPU) * ns);
		dt_object_ns("wait", (double)f->waited * ns);
	}
	dt_object_end();
}

static int print_json(struct table *k, struct dt_error *e)
{
	size_t n;
	struct dt_stats_row *row = make_rows(k, &n);

	if (!row)
		return dt_fail(e, "out of memory");
	print_turn(k, n);
	for (size_t i = 0; i < n; i++)
		print_function(k, row[i].s);
	free(row);
	return fflush(stdout) || ferror(stdout) ? dt_fail(e, "cannot write the lines") : 0;
}

/* ---- the table ---- */

static int draw(struct table *k, struct dt_error *e)
{
	uint32_t size = atomic_load(&k->top->shared->size);
	unsigned width = size >> 16, rows = size & 0xffff, used;
	uint64_t most = most_of(k);
	bool chosen[COLUMNS], bar;
	struct dt_stats_row *row;
	size_t n, shown;

	/* elsewhere than at a terminal lines are as long as they are */
	if (!k->top->terminal.is || (k->top->terminal.wide && !k->top->screen))
		width = UINT16_MAX;
	k->top->terminal.columns = width == UINT16_MAX ? 0 : width;
	if (k->top->json)
		return print_json(k, e);
	row = make_rows(k, &n);
	if (!row)
		return dt_fail(e, "out of memory");
	if (k->top->screen)
		fputs("\033[H", stdout);
	used = choose(k, width, chosen, &bar);
	print_head(k, width, used, chosen, bar);
	shown = rows > 4u + k->says_left_out ? rows - 4u - k->says_left_out : 0;
	shown = shown < n ? shown : n;
	for (size_t i = 0; i < shown; i++) {
		for (enum column c = 0; c < NAME; c++) {
			if (chosen[c] && c == CALLS)
				printf("%*llu", WIDTH, (unsigned long long)row[i].s->calls);
			else if (chosen[c] && row[i].s->timed)
				dt_table_time(k->r, dt_stats_value(row[i].s, column[c].value));
			else if (chosen[c])
				printf("%*s", WIDTH, "-");
		}
		putchar(' ');
		if (bar)
			print_bar(k, row[i].s, most);
		dt_fit_print(&k->top->terminal, dt_cmd_plain(row[i].name),
			     width > used ? width - used : 1);
		end_line(k);
	}
	if (shown < n && !k->top->screen)
		printf("%*zu more functions\n", WIDTH, n - shown);
	free(row);
	fputs(k->top->screen ? "\033[J" : "\n", stdout);
	return fflush(stdout) || ferror(stdout) ? dt_fail(e, "cannot write the table") : 0;
}

/* ---- keys ---- */

static void move_sort(struct table *k, int step)
{
	do
		k->sort = (enum column)(((int)k->sort + step + COLUMNS) % COLUMNS);
	while (!is_used(k, k->sort));
}

/* Takes a key while a filter is being typed. */
static void type(struct table *k, char c)
{
	size_t n = strlen(k->filter);

	if (c == '\n' || c == '\r')
		k->typing = false;
	else if (c == '\033')
		*k->filter = '\0', k->typing = false;
	else if ((c == '\177' || c == '\b') && n)
		k->filter[n - 1] = '\0';
	else if (c >= ' ' && c != '\177' && n + 1 < sizeof(k->filter))
		memcpy(k->filter + n, (char[2]){c}, 2);
}

/* Takes what was typed. Returns false when the table is to end. */
static bool keys(struct table *k)
{
	char key[64];
	ssize_t n = read(STDIN_FILENO, key, sizeof(key));

	if (n <= 0)
		return false;
	for (ssize_t i = 0; i < n; i++) {
		if (!k->typing && i + 2 < n && key[i] == '\033' && key[i + 1] == '[') {
			i += 2;
			if (key[i] == 'C' || key[i] == 'D')
				move_sort(k, key[i] == 'C' ? 1 : -1);
			continue;
		}
		if (key[i] == '\034') /* Ctrl-\ ends what hangs elsewhere */
			return false;
		if (k->typing) {
			type(k, key[i]);
			continue;
		}
		if (key[i] == 'q')
			return false;
		if (key[i] == '/')
			k->typing = true;
		else if (key[i] == '\033')
			*k->filter = '\0';
		else if (key[i] == ' ')
			k->paused = !k->paused;
		for (enum column c = 0; c < COLUMNS; c++)
			if (key[i] == column[c].key && is_used(k, c))
				k->sort = c;
	}
	return true;
}

/* Waits for the next turn, and handles what comes meanwhile. Returns 1; 0: the table is to end; -1:
 * error. */
static int wait_turn(struct table *k, int signals, uint64_t until, struct dt_error *e)
{
	for (uint64_t now; (now = dt_now_ns()) < until;) {
		struct pollfd p[] = {{signals, POLLIN, 0},
				     {k->top->screen ? STDIN_FILENO : -1, POLLIN, 0},
				     {k->ended ? -1 : k->top->recorder, POLLIN, 0}};

		if (poll(p, 3, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		if (p[0].revents && is_asked_to_end(signals))
			return 0;
		if (p[1].revents && !keys(k))
			return 0;
		if (p[2].revents) {
			k->ended = true;
			return 1;
		}
		/* with other keys, or in a window of another size */
		if (k->top->screen && draw(k, e) < 0)
			return -1;
	}
	return 1;
}

/* ---- the whole ---- */

static int turns(struct table *k, int signals, struct dt_error *e)
{
	uint64_t next = dt_now_ns();
	int rc;

	/* a screen shows at once what there is; a table that is printed has a turn to tell of */
	if (k->top->screen && (read_more(k, e) < 0 || note_turn(k, e) < 0 || draw(k, e) < 0))
		return -1;
	for (uint64_t turn = 1;; turn++) {
		bool ended;

		next = next + TURN_NS > dt_now_ns() ? next + TURN_NS : dt_now_ns();
		rc = wait_turn(k, signals, next, e);
		if (rc <= 0)
			return rc;
		/* what is read after the recorder has ended is all that there will be */
		ended = k->ended;
		if (!k->paused && (read_more(k, e) < 0 || note_turn(k, e) < 0))
			return -1;
		if (draw(k, e) < 0)
			return -1;
		/* on a screen the last table stays until it has been seen */
		if ((ended && !k->behind && !k->top->screen) || turn == k->top->turns)
			return 0;
	}
}

int dt_top_follow(struct dt_top *t)
{
	struct table k = {.top = t, .sort = TOTAL};
	struct dt_needs needs = {.n = 0};
	struct dt_error e = {""};
	int signals, status, rc;
	sigset_t set;

	dt_recording_signals(&set);
	sigaddset(&set, SIGWINCH);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0)
		return dt_cmd_fail("no signals: %s", strerror(errno));
	dt_needs_add(&needs, DT_NEED_TRACE, t->path);
	status = dt_cmd_confine(&needs);
	if (status)
		return status;
	rc = open_trace(&k, signals, &e);
	if (rc > 0) {
		dt_top_enter_screen(t);
		rc = turns(&k, signals, &e);
		dt_top_leave_screen(t);
	}
	if (rc < 0)
		status = *e.text ? dt_cmd_fail("%s", e.text) : 1;
	dt_pair_free(k.pair);
	dt_reader_close(k.r);
	dt_stats_free(&k.stats);
	free(k.past);
	return status;
}
