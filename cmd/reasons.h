/* SPDX-License-Identifier: MIT */
/* How many calls of each function failed for which reason, for the notes of a table. */
#ifndef DT_CMD_REASONS_H
#define DT_CMD_REASONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/first.h"

/* Calls of a function that failed with an error. */
struct dt_reason {
	uint32_t function, error; /* error 0: the reason is not known */
	uint64_t calls;
};

/* All zero: none so far; then dt_reasons_free(). */
struct dt_reasons {
	struct dt_reason *reason;
	size_t n, room;
	struct dt_first first; /* where a function and an error are: index plus one, until sorted */
	bool no_memory;
};

/* Counts a call. */
void dt_reasons_add(struct dt_reasons *r, uint32_t function, uint32_t error);

/* Has to be called when all are counted, before they are printed. */
void dt_reasons_sort(struct dt_reasons *r);

/* Prints the reasons of a function after its name, the most frequent first: ": 3 ENOENT, 1 EACCES,
 * 2 for a reason that is not known". */
void dt_reasons_print(const struct dt_reasons *r, uint32_t function);

/* Prints them as a member of a JSON object: ', "errors": {"ENOENT": 3, "": 2}'. */
void dt_reasons_json(const struct dt_reasons *r, uint32_t function);

void dt_reasons_free(struct dt_reasons *r);

#endif
