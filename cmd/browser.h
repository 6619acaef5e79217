/* SPDX-License-Identifier: MIT */
/*
 * The browser that a page is opened in. Command lines can be read by every user of the machine, and
 * the page's address must not: what the browser is started with is a file of this user's alone that
 * leads to it.
 */
#ifndef DT_CMD_BROWSER_H
#define DT_CMD_BROWSER_H

#include "process/confine.h"

struct dt_browser {
	char path[300]; /* "": there is no file */
	char *words[3]; /* the command */
};

/* If there is a desktop: it will be started from outside, with a page that leads to the address.
 * -1: it can not be. b stays where it is. */
int dt_browser_prepare(struct dt_browser *b, const char *address, struct dt_needs *needs,
		       struct dt_error *e);
/* Once the command has confined itself. */
void dt_browser_open(const struct dt_browser *b);
/* In any case; takes the file away. */
void dt_browser_close(struct dt_browser *b);

#endif
