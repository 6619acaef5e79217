/* SPDX-License-Identifier: MIT */
/*
 * What is drawn: the pyramid of a trace, or of what a filter wants of it. A thread of its own makes
 * it, if the file has none; what is there already is drawn meanwhile.
 */
#ifndef DT_VIEW_PICTURE_H
#define DT_VIEW_PICTURE_H

#include <pthread.h>

#include "analyse/window.h"

/* What a picture that follows a trace asks and tells. */
struct dt_picture_live {
	bool (*alive)(void *ctx);
	void (*news)(void *ctx);
	void *ctx;
};

struct dt_picture {
	char *path;
	char *filter;			       /* NULL: everything */
	const struct dt_picture_live *follows; /* NULL: a trace that is there already */
	pthread_mutex_t lock;		       /* all below, but `stop' and `waiting' */
	struct dt_reader *reader;	       /* the builder's */
	struct dt_pyramid *pyramid;
	struct dt_windows *windows;
	struct dt_error error; /* of building; "" */
	char not_kept[512];    /* why the pyramid was not put into the file; "" */
	bool anyway;
	bool live;     /* of a trace that is being recorded, until that has ended */
	bool building; /* the thread is there to be joined */
	bool stop;     /* atomic */
	pthread_t thread;
	unsigned waiting; /* atomic: answers that want the lock */
};

/* anyway: also of a trace that does not add up. filter NULL: everything; and the pyramid is put
 * into the file. follows: NULL, or stays there. */
struct dt_picture *dt_picture_new(const char *path, const char *filter,
				  const struct dt_picture_live *follows, bool anyway,
				  struct dt_error *e);
void dt_picture_free(struct dt_picture *p);

/* Who answers comes before who builds. */
void dt_picture_lock(struct dt_picture *p);
void dt_picture_unlock(struct dt_picture *p);

#endif
