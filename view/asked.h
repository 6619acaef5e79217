/* SPDX-License-Identifier: MIT */
/* A request that is being answered, and the functions that answer; for view/ only. */
#ifndef DT_VIEW_ASKED_H
#define DT_VIEW_ASKED_H

#include "analyse/hits.h"
#include "show/words.h"
#include "view/picture.h"
#include "view/request.h"

struct dt_view;
struct dt_view_sql;

struct dt_asked {
	struct dt_view *v;
	struct dt_picture *p;	/* the picture of the request's filter; locked */
	struct dt_picture *all; /* the picture without a filter; locked */
	uint64_t
		origin; /* ticks of the first record: times in requests and answers count from it */
	struct dt_formats *formats;
	const char *path;
	const struct dt_view_sql *sql;
	int sources; /* folder of source files, for dt_source_open(); -1: none */
	const struct dt_view_request *r;
	struct dt_view_answer *answer;
};

/* Makes the answer an error with this status of HTTP, in place of what has been written to it. */
void dt_refuse(struct dt_asked *a, int status, const char *why);
/* Fetches the request's number of this name, from least to most. False: there is none, and the
 * request has been refused. */
bool dt_asked_number(struct dt_asked *a, const char *name, uint64_t least, uint64_t most,
		     uint64_t *v);
/* Fetches the request's `from' and `to' as ticks. False: the request has been refused. */
bool dt_asked_range(struct dt_asked *a, uint64_t *from, uint64_t *to);

/* Each writes the answer to one kind of request; doc/timeline.md describes them. */
void dt_answer_trace(struct dt_asked *a);
void dt_answer_window(struct dt_asked *a);
void dt_answer_names(struct dt_asked *a);
void dt_answer_search(struct dt_asked *a);
void dt_answer_unhooked(struct dt_asked *a);
void dt_answer_stats(struct dt_asked *a);
void dt_answer_range(struct dt_asked *a);
void dt_answer_call(struct dt_asked *a);
void dt_answer_why(struct dt_asked *a);
void dt_answer_notes(struct dt_asked *a);
void dt_answer_heat(struct dt_asked *a);
void dt_answer_source(struct dt_asked *a);
void dt_answer_list(struct dt_asked *a);
void dt_answer_hits(struct dt_asked *a);
void dt_answer_find(struct dt_asked *a);
void dt_answer_plot(struct dt_asked *a);
void dt_answer_packed(struct dt_asked *a);
void dt_answer_groups(struct dt_asked *a);
void dt_answer_who(struct dt_asked *a);
void dt_answer_asked(struct dt_asked *a);
void dt_answer_activities(struct dt_asked *a);
void dt_answer_wakes(struct dt_asked *a);
void dt_answer_path(struct dt_asked *a);

/* Changes a note of the file, and answers as dt_answer_notes(): only for requests that change
 * something (dt_view_change()). */
void dt_answer_note(struct dt_asked *a);
/* Begins to answer a question in SQL, likewise only when it comes from our own page. */
void dt_answer_ask(struct dt_asked *a);

/* Adds the sums of those of n tracks that have anything, as JSON objects with commas between; the
 * page knows their names. */
void dt_track_sums(struct dt_asked *a, const struct dt_track_sum *sum, uint32_t n);
/* Adds n rows of a list, "rows":[...]. */
void dt_answer_rows(struct dt_asked *a, const struct dt_hit *row, size_t n);
/* Adds a thread's name to the answer, as a JSON string; info NULL: nothing is known of it. */
void dt_thread_name(struct dt_asked *a, const struct dt_thread_info *info, uint32_t tid);
/* Adds "hosts":[...], the machines of a trace of several; of another trace there are none. */
void dt_answer_hosts(struct dt_asked *a);
/* Adds a track's name to the answer, as a JSON string. */
void dt_track_name(struct dt_asked *a, const struct dt_track *t);

#endif
