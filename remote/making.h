/* SPDX-License-Identifier: MIT */
/*
 * Making an answer: in a process of its own, into a temporary file without a name. So nothing waits
 * for it, its size does not matter, and what goes wrong in it (a damaged trace) ends it alone.
 */
#ifndef DT_REMOTE_MAKING_H
#define DT_REMOTE_MAKING_H

#include <sys/types.h>
#include "core/error.h"

enum dt_form {
	DT_FORM_DUMP, /* Barrelfish's text */
	DT_FORM_FILE, /* the bytes of a trace file */
};

struct dt_maker {
	/*
	 * Writes the answer to fd, an empty file. turn: how many were made before. It is to end
	 * soon after dt_making_unwanted() has become true.
	 */
	int (*make)(void *ctx, enum dt_form form, unsigned long turn, int fd, struct dt_error *e);
	void *ctx;
	bool each; /* one for each request: clients that ask at the same time do not share one */
};

struct dt_making {
	pid_t pid; /* 0: none is made */
	enum dt_form form;
	int fd;		       /* the answer */
	int said;	       /* readable: dt_making_ended() is to be called */
	size_t n;	       /* of the error, so far */
	struct dt_error error; /* text empty: all went well */
};

int dt_making_begin(struct dt_making *m, const struct dt_maker *maker, enum dt_form form,
		    unsigned long turn, struct dt_error *e);
/* True: it has; m->fd is the caller's from now on, and m->error says how it went. */
bool dt_making_ended(struct dt_making *m);
/* Tells it that nobody waits for it any more; it ends sooner, as dt_making_ended() says. */
void dt_making_unwant(struct dt_making *m);
/* Ends it, and waits for that. */
void dt_making_stop(struct dt_making *m);

/* In make(): nobody wants it any more. */
bool dt_making_unwanted(void);

/* An empty file without a name, in TMPDIR or /tmp. */
int dt_unnamed_file(struct dt_error *e);

#endif
