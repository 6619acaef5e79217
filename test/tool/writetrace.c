/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace file from text on standard input, for tests of the commands:
 *
 *	clock TICKS NS [NS_SINCE_1970]   thread TID NAME       meta KEY VALUE
 *	function NAME SIGNATURE     (SIGNATURE may be missing)
 *	E NAME SP TICKS V0 V1 V2 V3   entry; X: exit; T: exit before a tail jump; P, V, M, N, S, R:
 *	                              those kinds (values may be missing; numbers as in C)
 *	at CORE TID                   where what follows is; at first core 0, thread 1
 *	lost N                        records of the core, before the next one
 *	flags N                       of the records that follow
 *	event NUMBER NUMBER SUBSYSTEM NAME DESCRIPTION
 *
 * usage: writetrace FILE <TEXT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "store/store.h"

#define FUNCTIONS 40000
#define TEXT	  0x400000

static struct {
	char name[256], signature[512];
	int64_t row;
} function[FUNCTIONS];

static int functions;
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
	struct dt_function_row f = {1,	      TEXT + 0x100 * (uint64_t)functions,
				    0x100,    name,
				    "t.c",    (uint32_t)functions + 1,
				    signature, 0};

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
		} else if (!strcmp(word, "thread"))
			dt_store_thread(store, (uint32_t)atoi(a), 100, b, &error);
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
		else if (strlen(word) == 1)
			put(word[0], line + n, tid, core, (uint8_t)flags, &lost);
		else
			die(line);
	}
	if (lost && dt_store_put(store, core, NULL, 0, lost, &error))
		die(error.text);
	if (dt_store_close(store, &error))
		die(error.text);
	return 0;
}
