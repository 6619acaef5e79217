/* SPDX-License-Identifier: MIT */
/*
 * What the time line's page asks of a trace: one trace file, its pyramid, and the answers. The
 * pyramid is made by a thread of its own, if the file has none, and kept in it; what is there
 * already is drawn meanwhile. doc/timeline.md has the requests.
 */
#ifndef DT_VIEW_VIEW_H
#define DT_VIEW_VIEW_H

#include "analyse/window.h"
#include "show/format.h"
#include "view/request.h"

struct dt_view;

/* Who writes the trace while it is looked at. Each is called by one thread at a time. */
struct dt_view_live {
	const char *name; /* NULL: nobody does */
	bool (*alive)(void *ctx);
	/* 0: e is what there is to say of it, or empty */
	int (*tell)(void *ctx, const char *command, struct dt_error *e);
	void *ctx;
};

/* Something has come, or the session has ended: called by a thread of the view's own. */
struct dt_view_news {
	void (*fn)(void *ctx);
	void *ctx;
};

/*
 * formats: how calls read; of the trace at path, and the view's alone until it is closed. anyway:
 * what does not add up is drawn all the same. live NULL: nobody writes it.
 */
struct dt_view *dt_view_open(const char *path, struct dt_formats *formats, bool anyway,
			     const struct dt_view_live *live, struct dt_error *e);
/* Who is told the news. When this returns, nobody that was told before is being told. */
void dt_view_tell_news(struct dt_view *v, const struct dt_view_news *news);
/* What there is now, for the page: JSON. Any thread. */
void dt_view_news_text(struct dt_view *v, char *text, size_t size);
bool dt_view_is_live(const struct dt_view *v);
/* Tells the session. The answer is as of dt_view_answer(). */
void dt_view_command(struct dt_view *v, const char *command, struct dt_view_answer *answer);
void dt_view_close(struct dt_view *v);

/* How many records of how many the pyramid has; true: it is complete. An error: in *e. */
bool dt_view_progress(struct dt_view *v, uint64_t *records, uint64_t *total, struct dt_error *e);
/* Why the pyramid was not kept in the file; "": it was, or is not made yet. */
const char *dt_view_not_kept(struct dt_view *v);

/* Any thread. The caller frees answer->text.bytes.p. */
void dt_view_answer(struct dt_view *v, const struct dt_view_request *r,
		    struct dt_view_answer *answer);

#endif
