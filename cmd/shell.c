/* SPDX-License-Identifier: MIT */
/* devtrace shell: Kitrace's commands, at a prompt, from a pipe or from the command line. */
#include <editline/readline.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "core/plain.h"
#include "cmd/open.h"
#include "arch/arch.h"
#include "show/out.h"
#include "core/kitrace.h"
#include "core/words.h"
#include "core/processor.h"
#include "session/client.h"

#define RECORDS 8192u
#define PLACES	4096u /* places that are kept in the cache, by pc */

static const char help[] =
	"usage: devtrace shell [-s SESSION] [-c COMMAND]... [PID]\n"
	"Tells a session what to trace and prints its records, as Kitrace does: interactively, or\n"
	"commands from standard input. With a PID the process is attached to first, if it is not\n"
	"traced, and detached at the end.\n"
	"\n"
	"  -s, --session SESSION  which one (devtrace list shows them); not needed when there is "
	"one\n"
	"  -c, --command COMMAND  obey this, and no others\n"
	"  -d, --date             say the day of each record, too\n"
	"  -h, --help\n";

static const char commands_help[] =
	"print       the records that have not been seen; they stay unseen\n"
	"clear       those that were printed last are seen; without a print, all there are\n"
	"printclear  print, and those are seen\n"
	"follow      printclear as records come, until Ctrl-C\n"
	"quit        leave; the session goes on, unless it was begun here\n"
	"\n"
	"Everything else is told to the session:\n";

static const char *const own[] = {"clear", "print", "printclear", "follow", "help", "quit", NULL};
static const char *const told[] = {"freeze", "unfreeze", "list",   "delete", "trace", "status",
				   "start",  "stop",	 "watch",  "size",   "query", "policy",
				   "reset",  "attach",	 "detach", NULL};
static const char *const options[] = {
	"PID",	 "CONST", "FREEZE", "UNFREEZE", "LATEFREEZE", "ONLYPID", "BASE",   "ADJACENT",
	"COUNT", "ENTRY", "EXIT",   "on",	"off",	      "new",	 "remove", NULL};

/* What a pc is called. */
struct place {
	uint64_t pc;
	char *text;
	bool pid; /* its tracepoint has the option PID */
};

struct shell {
	struct dt_client client, names;
	const char *session;
	bool began, date, failed, quit;
	uint64_t seen; /* position after the last record printed; 0: none was */
	uint64_t tick, wall_ns, per_second; /* the session's clock, read once: a tick, its time */
	struct place *place;
	char *points; /* the answer to `list', which says which tracepoints have PID */
	struct dt_out out;
};

static struct shell *completing;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = sig;
}

static int complain(struct shell *s, const char *text)
{
	dt_out_flush(&s->out);
	s->failed = true;
	return dt_cmd_fail("%s", text);
}

/* ---- printing ---- */

static int get_clock(struct shell *s, struct dt_error *e)
{
	unsigned long tick, wall, per_second;

	if (s->per_second)
		return 0;
	if (dt_client_ask(&s->client, "clock", e) < 0)
		return -1;
	if (sscanf(s->client.text, "%lu %lu %lu", &tick, &wall, &per_second) != 3 || !per_second)
		return dt_fail(e, "the session's clock is not known");
	s->tick = tick;
	s->wall_ns = wall;
	s->per_second = per_second;
	return 0;
}

/* Returns a tick's time in microseconds since 1970, in local time. */
static int64_t local_us(const struct shell *s, uint64_t ticks)
{
	__int128 d = (__int128)((int64_t)(ticks - s->tick)) * 1000000000 / (int64_t)s->per_second;
	int64_t us = ((int64_t)s->wall_ns + (int64_t)d) / 1000;
	time_t t = (time_t)(us / 1000000);
	struct tm tm;

	localtime_r(&t, &tm);
	return us + tm.tm_gmtoff * 1000000;
}

/* Says whether the tracepoint of this name has PID, by the answer to `list'. */
static bool has_pid(const struct shell *s, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = s->points; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		const char *end = strchr(p, '\n'), *pid = strstr(p, " PID");

		if (strncmp(p, name, n) == 0 && (p[n] == ' ' || p[n] == '\n'))
			return pid && end && pid < end;
	}
	return false;
}

/* Returns what a record's pc is called: a tracepoint by its function, an exit by its function and
 * the offset in it. */
