/* SPDX-License-Identifier: MIT */
/*
 * Traces in the formats of other tools. They are written while the trace is read, so memory is
 * bounded by the program's stacks and threads, not by the trace. Times are ns from the first
 * record.
 */
#ifndef DT_EXPORT_EXPORT_H
#define DT_EXPORT_EXPORT_H

#include <stdio.h>
#include "analyse/chosen.h"
#include "analyse/pair.h"
#include "show/words.h"
#include "store/hosts.h"

/* A format. */
struct dt_export {
	const char *name; /* name of the option */
	const char *what; /* what it is, in one line */
	/* Writes the trace to f. formats: how values are printed; NULL: calls have only their
	 * names. chosen: only these calls, as they are numbered in that order; NULL: all. Returns
	 * -1 on error, but write errors stay in f. */
	int (*write)(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		     const struct dt_chosen_calls *chosen, struct dt_error *e);
	enum dt_order order;
};

/* All formats but CTF; the last one has no name. */
extern const struct dt_export dt_exports[];

int dt_export_chrome(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		     const struct dt_chosen_calls *chosen, struct dt_error *e);
int dt_export_perfetto(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		       const struct dt_chosen_calls *chosen, struct dt_error *e);
int dt_export_speedscope(struct dt_reader *r, FILE *f, struct dt_formats *formats,
			 const struct dt_chosen_calls *chosen, struct dt_error *e);
int dt_export_folded(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		     const struct dt_chosen_calls *chosen, struct dt_error *e);
int dt_export_callgrind(struct dt_reader *r, FILE *f, struct dt_formats *formats,
			const struct dt_chosen_calls *chosen, struct dt_error *e);
int dt_export_csv(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		  const struct dt_chosen_calls *chosen, struct dt_error *e);
int dt_export_parquet(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		      const struct dt_chosen_calls *chosen, struct dt_error *e);
int dt_export_clickhouse(struct dt_reader *r, FILE *f, struct dt_formats *formats,
			 const struct dt_chosen_calls *chosen, struct dt_error *e);
int dt_export_otlp(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		   const struct dt_chosen_calls *chosen, struct dt_error *e);

/*
 * Writes the trace in the Common Trace Format into a folder, which it makes. *moved: how many
 * records are earlier than the one before them on their core; the format cannot express that, so
 * they get that one's time. Returns -1 on error.
 */
int dt_export_ctf(struct dt_reader *r, const char *folder, struct dt_formats *formats,
		  uint64_t *moved, struct dt_error *e);

/* Is the call to be written? Calls without an entry have no number, and are not chosen. */
static inline bool dt_export_wants(const struct dt_chosen_calls *chosen, const struct dt_call *c)
{
	return !chosen || dt_chosen_has(chosen, c->id);
}

/* Returns the name of the file that a function is in; "": not known. */
const char *dt_export_module(const struct dt_reader *r, uint32_t function);
uint64_t dt_export_first(struct dt_reader *r); /* ticks of the first record; 0 on error */

/* Names of threads and processes: of a trace of several machines, with the machine's in front. All
 * zero at first. */
struct dt_export_names {
	struct dt_hosts hosts;
	char text[512];
};
/* 0, or -1: out of memory. dt_hosts_free() frees the hosts in any case. */
int dt_export_names(struct dt_export_names *n, const struct dt_reader *r, struct dt_error *e);
/* Returns the name of a thread or process with its machine's, if there are several, and if that is
 * known; valid until the next call. */
const char *dt_export_named(struct dt_export_names *n, uint32_t id, const char *name);

/* What times are called in which a thread could not go on because of the tracer. */
#define DT_EXPORT_HELD "waiting for devtrace"
/* Returns the ns from tick `first' to `ticks'. */
double dt_export_ns(const struct dt_reader *r, uint64_t first, uint64_t ticks);

#endif
