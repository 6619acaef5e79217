/* SPDX-License-Identifier: MIT */
/*
 * Makes an answer in a process of its own, into a temporary file without a name. So nothing waits
 * for it, its size does not matter, and what goes wrong in it (a damaged trace) ends that process
 * alone.
 */
#ifndef DT_REMOTE_MAKING_H
#define DT_REMOTE_MAKING_H

#include <sys/types.h>
#include "core/error.h"

/* The forms of an answer. */
enum dt_form {
	DT_FORM_DUMP, /* Barrelfish's text */
	DT_FORM_FILE, /* the bytes of a trace file */
};

/* What makes the answers of a server. */
struct dt_maker {
	/*
	 * Writes the answer to fd, an empty file; returns 0, or -1 and an error. turn: how many
	 * answers were begun before. It has to return soon after dt_making_unwanted() has become
	 * true.
	 */
	int (*make)(void *ctx, enum dt_form form, unsigned long turn, int fd, struct dt_error *e);
	void *ctx;
	bool each; /* makes one answer for each request: clients that ask at the same time do not
		      share one */
};

/* An answer that is being made. */
struct dt_making {
	pid_t pid; /* of the process that makes it; 0: none is being made */
	enum dt_form form;
	int fd;	  /* the file with the answer */
	int said; /* a descriptor; when it becomes readable, dt_making_ended() has to be called */
	size_t n; /* bytes of the error's text received so far */
	struct dt_error error; /* text empty: all has gone well */
};

/* Starts the process. Returns 0, or -1 and an error. */
int dt_making_begin(struct dt_making *m, const struct dt_maker *maker, enum dt_form form,
		    unsigned long turn, struct dt_error *e);
/* Looks whether the process has ended. True: it has; from then on m->fd is the caller's, and
 * m->error says how it went. */
bool dt_making_ended(struct dt_making *m);
/* Tells the process that nobody waits for the answer any more, so that it ends sooner. That is
 * still to be seen by dt_making_ended(). */
void dt_making_unwant(struct dt_making *m);
/* Ends the process, waits for its end, and closes m->fd; does nothing when none runs. */
void dt_making_stop(struct dt_making *m);

/* For make(): tells whether nobody wants the answer any more. */
bool dt_making_unwanted(void);

/*
 * Opens an empty file without a name in TMPDIR or /tmp. Returns its descriptor, or -1 and an error.
 */
int dt_unnamed_file(struct dt_error *e);

#endif
