/* SPDX-License-Identifier: MIT */
/* The programs of the processes that were named: what is chosen without a module is chosen of
 * these. */
#ifndef DT_SESSION_PROGRAMS_H
#define DT_SESSION_PROGRAMS_H

#include "session/state.h"

/* What a process runs is a program that was named. Before its modules are looked at. */
void dt_program_note(struct dt_session *s, pid_t pid);

/* Is it the program of a process that was named, rather than a library, or what that process runs?
 */
bool dt_program_is_known(const struct dt_session *s, const struct dt_file *f);

#endif
