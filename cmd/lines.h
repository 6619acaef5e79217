/* SPDX-License-Identifier: MIT */
/*
 * Text traces: lines as Plan 9's devtrace and `devtrace cat` write them, of any format that is read
 * back (core/text.h, core/compact.h). The first line tells which.
 */
#ifndef DT_CMD_LINES_H
#define DT_CMD_LINES_H

#include <stdio.h>
#include "core/error.h"
#include "core/record.h"

struct dt_line {
	struct dt_record record;
	unsigned mask, bits;  /* values that are there; how wide they are: 64, or 32 */
	const char *function; /* its name, when the line says it; not terminated */
	size_t function_length;
};

/* fn returns -1 without memory. */
typedef int dt_line_fn(void *ctx, const struct dt_line *line);
int dt_lines_read(FILE *f, const char *path, dt_line_fn *fn, void *ctx, struct dt_error *e);

struct dt_symbol {
	uint64_t address;
	char *name;
};

struct dt_symbols {
	struct dt_symbol *p; /* by address */
	size_t n;
};

/* Reads "ADDRESS [TYPE] NAME" lines, as nm writes; others are skipped. */
int dt_symbols_read(struct dt_symbols *s, const char *path, struct dt_error *e);
/* The symbol that contains pc: one plus its index; 0: none. */
size_t dt_symbols_find(const struct dt_symbols *s, uint64_t pc);
void dt_symbols_free(struct dt_symbols *s);

/*
 * Reads record lines and says each call when it ends; name is valid during the call of fn. symbols:
 * a file of "ADDRESS [TYPE] NAME" lines, as nm writes; NULL: functions are named by their pc.
 * Such a trace has no stack pointers: an exit belongs to the last entry of its thread and function
 * (without symbols: to the last entry of its thread). first: ticks of the first record.
 */
typedef void dt_line_call_fn(void *ctx, uint64_t first, uint64_t begin, uint64_t end,
			     const char *name);
int dt_lines_calls(FILE *f, const char *path, const char *symbols, dt_line_call_fn *fn, void *ctx,
		   struct dt_error *e);

/* Whether a file begins with a record line. */
bool dt_lines_is(const char *path);

#endif