static const struct place *place_of(struct shell *s, const struct dt_record *r)
{
	struct place *p = &s->place[(r->pc ^ r->pc >> 12) % PLACES];
	const char *how = r->kind == DT_EXIT ? "place" : "name";
	char request[64];

	if (p->text && p->pc == r->pc)
		return p;
	free(p->text);
	dt_format(request, sizeof(request), "%s %lx %u", how, (unsigned long)r->pc, r->tid);
	p->text = strdup(dt_client_ask(&s->names, request, NULL) < 0 ? "?" : s->names.text);
	p->pc = r->pc;
	p->pid = p->text && has_pid(s, p->text);
	return p;
}

/* Empties the cache of places, and asks for the list of tracepoints again. */
static void forget_places(struct shell *s)
{
	for (unsigned i = 0; i < PLACES; i++) {
		free(s->place[i].text);
		s->place[i].text = NULL;
	}
	free(s->points);
	s->points = NULL;
	if (dt_client_write(&s->client, "list", 4, 0, NULL) == 0)
		s->points = strdup(s->client.text);
}

/* The labels of what a point captures, from the session's answer. */
struct labels {
	char text[4096]; /* the point's name, and the labels, each ended by a NUL */
	const char *name[DT_CAPTURE_ITEMS];
	bool is_text[DT_CAPTURE_ITEMS];
	unsigned n;
};

/* Asks for the labels of the point at pc; the answer is like "sync+4\nrax:p,path:s*". */
static void get_labels(struct shell *s, uint64_t pc, struct labels *l)
{
	char request[64], *p;

	l->n = 0;
	dt_format(request, sizeof(request), "point %lx", (unsigned long)pc);
	if (dt_client_ask(&s->names, request, NULL) < 0)
		s->names.text[0] = '\0';
	dt_format(l->text, sizeof(l->text), "%s", s->names.text);
	p = strchr(l->text, '\n');
	while (p && *p && l->n < DT_CAPTURE_ITEMS) {
		char *end = p + 1 + strcspn(p + 1, ","), *colon = strchr(p + 1, ':');

		*p = '\0';
		l->is_text[l->n] = end[-1] == '*';
		l->name[l->n++] = p + 1;
		if (colon && colon < end)
			*colon = '\0';
		p = end;
	}
	if (p)
		*p = '\0';
}

/* Adds up to 32 bytes of a text, in which bytes that can not be printed become dots; true: it has
 * ended. */
static bool add_text(char *out, size_t *n, const struct dt_record *r)
{
	const char *bytes = (const char *)r->value;

	for (unsigned i = 0; i < sizeof(r->value) && *n < DT_CAPTURE_TEXT; i++) {
		if (!bytes[i])
			return true;
		out[(*n)++] =
			bytes[i] >= ' ' && bytes[i] != 0x7f && bytes[i] != '"' ? bytes[i] : '.';
	}
	return *n == DT_CAPTURE_TEXT || (r->flags & DT_FAULT);
}

/* Finds what a value points to: "f+1c"; false: nothing is known. */
static bool symbol_of(struct shell *s, uint64_t value, char out[128])
{
	char request[64];

	if (value < 4096)
		return false;
	dt_format(request, sizeof(request), "place %lx 0", (unsigned long)value);
	if (dt_client_ask(&s->names, request, NULL) < 0)
		return false;
	dt_format(out, 128, "%s", s->names.text);
	/* the answer is the address itself when nothing is known of it */
	dt_format(request, sizeof(request), "%lx", (unsigned long)value);
	return strcmp(out, request) != 0;
}

/*
 * Prints a point's record and those that continue it, n together: values with their labels, in
 * hexadecimal and as the symbol that they point to; texts in quotes after the value that leads to
 * them.
 */
