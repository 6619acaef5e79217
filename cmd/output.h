/* SPDX-License-Identifier: MIT */
/*
 * Output that is there only when it is complete: it is written under another name beside its own,
 * and moved there at the end. SIGINT, SIGTERM and SIGHUP meanwhile are kept until it has been
 * removed. What is no plain file (a pipe, a terminal, /dev/full), and standard output, is written
 * directly.
 */
#ifndef DT_CMD_OUTPUT_H
#define DT_CMD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "process/confine.h"

struct dt_output {
	const char *said;  /* for errors; the caller's */
	char *path, *name; /* where it is to be; where it is; NULL: written directly */
	char *outer;	   /* of a folder: that it is in meanwhile */
	FILE *file;
};

/* path NULL: standard output. False, and an error said: it can not be written. */
bool dt_output_open(struct dt_output *p, const char *path);

/* A folder, which is to be made as dt_output.name, and filled with files. What is at path must be
 * an empty one, or nothing. */
bool dt_output_open_folder(struct dt_output *p, const char *path);

/* It is opened before the command confines itself, and goes on being moved and removed. */
void dt_output_needs(const struct dt_output *p, struct dt_needs *needs);

/* Has a signal asked to end? */
bool dt_output_is_interrupted(void);

/* ok: it is complete. Otherwise it is removed. Returns the exit status: 1 when not ok, or, said,
 * when it could not be written. Does not return when a signal had asked to end. */
int dt_output_end(struct dt_output *p, bool ok);

#endif
