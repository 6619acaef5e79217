/* SPDX-License-Identifier: MIT */
/* What a server of traces answers from: recorded files, one after the other, or a live session. */
#ifndef DT_REMOTE_SOURCE_H
#define DT_REMOTE_SOURCE_H

#include <stddef.h>
#include "analyse/barrelfish.h"
#include "remote/making.h"

struct dt_source {
	/* traces and Barrelfish's dumps, in their order or at random */
	char **file;
	size_t files;
	bool random;

	/* or a session; each answer is what it has, or what it records for the request */
	const char *session; /* NULL: the only one */
	bool live;
	const char *arm;    /* "START STOP [DURATION]", of the command arm; NULL: not armed */
	uint64_t record_ns; /* 0: not for a time */

	enum dt_dump_form form;
};

/* Adds a file, or those of a folder that are traces or dumps, sorted by name. */
int dt_source_add(struct dt_source *s, const char *path, struct dt_error *e);
void dt_source_free(struct dt_source *s);

/* For struct dt_maker. */
int dt_source_make(void *source, enum dt_form form, unsigned long turn, int fd, struct dt_error *e);

/* Writes a trace file of what the session has or records. In remote/live.c. */
int dt_live_record(const struct dt_source *s, const char *path, struct dt_error *e);
/* Is there such a session? */
int dt_live_check(const char *session, char *file, size_t size, struct dt_error *e);

#endif
