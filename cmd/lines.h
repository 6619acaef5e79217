/* SPDX-License-Identifier: MIT */
/* Calls out of a text trace: 121-byte lines, as Plan 9's devtrace and `devtrace cat` write them. */
#ifndef DT_CMD_LINES_H
#define DT_CMD_LINES_H

#include <stdio.h>
#include "core/error.h"

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
