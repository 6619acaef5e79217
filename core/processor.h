/* SPDX-License-Identifier: MIT */
/*
 * Names for a trace's values that have no names of their own, by the processor on which it was
 * recorded; any host can read the trace.
 */
#ifndef DT_CORE_PROCESSOR_H
#define DT_CORE_PROCESSOR_H

/* The names for one processor. */
struct dt_processor {
	const char *name;     /* as in the file's meta data: "x86-64" */
	const char *entry[4]; /* the registers of a function's first arguments */
	const char *exit[4];  /* the registers of its result */
};

/* Returns the processor of that name; NULL stands for a file that is too old to name one. A
 * processor that is not known has numbers for names. Never returns NULL. */
const struct dt_processor *dt_processor(const char *name);

#endif
