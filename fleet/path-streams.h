/* SPDX-License-Identifier: MIT */
/* What threads of one trace sent to one another over TCP connections, for their critical paths. */
#ifndef DT_FLEET_PATH_STREAMS_H
#define DT_FLEET_PATH_STREAMS_H

#include "analyse/path.h"

/* Finds, for each call that received bytes of a connection whose two ends are in the trace, the
 * call that sent the last of them. The array is malloc'ed, and the caller frees it in any case. -1:
 * *e says why not. */
int dt_path_streams(struct dt_reader *r, struct dt_path_edge **edge, size_t *n, struct dt_error *e);

#endif
