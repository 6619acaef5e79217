/* SPDX-License-Identifier: MIT */
/* What trace.c, which sees a session through, and trace-said.c, which says what became of it,
 * share; for nobody else. */
#ifndef DT_CMD_TRACE_WORK_H
#define DT_CMD_TRACE_WORK_H

#include "cmd/trace.h"
#include "session/unhooked.h"

/* All of these write to standard error. */

/* What the session has become: records, and what is not in them. */
void dt_trace_say_summary(const struct dt_trace_command *c, const struct dt_session *s);
/* Returns whether there was one. yet: a library that is loaded later may have it. */
bool dt_trace_unmatched_pattern(const struct dt_trace_command *c, struct dt_session *s, bool yet);
/* The same of those of which the arguments are wanted, and arguments that they have not got. */
bool dt_trace_unmatched_arguments(const struct dt_trace_command *c, struct dt_session *s);
/* Functions were chosen, but of none of them there could be a probe: not to be left unsaid. */
bool dt_trace_nothing_hooked(const struct dt_trace_command *c, const struct dt_session *s);
/* Whether there was one that has no sled. *said: lines about others. */
bool dt_trace_unhooked(const struct dt_trace_command *c, const struct dt_session *s, size_t *said);
/* C code beside Go's is traced; that the rest is not is said. */
void dt_trace_say_go(const struct dt_trace_command *c, const struct dt_session *s);
/* What reads names for root has no rights, and may fall victim to what it reads. */
void dt_trace_say_unnamed(const struct dt_trace_command *c);
/* The last line; where nobody reads along, when there is something to say. */
void dt_trace_say_left_out(const struct dt_trace_command *c, const struct dt_unhooked *u);

#endif
