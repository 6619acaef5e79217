/* SPDX-License-Identifier: MIT */
/*
 * Barrelfish's text dump of a trace, to and from a trace file:
 *
 *	# Start 45163585368 Duration 0 Stop 18446744073709551615
 *	# Min_timestamp 45163585368
 *	# Core 0 LOG DUMP ==================================================
 *	# Offset 0 0
 *	# DCB 0 ffffff8002656c00 xmpl-tra
 *	0 45163585368 7337000100000000
 *
 * The form of 2013 and later is this one, with absolute times. That of 2011 has neither
 * Min_timestamp nor Offset, and times count from Start; earlier events are left out.
 *
 * Records: doc/format.md, "Kinds and their values". What no record holds is kept in meta as
 * barrelfish.* and clock_offset.*, so that a dump that was imported is exported byte for byte.
 */
#ifndef DT_ANALYSE_BARRELFISH_H
#define DT_ANALYSE_BARRELFISH_H

#include <stdio.h>
#include "analyse/applications.h"
#include "analyse/definition.h"
#include "store/reader.h"

enum dt_dump_form {
	DT_DUMP_AS_IMPORTED, /* absolute when it was not imported */
	DT_DUMP_RELATIVE,    /* 2011 */
	DT_DUMP_ABSOLUTE,    /* 2013 and later */
};

/* *left_out: records of other kinds than a dump has, and events from before Start. Write errors
 * stay in f. */
int dt_barrelfish_export(struct dt_reader *r, FILE *f, enum dt_dump_form form, uint64_t *left_out,
			 struct dt_error *e);

/* path is for errors: "PATH:LINE: ...". events, applications: names; may have none. A name in the
 * table of applications counts more than the dump's, which has only the first 8 bytes of it. */
int dt_barrelfish_import(struct dt_store *s, FILE *f, const char *path,
			 const struct dt_definition *events,
			 const struct dt_applications *applications, struct dt_error *e);

/*
 * The length that a server sends in front of a dump, as its versions and clients have it: 8 digits;
 * 6 of them, or spaces and digits, when the dump's '#' is next; digits, a NUL and anything up to 8
 * bytes. NULs in front of it are skipped. Of the n bytes at p it takes *used. 0: more bytes are
 * needed; -1: this is none.
 */
#define DT_DUMP_LENGTH_MAX 16 /* bytes, with what is skipped */
int dt_barrelfish_length(const char *p, size_t n, uint64_t *length, size_t *used);

/* For dt_store_create(): what the records of an import are. */
void dt_barrelfish_describe(void *ctx, const struct dt_record *r, struct dt_site_row *row);

#endif