static void print_point(struct shell *s, struct dt_kitrace *k, const struct dt_record *r, size_t n)
{
	struct dt_kitrace_item item[DT_CAPTURE_ITEMS + 1];
	char symbol[DT_CAPTURE_ITEMS][128], text[DT_CAPTURE_ITEMS][DT_CAPTURE_TEXT + 8];
	struct labels *l = &(struct labels){.n = 0};
	struct dt_kitrace_record v = {
		.us = (uint64_t)local_us(s, r->ticks),
		.date = s->date,
		.item = item,
	};
	size_t at = 0, constant = 0; /* constant: index of its record; 0: there is none */

	get_labels(s, r->pc, l);
	v.symbol = l->text[0] ? l->text : "?";
	v.tid = has_pid(s, v.symbol) ? r->tid : DT_NO_TID;
	/* the constant's record has the same time as the point's */
	if (n > 1 && r[1].ticks == r->ticks)
		constant = 1;
	for (; at < n && (v.items < l->n || !at); at++) {
		bool faults = r[at].flags & DT_FAULT;
		unsigned values = dt_record_values(&r[at]), first = v.items;

		if (constant && at == constant)
			continue;
		v.flags |= r[at].flags & (DT_FREEZE | DT_UNFREEZE | DT_BASE);
		if (r[at].flags & DT_LATEFREEZE)
			v.flags |= DT_KITRACE_LATEFREEZE;
		for (; v.items < l->n && v.items < first + values && v.items < first + 4; v.items++)
			item[v.items] = (struct dt_kitrace_item){
				.name = l->name[v.items],
				.value = r[at].value[v.items - first],
				.bad = faults && dt_capture_is_bad(r[at].value[v.items - first])};
	}
	if (constant && at <= constant)
		at = constant + 1;
	for (unsigned i = 0; i < v.items; i++) {
		size_t length = 0;
		bool ended = !l->is_text[i];

		while (!ended && at < n)
			ended = add_text(text[i], &length, &r[at++]);
		if (l->is_text[i] && length) {
			text[i][length] = '\0';
			item[i].text = text[i];
		}
		if (!item[i].bad && !item[i].text && symbol_of(s, item[i].value, symbol[i]))
			item[i].symbol = symbol[i];
	}
	if (constant)
		item[v.items++] =
			(struct dt_kitrace_item){.name = "const", .value = r[constant].value[0]};
	dt_out_used(&s->out,
		    dt_kitrace_line(
			    k, dt_out_room(&s->out, DT_KITRACE_TEXT + DT_CAPTURE_ITEMS * 512), &v));
}

/* Prints an entry or exit; more: the record with its constant, or NULL. */
static void print_one(struct shell *s, struct dt_kitrace *k, const struct dt_record *r,
		      const struct dt_record *more)
{
	const struct place *p = place_of(s, r);
	const struct dt_processor *processor = dt_processor(DT_MACHINE_NAME);
	const char *const *names = r->kind == DT_EXIT ? processor->exit : processor->entry;
	struct dt_kitrace_item item[4];
	struct dt_kitrace_record v = {
		.symbol = p->text ? p->text : "?",
		.us = (uint64_t)local_us(s, r->ticks),
		.date = s->date,
		.flags = r->flags & (DT_FREEZE | DT_UNFREEZE | DT_BASE),
		.tid = p->pid ? r->tid : DT_NO_TID,
		.item = item,
	};

	if (r->flags & DT_LATEFREEZE)
		v.flags |= DT_KITRACE_LATEFREEZE;
	if ((r->flags & DT_NARGS) == DT_ADJACENT)
		v.flags |= DT_KITRACE_ADJACENT;
	if (more)
		item[v.items++] =
			(struct dt_kitrace_item){.name = "const", .value = more->value[0]};
	for (unsigned i = 0; !more && !p->pid && i < dt_record_values(r) && i < 4; i++)
		item[v.items++] = (struct dt_kitrace_item){.name = names[i], .value = r->value[i]};
	dt_out_used(&s->out, dt_kitrace_line(k, dt_out_room(&s->out, DT_KITRACE_TEXT + 2048), &v));
}

/* Says whether `more' continues r: it is r's constant, which has the same time, or has further
 * values or a text of the point r. */
static bool belongs(const struct dt_record *more, const struct dt_record *r)
{
	return more->kind == DT_MORE && more->tid == r->tid && more->sp == r->sp &&
	       (r->kind == DT_POINT ? more->pc == r->pc : more->ticks == r->ticks);
}

#define MOST_MORE (DT_CAPTURE_ITEMS / 4 + DT_CAPTURE_ITEMS * DT_CAPTURE_TEXT / 32)

/* Prints the n records at r, and returns how many were printed: unless `all', the last ones may be
 * left, since records that continue them may still come. */
static size_t print_some(struct shell *s, struct dt_kitrace *k, const struct dt_record *r, size_t n,
			 bool all)
{
	size_t i = 0;

	while (i < n) {
		size_t more = 1;

		while (i + more < n && belongs(&r[i + more], &r[i]))
			more++;
		/* what continues it may still come */
		if (i + more == n && !all && i && more < MOST_MORE)
			break;
		if (r[i].kind == DT_POINT)
			print_point(s, k, &r[i], more);
		else if (r[i].kind != DT_MORE)
			print_one(s, k, &r[i], more > 1 ? &r[i + 1] : NULL);
		i += more;
	}
	return i;
}

