/* SPDX-License-Identifier: MIT */
/* Tells the user which patterns matched nothing, and which chosen functions could not be hooked. */
#ifndef DT_SESSION_FINDINGS_H
#define DT_SESSION_FINDINGS_H

#include <stdbool.h>

#include "session/say.h"

struct dt_session;

/* Says which patterns have matched nothing yet; a library that is loaded later may match them. */
void dt_findings_unmatched(struct dt_session *s, const struct dt_say *say);

/*
 * Says which patterns and arguments matched nothing and which chosen functions were not hooked, and
 * notes the latter in the trace file. To be called after dt_session_end() and before
 * dt_session_close(). all: says it, too, if every chosen function was hooked. Returns true if
 * nothing was recorded and one of these is the reason.
 */
bool dt_findings_say(struct dt_session *s, bool all, const struct dt_say *say);

#endif
