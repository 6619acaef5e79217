/* SPDX-License-Identifier: MIT */
/*
 * Barrelfish's text dump of a trace, converted to and from a trace file:
 *
 *	# Start 45163585368 Duration 0 Stop 18446744073709551615
 *	# Min_timestamp 45163585368
 *	# Core 0 LOG DUMP ==================================================
 *	# Offset 0 0
 *	# DCB 0 ffffff8002656c00 xmpl-tra
 *	0 45163585368 7337000100000000
 *
 * The form of 2013 and later is this one, with absolute times. That of 2011 has neither
 * Min_timestamp nor Offset, and its times count from Start; earlier events are left out.
 *
 * Records: doc/format.md, "Kinds and their values". What no record can hold is kept in meta as
 * barrelfish.* and clock_offset.*, so that a dump that was imported is exported byte for byte.
 */
#ifndef DT_ANALYSE_BARRELFISH_H
#define DT_ANALYSE_BARRELFISH_H

#include <stdio.h>
#include "analyse/applications.h"
#include "analyse/definition.h"
#include "store/reader.h"

enum dt_dump_form {
	DT_DUMP_AS_IMPORTED, /* as it was imported; otherwise absolute */
	DT_DUMP_RELATIVE,    /* 2011 */
	DT_DUMP_ABSOLUTE,    /* 2013 and later */
};

/* Writes the trace as a dump. Counts in *left_out the records whose kinds a dump does not have, and
 * the events from before Start. Returns -1 on error, but write errors stay in f. */
int dt_barrelfish_export(struct dt_reader *r, FILE *f, enum dt_dump_form form, uint64_t *left_out,
			 struct dt_error *e);

/*
 * Puts a dump into a trace. path is for errors: "PATH:LINE: ...". events, applications: names; they
 * may be empty. A name in the table of applications has precedence over the dump's, which has only
 * its first 8 bytes. Returns -1 on error.
 */
int dt_barrelfish_import(struct dt_store *s, FILE *f, const char *path,
			 const struct dt_definition *events,
			 const struct dt_applications *applications, struct dt_error *e);

/*
 * Reads the length that a server sends before a dump, in all forms that its versions and clients
 * use: 8 digits; 6 digits, or spaces and digits, if the dump's '#' comes next; or digits, a NUL and
 * anything else, up to 8 bytes. NULs before it are skipped. p has n bytes, of which *used are
 * taken. 1: *length is set; 0: more bytes are needed; -1: this is no length.
 */
#define DT_DUMP_LENGTH_MAX 16 /* most bytes, including what is skipped */
int dt_barrelfish_length(const char *p, size_t n, uint64_t *length, size_t *used);

/* Describes the records of an import: for dt_store_create(). */
void dt_barrelfish_describe(void *ctx, const struct dt_record *r, struct dt_site_row *row);

#endif
