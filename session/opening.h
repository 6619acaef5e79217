/* SPDX-License-Identifier: MIT */
/*
 * The trace file of a session that begins is made by a thread of its own: its tables take some
 * milliseconds, in which the session measures, and takes memory for its rings.
 */
#ifndef DT_SESSION_OPENING_H
#define DT_SESSION_OPENING_H

#include <pthread.h>

#include "core/error.h"
#include "store/store.h"

struct dt_session;

struct dt_opening {
	struct dt_session *session;
	pthread_t thread;
	bool begun, runs; /* runs: on the thread */
	struct dt_store *store;
	struct dt_error error;
};

/* Begins to make the file that the session's options name, if they name one. */
void dt_opening_begin(struct dt_opening *m, struct dt_session *s);
/* Waits until it is made, and returns it, once; NULL and an error if that failed, NULL alone if
 * nothing was begun, or it has been returned. */
struct dt_store *dt_opening_end(struct dt_opening *m, struct dt_error *e);

#endif
