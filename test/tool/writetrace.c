/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace file from text on standard input, for tests of the commands:
 *
 *	clock TICKS NS [NS_SINCE_1970]   thread TID NAME       meta KEY VALUE
 *	function NAME SIGNATURE     (SIGNATURE may be missing)
 *	E NAME SP TICKS V0 V1 V2 V3   entry; X: exit; T: exit before a tail jump; P, V, M, N, S, R:
 *	                              those kinds, W too (values may be missing; numbers as in C)
 *	sync KIND ID BEGIN END NS BOUND   (ID "-": none)
 *	at CORE TID                   where what follows is; at first core 0, thread 1
 *	lost N                        records of the core, before the next one
 *	lose N SINCE                  of one of the core's sources, since a tick
 *	unseen N SINCE                as lose, of context switches
 *	flags N                       of the records that follow
 *	event NUMBER NUMBER SUBSYSTEM NAME DESCRIPTION
 *	type TEXT                     numbered from 1
 *	process PID PARENT BEGIN END STATUS PROGRAM COMMAND
 *	in PID                        of which threads and modules are that follow
 *	module LOW HIGH PATH          whose functions follow
 *	exec TICKS
 *	pause BEGIN END stopped|frozen TIMES MISSED
 *	hold TID BEGIN END WHY
 *	change BEGIN END OFF COMMAND
 *	unhooked PATH ADDRESS NAME REASON
 *	caller PATH CALLER CALLEE
 *	kinds                         sites of V, P, M, N, S, R and W are of events and points,
 *	                              which they are not else
 *	waker TID PID CONTEXT MADE FUNCTION STACK NAME    numbered from 1; stack NAME... (functions,
 *	                              the innermost first)
 *
 * usage: writetrace FILE <TEXT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store/backtraces.h"
#include "store/store.h"
#include "store/wakers.h"

#define FUNCTIONS 40000
#define TEXT	  0x400000

static struct {
	char name[256], signature[512];
	int64_t row;
} function[FUNCTIONS];

static int functions;
static int64_t module = 1;
static bool kinds;
static struct dt_store *store;
static struct dt_error error;

static void die(const char *what)
{
	fprintf(stderr, "writetrace: %s\n", what);
	exit(1);
}

static int find(const char *name)
{
	for (int i = 0; i < functions; i++)
		if (!strcmp(function[i].name, name))
			return i;
	return -1;
}

static void add_function(const char *name, const char *signature)
{
	struct dt_function_row f = {module,    TEXT + 0x100 * (uint64_t)functions,
				    0x100,     name,
				    "t.c",     (uint32_t)functions + 1,
				    signature, 0,
				    NULL};

	if (functions == FUNCTIONS)
		die("too many functions");
	snprintf(function[functions].name, sizeof(function[0].name), "%s", name);
	snprintf(function[functions].signature, sizeof(function[0].signature), "%s", signature);
	function[functions++].row = dt_store_function(store, &f, &error);
}

static void add_event(char *line)
{
	char subsystem[64], name[64];
	struct dt_event_row row = {.subsystem_name = subsystem, .name = name};
	int n = 0;

	if (sscanf(line, "%u %u %63s %63s %n", &row.subsystem, &row.event, subsystem, name, &n) < 4)
		die(line);
	row.description = line + n;
	line[n + (int)strcspn(line + n, "\n")] = '\0';
	dt_store_event(store, &row, &error);
}

static void describe(void *ctx, const struct dt_record *r, struct dt_site_row *row)
{
	(void)ctx;
	row->function = function[(r->pc - TEXT) / 0x100].row;
	row->kind = r->kind == 'E'	   ? DT_SITE_ENTRY
		    : (r->pc & 0xff) == 10 ? DT_SITE_TAIL
					   : DT_SITE_RETURN;
	row->values = 0xf;
	if (kinds && strchr("VMNSRW", r->kind))
		row->kind = DT_SITE_EVENT;
	else if (kinds && r->kind == 'P')
		row->kind = DT_SITE_POINT;
	else if (kinds && r->kind == 'c')
		row->kind = DT_SITE_POINT_MORE;
}

