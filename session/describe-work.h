/* SPDX-License-Identifier: MIT */
/* What the parts of describing have in common. All of it with the session's lock. */
#ifndef DT_SESSION_DESCRIBE_WORK_H
#define DT_SESSION_DESCRIBE_WORK_H

#include "session/describe.h"

#define DT_DESCRIBE_ALL	      0x0f /* values of a row: all four have a meaning */
#define DT_DESCRIBE_SIGNATURE 4096 /* bytes; longer signatures count as not known */

/* ---- describe.c ---- */

/* Returns which values of a record have a meaning, by a signature: a bit for each place of the
 * parameters or of the result. */
uint8_t dt_describe_meant(const char *signature, bool result);
/* Replaces the keys of types in a signature or a description, which are those of a file, by rows of
 * the trace file, and writes these; the text never gets longer. depth: of types in types, 0 at
 * first. */
void dt_describe_types(struct dt_session *s, struct dt_file *f, char *text, unsigned depth);
/* Writes the row of a function, and returns its number; -1: it can not be written. */
int64_t dt_describe_function(struct dt_session *s, const struct dt_function_row *f);
/* Writes the signature of one of a point's records, with the values from `first' on:
 * "rax:p@0,count:i4@1;v". text: as dt_probes_point() gives it. */
void dt_describe_point_signature(const struct dt_point *point, unsigned first, unsigned text,
				 char *out, size_t size);

/* ---- describe-kernel.c ---- */

/* Writes the row of the kernel's function at that address, and returns its number; 0: none is
 * known.
 */
int64_t dt_describe_kernel_function(struct dt_session *s, uint64_t address);
/* Fills in the row of a record from a function of the kernel or of one of its modules. */
void dt_describe_kernel(struct dt_session *s, const struct dt_record *r, struct dt_site_row *row);

#endif
