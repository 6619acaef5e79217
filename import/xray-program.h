/* SPDX-License-Identifier: MIT */
/* Which functions XRay's numbers are, by the map of the program (its section xray_instr_map). */
#ifndef DT_IMPORT_XRAY_PROGRAM_H
#define DT_IMPORT_XRAY_PROGRAM_H

#include "core/error.h"

struct dt_xray_program {
	char **name; /* of function i + 1; NULL: not known */
	size_t n;
};

/* Reads a program, which may be of anybody. Returns -1 on error. */
int dt_xray_program_read(struct dt_xray_program *p, const char *path, struct dt_error *e);
void dt_xray_program_free(struct dt_xray_program *p);

#endif
