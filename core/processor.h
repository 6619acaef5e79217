/* SPDX-License-Identifier: MIT */
/*
 * What a trace's values are called that have no names of their own, by the processor that it was
 * recorded on: any host can read it.
 */
#ifndef DT_CORE_PROCESSOR_H
#define DT_CORE_PROCESSOR_H

struct dt_processor {
	const char *name;     /* as the file's meta has it: "x86-64" */
	const char *entry[4]; /* the registers of a function's first arguments, */
	const char *exit[4];  /* and of its result */
};

/* By its name; NULL: of a file from before that was told. One that is not known has numbers for
 * names. */
const struct dt_processor *dt_processor(const char *name);

#endif
