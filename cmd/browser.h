/* SPDX-License-Identifier: MIT */
/*
 * Opening a page in the user's browser. Every user of the machine can read command lines, but the
 * page's address is secret: so the browser is started with a file that leads to the address and
 * that only this user can read.
 */
#ifndef DT_CMD_BROWSER_H
#define DT_CMD_BROWSER_H

#include "process/confine.h"

struct dt_browser {
	char path[300]; /* of the file that leads to the page; "": there is none */
	char *words[3]; /* the command */
};

/* Writes the file, and adds to the needs that the browser is started from outside the confinement;
 * without a desktop it does nothing. -1: the file can not be made. b must not be moved after. */
int dt_browser_prepare(struct dt_browser *b, const char *address, struct dt_needs *needs,
		       struct dt_error *e);
/* Starts the browser; to be called when the command has confined itself. */
void dt_browser_open(const struct dt_browser *b);
/* Removes the file; to be called in any case. */
void dt_browser_close(struct dt_browser *b);

#endif
