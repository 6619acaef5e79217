/* SPDX-License-Identifier: MIT */
/* The programs of the processes that the user named, also those that such a process executes
 * (session/execs.c): patterns without a module choose functions of these programs. */
#ifndef DT_SESSION_PROGRAMS_H
#define DT_SESSION_PROGRAMS_H

#include "session/state.h"

/* Notes the program that process pid runs as one that was named. Has to be called before its
 * modules are looked at. */
void dt_program_note(struct dt_session *s, pid_t pid);

/* Tells whether file f is the program of a process that was named, rather than a library or a
 * program that a child executes. */
bool dt_program_is_known(const struct dt_session *s, const struct dt_file *f);

#endif