static void say_lost(struct shell *s, uint64_t lost)
{
	dt_out_flush(&s->out);
	if (lost)
		fprintf(stderr, "kitrace: warning: %lu records were lost\n", (unsigned long)lost);
}

static int clear_to(struct shell *s, uint64_t position, struct dt_error *e)
{
	char request[48];

	dt_format(request, sizeof(request), "clear %lu", (unsigned long)position);
	return dt_client_ask(&s->client, request, e);
}

/*
 * Prints all records that are in the log when it begins; later ones are left for the next print.
 * s->seen is the position after what was printed: `clear' clears up to there.
 */
static int print(struct shell *s, bool clear)
{
	uint64_t at, end, lost, all_lost = 0;
	struct dt_kitrace k = {0};
	struct dt_error e;

	if (get_clock(s, &e) < 0 || dt_client_positions(&s->client, &at, &end, &e) < 0)
		return complain(s, e.text);
	forget_places(s);
	while (at < end && !s->out.failed) {
		uint64_t position = at;
		long n = dt_client_take(&s->client, end - at < RECORDS ? end - at : RECORDS,
					&position, 0, false, &lost, &e);

		if (n == -1)
			return complain(s, e.text);
		all_lost += lost;
		if (n <= 0 || position >= end)
			break;
		/* if the oldest were overwritten meanwhile, the answer goes beyond the end */
		if ((uint64_t)n > end - position)
			n = (long)(end - position);
		at = position + print_some(s, &k, (const struct dt_record *)s->client.text,
					   (size_t)n, position + (uint64_t)n >= end);
	}
	s->seen = at;
	say_lost(s, all_lost);
	if (clear && clear_to(s, at, &e) < 0)
		return complain(s, e.text);
	return 0;
}

static int clear(struct shell *s)
{
	uint64_t oldest, next = s->seen;
	struct dt_error e;

	if ((!next && dt_client_positions(&s->client, &oldest, &next, &e) < 0) ||
	    clear_to(s, next, &e) < 0)
		return complain(s, e.text);
	return 0;
}

/* Prints records as they come. The session waits for them, 200 ms at most, so that Ctrl-C is
 * noticed. */
static int follow(struct shell *s)
{
	struct sigaction a = {.sa_handler = on_interrupt}, old;
	struct dt_kitrace k = {0};
	struct dt_error e;
	int status = 0;

	if (get_clock(s, &e) < 0)
		return complain(s, e.text);
	forget_places(s);
	interrupted = 0;
	sigaction(SIGINT, &a, &old);
	while (!interrupted && !s->out.failed) {
		uint64_t at = 0, lost;
		long n = dt_client_take(&s->client, RECORDS, &at, 200, false, &lost, &e);

		if (n < 0) { /* -2: the session has ended */
			status = n == -1 ? complain(s, e.text) : 0;
			break;
		}
		if (n > 0)
			at += print_some(s, &k, (const struct dt_record *)s->client.text, (size_t)n,
					 n < RECORDS);
		say_lost(s, lost);
		if (n > 0 && clear_to(s, at, &e) < 0) {
			status = complain(s, e.text);
			break;
		}
	}
	sigaction(SIGINT, &old, NULL);
	s->seen = 0;
	return status;
}

/* ---- commands ---- */

/* Gives the session a command and prints its answer. */
static int tell(struct shell *s, const char *line)
{
	struct dt_error e;

	if (dt_client_write(&s->client, line, strlen(line), 0, &e) < 0)
		return complain(s, e.text);
	dt_plain_cut(s->client.text, true); /* it has names from traced programs */
	dt_out_bytes(&s->out, s->client.text, s->client.n);
	dt_out_flush(&s->out);
	return 0;
}

/* Executes a line: one of the shell's own commands, or one for the session. */
static int obey(struct shell *s, const char *line)
{
	static int (*const run[])(struct shell * s) = {clear, NULL, NULL, follow};
	char word[16] = "", more[2] = "";
	int n = sscanf(line, "%15s %1s", word, more), i = 0;

	if (n < 1 || word[0] == '#')
		return 0;
	while (own[i] && strcmp(word, own[i]) != 0)
		i++;
	if (!own[i]) {
		/* these commands let positions begin at 0 again */
		if (!strcmp(word, "reset") || !strcmp(word, "size") || !strcmp(word, "logsize"))
			s->seen = 0;
		return tell(s, line);
	}
	if (n > 1) {
		char text[64];

		dt_format(text, sizeof(text), "usage: %s", word);
		return complain(s, text);
	}
	switch (i) {
	case 1:
	case 2:
		return print(s, i == 2);
	case 4:
		dt_out_text(&s->out, commands_help);
		return tell(s, "help");
	case 5:
		s->quit = true;
		return 0;
	}
	return run[i](s);
}

