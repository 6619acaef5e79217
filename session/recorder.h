/* SPDX-License-Identifier: MIT */
/* The recorder: takes records out of the rings, and writes them. */
#ifndef DT_SESSION_RECORDER_H
#define DT_SESSION_RECORDER_H

#include "session/state.h"

void *dt_recorder_main(void *session);

/* Every record there is now has been taken out of the rings, or a second has passed. Without the
 * lock. */
void dt_recorder_drain(struct dt_session *s);

#endif
