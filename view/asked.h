/* SPDX-License-Identifier: MIT */
/* A request that is being answered, and the answers that there are; for view/ only. */
#ifndef DT_VIEW_ASKED_H
#define DT_VIEW_ASKED_H

#include "show/words.h"
#include "view/picture.h"
#include "view/request.h"

struct dt_view;

struct dt_asked {
	struct dt_view *v;
	struct dt_picture *p;	/* of the filter that it names; locked */
	struct dt_picture *all; /* of no filter; locked */
	uint64_t origin; /* ticks of the first record: where times in requests and answers begin */
	struct dt_formats *formats;
	const char *path;
	const struct dt_view_request *r;
	struct dt_view_answer *answer;
};

/* Instead of what has been written: an error. */
void dt_refuse(struct dt_asked *a, int status, const char *why);
/* A number of at least `least', at most `most'; or it is refused. */
bool dt_asked_number(struct dt_asked *a, const char *name, uint64_t least, uint64_t most,
		     uint64_t *v);
/* from and to, as ticks; in a request they count from the first record. */
bool dt_asked_range(struct dt_asked *a, uint64_t *from, uint64_t *to);

/* doc/timeline.md says what each is. */
void dt_answer_trace(struct dt_asked *a);
void dt_answer_window(struct dt_asked *a);
void dt_answer_names(struct dt_asked *a);
void dt_answer_search(struct dt_asked *a);
void dt_answer_unhooked(struct dt_asked *a);
void dt_answer_stats(struct dt_asked *a);
void dt_answer_call(struct dt_asked *a);
void dt_answer_list(struct dt_asked *a);
void dt_answer_activities(struct dt_asked *a);

/* The text of a track's name. */
void dt_track_name(struct dt_asked *a, const struct dt_track *t);

#endif
