/* SPDX-License-Identifier: MIT */
/*
 * The browser that a page is opened in. Command lines can be read by every user of the machine, and
 * the page's address must not: what the browser is started with is a file of this user's alone that
 * leads to it.
 */
#ifndef DT_CMD_BROWSER_H
#define DT_CMD_BROWSER_H

#include "core/error.h"

struct dt_browser {
	char path[300]; /* "": there is no file */
};

/* Opens it if there is a desktop. -1: it could not be tried. */
int dt_browser_open(struct dt_browser *b, const char *address, struct dt_error *e);
/* In any case; takes the file away. */
void dt_browser_close(struct dt_browser *b);

#endif
