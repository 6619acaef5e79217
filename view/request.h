/* SPDX-License-Identifier: MIT */
/* A request of the page, and what it is answered. */
#ifndef DT_VIEW_REQUEST_H
#define DT_VIEW_REQUEST_H

#include "show/json.h"

/* What a request says: value of a name, or NULL. */
struct dt_view_request {
	const char *what; /* "trace", "window", ... */
	const char *(*value)(void *ctx, const char *name);
	void *ctx;
};

struct dt_view_answer {
	int status;	  /* of HTTP */
	const char *type; /* of what text has */
	struct dt_json text;
};

#endif
