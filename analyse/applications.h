/* SPDX-License-Identifier: MIT */
/*
 * Names of Barrelfish's applications from a table beside a dump, as its kernel prints them:
 *
 *	DCB: 0xffffff8002656c00 xmpl-trace
 *
 * Of a DCB (the kernel's block of an application) that is switched to, a dump has only the low 32
 * bits. If two DCBs have the same low bits, the one whose high bits are 0xffffff00 is meant, or
 *else the one with 0xffffff80, as in Aquarium; or else the last one.
 */
#ifndef DT_ANALYSE_APPLICATIONS_H
#define DT_ANALYSE_APPLICATIONS_H

#include <stdio.h>
#include "core/error.h"
#include "core/types.h"

struct dt_application {
	uint64_t dcb; /* address of its kernel block */
	char *name;
	unsigned long line; /* line in the file */
};

struct dt_applications {
	struct dt_application *row; /* sorted by the low 32 bits of dcb, one row for each */
	size_t rows, size;
};

/* Reads a table. Lines that are empty or begin with # are skipped, others that do not fit are
 * refused: "PATH:LINE: ...". After -1, *a may only be freed. */
int dt_applications_read(struct dt_applications *a, const char *path, struct dt_error *e);

/* Returns the name of the application with these low 32 bits; NULL: there is none. */
const char *dt_applications_name(const struct dt_applications *a, uint32_t low);

void dt_applications_free(struct dt_applications *a);

#endif
