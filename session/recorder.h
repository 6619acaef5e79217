/* SPDX-License-Identifier: MIT */
/* The recorder: takes records out of the rings, and writes them to the file or the log. */
#ifndef DT_SESSION_RECORDER_H
#define DT_SESSION_RECORDER_H

#include "session/state.h"

/* The main function of the recorder thread: runs until s->stop_recorder, or until the file can not
 * be written. Returns NULL. */
void *dt_recorder_main(void *session);

/* Waits until every record there is now has been taken out of the rings, a second at most; does not
 * wait while the log has no room. Any thread but the recorder, without the lock. */
void dt_recorder_drain(struct dt_session *s);

#endif
