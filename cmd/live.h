/* SPDX-License-Identifier: MIT */
/* The session that writes a trace while it is looked at: is it still there, and telling it. */
#ifndef DT_CMD_LIVE_H
#define DT_CMD_LIVE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cmd/temporary.h"
#include "session/client.h"
#include "session/spool.h"
#include "view/view.h"

struct dt_live {
	char *name;	      /* of the session; NULL: nobody writes it */
	char *file;	      /* what it writes */
	int process;	      /* its pidfd */
	pthread_mutex_t lock; /* of tell */
	struct dt_client tell;

	/* of a session that keeps its records in its log: what is in there goes to a file of ours
	 */
	struct dt_temporary trace;
	struct dt_spool *spool; /* the thread's, while it runs */
	bool writes;		/* by: */
	pthread_t writer;
	atomic_bool enough, written; /* it is to end; it has */
	struct dt_error error;	     /* of writing */
};

/*
 * Of a session; name NULL: the only one. The caller has blocked the signals that end it: what this
 * makes must be taken away by dt_live_close().
 */
int dt_live_open(struct dt_live *l, const char *name, struct dt_error *e);
/* Lets it be written, once the command has confined itself. */
int dt_live_begin(struct dt_live *l, struct dt_error *e);
/* Of the session that writes this file, if there is one. */
void dt_live_find(struct dt_live *l, const char *file);
void dt_live_close(struct dt_live *l);

/* What a view needs of it. */
struct dt_view_live dt_live_view(struct dt_live *l);

#endif
