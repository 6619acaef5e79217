/* SPDX-License-Identifier: MIT */
/* What the user is told of what he has chosen: what matched nothing, what could not be hooked. */
#ifndef DT_SESSION_FINDINGS_H
#define DT_SESSION_FINDINGS_H

#include <stdbool.h>

#include "session/say.h"

struct dt_session;

/* Patterns that have matched nothing yet: a library that is loaded later may have it. */
void dt_findings_unmatched(struct dt_session *s, const struct dt_say *say);

/*
 * All of it, once everything has been let go, and before the session is closed; the trace file is
 * told what was left out. all: also says that nothing was. Returns whether nothing was recorded and
 * one of these is why.
 */
bool dt_findings_say(struct dt_session *s, bool all, const struct dt_say *say);

#endif
