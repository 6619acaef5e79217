/* SPDX-License-Identifier: MIT */
/* What a server of traces takes its answers from: recorded files, one after the other, or a live
 * session. */
#ifndef DT_REMOTE_SOURCE_H
#define DT_REMOTE_SOURCE_H

#include <stddef.h>
#include "analyse/barrelfish.h"
#include "remote/making.h"

/* A source: either files or a session. */
struct dt_source {
	/* Paths of traces and of Barrelfish's dumps, which are served in turn or at random. */
	char **file;
	size_t files;
	bool random;

	/* Or a session: each answer is what it has recorded, or what it records for the request. */
	const char *session; /* its name; NULL: the only session there is */
	bool live;	     /* the source is a session */
	const char *arm; /* arguments of the command arm, "START STOP [DURATION]"; NULL: it is not
			    armed */
	uint64_t record_ns; /* ns that are recorded for each request; 0: no limited time */

	enum dt_dump_form form; /* of dumps that are made from traces */
};

/* Adds a file, or those files of a folder that are traces or dumps, sorted by name. Returns 0, or
 * -1 and an error. */
int dt_source_add(struct dt_source *s, const char *path, struct dt_error *e);
/* Frees the list of files. */
void dt_source_free(struct dt_source *s);

/* Makes an answer, as make() of struct dt_maker; its context is the source. */
int dt_source_make(void *source, enum dt_form form, unsigned long turn, int fd, struct dt_error *e);

/* Writes a trace file of what the session has recorded or records now. Returns 0, or -1 and an
 * error. In remote/live.c, as the next one. */
int dt_live_record(const struct dt_source *s, const char *path, struct dt_error *e);
/* Looks whether there is such a session, and writes the path of its trace file to `file' ("": it
 * has none). Returns 0, or -1 and an error. */
int dt_live_check(const char *session, char *file, size_t size, struct dt_error *e);

#endif
