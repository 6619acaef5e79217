/* SPDX-License-Identifier: MIT */
/*
 * Definitions of events, in the language of Barrelfish's pleco:
 *
 *	subsystem kernel {
 *		event CSWITCH "Context Switch",
 *		event TIMER "",
 *	};
 *
 * Subsystems and the events of each are numbered from 0 in the order they stand in. An empty
 * description is the event's name. Comments are those of C. From it come a header with macros for
 * the program and a table in JSON for decoders.
 */
#ifndef DT_ANALYSE_DEFINITION_H
#define DT_ANALYSE_DEFINITION_H

#include <stdio.h>
#include "core/error.h"
#include "store/store.h"

/* The most subsystems: from this number on, bodies are those of messages. */
#define DT_SUBSYSTEMS 0xea00

struct dt_definition {
	struct dt_event_row *row; /* in the order of their numbers; strings are the definition's */
	size_t rows, size;
	uint32_t subsystems;
	struct dt_definition_text *texts;
};

/* Adds what the text defines. path is for errors: "PATH:LINE:COLUMN: ...". After -1, *d may only be
 * freed. */
int dt_definition_parse(struct dt_definition *d, const char *text, size_t n, const char *path,
			struct dt_error *e);

/* Adds what the JSON of dt_definition_json() defines, otherwise as dt_definition_parse(). The two
 * entries of messages are left out. */
int dt_definition_parse_json(struct dt_definition *d, const char *text, size_t n, const char *path,
			     struct dt_error *e);

/* Adds what a file ("-": standard input) of either kind defines. Returns -1 on error. */
int dt_definition_read(struct dt_definition *d, const char *path, struct dt_error *e);

/*
 * Writes a header for C and C++ with TRACE_SUBSYS_<NAME>, TRACE_EVENT_<SUBSYS>_<EVENT> and
 * TRACE_NUM_SUBSYSTEMS. name is the file's, from which the include guard is made. Write errors stay
 * in f.
 */
void dt_definition_header(const struct dt_definition *d, FILE *f, const char *name);

/*
 * Writes {"0": {"name": "kernel", "events": {"0": ["CSWITCH", "Context Switch"]}}}, and two entries
 * for messages, named by their upper 16 bits, signed: "-5632" sent, "-5376" received. Write errors
 * stay in f.
 */
void dt_definition_json(const struct dt_definition *d, FILE *f);

void dt_definition_free(struct dt_definition *d);

#endif
