/* SPDX-License-Identifier: MIT */
/*
 * Output that appears only when it is complete: it is written under another name beside its own,
 * and renamed at the end. SIGINT, SIGTERM and SIGHUP that come meanwhile are held back until it has
 * been removed. Standard output, and whatever is no plain file (a pipe, a terminal, /dev/full), is
 * written directly.
 */
#ifndef DT_CMD_OUTPUT_H
#define DT_CMD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "process/confine.h"

struct dt_output {
	const char *said;  /* the name for errors; belongs to the caller */
	char *path, *name; /* the destination; the name until then; both NULL: written directly */
	char *outer;	   /* for a folder: the temporary folder that it is made in */
	FILE *file;	   /* NULL for a folder */
};

/* Opens output; path NULL: standard output. False: an error has been reported. */
bool dt_output_open(struct dt_output *p, const char *path);

/* Prepares a folder as output: the caller makes it as p->name and puts files into it. At path there
 * must be an empty folder or nothing. False: an error has been reported. */
bool dt_output_open_folder(struct dt_output *p, const char *path);

/* Adds to the needs that dt_output_end() renames or removes the output; to be called between
 * opening it and the command's confining itself. */
void dt_output_needs(const struct dt_output *p, struct dt_needs *needs);

/* Says whether a signal has come that asks the command to end. */
bool dt_output_is_interrupted(void);

/* Ends output: if ok, which says that it is complete, it gets its name, otherwise it is removed.
 * Returns the exit status: 1 when it is not ok, or could not be written, which is reported. Does
 * not return when a signal was held back. */
int dt_output_end(struct dt_output *p, bool ok);

#endif
