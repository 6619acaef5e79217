/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace file through libdevtrace's interface, whatever it holds: descriptions, calls one by
 * one and by columns, with and without texts, records. What it finds does not matter, but the same
 * calls must come both ways. Status 0: it has ended by itself.
 *
 * usage: walk-library FILE
 */
#include <stdio.h>
#include <stdlib.h>

#include "include/libdevtrace.h"

#define ROWS 1000

static uint64_t all; /* made of what was read, so that it is read */

static void add_text(const char *s)
{
	for (; s && *s; s++)
		all += (unsigned char)*s;
}

static void walk_descriptions(struct devtrace *t)
{
	struct devtrace_summary s;
	struct devtrace_thread thread;
	struct devtrace_process process;
	struct devtrace_module module;
	struct devtrace_function function;

	devtrace_get_summary(t, &s, sizeof(s));
	all += (uint64_t)devtrace_ns(t, s.last) + devtrace_ticks(t, devtrace_ns(t, s.last) / 2);
	add_text(devtrace_meta(t, "command"));
	for (uint32_t i = 0; devtrace_get_thread(t, i, &thread, sizeof(thread)) == 0; i++)
		add_text(thread.name);
	for (uint32_t i = 0; devtrace_get_process(t, i, &process, sizeof(process)) == 0; i++) {
		add_text(process.program);
		add_text(process.command);
	}
	for (uint32_t i = 1; devtrace_get_module(t, i, &module, sizeof(module)) == 0; i++)
		add_text(module.path);
	for (uint32_t i = 1; devtrace_get_function(t, i, &function, sizeof(function)) == 0; i++) {
		add_text(function.name);
		add_text(function.shown);
		add_text(function.file);
	}
}

/* Returns how many calls there were. */
static uint64_t walk_calls(struct devtrace *t, const struct devtrace_choice *choice)
{
	struct devtrace_error e;
	const struct devtrace_call *call;
	struct devtrace_calls *c = devtrace_calls_begin(t, choice, &e);
	uint64_t n = 0;

	for (; c && devtrace_calls_next(c, &call, &e) > 0; n++) {
		all += call->begin_ticks ^ call->argument[0];
		add_text(devtrace_ended(call->flags));
		add_text(devtrace_calls_text(c));
		add_text(devtrace_calls_arguments(c));
	}
	if (c)
		add_text(devtrace_calls_note(c));
	devtrace_calls_end(c);
	return n;
}

static uint64_t walk_columns(struct devtrace *t, const struct devtrace_choice *choice)
{
	static uint64_t ticks[ROWS], values[ROWS][4];
	static double duration[ROWS];
	static const char *text[ROWS], *named[ROWS];
	const struct devtrace_column column[] = {{DEVTRACE_COLUMN_BEGIN_TICKS, ticks},
						 {DEVTRACE_COLUMN_DURATION_NS, duration},
						 {DEVTRACE_COLUMN_ARGUMENT, values},
						 {DEVTRACE_COLUMN_TEXT, text},
						 {DEVTRACE_COLUMN_ARGUMENTS_TEXT, named}};
	struct devtrace_error e;
	struct devtrace_calls *c = devtrace_calls_begin(t, choice, &e);
	uint64_t n = 0;
	int64_t got;

	while (c && (got = devtrace_calls_fill(c, column, sizeof(column) / sizeof(*column), ROWS,
					       NULL, &e)) > 0) {
		for (int64_t i = 0; i < got; i++) {
			all += ticks[i] ^ values[i][0] ^ (duration[i] > 1000);
			add_text(text[i]);
			add_text(named[i]);
		}
		n += (uint64_t)got;
	}
	devtrace_calls_end(c);
	return n;
}

static void walk_records(struct devtrace *t)
{
	struct devtrace_choice choice = {.size = sizeof(choice), .flags = DEVTRACE_VALUES};
	struct devtrace_error e;
	const struct devtrace_record *record;
	struct devtrace_records *r = devtrace_records_begin(t, &choice, &e);

	while (r && devtrace_records_next(r, &record, &e) > 0)
		all += record->ticks ^ record->pc ^ record->value[0];
	devtrace_records_end(r);
}

int main(int argc, char **argv)
{
	static const uint32_t flags[] = {0, DEVTRACE_TEXTS, DEVTRACE_TEXTS | DEVTRACE_BY_TIME};
	struct devtrace_error e;
	struct devtrace *t = devtrace_open(argc > 1 ? argv[1] : "", &e);
	uint64_t one = 0, columns = 0;

	if (!t) {
		fprintf(stderr, "%s\n", e.text);
		return 0;
	}
	walk_descriptions(t);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags) && one == columns; i++) {
		struct devtrace_choice choice = {.size = sizeof(choice), .flags = flags[i]};

		one = walk_calls(t, &choice);
		columns = walk_columns(t, &choice);
	}
	walk_records(t);
	devtrace_close(t);
	if (one != columns)
		fprintf(stderr, "%lu calls one by one, %lu by columns\n", (unsigned long)one,
			(unsigned long)columns);
	printf("%lx\n", (unsigned long)all);
	return one != columns;
}
