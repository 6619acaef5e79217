/* SPDX-License-Identifier: MIT */
/* The session that records a trace while it is shown: whether it is alive, and commands to it. */
#ifndef DT_CMD_LIVE_H
#define DT_CMD_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cmd/temporary.h"
#include "session/client.h"
#include "session/spool.h"
#include "view/view.h"

struct dt_live {
	char *name;	      /* of the session; NULL: no session writes the trace */
	char *file;	      /* path of the trace */
	int process;	      /* pidfd of the session's process, or -1 */
	pthread_mutex_t lock; /* guards `tell' */
	struct dt_client tell;

	/* for a session that keeps its records in its log: our thread writes them to a file */
	struct dt_temporary trace;
	struct dt_spool *spool; /* belongs to the thread while it runs */
	bool writes;		/* the thread has been started */
	pthread_t writer;
	atomic_bool enough, written; /* the thread is to end; it has ended */
	struct dt_error error;	     /* of the thread; read after joining it */
};

/*
 * Connects to a session; name NULL: the only one. The caller must have blocked the signals that
 * would end it, since dt_live_close() has to remove what this makes.
 */
int dt_live_open(struct dt_live *l, const char *name, struct dt_error *e);
/* Starts the thread that writes the log to a file, if one is needed; to be called when the command
 * has confined itself. */
int dt_live_begin(struct dt_live *l, struct dt_error *e);
/* Connects to the session that writes this file, if there is one; otherwise name is NULL. */
void dt_live_find(struct dt_live *l, const char *file);
/* Ends the thread, removes its file, and disconnects. */
void dt_live_close(struct dt_live *l);

/* Returns the functions by which a view asks and tells the session. l must outlive them. */
struct dt_view_live dt_live_view(struct dt_live *l);

#endif