/* Returns the row of a function; 0: none has that name. */
static uint32_t row_of(const char *name)
{
	int i = find(name);

	return i < 0 ? 0 : (uint32_t)function[i].row;
}

static void add_waker(const char *line)
{
	unsigned long n[5] = {0};
	char in[256] = "", name[64] = "";
	struct dt_waker w = {.name = name};

	sscanf(line, "%lu %lu %lu %lu %255s %lu %63[^\n]", n, n + 1, n + 2, n + 3, in, n + 4, name);
	w.tid = (uint32_t)n[0];
	w.pid = (uint32_t)n[1];
	w.context = (uint32_t)n[2];
	w.made = n[3] != 0;
	w.function = row_of(in);
	w.stack = (int64_t)n[4];
	dt_store_waker(store, &w, &error);
}

static void add_stack(char *line)
{
	struct dt_backtrace_frame frame[16] = {{0}};
	size_t n = 0;

	for (char *word = strtok(line, " "); word && n < 16; word = strtok(NULL, " "))
		frame[n++] = (struct dt_backtrace_frame){
			.address = 0x1000 + n, .function = row_of(word), .file = ""};
	dt_store_stack(store, frame, n, "", &error);
}

/* A row of one of the other tables; false: the word is none of them. */
static bool add_row(const char *word, char *line)
{
	static uint32_t pid = 100;
	unsigned long n[5] = {0};
	char a[256] = "", b[256] = "", rest[512] = "";

	line[strcspn(line, "\n")] = '\0';
	if (!strcmp(word, "in")) {
		pid = (uint32_t)atoi(line);
	} else if (!strcmp(word, "thread")) {
		sscanf(line, "%lu %511[^\n]", n, rest);
		dt_store_thread(store, (uint32_t)n[0], pid, rest, &error);
	} else if (!strcmp(word, "process")) {
		sscanf(line, "%lu %lu %lu %lu %li %255s %511[^\n]", n, n + 1, n + 2, n + 3,
		       (long *)n + 4, a, rest);
		dt_store_process(store, (uint32_t)n[0], (uint32_t)n[1], a, rest, n[2], &error);
		if (n[3])
			dt_store_process_end(store, (uint32_t)n[0], (int)n[4], n[3], &error);
	} else if (!strcmp(word, "module")) {
		sscanf(line, "%li %li %511[^\n]", (long *)n, (long *)n + 1, rest);
		module = dt_store_module(
			store, &(struct dt_module_row){pid, n[0], n[0], n[1], rest, "", 1, 0},
			&error);
	} else if (!strcmp(word, "exec")) {
		dt_store_exec(store, pid, strtoull(line, NULL, 0), &error);
	} else if (!strcmp(word, "sync")) {
		sscanf(line, "%255s %255s %lu %lu %li %li", a, b, n, n + 1, (long *)n + 2,
		       (long *)n + 3);
		dt_store_sync(store,
			      &(struct dt_sync_row){a, strcmp(b, "-") ? b : "", n[0], n[1],
						    (int64_t)n[2], (int64_t)n[3]},
			      &error);
	} else if (!strcmp(word, "type")) {
		dt_store_type(store, line + strspn(line, " "), &error);
	} else if (!strcmp(word, "pause")) {
		sscanf(line, "%lu %lu %255s %lu %lu", n, n + 1, a, n + 2, n + 3);
		dt_store_pause(store, &(struct dt_pause){n[0], n[1], *a == 's', n[2], n[3]},
			       &error);
	} else if (!strcmp(word, "hold")) {
		sscanf(line, "%lu %lu %lu %255s", n, n + 1, n + 2, a);
		dt_store_held(store, &(struct dt_held_row){(uint32_t)n[0], n[1], n[2], a}, &error);
	} else if (!strcmp(word, "change")) {
		sscanf(line, "%lu %lu %lu %511[^\n]", n, n + 1, n + 2, rest);
		dt_store_change(store, &(struct dt_change){n[0], n[1], rest, n[2] != 0}, &error);
	} else if (!strcmp(word, "unhooked")) {
		sscanf(line, "%255s %li %255s %511[^\n]", a, (long *)n, b, rest);
		dt_store_unhooked(store, a, n[0], b, rest, &error);
	} else if (!strcmp(word, "caller")) {
		sscanf(line, "%255s %li %li", a, (long *)n, (long *)n + 1);
		dt_store_unhooked_caller(store, a, n[0], n[1], &error);
	} else if (!strcmp(word, "waker")) {
		add_waker(line);
	} else if (!strcmp(word, "stack")) {
		add_stack(line);
	} else {
		return false;
	}
	return true;
}

