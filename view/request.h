/* SPDX-License-Identifier: MIT */
/* A request of the page, and the answer to it. */
#ifndef DT_VIEW_REQUEST_H
#define DT_VIEW_REQUEST_H

#include "show/json.h"

struct dt_view_request {
	const char *what; /* "trace", "window", ... */
	/* returns the value of a parameter; NULL: it is not given */
	const char *(*value)(void *ctx, const char *name);
	void *ctx;
};

struct dt_view_answer {
	int status;	  /* HTTP status code */
	const char *type; /* Content-Type of `text' */
	struct dt_json text;
};

#endif
