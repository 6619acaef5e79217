/* SPDX-License-Identifier: MIT */
/*
 * Names of Barrelfish's applications from a table beside a dump, as its kernel prints them:
 *
 *	DCB: 0xffffff8002656c00 xmpl-trace
 *
 * A dump knows of a DCB (the kernel's block of an application) only the low 32 bits where it is
 * switched to. Of two with the same ones, that whose high bits are 0xffffff00 is meant, else that
 *of 0xffffff80, as Aquarium looks for them; else the last one.
 */
#ifndef DT_ANALYSE_APPLICATIONS_H
#define DT_ANALYSE_APPLICATIONS_H

#include <stdio.h>
#include "core/error.h"
#include "core/types.h"

struct dt_application {
	uint64_t dcb;
	char *name;
	unsigned long line;
};

struct dt_applications {
	struct dt_application *row; /* by the low 32 bits of dcb, each there once */
	size_t rows, size;
};

/* Lines that are empty or begin with # are skipped, others refused: "PATH:LINE: ...". After -1 only
 * free it. */
int dt_applications_read(struct dt_applications *a, const char *path, struct dt_error *e);

/* NULL: it has none. */
const char *dt_applications_name(const struct dt_applications *a, uint32_t low);

void dt_applications_free(struct dt_applications *a);

#endif