static void put(char kind, char *line, uint32_t tid, unsigned core, uint8_t flags, uint64_t *lost)
{
	char name[256];
	uint64_t number[6] = {0};
	struct dt_record r = {.tid = tid, .core = (uint16_t)core, .flags = flags};
	int i, n = 0;

	if (sscanf(line, "%255s%n", name, &n) < 1)
		die(line);
	line += n;
	for (i = 0; i < 6; i++)
		number[i] = strtoull(line, &line, 0);
	i = find(name);
	if (i < 0) {
		add_function(name, "");
		i = functions - 1;
	}
	r.kind = kind == 'T' ? 'X' : (uint8_t)kind;
	r.pc = TEXT + 0x100 * (uint64_t)i +
	       (kind == 'E'   ? 5
		: kind == 'X' ? 6
		: kind == 'T' ? 10
			      : 7);
	r.sp = number[0];
	r.ticks = number[1];
	for (int j = 0; j < 4; j++)
		r.value[j] = number[2 + j];
	if (dt_store_put(store, core, &r, 1, *lost, &error))
		die(error.text);
	*lost = 0;
}

int main(int argc, char **argv)
{
	struct dt_module_row m = {100, 0x400000, 0x400000, 0x500000, "/bin/test", "", 0, 0};
	char line[2048], word[64], a[1024], b[1024], *end;
	unsigned core = 0, tid = 1, flags = 0;
	uint64_t lost = 0;

	store = argc == 2 ? dt_store_create(argv[1], describe, NULL, &error) : NULL;
	if (!store)
		die(argc == 2 ? error.text : "usage: writetrace FILE <TEXT");
	dt_store_module(store, &m, &error);
	while (fgets(line, sizeof(line), stdin)) {
		int n = 0;

		a[0] = b[0] = '\0';
		if (sscanf(line, "%63s%n %1023s %1023[^\n]", word, &n, a, b) < 1 || word[0] == '#')
			continue;
		if (!strcmp(word, "clock")) {
			uint64_t ns = strtoull(b, &end, 0);

			dt_store_clock(store, strtoull(a, NULL, 0), ns, strtoull(end, NULL, 0),
				       &error);
		} else if (!strcmp(word, "kinds"))
			kinds = true;
		else if (!strcmp(word, "meta"))
			dt_store_meta(store, a, b, &error);
		else if (!strcmp(word, "function"))
			add_function(a, b);
		else if (!strcmp(word, "event"))
			add_event(line + n);
		else if (!strcmp(word, "at"))
			core = (unsigned)atoi(a), tid = (unsigned)atoi(b);
		else if (!strcmp(word, "lost"))
			lost = strtoull(a, NULL, 0);
		else if (!strcmp(word, "flags"))
			flags = (unsigned)atoi(a);
		else if (!strcmp(word, "lose"))
			dt_store_lose(store, core, strtoull(a, NULL, 0), 0, strtoull(b, NULL, 0),
				      &error);
		else if (!strcmp(word, "unseen"))
			dt_store_lose(store, core, strtoull(a, NULL, 0), strtoull(a, NULL, 0),
				      strtoull(b, NULL, 0), &error);
		else if (strlen(word) == 1)
			put(word[0], line + n, tid, core, (uint8_t)flags, &lost);
		else if (!add_row(word, line + n))
			die(line);
	}
	if (lost && dt_store_put(store, core, NULL, 0, lost, &error))
		die(error.text);
	if (dt_store_close(store, &error))
		die(error.text);
	return 0;
}
