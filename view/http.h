/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server of the time line. It listens on this machine only, unless told otherwise, and
 * answers nobody who does not know the address: that has an unguessable word in it. Nothing of it
 * may be loaded by another site's page.
 */
#ifndef DT_VIEW_HTTP_H
#define DT_VIEW_HTTP_H

#include "view/view.h"

struct dt_http;

/* Its address is known from then on, and nobody is answered before dt_http_start(). listen:
 * "ADDRESS:PORT", "ADDRESS", ":PORT"; NULL: 127.0.0.1, and any port. */
struct dt_http *dt_http_listen(const char *listen, struct dt_error *e);
int dt_http_start(struct dt_http *s, struct dt_view *v, struct dt_error *e);
/* In any case, before the view is closed. */
void dt_http_stop(struct dt_http *s);

/* What to open in a browser. */
const char *dt_http_address(const struct dt_http *s);

#endif
