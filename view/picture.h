/* SPDX-License-Identifier: MIT */
/*
 * A picture: the pyramid of a trace, or of the part that a filter chooses. If the file has none, a
 * thread of the picture's own builds it; meanwhile the part that has been built is drawn.
 */
#ifndef DT_VIEW_PICTURE_H
#define DT_VIEW_PICTURE_H

#include <pthread.h>

#include "analyse/window.h"

/* For a picture of a trace that is being recorded; both are called by the picture's thread. */
struct dt_picture_live {
	bool (*alive)(void *ctx); /* is the trace still being written? */
	void (*news)(void *ctx);  /* called when the picture has changed, or the trace has ended */
	void *ctx;
};

struct dt_found;
struct dt_plots;

struct dt_picture {
	char *path;
	char *filter;			       /* NULL: everything */
	const struct dt_picture_live *follows; /* NULL: the trace is not being recorded */
	pthread_mutex_t lock;		       /* guards all below but `stop' and `waiting' */
	struct dt_reader *reader;	       /* for building */
	struct dt_pyramid *pyramid;
	struct dt_windows *windows;
	struct dt_plots *plots; /* values over time (view/plot.c); NULL: none was asked for */
	struct dt_found *found; /* what was searched for last (view/find.c); NULL: nothing */
	struct dt_error error;	/* of building; "": none */
	char not_kept[512];	/* why the pyramid could not be stored in the file; "": none */
	bool anyway;		/* draw a trace that does not add up, too */
	bool live;		/* the trace is being recorded, and has not ended */
	bool building;		/* the thread was started and must be joined */
	bool stop;		/* atomic: the thread is to end */
	pthread_t thread;
	unsigned waiting; /* atomic: how many threads wait in dt_picture_lock() */
};

/* Opens a picture. anyway: also of a trace that does not add up. filter NULL: of everything, and
 * the pyramid is stored in the file. follows: NULL, or must outlive the picture. NULL: an error. */
struct dt_picture *dt_picture_new(const char *path, const char *filter,
				  const struct dt_picture_live *follows, bool anyway,
				  struct dt_error *e);
/* Ends the thread and frees the picture; p may be NULL. */
void dt_picture_free(struct dt_picture *p);

/* Frees what was searched for (view/find.c); f may be NULL. */
void dt_found_free(struct dt_found *f);
/* Frees what was plotted (view/plot.c); l may be NULL. */
void dt_plots_free(struct dt_plots *l);

/* Takes the lock for an answer; the building thread lets all that wait here go first. */
void dt_picture_lock(struct dt_picture *p);
void dt_picture_unlock(struct dt_picture *p);

#endif
