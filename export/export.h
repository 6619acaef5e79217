/* SPDX-License-Identifier: MIT */
/*
 * Traces in the formats of other tools, written as they are read: memory is bounded by the
 * program's stacks and threads, not by the trace. Times are nanoseconds from the first record.
 */
#ifndef DT_EXPORT_EXPORT_H
#define DT_EXPORT_EXPORT_H

#include <stdio.h>
#include "analyse/pair.h"
#include "show/words.h"

struct dt_export {
	const char *name; /* of the option */
	const char *what; /* in a line */
	/* formats: how calls read; NULL: they have only their names. Write errors stay in f. */
	int (*write)(struct dt_reader *r, FILE *f, struct dt_formats *formats, struct dt_error *e);
};

/* All there are; the last one has no name. */
extern const struct dt_export dt_exports[];

int dt_export_chrome(struct dt_reader *r, FILE *f, struct dt_formats *formats, struct dt_error *e);
int dt_export_perfetto(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		       struct dt_error *e);
int dt_export_speedscope(struct dt_reader *r, FILE *f, struct dt_formats *formats,
			 struct dt_error *e);
int dt_export_folded(struct dt_reader *r, FILE *f, struct dt_formats *formats, struct dt_error *e);
int dt_export_callgrind(struct dt_reader *r, FILE *f, struct dt_formats *formats,
			struct dt_error *e);
int dt_export_csv(struct dt_reader *r, FILE *f, struct dt_formats *formats, struct dt_error *e);

/* The Common Trace Format, into that folder, which it makes. *moved: records that are before
 * the one in front of them on their core; the format cannot say so, they have its time. */
int dt_export_ctf(struct dt_reader *r, const char *folder, struct dt_formats *formats,
		  uint64_t *moved, struct dt_error *e);

/* What they share. */
const char *dt_export_module(const struct dt_reader *r,
			     uint32_t function); /* the file's own name */
uint64_t dt_export_first(struct dt_reader *r);	 /* ticks of the first record */

/* What times are called in which a thread could not go on because of the tracer. */
#define DT_EXPORT_HELD "waiting for devtrace"
double dt_export_ns(const struct dt_reader *r, uint64_t first, uint64_t ticks);

#endif
