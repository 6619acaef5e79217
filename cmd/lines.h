/* SPDX-License-Identifier: MIT */
/*
 * Reading text traces: lines as Plan 9's devtrace and `devtrace cat` write them, in any of the
 * formats of core/text.h and core/compact.h that can be read. The first line shows which format it
 * is.
 */
#ifndef DT_CMD_LINES_H
#define DT_CMD_LINES_H

#include <stdio.h>
#include "core/error.h"
#include "core/record.h"

struct dt_line {
	struct dt_record record;
	unsigned mask, bits;  /* mask: bit i: value[i] is there; bits of a value: 64 or 32 */
	const char *function; /* its name, if the line has it; not terminated */
	size_t function_length;
};

/* Called for a line, which is valid during the call; returns -1 when out of memory. */
typedef int dt_line_fn(void *ctx, const struct dt_line *line);
/* Calls fn for each line of f that has a record; path is for errors. 0, or -1 and an error. */
int dt_lines_read(FILE *f, const char *path, dt_line_fn *fn, void *ctx, struct dt_error *e);

struct dt_symbol {
	uint64_t address;
	char *name;
};

struct dt_symbols {
	struct dt_symbol *p; /* sorted by address */
	size_t n;
};

/* Reads "ADDRESS [TYPE] NAME" lines, as nm writes them; other lines are skipped. */
int dt_symbols_read(struct dt_symbols *s, const char *path, struct dt_error *e);
/* Returns one plus the index of the last symbol at or below pc; 0: there is none. */
size_t dt_symbols_find(const struct dt_symbols *s, uint64_t pc);
void dt_symbols_free(struct dt_symbols *s);

/* Called for a call; times are in ticks, first is that of the first record. name is valid during
 * the call of fn. */
typedef void dt_line_call_fn(void *ctx, uint64_t first, uint64_t begin, uint64_t end,
			     const char *name);
/*
 * Reads record lines and calls fn for each call when it ends. symbols: the path of a file for
 * dt_symbols_read(); NULL: functions are named by their pc. Such a trace has no stack pointers: an
 * exit belongs to the last entry of its thread and function (without symbols: to the last entry of
 * its thread).
 */
int dt_lines_calls(FILE *f, const char *path, const char *symbols, dt_line_call_fn *fn, void *ctx,
		   struct dt_error *e);

/* Says whether the path is a plain file that begins with a record line. */
bool dt_lines_is(const char *path);

#endif