/* ---- the prompt ---- */

/* Returns the next word that completes the text, for libedit; state 0: the first one. */
static char *next_match(const char *text, int state)
{
	static const char *const *const list[] = {own, told, options};
	static unsigned at_list, at_word;
	static char *symbol;
	size_t n = strlen(text);
	bool first = completing && rl_point <= (int)n;

	if (state == 0) {
		char request[200];

		at_list = first ? 0 : 2;
		at_word = 0;
		symbol = NULL;
		dt_format(request, sizeof(request), "symbols %.180s", text);
		if (!first && completing && dt_client_ask(&completing->names, request, NULL) == 0)
			symbol = completing->names.text;
	}
	for (; at_list < (first ? 2u : 3u); at_list++, at_word = 0)
		while (list[at_list][at_word]) {
			const char *word = list[at_list][at_word++];

			if (strncmp(word, text, n) == 0)
				return strdup(word);
		}
	if (symbol && *symbol) {
		size_t length = strcspn(symbol, "\n");
		char *match = strndup(symbol, length);

		symbol += length + (symbol[length] != '\0');
		return match;
	}
	return NULL;
}

static char **complete(const char *text, int start, int end)
{
	rl_attempted_completion_over = 1;
	return rl_completion_matches(text, next_match);
}

/* Makes the path $XDG_STATE_HOME/devtrace/shell_history and its directories. False: there is no
 * place for it. */
static bool history_file(char *path, size_t size)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char directory[4000];
	size_t n;

	if (state && state[0] == '/')
		n = dt_format(directory, sizeof(directory), "%s/devtrace", state);
	else if (home && home[0] == '/')
		n = dt_format(directory, sizeof(directory), "%s/.local/state/devtrace", home);
	else
		return false;
	if (n >= sizeof(directory))
		return false;
	for (char *p = directory + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(directory, 0700);
	}
	mkdir(directory, 0700);
	dt_format(path, size, "%s/shell_history", directory);
	return true;
}

static int interact(struct shell *s)
{
	char path[4096], *line;
	bool keep = history_file(path, sizeof(path));
	struct sigaction a = {.sa_handler = on_interrupt};
	mode_t mask;

	completing = s;
	rl_readline_name = "devtrace";
	rl_attempted_completion_function = complete;
	using_history();
	stifle_history(1000);
	if (keep)
		read_history(path);
	sigaction(SIGINT, &a, NULL);
	while (!s->quit) {
		interrupted = 0;
		line = readline("(kitrace) ");
		if (!line && interrupted) {
			putchar('\n');
			continue;
		}
		if (!line)
			break;
		if (line[0])
			add_history(line);
		obey(s, line);
		free(line);
	}
	mask = umask(077);
	if (keep)
		write_history(path);
	umask(mask);
	return 0;
}

