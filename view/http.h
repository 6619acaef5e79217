/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server of the time line. It listens on this machine only, unless told otherwise, and
 * serves only those who know its address, which has an unguessable word in it. Pages of other sites
 * can load nothing from it.
 */
#ifndef DT_VIEW_HTTP_H
#define DT_VIEW_HTTP_H

#include "view/view.h"

struct dt_http;

/* Begins to listen, by which the server has its address; requests are answered only after
 * dt_http_start(). listen: "ADDRESS:PORT", "ADDRESS" or ":PORT"; NULL: 127.0.0.1 and any free port.
 * NULL: an error, in e. */
struct dt_http *dt_http_listen(const char *listen, struct dt_error *e);
/* Starts answering, in threads of its own. 0, or -1 and an error. */
int dt_http_start(struct dt_http *s, struct dt_view *v, struct dt_error *e);
/* Stops and frees the server. To be called in any case, and before the view is closed; s may be
 * NULL. */
void dt_http_stop(struct dt_http *s);

/* Returns the address to open in a browser; it is secret. */
const char *dt_http_address(const struct dt_http *s);

#endif
