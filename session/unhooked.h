/* SPDX-License-Identifier: MIT */
/* What was chosen and could not be hooked: counted, named, and in the trace file. */
#ifndef DT_SESSION_UNHOOKED_H
#define DT_SESSION_UNHOOKED_H

#include <stdbool.h>
#include <stddef.h>

struct dt_session;
struct dt_file;

struct dt_unhooked {
	size_t chosen, left_out; /* functions without sleds */
	size_t own;		 /* of those left out: how many are of programs that were named */
	char names[160];  /* the first ones left out, those of these programs before others */
	bool more;	  /* there is no room for all: "..." stands at their end */
	const char *path; /* of the first one's file; the session's */
};

/* Is a site of f hooked anywhere? If not, why its function can not be; NULL: it could. With the
 * lock. */
const char *dt_unhooked_why(const struct dt_session *s, const struct dt_file *f, size_t site,
			    bool *planted);

/* Once, when everything has been let go, before the session is closed. */
void dt_unhooked_note(struct dt_session *s, struct dt_unhooked *u);

#endif
