/* SPDX-License-Identifier: MIT */
/* Functions that were chosen and could not be hooked: they are counted, named, and written to the
 * file. */
#ifndef DT_SESSION_UNHOOKED_H
#define DT_SESSION_UNHOOKED_H

#include <stdbool.h>
#include <stddef.h>

struct dt_session;
struct dt_file;

/* The totals for a message to the user. Only functions without sleds count. */
struct dt_unhooked {
	size_t chosen, left_out; /* functions that were chosen; those of them that are not hooked */
	size_t own;	  /* how many of those left out are in programs that the user named */
	char names[160];  /* the first functions left out, those of named programs before others */
	bool more;	  /* there was no room for all names: "..." stands at their end */
	const char *path; /* path of the file of the first one; valid until the session is closed */
};

/* Sets *planted when a site of f is hooked in any process. If not, returns why its function can not
 * be hooked, or NULL when it could. With the lock. */
const char *dt_unhooked_why(const struct dt_session *s, const struct dt_file *f, size_t site,
			    bool *planted);

/* Fills in u, and writes the functions to the trace file. Called once, when all processes have been
 * let go, before the session is closed; without the lock. */
void dt_unhooked_note(struct dt_session *s, struct dt_unhooked *u);

#endif
