/* SPDX-License-Identifier: MIT */
/*
 * A view of one trace file: it answers the requests of the time line's page, by the trace's
 * pyramid. If the file has no pyramid, a thread builds it and stores it in the file; meanwhile the
 * part that has been built is shown. doc/timeline.md has the requests.
 */
#ifndef DT_VIEW_VIEW_H
#define DT_VIEW_VIEW_H

#include "analyse/window.h"
#include "show/format.h"
#include "view/request.h"

struct dt_view;

/* The session that records the trace while it is shown (cmd/live.h). */
struct dt_view_live {
	const char *name; /* of the session; NULL: the trace is not being recorded */
	/* is it still writing the trace? */
	bool (*alive)(void *ctx);
	/* gives it a command; 0: e is a remark for the user, or empty; -1: e is the error */
	int (*tell)(void *ctx, const char *command, struct dt_error *e);
	void *ctx;
};

/* Who answers the page's questions in SQL: one at a time, the last one. */
struct dt_view_sql {
	/* Begins to answer a question, in place of the one before; "": none any more. *number is
	 * for asked(). -1: e is the error. */
	int (*ask)(void *ctx, const char *text, uint64_t *number, struct dt_error *e);
	/* Writes what there is of the answer, as JSON: {"done", "seconds"}, and when it is done
	 * "columns", "rows", "more" and "error". False: it is not the question any more. */
	bool (*asked)(void *ctx, uint64_t number, struct dt_json *out);
	void *ctx;
};

/* Called, by threads of the view's own, when records have come or the session has ended. */
struct dt_view_news {
	void (*fn)(void *ctx);
	void *ctx;
};

/*
 * Opens a view. formats: for the trace at path; nobody else may use them until the view is closed.
 * anyway: a trace that does not add up is drawn, too. live NULL: the trace is not being recorded.
 * NULL: an error, in e.
 */
struct dt_view *dt_view_open(const char *path, struct dt_formats *formats, bool anyway,
			     const struct dt_view_live *live, struct dt_error *e);
/* Sets the folder of source files, of dt_source_folder(); at first there is none. */
void dt_view_use_sources(struct dt_view *v, int folder);
/* Sets who answers questions in SQL; at first nobody does. */
void dt_view_use_sql(struct dt_view *v, const struct dt_view_sql *sql);
/* Sets the function that is called for news; fn NULL: none. When this returns, the one set before
 * is not running and will not be called again. */
void dt_view_tell_news(struct dt_view *v, const struct dt_view_news *news);
/* Writes the state of the trace as JSON, for the page. May be called by any thread. */
void dt_view_news_text(struct dt_view *v, char *text, size_t size);
/* Says whether the trace was being recorded when the view was opened. */
bool dt_view_is_live(const struct dt_view *v);
/* Gives a command to the session, and answers as dt_view_answer() does. */
void dt_view_command(struct dt_view *v, const char *command, struct dt_view_answer *answer);
/* v may be NULL. */
void dt_view_close(struct dt_view *v);

/* Says how many of how many records the pyramid has; true: it is complete. *e: the error that has
 * stopped building it, or empty. */
bool dt_view_progress(struct dt_view *v, uint64_t *records, uint64_t *total, struct dt_error *e);
/* Returns why the pyramid was not stored in the file; "": it was, or is not complete yet. */
const char *dt_view_not_kept(struct dt_view *v);

/* Answers a request. May be called by any thread. The caller frees answer->text.bytes.p. */
void dt_view_answer(struct dt_view *v, const struct dt_view_request *r,
		    struct dt_view_answer *answer);
/* Likewise, for a request that changes something, `note': the caller has seen that it comes from
 * our own page. */
void dt_view_change(struct dt_view *v, const struct dt_view_request *r,
		    struct dt_view_answer *answer);

#endif