static int from_pipe(struct shell *s)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while (!s->quit && (n = getline(&line, &room, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		obey(s, line);
	}
	free(line);
	return s->failed;
}

/* ---- sessions ---- */

struct search {
	char process[32], name[64];
};

/* For dt_sessions_each(): notes the session if it traces the process. */
static void has_process(void *ctx, const char *name)
{
	struct search *f = ctx;
	struct dt_client c;
	const char *p;

	if (f->name[0] || dt_client_open(&c, name, NULL) < 0)
		return;
	if (dt_client_ask(&c, "status", NULL) == 0) {
		/* "process 12" is in "process 123", too */
		p = strstr(c.text, f->process);
		while (p && p[strlen(f->process)] != '\n')
			p = strstr(p + 1, f->process);
		if (p)
			dt_format(f->name, sizeof(f->name), "%s", name);
	}
	dt_client_close(&c);
}

/* Begins a session in the background and reads its name. */
static bool attach(const char *pid, char *name, size_t size)
{
	int out[2], status;
	pid_t child;
	ssize_t n;

	if (pipe(out) < 0 || (child = fork()) < 0)
		return false;
	if (child == 0) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execl("/proc/self/exe", "devtrace", "attach", "-d", pid, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	n = read(out[0], name, size - 1);
	close(out[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	name[n > 0 ? n : 0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return name[0] != '\0';
}

/* Finds the session that traces the process, or begins one. Returns 0, or the exit status. */
static int find_session(struct shell *s, const char *pid, char *name, size_t size)
{
	struct search f = {.name = ""};
	struct dt_error e;
	uint64_t number;

	if (!dt_word_decimal(pid, &number) || !number || number > 0x7fffffff) {
		fprintf(stderr, "devtrace shell: '%s' is not a process id\n", pid);
		return 2;
	}
	dt_format(f.process, sizeof(f.process), "process %lu", (unsigned long)number);
	if (dt_sessions_each(has_process, &f, &e) < 0)
		return dt_cmd_fail("%s", e.text);
	if (f.name[0]) {
		dt_format(name, size, "%s", f.name);
	} else {
		if (!attach(pid, name, size))
			return 1; /* devtrace attach has reported why */
		s->began = true;
	}
	s->session = name;
	return 0;
}

/* Runs in a thread: waits for the signals that end a shell, and then ends the session that the
 * shell has begun, too. */
static void *watch(void *session)
{
	struct dt_client c;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigwait(&set, &sig) != 0)
		return NULL;
	if (dt_client_open(&c, session, NULL) == 0) {
		dt_client_write(&c, "quit", 4, 0, NULL);
		dt_client_close(&c);
	}
	rl_deprep_terminal();
	signal(sig, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	return NULL;
}

/* Starts the thread that waits for signals. Ignored signals (nohup) stay ignored. */
static void watch_signals(struct shell *s)
{
	static const int signals[] = {SIGTERM, SIGHUP};
	struct sigaction old;
	pthread_t thread;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, watch, (void *)(uintptr_t)s->session) == 0)
		pthread_detach(thread);
	else
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static int run(struct shell *s, char *const *command, size_t commands)
{
	struct dt_error e;
	int status;

	s->place = calloc(PLACES, sizeof(*s->place));
	if (!s->place)
		return dt_cmd_fail("out of memory");
	if (dt_client_open(&s->client, s->session, &e) < 0 ||
	    dt_client_open(&s->names, s->session, &e) < 0) {
		status = complain(s, e.text);
		goto out;
	}
	if (s->began)
		watch_signals(s);
	if (s->began)
		tell(s, "start"); /* as in Kitrace, a tracepoint records as soon as it is set */
	for (size_t i = 0; i < commands && !s->quit; i++)
		obey(s, command[i]);
	if (commands)
		status = s->failed;
	else
		status = isatty(0) ? interact(s) : from_pipe(s);
	if (s->began && dt_client_write(&s->client, "quit", 4, 0, &e) < 0)
		status = complain(s, e.text);
out:
	if (dt_out_end(&s->out) && !status)
		status = 1;
	for (unsigned i = 0; i < PLACES; i++)
		free(s->place[i].text);
	free(s->place);
	free(s->points);
	dt_client_close(&s->client);
	dt_client_close(&s->names);
	return status;
}

int dt_cmd_shell(int argc, char **argv)
{
	static const struct option longs[] = {{"session", required_argument, NULL, 's'},
					      {"command", required_argument, NULL, 'c'},
					      {"date", no_argument, NULL, 'd'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	static struct shell s = {.client = {.fd = -1}, .names = {.fd = -1}};
	char **command = calloc((size_t)argc, sizeof(*command)), name[80];
	size_t commands = 0;
	int opt, status = 0;

	if (!command)
		return dt_cmd_fail("out of memory");
	s.out.fd = STDOUT_FILENO;
	optind = 1;
	while (!status && (opt = getopt_long(argc, argv, "s:c:dh", longs, NULL)) != -1) {
		switch (opt) {
		case 's':
			s.session = optarg;
			break;
		case 'c':
			command[commands++] = optarg;
			break;
		case 'd':
			s.date = true;
			break;
		case 'h':
			fputs(help, stdout);
			free(command);
			return 0;
		default:
			status = dt_cmd_usage("shell");
		}
	}
	if (!status && (optind + 1 < argc || (optind < argc && s.session)))
		status = dt_cmd_usage("shell");
	if (!status && optind < argc)
		status = find_session(&s, argv[optind], name, sizeof(name));
	if (!status)
		status = run(&s, command, commands);
	free(command);
	return status;
}
