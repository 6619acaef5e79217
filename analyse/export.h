/* SPDX-License-Identifier: MIT */
/*
 * Traces in the formats of other tools, written as they are read: memory is bounded by the program's
 * stacks and threads, not by the trace. Times are nanoseconds from the first record.
 */
#ifndef DT_ANALYSE_EXPORT_H
#define DT_ANALYSE_EXPORT_H

#include <stdio.h>
#include "analyse/json.h"
#include "analyse/pair.h"

/* name: n bytes, 0 when it has none. */
typedef void dt_export_value_fn(void *to, const char *name, size_t n, const char *text, size_t length);

/* How a call reads: NULL: calls have only their names. They write into t. */
struct dt_export_words {
	void (*call)(void *ctx, struct dt_json *t, uint32_t function, const uint64_t *argument);
	void (*result)(void *ctx, struct dt_json *t, uint32_t function, const uint64_t *result);
	/* Tells each argument of a call, or value of a point, by itself; faults: those that could not be
	 * read are marked in their values. */
	void (*each)(void *ctx, uint32_t function, const uint64_t *value, bool faults,
		     dt_export_value_fn *fn, void *to);
	void *ctx;
};

struct dt_export {
	const char *name; /* of the option */
	const char *what; /* in a line */
	/* Write errors stay in f. */
	int (*write)(struct dt_reader *r, FILE *f, const struct dt_export_words *words,
		     struct dt_error *e);
};

/* All there are; the last one has no name. */
extern const struct dt_export dt_exports[];

int dt_export_chrome(struct dt_reader *r, FILE *f, const struct dt_export_words *words,
		     struct dt_error *e);
int dt_export_perfetto(struct dt_reader *r, FILE *f, const struct dt_export_words *words,
		       struct dt_error *e);
int dt_export_speedscope(struct dt_reader *r, FILE *f, const struct dt_export_words *words,
			 struct dt_error *e);
int dt_export_folded(struct dt_reader *r, FILE *f, const struct dt_export_words *words,
		     struct dt_error *e);
int dt_export_callgrind(struct dt_reader *r, FILE *f, const struct dt_export_words *words,
			struct dt_error *e);
int dt_export_csv(struct dt_reader *r, FILE *f, const struct dt_export_words *words,
		  struct dt_error *e);

/* The Common Trace Format, into that folder, which it makes. *moved: records that are before
 * the one in front of them on their core; the format cannot say so, they have its time. */
int dt_export_ctf(struct dt_reader *r, const char *folder, const struct dt_export_words *words,
		  uint64_t *moved, struct dt_error *e);

/* Name of a function row, "?" for 0; what else they share. */
const char *dt_export_function(const struct dt_reader *r, uint32_t function);
const char *dt_export_module(const struct dt_reader *r, uint32_t function); /* the file's own name */
uint64_t dt_export_first(struct dt_reader *r); /* ticks of the first record */

/* What times are called in which a thread could not go on because of the tracer. */
#define DT_EXPORT_HELD "waiting for devtrace"
double dt_export_ns(const struct dt_reader *r, uint64_t first, uint64_t ticks);

#endif
